//! The configuration, key by key.

use weir_sdk::config::{DnsKeys, Ipam};
use weir_sdk::{Error, MainConfig, masquerade};

/// A plugin configuration of the type `ptp`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Masquerade the container's traffic to other networks.
    pub ip_masq: bool,
    /// `nftables`, or empty.
    pub ip_masq_backend: String,
    /// Bytes; 0 for the kernel's default.
    pub mtu: u32,
    /// Which IPAM plugin.
    pub ipam: Ipam,
    /// DNS settings, in place of the IPAM plugin's.
    pub dns: DnsKeys,
}

impl Config {
    /// Returns the MTU; none for the kernel's default.
    pub fn mtu(&self) -> Option<u32> {
        Some(self.mtu).filter(|mtu| *mtu != 0)
    }
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }

    fn validate(&self) -> Result<(), Error> {
        masquerade::validate_backend(&self.ip_masq_backend)?;
        self.ipam.require("a point-to-point link needs addresses")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let config: Config = serde_json::from_str(text).unwrap();
        config.validate().unwrap_err().msg
    }

    #[test]
    fn addresses_are_needed() {
        assert!(fault("{}").starts_with("ipam: "));
        assert!(fault(r#"{"ipam": {"type": ""}}"#).starts_with("ipam: "));
    }

    #[test]
    fn masquerading_is_done_with_nftables() {
        let with = |backend: &str| {
            format!(r#"{{"ipam": {{"type": "host-local"}}, "ipMasqBackend": "{backend}"}}"#)
        };
        assert!(fault(&with("ebtables")).contains("`ipMasqBackend` with value `\"ebtables\"`"));
        for backend in ["", "iptables", "nftables"] {
            let config: Config = serde_json::from_str(&with(backend)).unwrap();
            assert!(config.validate().is_ok(), "{backend}");
        }
    }

    #[test]
    fn an_mtu_of_0_is_the_kernels() {
        let mtu = |text: &str| serde_json::from_str::<Config>(text).unwrap().mtu();
        assert_eq!(mtu("{}"), None);
        assert_eq!(mtu(r#"{"mtu": 0}"#), None);
        assert_eq!(mtu(r#"{"mtu": 1400}"#), Some(1400));
    }
}
