//! The bridge that the container is on, and its port there, from the previous result.

use weir_sdk::link::{self, Link};
use weir_sdk::{AddResult, Context, Error, Interface, Namespace};

use crate::config::IngressPolicy;

/// Where the container is attached.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The bridge's name.
    pub bridge: String,
    /// The name of the container's port.
    pub port: String,
}

impl Attached {
    /// Errors: code 7 where the previous result names no bridge with a port.
    pub fn of(policy: IngressPolicy, previous: &AddResult) -> Result<Self, Error> {
        let links = host_links(previous)?;
        let bridge = links.iter().find(|link| link.kind == "bridge");
        let is_port =
            |link: &&Link| link.master.is_some() && link.master == bridge.map(|b| b.index);
        let port = links.iter().find(is_port);
        match (bridge, port) {
            (Some(bridge), Some(port)) => Ok(Attached {
                bridge: bridge.name.clone(),
                port: port.name.clone(),
            }),
            _ => Err(Error::invalid_config(format!(
                "ingressPolicy: `{policy}` needs a bridge, and prevResult names none with a port of \
                 this container: put firewall after bridge in the list"
            ))),
        }
    }
}

/// The previous result's links on the host that exist and that the grant shows.
fn host_links(previous: &AddResult) -> Result<Vec<Link>, Error> {
    let mut links = Vec::new();
    for Interface { name, .. } in previous.on_host() {
        let found = link::find(Namespace::Host, name);
        links.extend(found.context(format!("cannot look up `{name}`"))?);
    }
    Ok(links)
}
