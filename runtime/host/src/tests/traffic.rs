//! Capability `traffic`.

use weir_kernel::Code;

use super::super::bindings::weir::cni::traffic::{
    Action, Class, Discipline, Filter, Host as _, Qdisc, TokenBucket,
};
use super::super::bindings::weir::cni::types::{IpAddress, IpNetwork, LinkReference};
use super::{CONTAINER, HOST, Lab, by_name, code, machine_with_a_pair};

const ROOT: u32 = 0xffff_ffff;
const INGRESS_PLACE: u32 = 0xffff_fff1;
const INGRESS: u32 = 0xffff_0000;
const FIRST: u32 = 0x1_0000;
const CLASS: u32 = 0x1_0030;

const BUCKET: TokenBucket = TokenBucket {
    rate: 1_000_000,
    burst: 20_000,
    latency: 25_000,
};

fn at_root(discipline: Discipline) -> Qdisc {
    Qdisc {
        handle: FIRST,
        parent: ROOT,
        discipline,
    }
}

fn ingress() -> Qdisc {
    Qdisc {
        handle: 0,
        parent: INGRESS_PLACE,
        discipline: Discipline::Ingress,
    }
}

fn class() -> Class {
    Class {
        handle: CLASS,
        parent: FIRST,
        rate: 1_000_000,
        ceil: 2_000_000,
        burst: 15_000,
        cburst: 30_000,
    }
}

fn filter(parent: u32, action: Action) -> Filter {
    Filter {
        parent,
        priority: 5,
        source: Some(IpNetwork {
            address: IpAddress::Ipv4((10, 1, 0, 0)),
            prefix_length: 16,
        }),
        destination: None,
        action,
    }
}

fn host() -> LinkReference {
    by_name("host0")
}

#[test]
fn classes_and_filters_are_made_and_taken_back() {
    let rules = r#"{"traffic": [
        {"namespace": "host", "kinds": ["veth"], "disciplines": ["htb"], "verbs": ["create"]},
        {"namespace": "host", "kinds": ["veth"], "verbs": ["read"]}
    ]}"#;
    let mut lab = Lab::on(machine_with_a_pair(), rules);
    let before = lab.node.state();
    let to_class = || filter(FIRST, Action::Classify(CLASS));
    let htb = || at_root(Discipline::Htb(0x30));
    for denied in [
        lab.view()
            .add_qdisc(HOST, host(), at_root(Discipline::Tbf(BUCKET))),
        lab.view().add_qdisc(HOST, host(), ingress()),
        lab.view().add_qdisc(CONTAINER, by_name("eth0"), htb()),
        lab.view()
            .add_filter(HOST, host(), filter(FIRST, Action::Redirect(host()))),
    ] {
        assert_eq!(code(denied), Some(Code::Denied));
    }
    let early = lab.view().add_class(HOST, host(), class());
    assert_eq!(code(early), Some(Code::NotFound));

    lab.view().add_qdisc(HOST, host(), htb()).expect("htb");
    lab.view()
        .add_class(HOST, host(), class())
        .expect("a class");
    lab.view()
        .add_filter(HOST, host(), to_class())
        .expect("a filter");
    let again = lab.view().add_class(HOST, host(), class());
    assert_eq!(code(again), Some(Code::Exists));

    let qdiscs = lab.view().list_qdiscs(HOST, host()).expect("a list");
    assert!(matches!(
        qdiscs[..],
        [Qdisc {
            handle: FIRST,
            discipline: Discipline::Htb(0x30),
            ..
        }]
    ));
    let classes = lab.view().list_classes(HOST, host()).expect("a list");
    assert_eq!((classes[0].handle, classes[0].cburst), (CLASS, 30_000));
    let filters = lab
        .view()
        .list_filters(HOST, host(), FIRST)
        .expect("a list");
    assert!(matches!(
        filters[..],
        [Filter {
            action: Action::Classify(CLASS),
            ..
        }]
    ));
    assert!(filters[0].source.is_some() && filters[0].destination.is_none());

    let kept = lab.view().delete_qdisc(HOST, host(), ROOT);
    assert_eq!(code(kept), Some(Code::Denied));
    lab.undo_to(&before);
}

#[test]
fn packets_are_redirected_where_both_links_may_be_used() {
    let rules = r#"{"link": [{}], "traffic": [
        {"namespace": "host", "links": ["host0"], "disciplines": ["ingress"]},
        {"namespace": "host", "links": ["host*"], "disciplines": ["mirred"], "verbs": ["create"]},
        {"namespace": "host", "links": ["host0"], "verbs": ["read"]}
    ]}"#;
    let mut lab = Lab::on(machine_with_a_pair(), rules);
    let before = lab.node.state();
    lab.view()
        .add_qdisc(HOST, host(), ingress())
        .expect("ingress");
    let to = |name| filter(INGRESS, Action::Redirect(by_name(name)));
    let denied = lab.view().add_filter(HOST, host(), to("lo"));
    assert_eq!(code(denied), Some(Code::Denied));
    lab.view()
        .add_filter(HOST, host(), to("host0"))
        .expect("a filter");
    let filters = lab
        .view()
        .list_filters(HOST, host(), INGRESS)
        .expect("a list");
    let index = lab.node.state().host.link("host0").map(|link| link.index);
    let Action::Redirect(LinkReference::Index(target)) = filters[0].action else {
        panic!("{filters:?}");
    };
    assert_eq!(Some(target), index);

    lab.view()
        .delete_qdisc(HOST, host(), INGRESS_PLACE)
        .expect("it is there");
    for (link, answer) in [("host0", Code::NotFound), ("host1", Code::Denied)] {
        let gone = lab.view().delete_qdisc(HOST, by_name(link), INGRESS_PLACE);
        assert_eq!(code(gone), Some(answer), "{link}");
    }
    lab.undo_to(&before);
}
