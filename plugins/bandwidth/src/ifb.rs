//! The ifb: traffic that the container sends leaves through it, so that it can be shaped.
//!
//! Its name is the reference plugin's, `bwp` and digits that follow from network and container, so
//! that each plugin's DEL removes what the other's ADD made. A second attachment of one container to
//! one network, which the reference plugin does not know, has a name that follows from its interface
//! as well. The alias, which weir sets, names an ifb's owner.

use std::fmt::Write;

use sha2::{Digest, Sha512};
use weir_sdk::check::{self, wrong};
use weir_sdk::link::{self, Link, NewKind, NewLink};
use weir_sdk::owner::{Owner, Valid};
use weir_sdk::{
    AddResult, Context, Error, ErrorCode, GcRequest, Namespace, OperationError, Request, codes,
};

const KIND: &str = "ifb";
const PREFIX: &str = "bwp";

/// The bytes of the digest that make a name of 15 characters.
const DIGEST_BYTES: usize = 6;

/// Packets: waiting packets need room, and an ifb's default is small.
const LEAST_QUEUE: u32 = 1000;

/// Creates the attachment's ifb for packets of the host's end. Errors: [`codes::EXISTS`].
pub fn create<C>(request: &Request<C>, host: &Link) -> Result<Link, Error> {
    let names = names(&request.network, &request.container_id, &request.ifname);
    for name in &names {
        let created = link::create(NewLink {
            mtu: Some(host.mtu),
            txqlen: Some(host.txqlen.max(LEAST_QUEUE)),
            up: true,
            ..NewLink::new(Namespace::Host, name, NewKind::Ifb)
        });
        match created {
            // It belongs to another interface of the container.
            Err(error) if error.code == ErrorCode::Exists => {}
            created => return created.context(format!("cannot create `{name}`")),
        }
    }
    let [first, second] = names;
    let msg = format!("cannot create an ifb: `{first}` and `{second}` exist already");
    Err(Error::new(codes::EXISTS, msg))
}

/// The name that the reference plugin uses, and the one for a second attachment of the container.
fn names(network: &str, container_id: &str, ifname: &str) -> [String; 2] {
    [
        name(&format!("{network}{container_id}")),
        // No network or id contains a space, so this is never a first name.
        name(&format!("{network} {container_id} {ifname}")),
    ]
}

fn name(text: &str) -> String {
    let mut name = PREFIX.to_owned();
    for byte in &Sha512::digest(text.as_bytes())[..DIGEST_BYTES] {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Finds the attachment's ifbs: more than one only if an ADD was not followed by a DEL.
pub fn find<C>(request: &Request<C>) -> Result<Vec<Link>, Error> {
    let names = names(&request.network, &request.container_id, &request.ifname);
    let found = names.map(|name| link::find(Namespace::Host, name).transpose());
    let found: Result<Vec<Link>, OperationError> = found.into_iter().flatten().collect();
    let found = found.context("cannot look for the container's ifb")?;
    Ok(of_attachment(found, &Owner::of(request)))
}

/// Selects, of the ifbs with the attachment's names, those that it owns, or else the one without an owner, which the
/// reference plugin made.
fn of_attachment(mut found: Vec<Link>, owner: &Owner) -> Vec<Link> {
    if found.iter().any(|link| owner.has(&link.alias)) {
        found.retain(|link| owner.has(&link.alias));
    } else {
        found.retain(|link| link.alias.is_empty());
    }
    found
}

/// Checks the ifb that the previous result names, and returns it.
pub fn check<C>(request: &Request<C>, previous: &AddResult, host: &Link) -> Result<Link, Error> {
    let found = find(request)?;
    let is_ours = |name: &str| found.iter().any(|link| link.name == name);
    let interface = previous
        .on_host()
        .find(|interface| is_ours(&interface.name))
        .ok_or_else(|| wrong("no ifb of the attachment is among the interfaces of prevResult"))?;
    let ifb = check::interface(interface, Namespace::Host, KIND)?;
    let name = &ifb.name;
    if !ifb.up {
        return Err(wrong(format!("interface `{name}` is down")));
    }
    check::property(&ifb, "MTU", host.mtu, ifb.mtu)?;
    Ok(ifb)
}

/// Removes ifbs from the host.
pub fn remove<'a>(ifbs: impl IntoIterator<Item = &'a Link>) -> Result<(), Error> {
    link::delete_all(Namespace::Host, ifbs).context("cannot delete the ifbs")
}

/// Removes the ifbs of attachments that are not valid. One without an owner stays: only the reference plugin's DEL
/// can tell whose it is.
pub fn retain<C>(request: &GcRequest<C>) -> Result<(), Error> {
    let all = link::list(Namespace::Host, Some(KIND), None).context("cannot list ifbs")?;
    let valid = Valid::of(request);
    remove(all.iter().filter(|link| valid.is_garbage(&link.alias)))
}

#[cfg(test)]
mod tests {
    use weir_sdk::link::{Details, OperState};

    use super::*;

    #[test]
    fn the_first_name_is_the_reference_plugins() {
        // printf 'netdifferential-1' | sha512sum, and so on.
        for (network, container_id, expected) in [
            ("net", "differential-1", "bwp16d621c1e549"),
            ("cni-plugin-bandwidth-test", "dummy", "bwpa8eda89404b7"),
            ("", "", "bwpcf83e1357eef"),
        ] {
            assert_eq!(names(network, container_id, "eth0")[0], expected);
            assert_eq!(names(network, container_id, "net1")[0], expected);
        }
    }

    #[test]
    fn the_second_name_follows_from_the_interface_as_well() {
        // printf 'net differential-1 net1' | sha512sum
        assert_eq!(names("net", "differential-1", "net1")[1], "bwp690e0700ae3d");
        let of = |ifname| names("net", "differential-1", ifname);
        assert_ne!(of("net1")[1], of("net2")[1]);
        assert!(of("a-name-of-15-by").iter().all(|name| name.len() == 15));
    }

    fn ifb(name: &str, alias: &str) -> Link {
        Link {
            index: 7,
            name: name.to_owned(),
            alternative_names: Vec::new(),
            kind: KIND.to_owned(),
            mac: Vec::new(),
            mtu: 1500,
            txqlen: 1000,
            up: true,
            oper_state: OperState::Unknown,
            promiscuous: false,
            all_multicast: false,
            master: None,
            lower: None,
            alias: alias.to_owned(),
            details: Details::None,
            port: None,
        }
    }

    fn found(links: &[(&str, &str)]) -> Vec<String> {
        let links = links.iter().map(|(name, alias)| ifb(name, alias)).collect();
        let own = of_attachment(links, &Owner::new("net", "5f3c", "eth0"));
        own.into_iter().map(|link| link.name).collect()
    }

    #[test]
    fn an_attachments_ifbs_are_its_own_or_else_the_one_without_owner() {
        let (own, other) = ("net 5f3c eth0", "net 5f3c net1");
        assert_eq!(found(&[("one", own), ("two", "")]), ["one"]);
        assert_eq!(found(&[("one", other), ("two", own)]), ["two"]);
        assert_eq!(found(&[("one", own), ("two", own)]), ["one", "two"]);
        assert_eq!(found(&[("one", "")]), ["one"]);
        assert!(found(&[("one", other)]).is_empty());
        assert!(found(&[("one", "somebody's")]).is_empty());
    }
}
