//! The configurations of the standard plugins, read with the SDK as the plugins do: strictly as for
//! ADD, and leniently as for DEL. A configuration that ADD accepts must be one that DEL can read, or
//! what was made of it could not be removed.

use std::fmt::Debug;

use weir_sdk::{Args, Component, IpFamily, Plugin};

/// One input: a letter for the plugin, and a text.
pub fn check(input: &[u8]) {
    let Some((plugin, text)) = input.split_first() else {
        return;
    };
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    match plugin {
        b'b' => read::<bridge::Bridge>(text, |config| {
            let _ = (config.mtu(), config.mac(&Args::default()));
            let _ = (config.vlan_interface(), config.port_vlans());
        }),
        b'd' => read::<dummy::Dummy>(text, |_| {}),
        b'e' => read::<host_device::HostDevice>(text, |config| {
            let _ = config.selector();
        }),
        b'f' => read::<firewall::Firewall>(text, |config| {
            let _ = (config.admin_chain(), config.zone());
        }),
        b'h' => read::<host_local::HostLocal>(text, |config| {
            let _ = (
                host_local::config::range_sets(config),
                config.ipam.data_dir(),
            );
        }),
        b'l' => read::<loopback::Loopback>(text, |_| {}),
        b'm' => read::<portmap::Portmap>(text, |config| {
            let _ = (config.mark_bit(), config.mappings());
        }),
        b'v' => read::<macvlan::Macvlan>(text, |config| {
            let _ = config.mac(&Args::default());
        }),
        b'i' => read::<ipvlan::Ipvlan>(text, |_| {}),
        b'w' => read::<vlan::Vlan>(text, |_| {}),
        b'p' => read::<ptp::Ptp>(text, |config| {
            let _ = config.mtu();
        }),
        b'r' => read::<sbr::Sbr>(text, |config| {
            let _ = config.gateway(IpFamily::Ipv6);
        }),
        b's' => read::<static_plugin::Static>(text, |_| {}),
        b'a' => read::<tap::Tap>(text, |config| {
            let _ = (config.mac(&Args::default()), config.device());
        }),
        b't' => read::<tuning::Tuning>(text, |config| {
            let _ = config.attributes(&Args::default());
        }),
        b'x' => read::<vrf::Vrf>(text, |_| {}),
        _ => read::<bandwidth::Bandwidth>(text, |config| {
            let _ = config.shaping();
        }),
    }
}

fn read<P: Plugin<Config: Debug>>(text: &str, look: impl Fn(&P::Config)) {
    let removing = Component::<P>::configuration_for_removal(text);
    if let Ok(config) = &removing {
        look(config);
    }
    if let Ok(config) = Component::<P>::configuration(text) {
        look(&config);
        let removing = removing.expect("what ADD accepts, DEL can read");
        assert_eq!(format!("{config:?}"), format!("{removing:?}"));
    }
}
