//! The veth pair: one end a port of the bridge, the other the container's interface.

use weir_sdk::link::{self, BridgeVlan, Link, OperState, PortChanges};
use weir_sdk::owner::Owner;
use weir_sdk::veth::{self, Settings, Veth};
use weir_sdk::{Context, Error, Mac, Namespace, Request};

use crate::antispoof;
use crate::config::Config;

/// How long the host's end may take to be up, in milliseconds.
const UP_TIMEOUT: u32 = 3000;

/// Creates the pair with its port set up. The port forwards nothing before that is done.
pub fn create(
    request: &Request<Config>,
    owner: &Owner,
    bridge: &Link,
    mac: Option<Mac>,
) -> Result<Veth, Error> {
    let config = &request.config;
    let is_plain = !config.has_vlans() && !config.macspoofchk && !config.port_isolation;
    let settings = Settings {
        mtu: config.mtu(),
        mac,
        master: Some(bridge.into()),
        host_up: is_plain,
        container_up: !config.disable_container_interface,
    };
    let veth = veth::create(request, &settings)?;
    set_up_port(config, &veth.host)?;
    if config.macspoofchk {
        antispoof::add(owner, &veth.host.name, &veth.container)?;
    }
    if !is_plain {
        let doing = format!("cannot set `{}` up", veth.host.name);
        link::set_up(Namespace::Host, &veth.host).context(doing)?;
    }
    Ok(veth)
}

/// Sets flags and VLANs of the bridge's port.
fn set_up_port(config: &Config, port: &Link) -> Result<(), Error> {
    let flags = PortChanges {
        hairpin: config.hairpin_mode.then_some(true),
        isolated: config.port_isolation.then_some(true),
    };
    if flags.hairpin.is_some() || flags.isolated.is_some() {
        link::update_port(Namespace::Host, port, flags)
            .context(format!("cannot set the flags of port `{}`", port.name))?;
    }
    set_vlans(config, port, &config.port_vlans())
}

/// Puts a port into VLANs, and takes it out of the default one unless that is to be preserved.
pub fn set_vlans(config: &Config, port: &Link, vlans: &[BridgeVlan]) -> Result<(), Error> {
    if vlans.is_empty() {
        return Ok(());
    }
    let doing = || format!("cannot set the VLANs of port `{}`", port.name);
    if !config.preserve_default_vlan {
        let defaults = link::list_vlans(Namespace::Host, port).context(doing())?;
        if !defaults.is_empty() {
            link::delete_vlans(Namespace::Host, port, &defaults).context(doing())?;
        }
    }
    link::add_vlans(Namespace::Host, port, vlans).context(doing())
}

/// Waits until the bridge forwards to the container, and reads the host's end again: what
/// manages the host's links may have changed its MAC.
pub fn wait_until_up(mut veth: Veth, config: &Config) -> Result<Veth, Error> {
    let read = |veth: &Veth| {
        let doing = format!("cannot read `{}` again", veth.host.name);
        link::get(Namespace::Host, &veth.host).context(doing)
    };
    let host = read(&veth)?;
    let must_wait = !config.disable_container_interface && host.oper_state != OperState::Up;
    veth.host = host;
    if must_wait {
        link::wait_up(Namespace::Host, &veth.host, UP_TIMEOUT)
            .context(format!("bridge port `{}` does not come up", veth.host.name))?;
        veth.host = read(&veth)?;
    }
    Ok(veth)
}
