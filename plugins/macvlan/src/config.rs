//! The configuration, key by key.

use weir_sdk::config::mac::{self, MacKey};
use weir_sdk::config::{self, ArgsKey, DnsKeys, Ipam};
use weir_sdk::link::MacvlanMode;
use weir_sdk::lower::Master;
use weir_sdk::{Args, Error, Mac, MainConfig};

/// A plugin configuration of the type `macvlan`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The interface to make others over; empty for that of the default route.
    pub master: String,
    /// The master is in the container.
    pub link_in_container: bool,
    /// How the interfaces over one master reach each other; empty for `bridge`.
    pub mode: String,
    /// Bytes; 0 for the master's.
    pub mtu: u32,
    /// The length of the queue for broadcasts, in packets; 0 for the kernel's default.
    pub bcqueuelen: u32,
    /// The MAC, where neither the runtime nor the arguments request one.
    pub mac: String,
    /// Which IPAM plugin; without one the network is a layer-2 one.
    pub ipam: Ipam,
    /// DNS settings.
    pub dns: DnsKeys,
    /// Arguments of the convention.
    pub args: ArgsKey<MacKey>,
    /// Capability arguments.
    pub runtime_config: MacKey,
}

impl Config {
    /// Returns which interface is the master.
    pub fn master(&self) -> Master<'_> {
        Master::new(&self.master, self.link_in_container)
    }

    /// Returns the mode. Errors: code 7.
    pub fn mode(&self) -> Result<MacvlanMode, Error> {
        let modes = [
            ("bridge", MacvlanMode::Bridge),
            ("private", MacvlanMode::Private),
            ("vepa", MacvlanMode::Vepa),
            ("passthru", MacvlanMode::Passthru),
        ];
        config::choice("mode", &self.mode, &modes)
    }

    /// Returns the requested MAC: of the runtime, else of the arguments, else of the key `mac`.
    pub fn mac(&self, args: &Args) -> Result<Option<Mac>, Error> {
        mac::requested_or(&self.mac, &self.runtime_config, &self.args.cni, args)
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
    use weir_sdk::Component;

    use super::*;
    use crate::Macvlan;

    fn read(text: &str) -> Result<Config, Error> {
        Component::<Macvlan>::configuration(text)
    }

    #[test]
    fn without_keys_it_is_a_bridge_of_the_default_route() {
        let config = read("{}").unwrap();
        assert!(matches!(config.mode(), Ok(MacvlanMode::Bridge)));
        assert!(config.master().name.is_empty() && !config.master().in_container);
        assert_eq!(config.mac(&Args::default()).unwrap(), None);
    }

    #[test]
    fn faults_begin_with_the_key() {
        let error = read(r#"{"master": "a/b"}"#).unwrap_err();
        assert!(error.msg.starts_with("master: "), "{error}");
        let error = read(r#"{"mode": "source"}"#).unwrap_err();
        assert!(error.msg.starts_with("mode: expected `bridge`"), "{error}");
        let config = read(r#"{"mac": "01:00:00:00:00:01"}"#).unwrap();
        let error = config.mac(&Args::default()).unwrap_err();
        assert!(error.msg.starts_with("mac: "), "{error}");
    }

    #[test]
    fn the_mac_of_the_runtime_comes_first_and_the_key_last() {
        let args: Args = "MAC=02:00:00:00:00:02".parse().unwrap();
        let mac = |text: &str, args: &Args| {
            let mac = read(text).unwrap().mac(args).unwrap();
            mac.unwrap().to_string()
        };
        let key = r#"{"mac": "02:00:00:00:00:01"}"#;
        assert_eq!(mac(key, &Args::default()), "02:00:00:00:00:01");
        assert_eq!(mac(key, &args), "02:00:00:00:00:02");
        let both = r#"{"args": {"cni": {"mac": "02:00:00:00:00:03"}},
                       "runtimeConfig": {"mac": "02:00:00:00:00:04"}}"#;
        assert_eq!(mac(both, &args), "02:00:00:00:00:04");
    }
}
