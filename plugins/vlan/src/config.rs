//! The configuration, key by key.

use weir_sdk::config::{DnsKeys, Ipam};
use weir_sdk::lower::Master;
use weir_sdk::{Error, MainConfig};

/// A plugin configuration of the type `vlan`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The interface whose VLAN it is.
    pub master: String,
    /// The master is in the container.
    pub link_in_container: bool,
    /// The VLAN id: 1 to 4094.
    pub vlan_id: i64,
    /// Bytes; 0 for the master's.
    pub mtu: u32,
    /// Which IPAM plugin.
    pub ipam: Ipam,
    /// DNS settings.
    pub dns: DnsKeys,
}

/// The ids that IEEE 802.1Q does not reserve.
const VLANS: std::ops::RangeInclusive<u16> = 1..=4094;

impl Config {
    /// Returns which interface is the master.
    pub fn master(&self) -> Master<'_> {
        Master::new(&self.master, self.link_in_container)
    }

    /// Returns the VLAN id. Errors: code 7.
    pub fn vlan(&self) -> Result<u16, Error> {
        let id = u16::try_from(self.vlan_id).ok();
        id.filter(|id| VLANS.contains(id)).ok_or_else(|| {
            let (first, last, found) = (VLANS.start(), VLANS.end(), self.vlan_id);
            Error::invalid_config(format!("vlanId: expected {first} to {last}, found {found}"))
        })
    }
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }

    fn validate(&self) -> Result<(), Error> {
        if self.master.is_empty() {
            let msg = "master: missing: expected the name of the interface whose VLAN it is";
            return Err(Error::invalid_config(msg));
        }
        self.master().validate()?;
        self.vlan()?;
        self.ipam.require("an interface in a VLAN needs addresses")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validated(keys: &str) -> Result<(), String> {
        let text = format!(r#"{{"ipam": {{"type": "host-local"}}, {keys}}}"#);
        let config: Config = serde_json::from_str(&text).unwrap();
        config.validate().map_err(|error| error.msg)
    }

    #[test]
    fn an_id_that_802_1q_reserves_is_refused() {
        for (id, is_valid) in [
            (0, false),
            (1, true),
            (4094, true),
            (4095, false),
            (65_543, false),
            (-1, false),
        ] {
            let said = validated(&format!(r#""master": "eth1", "vlanId": {id}"#));
            assert_eq!(said.is_ok(), is_valid, "{id}");
            let expected = format!("vlanId: expected 1 to 4094, found {id}");
            assert!(said.is_ok() || said == Err(expected), "{id}");
        }
    }

    #[test]
    fn a_master_and_addresses_are_needed() {
        assert!(
            validated(r#""vlanId": 7"#)
                .unwrap_err()
                .starts_with("master: missing")
        );
        assert!(
            validated(r#""master": "a b", "vlanId": 7"#)
                .unwrap_err()
                .starts_with("master: ")
        );
        let config: Config = serde_json::from_str(r#"{"master": "eth1", "vlanId": 7}"#).unwrap();
        assert!(config.validate().unwrap_err().msg.starts_with("ipam: "));
    }
}
