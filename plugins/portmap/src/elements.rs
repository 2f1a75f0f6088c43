//! The elements of an attachment: what is added, checked and removed.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_sdk::check::wrong;
use weir_sdk::firewall::owned::{self, creation};
use weir_sdk::firewall::shared::Shared;
use weir_sdk::firewall::{self, Command, Element, ElementData, Value, networks};
use weir_sdk::owner::{Owner, Valid};
use weir_sdk::{Context, Error, GcRequest, IpFamily, Namespace, OperationError, log};

use crate::addresses::Addresses;
use crate::config::Config;
use crate::former;
use crate::group::Group;
use crate::mapping::Mapping;
use crate::tables::{self, FAMILY, FamilySets, sets_of};

/// The mappings of an attachment, for the addresses that its container has.
pub struct Mapped {
    owner: Owner,
    group: Group,
    snat: bool,
    masq_all: bool,
    /// Each with the address that it leads to.
    mappings: Vec<(Mapping, IpNet)>,
}

impl Mapped {
    /// What the configuration maps to the container. Errors: code 7.
    pub fn new(owner: Owner, config: &Config, addresses: &Addresses) -> Result<Self, Error> {
        let all = config.mappings()?;
        let to = |mapping: &Mapping| {
            let mapping = *mapping;
            let addresses = addresses.all();
            let addresses = addresses.filter(move |a| mapping.is_of(IpFamily::of(a.addr())));
            addresses.map(move |address| (mapping, address))
        };
        Ok(Mapped {
            owner,
            group: config.group()?,
            snat: config.snat,
            masq_all: config.masq_all,
            mappings: all.iter().flat_map(to).collect(),
        })
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// The mappings, each with the address that it leads to.
    pub fn mappings(&self) -> &[(Mapping, IpNet)] {
        &self.mappings
    }

    /// Adds all mappings in one transaction. A port that another container has is taken from it: the
    /// last ADD wins, as with the reference plugin.
    pub fn add(&self) -> Result<(), Error> {
        self.try_add().context("cannot map ports")
    }

    fn try_add(&self) -> Result<(), OperationError> {
        former::settle(&self.group, &self.elements())?;
        let shared = tables::shared(&self.group);
        owned::add(&shared, self.commands(), || self.replacement())
    }

    fn commands(&self) -> Vec<Command> {
        let mut commands: Vec<Command> = self.elements().into_iter().map(creation).collect();
        commands.extend(
            self.networks()
                .map(|(set, address)| networks::adding(set, &address)),
        );
        commands
    }

    /// As [`commands`](Self::commands), but first removes what is in the way.
    fn replacement(&self) -> Result<Vec<Command>, OperationError> {
        let mut commands = owned::replacing(FAMILY, self.elements())?;
        let taken = commands.len() - self.elements().len();
        if taken > 0 {
            let fields = [("elements", &*taken.to_string())];
            log::warn(
                "ports are taken from containers that had them mapped",
                &fields,
            );
        }
        for (set, address) in self.networks() {
            commands.extend(networks::replacing(FAMILY, set, &address)?);
        }
        Ok(commands)
    }

    /// The elements, and the set of each.
    fn elements(&self) -> Vec<(String, Element)> {
        let of = |(mapping, address): &(Mapping, IpNet)| {
            let family_sets = sets_of(IpFamily::of(address.addr()));
            let mapped = Some(self.mapped(family_sets, mapping, address.addr()));
            let masqueraded = self.masqueraded(family_sets, mapping, address.addr());
            mapped.into_iter().chain(masqueraded)
        };
        self.mappings.iter().flat_map(of).collect()
    }

    fn mapped(&self, family_sets: &FamilySets, mapping: &Mapping, to: IpAddr) -> (String, Element) {
        let at = mapping.host_ip.map(Value::from);
        let set = if at.is_some() {
            family_sets.host_ip
        } else {
            family_sets.ports
        };
        let key: Vec<Value> = at.into_iter().chain(port(mapping)).collect();
        let target = [to.into(), u32::from(mapping.container_port).into()];
        let element = Element::new(key).with_values(target).owned_by(&self.owner);
        (self.group.name(set), element)
    }

    /// The element for which connections are masqueraded; none without `snat`.
    fn masqueraded(
        &self,
        family_sets: &FamilySets,
        mapping: &Mapping,
        to: IpAddr,
    ) -> Option<(String, Element)> {
        let set = if self.masq_all {
            family_sets.masq_all
        } else {
            family_sets.hairpin
        };
        let key: Vec<Value> = port(mapping).into_iter().chain([to.into()]).collect();
        let element = Element::new(key).owned_by(&self.owner);
        self.snat.then(|| (self.group.name(set), element))
    }

    /// The networks within which answers would not come back through the host.
    fn networks(&self) -> impl Iterator<Item = (&'static str, IpNet)> + '_ {
        let families = [IpFamily::Ipv4, IpFamily::Ipv6].into_iter();
        let address = |family| {
            let mut addresses = self.mappings.iter().map(|(_, address)| *address);
            addresses.find(|address| IpFamily::of(address.addr()) == family)
        };
        let networks =
            families.filter_map(move |family| Some((sets_of(family).local, address(family)?)));
        networks.filter(|_| self.snat)
    }

    /// Fails unless everything that ADD added is there. Errors: `codes::NOT_AS_ATTACHED`.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        self.try_check().context("the mapped ports")
    }

    fn try_check(&self) -> Result<(), Error> {
        let group = &self.group;
        let checked = self.check_in(&tables::shared(group), self.elements());
        if checked.is_ok() || !former::is_there(group)? {
            return checked;
        }
        let elements = former::elements(group, self.elements());
        self.check_in(&former::shared(group), elements).or(checked)
    }

    fn check_in(&self, shared: &Shared, elements: Vec<(String, Element)>) -> Result<(), Error> {
        shared.check()?;
        for (set, expected) in elements {
            let found = owned::check(FAMILY, &set, &expected.key, &self.owner)?;
            check_target(&set, &expected, &found)?;
        }
        for (set, address) in self.networks() {
            if !networks::has(FAMILY, set, &address)? {
                let network = address.trunc();
                return Err(wrong(format!(
                    "network {network} is missing in set `{set}`"
                )));
            }
        }
        Ok(())
    }

    /// The keys of the elements, and the set of each.
    fn keys(&self) -> Vec<(String, Vec<Value>)> {
        let elements = self.elements().into_iter();
        elements.map(|(set, element)| (set, element.key)).collect()
    }
}

fn port(mapping: &Mapping) -> [Value; 2] {
    let protocol = u32::from(mapping.protocol.number());
    [protocol.into(), u32::from(mapping.host_port).into()]
}

fn check_target(set: &str, expected: &Element, found: &Element) -> Result<(), Error> {
    let (ElementData::Values(expected), ElementData::Values(found)) = (&expected.data, &found.data)
    else {
        return Ok(());
    };
    let text = |values: &[Value]| {
        values
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(" . ")
    };
    if expected == found {
        Ok(())
    } else {
        Err(wrong(format!(
            "map `{set}`: expected {}, found {}",
            text(expected),
            text(found)
        )))
    }
}

/// Removes the attachment's elements: by their keys where the mappings are known; otherwise, or where some are
/// missing, by their comments.
pub fn remove(owner: &Owner, mapped: Option<&Mapped>) -> Result<(), Error> {
    let known = mapped.map(Mapped::keys).unwrap_or_default();
    owned::remove_or_reference(FAMILY, owner, &known, owned_sets)
        .context("cannot remove the port mappings")
}

/// Removes the elements of attachments that are not valid.
pub fn retain(request: &GcRequest<Config>) -> Result<(), Error> {
    let retained = || owned::retain(FAMILY, &owned_sets()?, &Valid::of(request));
    retained().context("cannot remove leftover port mappings")
}

/// The sets of all groups that have elements of attachments.
fn owned_sets() -> Result<Vec<String>, OperationError> {
    let sets = owned::if_any(firewall::list_sets(Namespace::Host, FAMILY))?;
    let mut sets = sets.unwrap_or_default();
    sets.retain(|set| tables::is_owned(set) || former::is_owned(set));
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use weir_sdk::{Args, IpConfig, Request};

    use super::*;

    fn mapped(config: &str) -> Mapped {
        let ip = |address: &str| IpConfig {
            interface: None,
            address: address.parse().unwrap(),
            gateway: None,
        };
        let request = Request {
            container_id: "5f3c".to_owned(),
            ifname: "eth0".to_owned(),
            network: "net".to_owned(),
            known_as: "net".to_owned(),
            args: Args::default(),
            config: serde_json::from_str::<Config>(config).unwrap(),
            previous: Some(weir_sdk::AddResult {
                ips: vec![ip("10.1.0.5/24"), ip("fd00::5/64")],
                ..weir_sdk::AddResult::default()
            }),
            has_container: true,
            sandbox: String::new(),
        };
        let addresses = Addresses::of(&request).unwrap();
        Mapped::new(Owner::of(&request), &request.config, &addresses).unwrap()
    }

    fn sets(config: &str) -> Vec<String> {
        mapped(config)
            .elements()
            .into_iter()
            .map(|(set, _)| set)
            .collect()
    }

    #[test]
    fn a_mapping_has_elements_for_each_family_of_the_container() {
        let one =
            r#"{"runtimeConfig": {"portMappings": [{"hostPort": 80, "containerPort": 8080}]}}"#;
        assert_eq!(sets(one), ["ports4", "hairpin4", "ports6", "hairpin6"]);
        let (set, element) = &mapped(one).elements()[0];
        let key: Vec<String> = element.key.iter().map(Value::to_string).collect();
        assert_eq!(
            (set.as_str(), key.join(" . ")),
            ("ports4", "6 . 80".to_owned())
        );
        let ElementData::Values(target) = &element.data else {
            panic!("no target");
        };
        assert_eq!(target[0].to_string(), "10.1.0.5");
        assert_eq!(target[1].to_string(), "8080");
        assert_eq!(element.comment.as_deref(), Some("net 5f3c eth0"));
    }

    #[test]
    fn an_address_of_the_host_is_part_of_the_key() {
        let at = r#"{"runtimeConfig": {"portMappings": [
            {"hostPort": 80, "containerPort": 8080, "hostIP": "192.0.2.1"}]}}"#;
        assert_eq!(sets(at), ["hostip4", "hairpin4"]);
        assert_eq!(mapped(at).elements()[0].1.key[0].to_string(), "192.0.2.1");
    }

    #[test]
    fn ways_back_are_for_none_or_for_all() {
        let with = |key: &str| {
            sets(&format!(
                r#"{{{key}, "runtimeConfig": {{"portMappings": [
                {{"hostPort": 80, "containerPort": 8080, "hostIP": "0.0.0.0"}}]}}}}"#
            ))
        };
        assert_eq!(with(r#""snat": false"#), ["ports4"]);
        assert_eq!(with(r#""masqAll": true"#), ["ports4", "masqall4"]);
        let marked = with(r#""markMasqBit": 3"#);
        assert!(marked[0].starts_with("ports4_") && marked[1].starts_with("hairpin4_"));
    }
}
