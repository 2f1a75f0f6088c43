//! The configuration, key by key.

use weir_sdk::config::{self, DnsKeys, Ipam};
use weir_sdk::link::IpvlanMode;
use weir_sdk::lower::Master;
use weir_sdk::{Error, MainConfig};

/// A plugin configuration of the type `ipvlan`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The interface to make others over; empty for that of the plugin before, or of the default route.
    pub master: String,
    /// The master is in the container.
    pub link_in_container: bool,
    /// The layer at which packets are passed on; empty for `l2`.
    pub mode: String,
    /// Bytes; 0 for the master's.
    pub mtu: u32,
    /// Which IPAM plugin; without one, the addresses are those of the plugin before.
    pub ipam: Ipam,
    /// DNS settings.
    pub dns: DnsKeys,
}

impl Config {
    /// Returns which interface is the master, as far as the configuration says.
    pub fn master(&self) -> Master<'_> {
        Master::new(&self.master, self.link_in_container)
    }

    /// Returns the mode. Errors: code 7.
    pub fn mode(&self) -> Result<IpvlanMode, Error> {
        let modes = [
            ("l2", IpvlanMode::L2),
            ("l3", IpvlanMode::L3),
            ("l3s", IpvlanMode::L3s),
        ];
        config::choice("mode", &self.mode, &modes)
    }
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }

    fn validate(&self) -> Result<(), Error> {
        self.master().validate()?;
        self.mode().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_mode_is_the_default() {
        let mode = |text: &str| serde_json::from_str::<Config>(text).unwrap().mode();
        assert!(matches!(mode("{}"), Ok(IpvlanMode::L2)));
        assert!(matches!(mode(r#"{"mode": "l3s"}"#), Ok(IpvlanMode::L3s)));
        let error = mode(r#"{"mode": "l4"}"#).unwrap_err();
        assert_eq!(error.msg, "mode: expected `l2`, `l3` or `l3s`, found `l4`");
    }
}
