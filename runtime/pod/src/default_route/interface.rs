//! The attachments' interfaces in the container, each with its own gate, so that changes are recorded for its attachment.

use std::sync::Arc;

use weir_cni::{Command, Error};
use weir_gate::Gate;
use weir_grant::link::{Link, LinkFacts, LinkReference};
use weir_grant::{Invocation, Namespace};
use weir_kernel::Namespaces;
use weir_kernel::without_permit::find_link;
use weir_network::Attachment;
use weir_sandbox::Sandbox;

use super::Attached;
use crate::codes;

pub(super) struct Interface {
    /// The index of its attachment.
    pub index: usize,
    pub link: LinkFacts,
    pub up: bool,
    pub gate: Gate,
}

/// The interfaces of all attachments. An attachment may have none.
pub(super) fn of_all(
    sandbox: &Arc<Sandbox>,
    attachment: &Attachment,
    namespaces: &mut Namespaces,
    attached: &[Attached],
) -> Result<Vec<Interface>, Error> {
    let links = links(attachment, namespaces, attached)?;
    let names: Vec<String> = links.iter().map(|(_, link)| link.name.clone()).collect();
    let interfaces = links.into_iter().map(|(index, link)| {
        let invocation = Invocation::new(
            &attachment.container_id,
            &link.name,
            &attached[index].network,
        );
        Ok(Interface {
            index,
            link: link.facts(Namespace::Container),
            up: link.up,
            gate: sandbox.own_gate(Command::Add, invocation, &names)?,
        })
    });
    interfaces.collect()
}

/// The links that exist, each with the index of its attachment.
fn links(
    attachment: &Attachment,
    namespaces: &mut Namespaces,
    attached: &[Attached],
) -> Result<Vec<(usize, Link)>, Error> {
    let mut links: Vec<(usize, Link)> = Vec::new();
    for (index, one) in attached.iter().enumerate() {
        for name in names(one, &attachment.netns) {
            let reference = LinkReference::Name(name.to_owned());
            let container = namespaces.of(Namespace::Container);
            let found = container.and_then(|container| find_link(container, &reference));
            let link = match found {
                Err(error) if error.is_not_found() => continue,
                found => found.map_err(|e| failed(one, &e.to_string()))?,
            };
            // A chained plugin repeats the links before it: the first result that names one has it.
            if !links.iter().any(|(_, known)| known.index == link.index) {
                links.push((index, link));
            }
        }
    }
    Ok(links)
}

/// The requested interface, and the others in the result.
fn names<'a>(attached: &'a Attached, netns: &str) -> Vec<&'a str> {
    let inside = attached.result.interfaces.iter();
    let inside = inside.filter(|interface| interface.sandbox.as_deref() == Some(netns));
    let mut names = vec![attached.ifname.as_str()];
    for interface in inside {
        if !names.contains(&interface.name.as_str()) {
            names.push(&interface.name);
        }
    }
    names
}

pub(super) fn failed(attached: &Attached, why: &str) -> Error {
    let network = &attached.network;
    Error::new(
        codes::DEFAULT_ROUTE,
        format!("network `{network}`: default-route: {why}"),
    )
}
