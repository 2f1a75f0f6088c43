//! Capability `traffic`.

mod classes;
mod filters;
mod qdiscs;

use ipnet::IpNet;
use serde_json::Value;
use weir_grant::Namespace::{self, Container, Host};
use weir_grant::link::{Create, LinkFacts, NewKind};
use weir_grant::traffic::{
    Action, AddClass, AddFilter, AddQdisc, Class, DeleteClass, DeleteFilter, DeleteQdisc,
    Discipline, Filter, Handle, ListClasses, ListFilters, ListQdiscs, PresentQdisc, Qdisc,
    TokenBucket,
};
use weir_kit::traffic::{self, BUCKET, CLASS_30, FIRST, HOOKS, at_root, ingress};

use super::{Lab, assert_code, lab};
use crate::{Code, Facts as _, Result};

fn htb() -> Qdisc {
    at_root(Discipline::Htb { default: 0x30 })
}

fn class(handle: u32) -> Class {
    traffic::class(Handle(handle), FIRST)
}

fn every_packet(parent: Handle, action: Action) -> Filter {
    Filter {
        parent,
        priority: 0,
        source: None,
        destination: None,
        action,
    }
}

fn network(text: &str) -> Option<IpNet> {
    Some(text.parse().unwrap())
}

/// One test's link, and the requests about it.
struct On<'a> {
    lab: &'a mut Lab,
    link: LinkFacts,
}

impl On<'_> {
    fn add(&mut self, qdisc: Qdisc) -> Result<DeleteQdisc> {
        let link = self.link.clone();
        self.lab.perform(AddQdisc { link, qdisc })?;
        Ok(self.lab.inverse())
    }

    fn add_class(&mut self, class: Class) -> Result<DeleteClass> {
        let link = self.link.clone();
        self.lab.perform(AddClass { link, class })?;
        Ok(self.lab.inverse())
    }

    fn add_filter(&mut self, filter: Filter) -> Result<DeleteFilter> {
        let link = self.link.clone();
        self.lab.perform(AddFilter { link, filter })?;
        Ok(self.lab.inverse())
    }

    fn qdiscs(&mut self) -> Vec<Qdisc> {
        let link = self.link.clone();
        self.lab.perform(ListQdiscs { link }).unwrap()
    }

    fn classes(&mut self) -> Vec<Class> {
        let link = self.link.clone();
        let mut classes = self.lab.perform(ListClasses { link }).unwrap();
        classes.sort_by_key(|class| class.handle.0);
        classes
    }

    fn filters(&mut self, parent: Handle) -> Vec<Filter<u32>> {
        let link = self.link.clone();
        let list = ListFilters { link, parent };
        self.lab.perform(list).unwrap()
    }

    /// Removes what is at a place, as the host does.
    fn remove(&mut self, parent: Handle) -> Result<()> {
        let link = self.link.clone();
        let present = self.lab.linux.present_qdisc(&link, parent)?;
        let delete = DeleteQdisc {
            link,
            parent,
            present,
        };
        self.lab.perform(delete)
    }

    /// What `tc -j -d WORDS dev LINK` shows.
    fn tc(&mut self, words: &[&str]) -> Vec<Value> {
        let name = self.link.name.clone();
        let words = [&["-j", "-d"], words, &["dev", &name]].concat();
        let json = self.lab.run(self.link.namespace, "tc", &words);
        serde_json::from_str(json.trim()).unwrap_or_else(|e| panic!("{e}: {json}"))
    }

    /// Runs tc(8), which must succeed: what somebody else does.
    fn run_tc(&mut self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        self.lab.run(self.link.namespace, "tc", &words);
    }
}

fn on_host(test: impl FnOnce(On<'_>) + Send) {
    lab(|lab| {
        let (link, _) = lab.veth();
        test(On { lab, link });
    });
}

fn ifb(lab: &mut Lab, namespace: Namespace, name: &str) -> LinkFacts {
    let wanted = Create::new(namespace, name, NewKind::Ifb);
    lab.perform(wanted).unwrap();
    lab.ip(namespace, &["link", "set", name, "up"]);
    lab.facts(namespace, name)
}

#[test]
fn a_link_that_is_gone_is_not_found() {
    on_host(|mut on| {
        let made = on.add(htb()).unwrap();
        let class_made = on.add_class(class(CLASS_30.0)).unwrap();
        let to_class = every_packet(FIRST, Action::Classify(CLASS_30));
        let filter_made = on.add_filter(to_class.clone()).unwrap();
        on.lab.ip(Host, &["link", "delete", "host0"]);

        assert_code(on.add(htb()), Code::NotFound, "ENODEV");
        assert_code(on.add_class(class(CLASS_30.0)), Code::NotFound, "ENODEV");
        assert_code(on.add_filter(to_class), Code::NotFound, "ENODEV");
        assert_code(on.remove(Handle::ROOT), Code::NotFound, "ENODEV");
        let link = on.link.clone();
        let listed = on.lab.perform(ListQdiscs { link });
        assert_code(listed, Code::NotFound, "ENODEV");
        let (link, parent) = (on.link.clone(), FIRST);
        let listed = on.lab.perform(ListFilters { link, parent });
        assert_code(listed, Code::NotFound, "ENODEV");
        let link = on.link.clone();
        let listed = on.lab.perform(ListClasses { link });
        assert_code(listed, Code::NotFound, "ENODEV");
        let undone = on.lab.perform(filter_made);
        assert_code(undone, Code::NotFound, "");
        let undone = on.lab.perform(class_made);
        assert_code(undone, Code::NotFound, "");
        let undone = on.lab.perform(made);
        assert_code(undone, Code::NotFound, "");
    });
}

/// In the container's namespace as on the host.
#[test]
fn each_namespace_has_its_own() {
    lab(|lab| {
        let (host, eth0) = lab.veth();
        let mut inside = On { lab, link: eth0 };
        inside.add(at_root(Discipline::Tbf(BUCKET))).unwrap();
        assert_eq!(inside.qdiscs(), [at_root(Discipline::Tbf(BUCKET))]);
        let mut outside = On { lab, link: host };
        let of_host = outside.qdiscs();
        assert_eq!(of_host.len(), 1);
        assert_eq!(
            of_host[0].discipline,
            Discipline::Other {
                word: "noqueue".to_owned()
            }
        );
    });
}

fn assert_contains(text: &str, expected: &[&str]) {
    for words in expected {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
}
