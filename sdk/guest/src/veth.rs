//! The veth pair of an attachment: the container's interface, and its other end on the host.

use weir_cni::Mac;

use crate::check::{self, wrong};
use crate::digest::digest;
use crate::link::{self, Link, NewLink, NewPeer};
use crate::{
    AddResult, Context, Error, ErrorCode, Interface, LinkReference, Namespace, Outcome, Request,
    interface, sysctl,
};

/// The index of the container's interface in the result of a plugin that makes nothing but the pair:
/// [`Veth::interfaces`].
pub const CONTAINER_INTERFACE: u32 = 1;

/// How many names to try for the host's end.
const NAMES: u8 = 8;

/// The kind of both ends.
const KIND: &str = "veth";

/// A pair.
#[derive(Clone, Debug)]
pub struct Veth {
    /// The host's end.
    pub host: Link,
    /// The container's interface.
    pub container: Link,
}

/// What a pair is created with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The MTU of both ends, in bytes; none for the kernel's default.
    pub mtu: Option<u32>,
    /// The MAC of the container's interface; none for a random one.
    pub mac: Option<Mac>,
    /// The link that the host's end is a port of.
    pub master: Option<LinkReference>,
    /// Whether the host's end is set up.
    pub host_up: bool,
    /// Whether the container's interface is set up.
    pub container_up: bool,
}

impl Settings {
    /// Sets both ends up, with the kernel's defaults.
    pub fn up() -> Self {
        Settings {
            host_up: true,
            container_up: true,
            ..Settings::default()
        }
    }
}

/// Creates the pair of an attachment. The host's end ignores router advertisements: its routes are the plugin's.
///
/// Errors: [`EXISTS`](crate::codes::EXISTS) for an interface of that name in the container.
pub fn create<C>(request: &Request<C>, settings: &Settings) -> Result<Veth, Error> {
    let host = create_pair(request, settings)?;
    let container = request.container_interface()?;
    let key = sysctl::interface_key("ipv6.conf", &host.name, "accept_ra");
    // A kernel without IPv6 has no such key.
    sysctl::write(Namespace::Host, &key, "0")
        .found()
        .context(format!("cannot set accept_ra of `{}`", host.name))?;
    Ok(Veth { host, container })
}

/// Creates the pair with a free name for the host's end. The name follows from the attachment, because choosing
/// `vethN` makes the kernel search all links.
fn create_pair<C>(request: &Request<C>, settings: &Settings) -> Result<Link, Error> {
    let ifname = request.ifname.as_str();
    let peer = NewPeer {
        mac: settings.mac.map(Into::into),
        mtu: settings.mtu,
        up: settings.container_up,
        ..NewPeer::new(Namespace::Container, ifname)
    };
    for attempt in 0..NAMES {
        let created = link::create(NewLink {
            mtu: settings.mtu,
            up: settings.host_up,
            master: settings.master.clone(),
            ..NewLink::veth(Namespace::Host, host_name(request, attempt), peer.clone())
        });
        match created {
            Err(error) if error.code == ErrorCode::Exists => interface::refuse_existing(ifname)?,
            created => return created.context(format!("cannot create `{ifname}`")),
        }
    }
    let msg = format!("cannot create `{ifname}`: no name for the host's end is free");
    Err(Error::try_again_later(msg))
}

fn host_name<C>(request: &Request<C>, attempt: u8) -> String {
    let (id, ifname) = (&request.container_id, &request.ifname);
    let digest = digest(&format!("{id} {ifname} {attempt}"));
    format!("veth{}", &digest[..8])
}

/// Whether the host's end of an attachment has a name that [`create`] chooses. If not, another program attached the
/// container, and what else it set up is unknown.
pub fn is_named_by_us<C>(request: &Request<C>, host_end: &str) -> bool {
    (0..NAMES).any(|attempt| host_name(request, attempt) == host_end)
}

/// Fails unless the previous result's pair exists, each end with its MAC. Returns it. Errors:
/// [`NOT_AS_ATTACHED`](crate::codes::NOT_AS_ATTACHED).
pub fn check<C>(request: &Request<C>, previous: &AddResult) -> Result<Veth, Error> {
    let container = check::container_interface(request, previous, KIND)?;
    // The one with the name that we give is the end, and no other has to be read.
    let is_named = |interface: &&Interface| is_named_by_us(request, &interface.name);
    let others = previous.on_host().filter(|interface| !is_named(interface));
    for interface in previous.on_host().filter(is_named).chain(others) {
        let name = interface.name.as_str();
        let link = link::find(Namespace::Host, name);
        let link = link.context(format!("cannot read interface `{name}`"))?;
        if let Some(host) = link.filter(|host| Veth::is_pair(host, &container)) {
            check::mac(interface, &host)?;
            return Ok(Veth { host, container });
        }
    }
    let ifname = &container.name;
    Err(wrong(format!(
        "the host's end of `{ifname}` does not exist, or prevResult does not list it"
    )))
}

/// Fails unless the attachment is as ADD left it: the pair, as [`check()`] has it, and the previous result's addresses and
/// routes. Returns the pair. Errors: [`NOT_AS_ATTACHED`](crate::codes::NOT_AS_ATTACHED).
pub fn attached<C>(request: &Request<C>) -> Result<Veth, Error> {
    let previous = check::previous(request)?;
    let veth = check(request, previous)?;
    check::addresses(&request.ifname, &previous.ips)?;
    check::routes(previous)?;
    Ok(veth)
}

/// Deletes the container's interface, and with it the host's end, where the container exists.
pub fn delete<C>(request: &Request<C>) -> Result<(), Error> {
    interface::delete(request).map(drop)
}

impl Veth {
    /// Returns both ends for the result: the host's, then the container's.
    pub fn interfaces(&self, sandbox: String) -> [Interface; 2] {
        let container = interface::of_container(&self.container, sandbox);
        [self.host.interface(), container]
    }

    /// Whether two links are the ends of one pair.
    pub fn is_pair(host: &Link, container: &Link) -> bool {
        [host, container].iter().all(|link| link.kind == KIND)
            && host.lower == Some(container.index)
            && container.lower == Some(host.index)
    }
}
