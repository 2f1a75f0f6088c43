//! New links: one message that makes the link in its namespace, with its name and all it has.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkMessage};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::link::{Create, Link, LinkFacts, NewKind, NewPeer};

use super::find::is_name_taken;
use super::message::{attributes, info, into_namespace, of_kind, refused_mac, set_up};
use super::undo::LinkHistory as _;
use super::update::alias_attribute;
use super::{about, by_name, name, tap, update};
use crate::error::{Error, Result};
use crate::linux::Linux;
use crate::namespace::{Namespaces, NetworkNamespace};
use crate::netlink::NEW;
use crate::perform::{Changes, Perform};

/// How often another random name is tried.
const NAME_ATTEMPTS: u32 = 4;

/// The queues of each end of a veth pair. By default the kernel uses one as well, but allocates one per processor, and
/// waits for RCU grace periods to disable the others.
const ONE_QUEUE: [LinkAttribute; 2] =
    [LinkAttribute::NumTxQueues(1), LinkAttribute::NumRxQueues(1)];

/// Creates a link and returns it. A failure leaves no link behind.
///
/// Errors: `Exists`, saying where the name is taken; `NotFound` for a lower or a master that is
/// gone; `Unsupported` if the kernel lacks the kind; `Invalid` with the kernel's reason.
impl Perform<Create, Link> for Linux {
    fn perform(&mut self, permit: &Permit<Create>, changes: &mut Changes<'_>) -> Result<Link> {
        let wanted = permit.operation();
        let failed = |e: Error| refused_mac(e).while_doing(Title(wanted));
        let _lock = match &wanted.kind {
            NewKind::Ipvlan { lower, mode } => {
                self.keep_ipvlan_mode(lower, *mode).map_err(failed)?
            }
            _ => None,
        };
        let link = make(&mut self.namespaces, wanted).map_err(failed)?;
        self.note_created(wanted, &link, changes);
        Ok(link)
    }
}

fn make(namespaces: &mut Namespaces, wanted: &Create) -> Result<Link> {
    check(wanted)?;
    let made = match &wanted.kind {
        NewKind::Veth { peer } => veth(namespaces, wanted, peer)?,
        NewKind::Tap(new) => tap::create(namespaces.of(wanted.namespace)?, wanted, new)?,
        NewKind::Macvlan { lower, .. }
        | NewKind::Ipvlan { lower, .. }
        | NewKind::Vlan { lower, .. }
            if lower.namespace != wanted.namespace =>
        {
            from_other_namespace(namespaces, wanted, lower)?
        }
        _ => plain(namespaces.of(wanted.namespace)?, wanted)?,
    };
    finish(namespaces.of(wanted.namespace)?, wanted, made)
}

fn check(wanted: &Create) -> Result<()> {
    if wanted.name.is_empty() && !matches!(wanted.kind, NewKind::Veth { .. }) {
        return Err(Error::invalid("only a veth can be created without a name"));
    }
    match &wanted.master {
        Some(master) if master.namespace != wanted.namespace => Err(Error::invalid(format!(
            "the master is in {}, and the link would be in {}",
            master.namespace, wanted.namespace
        ))),
        _ => Ok(()),
    }
}

/// A pair of veths, each end in its namespace from the start.
fn veth(namespaces: &mut Namespaces, wanted: &Create, peer: &NewPeer) -> Result<Link> {
    for _ in 0..NAME_ATTEMPTS {
        let this = chosen(&wanted.name);
        let other = chosen(&peer.name);
        let mut message = common(wanted, &this);
        message.attributes.extend(ONE_QUEUE);
        let peer_message = peer_end(namespaces, wanted.namespace, peer, &other)?;
        let data = InfoData::Veth(InfoVeth::Peer(peer_message));
        message.attributes.push(info(InfoKind::Veth, Some(data)));
        match send_new(namespaces.of(wanted.namespace)?, message) {
            Ok(()) => return complete_pair(namespaces, (wanted.namespace, &this), peer, &other),
            Err(error) if error.is(Errno::EEXIST) => {
                explain_taken(namespaces.of(wanted.namespace)?, &wanted.name, &this)?;
                explain_taken(namespaces.of(peer.namespace)?, &peer.name, &other)?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::exists("every name that was tried is taken"))
}

/// Sets the peer up if wanted, and its alias. In the first message the kernel refuses the former, because the peer has no
/// other end yet, and ignores the latter.
fn complete_pair(
    namespaces: &mut Namespaces,
    (namespace, this): (Namespace, &str),
    peer: &NewPeer,
    other: &str,
) -> Result<Link> {
    let mut message = by_name(other);
    set_up(&mut message, peer.up);
    let alias = peer.owner.as_deref().map(alias_attribute);
    let is_complete = !peer.up && alias.is_none();
    message.attributes.extend(alias);
    let completed = if is_complete {
        Ok(())
    } else {
        namespaces.of(peer.namespace)?.change_link(message)
    };
    let namespace = namespaces.of(namespace)?;
    let pair = completed.and_then(|()| namespace.link(by_name(this)));
    pair.inspect_err(|_| {
        if let Ok(made) = namespace.link(by_name(this)) {
            namespace.discard_link(made.index);
        }
    })
}

/// The requested name, or a random one.
fn chosen(name: &str) -> String {
    match name {
        "" => name::random("veth"),
        name => name.to_owned(),
    }
}

/// Fails with `Exists` if the name was `requested` and is taken. A taken random name is not an error.
fn explain_taken(namespace: &mut NetworkNamespace, requested: &str, name: &str) -> Result<()> {
    if !requested.is_empty() && is_name_taken(namespace, name)? {
        return Err(namespace.name_taken(name));
    }
    Ok(())
}

/// `VETH_INFO_PEER`.
fn peer_end(
    namespaces: &mut Namespaces,
    from: Namespace,
    peer: &NewPeer,
    name: &str,
) -> Result<LinkMessage> {
    let mut message = by_name(name);
    if peer.namespace != from {
        let there = into_namespace(namespaces.of(peer.namespace)?)?;
        message.attributes.push(there);
    }
    let mac = peer.mac.as_ref();
    let mac = mac.map(|mac| LinkAttribute::Address(mac.0.clone()));
    let mtu = peer.mtu.map(LinkAttribute::Mtu);
    message.attributes.extend(mac.into_iter().chain(mtu));
    message.attributes.extend(ONE_QUEUE);
    Ok(message)
}

/// A link that needs nothing from another namespace.
fn plain(namespace: &mut NetworkNamespace, wanted: &Create) -> Result<Link> {
    let mut message = common(wanted, &wanted.name);
    message.attributes.extend(of_kind(&wanted.kind));
    match send_new(namespace, message) {
        Ok(()) => namespace.link(by_name(&wanted.name)),
        // Also the answer for a macvlan whose lower device is taken in passthru mode.
        Err(error) if error.is(Errno::EEXIST) => {
            explain_taken(namespace, &wanted.name, &wanted.name)?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// A link over a lower device in the other namespace. The request goes to the lower's namespace and names the link's.
///
/// Kernels before 6.14 look the new name up in the namespace of the request instead of the link's.
/// If it is taken there, as `eth0` mostly is, the link gets its name in a second step.
fn from_other_namespace(
    namespaces: &mut Namespaces,
    wanted: &Create,
    lower: &LinkFacts,
) -> Result<Link> {
    let there = into_namespace(namespaces.of(wanted.namespace)?)?;
    let message = |name: &str| {
        let mut message = common(wanted, name);
        message.attributes.extend(of_kind(&wanted.kind));
        message.attributes.push(there.clone());
        message
    };
    let sent = send_new(namespaces.of(lower.namespace)?, message(&wanted.name));
    let own = namespaces.of(wanted.namespace)?;
    match sent {
        Ok(()) => return own.link(by_name(&wanted.name)),
        Err(error) if !error.is(Errno::EEXIST) => return Err(error),
        Err(_) if is_name_taken(own, &wanted.name)? => {
            return Err(own.name_taken(&wanted.name));
        }
        Err(_) => {}
    }
    let interim = name::random("weir");
    let mut message = message(&interim);
    set_up(&mut message, false);
    send_new(namespaces.of(lower.namespace)?, message)?;
    let own = namespaces.of(wanted.namespace)?;
    let made = own.link(by_name(&interim))?;
    let mut message = about(made.index, [LinkAttribute::IfName(wanted.name.clone())]);
    set_up(&mut message, wanted.up);
    let named = own
        .change_link(message)
        .and_then(|()| own.link(by_name(&wanted.name)));
    named.inspect_err(|_| own.discard_link(made.index))
}

fn send_new(namespace: &mut NetworkNamespace, message: LinkMessage) -> Result<()> {
    let message = RouteNetlinkMessage::NewLink(message);
    namespace.route()?.change(message, NEW)
}

/// Sets what the kernel does not take in the first message, and checks what it may ignore.
fn finish(namespace: &mut NetworkNamespace, wanted: &Create, mut made: Link) -> Result<Link> {
    let alias = wanted.owner.as_ref().or(wanted.alias.as_ref());
    let complete = check_bridge(wanted, &made).and_then(|()| match alias {
        Some(alias) => namespace.change_link(about(made.index, [alias_attribute(alias)])),
        None => Ok(()),
    });
    complete.inspect_err(|_| namespace.discard_link(made.index))?;
    if let Some(alias) = alias {
        made.alias.clone_from(alias);
    }
    Ok(made)
}

/// A kernel without bridge VLANs ignores a default PVID.
fn check_bridge(wanted: &Create, made: &Link) -> Result<()> {
    match &wanted.kind {
        NewKind::Bridge(settings) => update::check_pvid(settings, &made.details),
        _ => Ok(()),
    }
}

/// The attributes that links of all kinds have.
fn common(wanted: &Create, name: &str) -> LinkMessage {
    let mut message = by_name(name);
    message.attributes.extend(attributes(wanted));
    set_up(&mut message, wanted.up);
    message
}

/// The link to create, for error messages.
struct Title<'a>(&'a Create);

impl std::fmt::Display for Title<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Create {
            namespace,
            name,
            kind,
            mtu,
            ..
        } = self.0;
        write!(f, "create {}", kind.word())?;
        if !name.is_empty() {
            write!(f, " `{name}`")?;
        }
        write!(f, " in {namespace}")?;
        if let NewKind::Veth { peer } = kind
            && !peer.name.is_empty()
        {
            write!(f, " with peer `{}` in {}", peer.name, peer.namespace)?;
        }
        // For a veth, the kernel does not say what is wrong with it.
        if let Some(mtu) = mtu {
            write!(f, ", MTU {mtu}")?;
        }
        Ok(())
    }
}
