//! The bridge on the host.

use weir_sdk::link::{self, BridgeChanges, Changes, Link, NewBridge, NewLink};
use weir_sdk::{Context, Error, ErrorCode, Interface, Namespace, Outcome, sysctl};

use crate::config::Config;

/// Creates the network's bridge where it is missing, and sets it up as configured. Returns it.
pub fn ensure(config: &Config) -> Result<Link, Error> {
    let bridge = match find(config)? {
        Some(bridge) => bridge,
        None => create(config)?,
    };
    adjust(config, &bridge)?;
    Ok(bridge)
}

fn find(config: &Config) -> Result<Option<Link>, Error> {
    let name = config.bridge.as_str();
    match link::get(Namespace::Host, name).found() {
        Ok(Some(link)) if link.kind != "bridge" => {
            let kind = &link.kind;
            let msg = format!("bridge: `{name}` exists and is of kind `{kind}`, not a bridge");
            Err(Error::invalid_config(msg))
        }
        // The grant does not show this plugin links of another kind.
        Err(error) if error.code == ErrorCode::Denied => {
            let msg = format!("bridge: `{name}` cannot be used as a bridge: {error}");
            Err(Error::invalid_config(msg))
        }
        other => other.context(format!("cannot look up bridge `{name}`")),
    }
}

fn create(config: &Config) -> Result<Link, Error> {
    let name = config.bridge.as_str();
    let settings = NewBridge {
        vlan_filtering: config.has_vlans().then_some(true),
        ..NewBridge::default()
    };
    let created = link::create(NewLink {
        mtu: config.mtu(),
        up: true,
        ..NewLink::bridge(Namespace::Host, name, settings)
    });
    match created {
        // Another ADD was faster.
        Err(error) if error.code == ErrorCode::Exists => find(config)?.ok_or_else(|| error.into()),
        created => created.context(format!("cannot create bridge `{name}`")),
    }
}

/// Configures a bridge that someone else may have made.
fn adjust(config: &Config, bridge: &Link) -> Result<(), Error> {
    let is_filtering = bridge.bridge().is_some_and(|bridge| bridge.vlan_filtering);
    if config.has_vlans() && !is_filtering {
        let changes = BridgeChanges {
            vlan_filtering: Some(true),
            ..BridgeChanges::default()
        };
        link::update_bridge(Namespace::Host, bridge, changes)
            .context(format!("cannot make bridge `{}` filter VLANs", bridge.name))?;
    }
    let changes = Changes {
        up: (!bridge.up).then_some(true),
        promiscuous: (config.promisc_mode && !bridge.promiscuous).then_some(true),
        ..Changes::default()
    };
    if changes.up.is_some() || changes.promiscuous.is_some() {
        link::update(Namespace::Host, bridge, changes)
            .context(format!("cannot set bridge `{}` up", bridge.name))?;
    }
    refuse_router_advertisements(&bridge.name)
}

/// Makes the bridge ignore router advertisements: its routes are this plugin's.
fn refuse_router_advertisements(bridge: &str) -> Result<(), Error> {
    let key = sysctl::interface_key("ipv6.conf", bridge, "accept_ra");
    // A kernel without IPv6 has no such key.
    sysctl::ensure(Namespace::Host, &key, "0")
        .found()
        .map(drop)
        .context(format!("cannot set accept_ra of `{bridge}`"))
}

/// Returns the bridge in the result, read again: its MAC may have changed with its first port.
pub fn interface(bridge: &Link) -> Result<Interface, Error> {
    let bridge = link::get(Namespace::Host, bridge).context("cannot read the bridge again")?;
    Ok(bridge.interface())
}
