//! The configuration, key by key.

use weir_sdk::cni::validate_interface_name;
use weir_sdk::config::mac::{self, MacKey};
use weir_sdk::config::{ArgsKey, DnsKeys, Ipam};
use weir_sdk::link::BridgeVlan;
use weir_sdk::{Args, Error, Mac, MainConfig, masquerade};

/// The highest VLAN id that may be used (IEEE 802.1Q reserves 4095).
const VLAN_MAX: u16 = 4094;

/// A plugin configuration of the type `bridge`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The bridge's name.
    #[serde(default = "default_bridge")]
    pub bridge: String,
    /// Give the bridge the gateway's address.
    pub is_gateway: bool,
    /// As `is_gateway`, and give the container a default route.
    pub is_default_gateway: bool,
    /// Take another address away from the bridge.
    pub force_address: bool,
    /// Masquerade the container's traffic to other networks.
    pub ip_masq: bool,
    /// `nftables`, or empty.
    pub ip_masq_backend: String,
    /// Bytes; 0 for the kernel's default.
    pub mtu: u32,
    /// The container reaches itself through the bridge.
    pub hairpin_mode: bool,
    /// The bridge is promiscuous.
    pub promisc_mode: bool,
    /// The VLAN whose frames the container sees untagged; 0 for none.
    pub vlan: u16,
    /// VLANs whose frames the container sees tagged.
    pub vlan_trunk: Option<Vec<Trunk>>,
    /// Leave the port in the bridge's default VLAN too.
    #[serde(default = "yes")]
    pub preserve_default_vlan: bool,
    /// Drop frames that do not come from the container interface's MAC.
    pub macspoofchk: bool,
    /// Detect duplicate IPv6 addresses.
    pub enabledad: bool,
    /// The container does not reach other isolated ports.
    pub port_isolation: bool,
    /// Leave the container's interface down.
    pub disable_container_interface: bool,
    /// Which IPAM plugin; without one the network is a layer-2 one.
    pub ipam: Ipam,
    /// DNS settings, in place of the IPAM plugin's.
    pub dns: DnsKeys,
    /// Arguments of the convention.
    pub args: ArgsKey<MacKey>,
    /// Capability arguments.
    pub runtime_config: MacKey,
}

fn default_bridge() -> String {
    "cni0".to_owned()
}

fn yes() -> bool {
    true
}

/// One item of `vlanTrunk`: a VLAN, or the VLANs from one to another.
#[weir_sdk::config(default)]
#[derive(Clone, Debug, Default)]
pub struct Trunk {
    id: Option<u16>,
    #[serde(rename = "minID")]
    min_id: Option<u16>,
    #[serde(rename = "maxID")]
    max_id: Option<u16>,
}

impl Config {
    /// Whether the bridge is to be the network's gateway.
    pub fn has_gateway(&self) -> bool {
        self.is_gateway || self.is_default_gateway
    }

    /// Whether the bridge must look at VLAN tags.
    pub fn has_vlans(&self) -> bool {
        self.vlan != 0 || self.vlan_trunk.is_some()
    }

    /// Returns the MTU; none for the kernel's default.
    pub fn mtu(&self) -> Option<u32> {
        Some(self.mtu).filter(|mtu| *mtu != 0)
    }

    /// Returns the name of the host's interface in the container's VLAN.
    pub fn vlan_interface(&self) -> String {
        format!("{}.{}", self.bridge, self.vlan)
    }

    /// Returns the VLANs of the container's port: those of the trunk, then the untagged one. That one may be in the trunk
    /// too; the kernel takes what comes last.
    pub fn port_vlans(&self) -> Vec<BridgeVlan> {
        let trunk = self.vlan_trunk.as_deref().unwrap_or_default();
        let mut vlans = trunk_vlans(trunk.iter().flat_map(Trunk::ranges).collect());
        vlans.extend(self.untagged_vlan());
        vlans
    }

    /// Returns `vlan`, to which a port's untagged frames belong, in and out: the container's port and the gateway's.
    pub fn untagged_vlan(&self) -> Option<BridgeVlan> {
        (self.vlan != 0).then_some(BridgeVlan {
            first: self.vlan,
            last: self.vlan,
            pvid: true,
            untagged: true,
        })
    }

    /// Returns the requested MAC: of `runtimeConfig`, else of `args.cni`, else of `CNI_ARGS`.
    pub fn mac(&self, args: &Args) -> Result<Option<Mac>, Error> {
        mac::requested(&self.runtime_config, &self.args.cni, args)
    }

    fn validate_names(&self) -> Result<(), Error> {
        validate_interface_name(&self.bridge)
            .map_err(|error| invalid(format!("bridge: {}", error.msg)))?;
        if self.vlan != 0 && self.has_gateway() {
            let name = self.vlan_interface();
            validate_interface_name(&name).map_err(|error| {
                let why = "the gateway of a VLAN needs an interface of this name";
                invalid(format!("bridge and vlan: {}: {why}", error.msg))
            })?;
        }
        Ok(())
    }

    fn validate_vlans(&self) -> Result<(), Error> {
        if self.vlan > VLAN_MAX {
            let vlan = self.vlan;
            return Err(invalid(format!(
                "vlan: expected 0 to {VLAN_MAX}, found {vlan}"
            )));
        }
        let trunk = self.vlan_trunk.as_deref().unwrap_or_default();
        for (index, item) in trunk.iter().enumerate() {
            item.validate(&format!("vlanTrunk[{index}]"))?;
        }
        Ok(())
    }
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }

    fn validate(&self) -> Result<(), Error> {
        self.validate_names()?;
        self.validate_vlans()?;
        masquerade::validate_backend(&self.ip_masq_backend)?;
        if self.hairpin_mode && self.promisc_mode {
            let msg = "hairpinMode and promiscMode cannot both be true: choose one";
            return Err(invalid(msg));
        }
        if self.disable_container_interface && self.ipam.is_configured() {
            let msg = "disableContainerInterface: an interface that is down cannot have the \
                       addresses of ipam: remove one of the two keys";
            return Err(invalid(msg));
        }
        Ok(())
    }
}

impl Trunk {
    fn validate(&self, path: &str) -> Result<(), Error> {
        let ids = [
            ("id", self.id),
            ("minID", self.min_id),
            ("maxID", self.max_id),
        ];
        for (key, id) in ids {
            if let Some(id) = id.filter(|id| !(1..=VLAN_MAX).contains(id)) {
                return Err(invalid(format!(
                    "{path}.{key}: expected 1 to {VLAN_MAX}, found {id}"
                )));
            }
        }
        match (self.min_id, self.max_id) {
            (Some(min), Some(max)) if min > max => Err(invalid(format!(
                "{path}: minID {min} is greater than maxID {max}"
            ))),
            (Some(_), None) => Err(invalid(format!("{path}: minID needs maxID"))),
            (None, Some(_)) => Err(invalid(format!("{path}: maxID needs minID"))),
            _ => Ok(()),
        }
    }

    /// First and last VLAN, of each way in which the item names some.
    fn ranges(&self) -> impl Iterator<Item = (u16, u16)> {
        let single = self.id.map(|id| (id, id));
        single.into_iter().chain(self.min_id.zip(self.max_id))
    }
}

fn invalid(msg: impl Into<String>) -> Error {
    Error::invalid_config(msg)
}

/// The ranges in order, those that overlap or follow each other as one.
fn trunk_vlans(mut ranges: Vec<(u16, u16)>) -> Vec<BridgeVlan> {
    ranges.sort_unstable();
    let mut vlans: Vec<BridgeVlan> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match vlans.last_mut() {
            Some(before) if first <= before.last + 1 => before.last = before.last.max(last),
            _ => vlans.push(BridgeVlan {
                first,
                last,
                pvid: false,
                untagged: false,
            }),
        }
    }
    vlans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    fn fault(text: &str) -> String {
        let error = config(text).validate().unwrap_err();
        assert_eq!(error.code, weir_sdk::Code::INVALID_CONFIG);
        error.msg
    }

    fn ranges(config: &Config) -> Vec<(u16, u16)> {
        let vlans = config.port_vlans();
        vlans.iter().map(|vlan| (vlan.first, vlan.last)).collect()
    }

    #[test]
    fn without_keys_it_is_a_layer_2_port_of_cni0() {
        let config = config("{}");
        config.validate().unwrap();
        assert_eq!(config.bridge, "cni0");
        assert!(config.preserve_default_vlan);
        assert!(!config.ipam.is_configured());
        assert!(config.port_vlans().is_empty());
    }

    #[test]
    fn faults_begin_with_the_key() {
        for (text, expected) in [
            (r#"{"bridge": ""}"#, "bridge: "),
            (r#"{"bridge": "a-name-of-16-by"}"#, ""),
            (r#"{"bridge": "a-name-of-16-byt"}"#, "bridge: "),
            (r#"{"vlan": 4095}"#, "vlan: expected 0 to 4094, found 4095"),
            (
                r#"{"vlanTrunk": [{"id": 5}, {"id": 0}]}"#,
                "vlanTrunk[1].id: expected 1 to 4094, found 0",
            ),
            (
                r#"{"vlanTrunk": [{"minID": 9, "maxID": 8}]}"#,
                "vlanTrunk[0]: minID 9 is greater than maxID 8",
            ),
            (
                r#"{"vlanTrunk": [{"minID": 9}]}"#,
                "vlanTrunk[0]: minID needs maxID",
            ),
            (
                r#"{"vlanTrunk": [{"maxID": 9}]}"#,
                "vlanTrunk[0]: maxID needs minID",
            ),
            (
                r#"{"hairpinMode": true, "promiscMode": true}"#,
                "hairpinMode and promiscMode cannot both be true",
            ),
            (
                r#"{"disableContainerInterface": true, "ipam": {"type": "host-local"}}"#,
                "disableContainerInterface: ",
            ),
            (
                r#"{"bridge": "bridge-of-tests", "vlan": 7, "isGateway": true}"#,
                "bridge and vlan: ",
            ),
        ] {
            if expected.is_empty() {
                config(text).validate().unwrap();
            } else {
                let fault = fault(text);
                assert!(fault.starts_with(expected), "{fault}");
            }
        }
    }

    #[test]
    fn other_backends_are_unsupported_values() {
        let error = config(r#"{"ipMasqBackend": "ebtables"}"#)
            .validate()
            .unwrap_err();
        assert_eq!(error.code, weir_sdk::Code::UNSUPPORTED_FIELD);
        assert!(error.msg.contains("ipMasqBackend") && error.msg.contains("ebtables"));
        for backend in ["", "iptables", "nftables"] {
            let config = config(&format!(r#"{{"ipMasqBackend": "{backend}"}}"#));
            assert!(config.validate().is_ok(), "{backend}");
        }
    }

    #[test]
    fn the_mac_of_the_runtime_comes_first() {
        let args: Args = "MAC=02:00:00:00:00:01".parse().unwrap();
        let mac = |text: &str| config(text).mac(&args).unwrap().unwrap().to_string();
        assert_eq!(mac("{}"), "02:00:00:00:00:01");
        assert_eq!(
            mac(r#"{"args": {"cni": {"mac": "02:00:00:00:00:02"}}}"#),
            "02:00:00:00:00:02"
        );
        assert_eq!(
            mac(r#"{"args": {"cni": {"mac": "02:00:00:00:00:02"}},
                    "runtimeConfig": {"mac": "02:00:00:00:00:03"}}"#),
            "02:00:00:00:00:03"
        );
    }

    #[test]
    fn a_mac_that_no_interface_can_have_is_refused() {
        for mac in [
            "nonsense",
            "01:00:00:00:00:01",
            "00:00:00:00:00:00",
            "02:00:00:00:00:00:00:01",
        ] {
            let config = config(&format!(r#"{{"runtimeConfig": {{"mac": "{mac}"}}}}"#));
            let error = config.mac(&Args::default()).unwrap_err();
            assert!(error.msg.starts_with("runtimeConfig.mac: "), "{error}");
        }
    }

    #[test]
    fn trunks_become_ranges() {
        let config = config(
            r#"{"vlanTrunk": [{"id": 101}, {"minID": 200, "maxID": 299}, {"id": 102},
                {"minID": 250, "maxID": 300, "id": 100}]}"#,
        );
        config.validate().unwrap();
        assert_eq!(ranges(&config), [(100, 102), (200, 300)]);
        assert!(
            config
                .port_vlans()
                .iter()
                .all(|vlan| !vlan.pvid && !vlan.untagged)
        );
    }

    #[test]
    fn an_access_port_is_untagged() {
        let vlans = config(r#"{"vlan": 7}"#).port_vlans();
        assert_eq!((vlans[0].first, vlans[0].last), (7, 7));
        assert!(vlans[0].pvid && vlans[0].untagged);
    }

    #[test]
    fn the_untagged_vlan_of_a_trunk_comes_after_the_tagged_ones() {
        let config = config(r#"{"vlan": 7, "vlanTrunk": [{"minID": 5, "maxID": 9}]}"#);
        config.validate().unwrap();
        assert_eq!(ranges(&config), [(5, 9), (7, 7)]);
        let untagged: Vec<bool> = config
            .port_vlans()
            .iter()
            .map(|vlan| vlan.untagged)
            .collect();
        assert_eq!(untagged, [false, true]);
        assert_eq!(config.untagged_vlan().map(|vlan| vlan.first), Some(7));
    }

    proptest! {
        #[test]
        fn ranges_hold_exactly_the_given_vlans(given in proptest::collection::vec((1u16..200, 0u16..20), 0..20)) {
            let given: Vec<(u16, u16)> = given.into_iter().map(|(f, n)| (f, f + n)).collect();
            let vlans = trunk_vlans(given.clone());
            for id in 1..=250 {
                let is_given = given.iter().any(|(f, l)| (*f..=*l).contains(&id));
                let found = vlans.iter().filter(|v| (v.first..=v.last).contains(&id)).count();
                prop_assert_eq!(found, usize::from(is_given));
            }
            prop_assert!(vlans.windows(2).all(|pair| pair[0].last + 1 < pair[1].first));
        }
    }
}
