//! The veth pair: one end a port of the bridge, the other the container's interface.

use weir_sdk::link::{self, Link, NewLink, NewPeer, OperState, PortChanges};
use weir_sdk::{Context, Error, ErrorCode, Mac, Namespace, Outcome, Request, log, sysctl};

use crate::antispoof;
use crate::bridge::refuse_router_advertisements;
use crate::config::Config;
use crate::owned::{Owner, digest};

/// How long the host's end may take to be up, in milliseconds.
const UP_TIMEOUT: u32 = 3000;

/// How many names for the host's end are tried.
const NAMES: u8 = 8;

/// A pair.
pub struct Veth {
    /// The port of the bridge.
    pub host: Link,
    /// The container's interface.
    pub container: Link,
}

/// Creates the pair with its port set up. The port forwards nothing before that is done.
pub fn create(
    request: &Request<Config>,
    owner: &Owner,
    bridge: &Link,
    mac: Option<Mac>,
) -> Result<Veth, Error> {
    let config = &request.config;
    let is_plain = !config.has_vlans() && !config.macspoofchk && !config.port_isolation;
    let peer = NewPeer {
        mac,
        mtu: config.mtu(),
        up: !config.disable_container_interface,
        ..NewPeer::new(Namespace::Container, &request.ifname)
    };
    let host = create_pair(request, bridge, peer, is_plain)?;
    let container = link::get(Namespace::Container, request.ifname.as_str())
        .context("could not read the container's interface")?;

    refuse_router_advertisements(&host.name, sysctl::write)?;
    set_up_port(config, &host)?;
    if config.macspoofchk {
        antispoof::add(owner, &host.name, mac_of(&container)?)?;
    }
    if !is_plain {
        let doing = format!("could not set \"{}\" up", host.name);
        link::set_up(Namespace::Host, &host).context(doing)?;
    }
    Ok(Veth { host, container })
}

/// Creates the pair under a name of the host's end that is free. The name follows from the
/// attachment: choosing `vethN` would make the kernel look at all links.
fn create_pair(
    request: &Request<Config>,
    bridge: &Link,
    peer: NewPeer,
    up: bool,
) -> Result<Link, Error> {
    let ifname = request.ifname.as_str();
    for attempt in 0..NAMES {
        let created = link::create(NewLink {
            mtu: request.config.mtu(),
            up,
            master: Some(bridge.into()),
            ..NewLink::veth(Namespace::Host, host_name(request, attempt), peer.clone())
        });
        match created {
            Err(error) if error.code == ErrorCode::Exists => refuse_existing(ifname)?,
            created => return created.context(format!("could not create \"{ifname}\"")),
        }
    }
    let msg = format!("could not create \"{ifname}\": no name for the host's end is free");
    Err(Error::try_again_later(msg))
}

fn host_name(request: &Request<Config>, attempt: u8) -> String {
    let (id, ifname) = (&request.container_id, &request.ifname);
    let digest = digest(&format!("{id} {ifname} {attempt}"));
    format!("veth{}", &digest[..8])
}

/// Fails if it is the container's interface that exists, and not the host's end.
fn refuse_existing(ifname: &str) -> Result<(), Error> {
    match link::get(Namespace::Container, ifname).found() {
        Ok(None) => Ok(()),
        _ => {
            let msg = format!("interface \"{ifname}\" exists already in the container");
            Err(Error::new(weir_sdk::codes::EXISTS, msg))
        }
    }
}

fn mac_of(link: &Link) -> Result<Mac, Error> {
    let missing = || Error::internal(format!("interface \"{}\" has no MAC", link.name));
    link.mac.ok_or_else(missing)
}

/// Sets flags and VLANs of the bridge's port.
fn set_up_port(config: &Config, port: &Link) -> Result<(), Error> {
    let flags = PortChanges {
        hairpin: config.hairpin_mode.then_some(true),
        isolated: config.port_isolation.then_some(true),
    };
    if flags.hairpin.is_some() || flags.isolated.is_some() {
        link::update_port(Namespace::Host, port, flags)
            .context(format!("could not set the flags of port \"{}\"", port.name))?;
    }
    set_vlans(config, port)
}

/// Puts a port into its VLANs, and takes it out of the default one unless that is to be preserved.
pub fn set_vlans(config: &Config, port: &Link) -> Result<(), Error> {
    let vlans = config.port_vlans();
    if vlans.is_empty() {
        return Ok(());
    }
    let doing = || format!("could not set the VLANs of port \"{}\"", port.name);
    if !config.preserve_default_vlan {
        let defaults = link::list_vlans(Namespace::Host, port).context(doing())?;
        if !defaults.is_empty() {
            link::delete_vlans(Namespace::Host, port, &defaults).context(doing())?;
        }
    }
    link::add_vlans(Namespace::Host, port, &vlans).context(doing())
}

impl Veth {
    /// Waits until the bridge forwards to the container, and reads the host's end again: what
    /// manages the host's links may have changed its MAC.
    pub fn wait_until_up(mut self, config: &Config) -> Result<Veth, Error> {
        let read = |veth: &Veth| {
            let doing = format!("could not read \"{}\" again", veth.host.name);
            link::get(Namespace::Host, &veth.host).context(doing)
        };
        let host = read(&self)?;
        let must_wait = !config.disable_container_interface && host.oper_state != OperState::Up;
        self.host = host;
        if must_wait {
            link::wait_up(Namespace::Host, &self.host, UP_TIMEOUT).context(format!(
                "bridge port \"{}\" does not come up",
                self.host.name
            ))?;
            self.host = read(&self)?;
        }
        Ok(self)
    }
}

/// Deletes the container's interface, and with it the host's end, where the container exists.
pub fn delete(request: &Request<Config>) -> Option<Result<(), Error>> {
    if !request.has_container {
        return None;
    }
    let ifname = request.ifname.as_str();
    match link::delete(Namespace::Container, ifname).found() {
        // The grant lets this plugin touch veths alone: it is another's interface of that name, which
        // made ADD fail, and it stays.
        Err(error) if error.code == ErrorCode::Denied => {
            let fields = [("link", ifname), ("error", error.message.as_str())];
            log::warn(
                "the container's interface is not a veth and was left alone",
                &fields,
            );
            Some(Ok(()))
        }
        deleted => Some(
            deleted
                .map(drop)
                .context(format!("could not delete \"{ifname}\"")),
        ),
    }
}
