//! The attachments' interfaces in the container, each with a gate of its own: what is done to one is
//! allowed, and recorded, as of its attachment.

use std::sync::Arc;

use weir_cni::{Command, Error};
use weir_gate::Gate;
use weir_grant::link::{Link, LinkFacts, LinkReference};
use weir_grant::{Invocation, Namespace};
use weir_kernel::Namespaces;
use weir_kernel::without_permit::find_link;
use weir_network::Attachment;
use weir_sandbox::Sandbox;

use super::Made;
use crate::codes;

/// One interface.
pub(super) struct Interface {
    /// The place of its attachment among all.
    pub place: usize,
    pub link: LinkFacts,
    pub up: bool,
    pub gate: Gate,
}

/// Those of all attachments. An attachment whose plugins made none has none.
pub(super) fn of_all(
    sandbox: &Arc<Sandbox>,
    attachment: &Attachment,
    namespaces: &mut Namespaces,
    made: &[Made],
) -> Result<Vec<Interface>, Error> {
    let links = links(attachment, namespaces, made)?;
    let names: Vec<String> = links.iter().map(|(_, link)| link.name.clone()).collect();
    let interfaces = links.into_iter().map(|(place, link)| {
        let invocation = Invocation {
            container_id: attachment.container_id.clone(),
            ifname: link.name.clone(),
            network: made[place].network.clone(),
        };
        Ok(Interface {
            place,
            link: link.facts(Namespace::Container),
            up: link.up,
            gate: sandbox.own_gate(Command::Add, invocation, &names)?,
        })
    });
    interfaces.collect()
}

/// The links that are there, each with the place of its attachment.
fn links(
    attachment: &Attachment,
    namespaces: &mut Namespaces,
    made: &[Made],
) -> Result<Vec<(usize, Link)>, Error> {
    let mut links: Vec<(usize, Link)> = Vec::new();
    for (place, one) in made.iter().enumerate() {
        for name in names(one, &attachment.netns) {
            let reference = LinkReference::Name(name.to_owned());
            let container = namespaces.of(Namespace::Container);
            let found = container.and_then(|container| find_link(container, &reference));
            let link = match found {
                Err(error) if error.is_not_found() => continue,
                found => found.map_err(|e| failed(one, &e.to_string()))?,
            };
            // One that several results name is the first's: a chained plugin repeats what is there.
            if !links.iter().any(|(_, known)| known.index == link.index) {
                links.push((place, link));
            }
        }
    }
    Ok(links)
}

/// The interface that the attachment was asked for, and those that its result tells of besides.
fn names<'a>(made: &'a Made, netns: &str) -> Vec<&'a str> {
    let inside = made.result.interfaces.iter();
    let inside = inside.filter(|interface| interface.sandbox.as_deref() == Some(netns));
    let mut names = vec![made.ifname.as_str()];
    for interface in inside {
        if !names.contains(&interface.name.as_str()) {
            names.push(&interface.name);
        }
    }
    names
}

/// What cannot be done for an attachment.
pub(super) fn failed(made: &Made, why: &str) -> Error {
    let network = &made.network;
    Error::new(
        codes::DEFAULT_ROUTE,
        format!("network `{network}`: default-route: {why}"),
    )
}
