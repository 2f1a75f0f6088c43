//! The configuration, key by key, and what the runtime may replace.

use std::collections::BTreeMap;

use weir_sdk::config::ArgsKey;
use weir_sdk::config::mac::{self, MacKey};
use weir_sdk::{Args, Error, Mac};

use crate::attributes::Attributes;

/// Where backups are without `dataDir`.
const DATA_DIR: &str = "/run/cni/tuning";

/// A plugin configuration of the type `tuning`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Kernel parameters of the container, with their values.
    pub sysctl: BTreeMap<String, String>,
    /// The interface's MAC; empty for none.
    pub mac: String,
    /// The interface receives all packets.
    pub promisc: bool,
    /// Bytes; 0 for none.
    pub mtu: u32,
    /// The interface receives all multicast packets, or does not.
    pub allmulti: Option<bool>,
    /// The length of the interface's transmit queue, in packets.
    #[serde(rename = "txQLen")]
    pub txqlen: Option<u32>,
    /// Where backups are.
    pub data_dir: String,
    /// Arguments of the convention.
    pub args: ArgsKey<CniArgsKeys>,
    /// Capability arguments.
    pub runtime_config: MacKey,
}

/// `args.cni`: each key replaces the configuration's, even with a value that means none.
#[weir_sdk::config(default)]
#[derive(Clone, Debug, Default)]
pub struct CniArgsKeys {
    /// Parameters; each replaces the configuration's of the same key.
    pub sysctl: BTreeMap<String, String>,
    /// The interface's MAC.
    pub mac: Option<String>,
    /// The interface receives all packets.
    pub promisc: Option<bool>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// The interface receives all multicast packets, or does not.
    pub allmulti: Option<bool>,
    /// Packets.
    #[serde(rename = "txQLen")]
    pub txqlen: Option<u32>,
}

impl Config {
    /// Returns the directory of the backups.
    pub fn data_dir(&self) -> &str {
        match self.data_dir.as_str() {
            "" => DATA_DIR,
            given => given,
        }
    }

    /// Returns the attributes that the interface is to have. Errors: code 7 for the configuration, code 4 for
    /// `CNI_ARGS`.
    pub fn attributes(&self, args: &Args) -> Result<Attributes, Error> {
        args.check_known()?;
        let instead = &self.args.cni;
        let promisc = instead.promisc.unwrap_or(self.promisc);
        let mtu = instead.mtu.unwrap_or(self.mtu);
        Ok(Attributes {
            mac: self.mac(args)?,
            promisc: promisc.then_some(true),
            mtu: Some(mtu).filter(|mtu| *mtu != 0),
            allmulti: instead.allmulti.or(self.allmulti),
            txqlen: instead.txqlen.or(self.txqlen),
        })
    }

    /// The MAC of `args.cni`, else of `runtimeConfig`, else of `CNI_ARGS`, else of the configuration.
    fn mac(&self, args: &Args) -> Result<Option<Mac>, Error> {
        if let Some(mac) = &self.args.cni.mac {
            return of_key("args.cni.mac", mac);
        }
        if let Some(mac) = of_key("runtimeConfig.mac", &self.runtime_config.mac)? {
            return Ok(Some(mac));
        }
        match mac::of_args(args)? {
            Some(mac) => Ok(Some(mac)),
            None => of_key("mac", &self.mac),
        }
    }
}

/// The MAC of a key; none for an empty one.
fn of_key(key: &str, text: &str) -> Result<Option<Mac>, Error> {
    match text {
        "" => Ok(None),
        text => mac::usable(key, text).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use weir_sdk::Code;

    use super::*;

    fn attributes_of(config: &str, args: &str) -> Result<Attributes, Error> {
        let config: Config = serde_json::from_str(config).unwrap();
        config.attributes(&args.parse().unwrap())
    }

    fn attributes(config: &str) -> Attributes {
        attributes_of(config, "").unwrap()
    }

    #[test]
    fn without_keys_nothing_is_changed() {
        assert!(attributes("{}").is_empty());
        assert!(attributes(r#"{"mac": "", "promisc": false, "mtu": 0}"#).is_empty());
    }

    #[test]
    fn every_key_is_an_attribute() {
        let all = r#"{"mac": "02:00:00:00:00:01", "promisc": true, "mtu": 1400, "allmulti": false,
            "txQLen": 0}"#;
        // A backup has the same keys.
        let expected: Attributes = serde_json::from_str(all).unwrap();
        assert_eq!(attributes(all), expected);
    }

    #[test]
    fn args_take_the_place_of_the_configuration() {
        let config = r#"{"promisc": true, "mtu": 1400, "allmulti": true, "txQLen": 7,
            "mac": "02:00:00:00:00:01", "args": {"cni": ARGS}}"#;
        let with = |args: &str| attributes(&config.replace("ARGS", args));
        let none = r#"{"promisc": false, "mtu": 0, "mac": ""}"#;
        let others_alone = Attributes {
            allmulti: Some(true),
            txqlen: Some(7),
            ..Attributes::default()
        };
        assert_eq!(with(none), others_alone);
        let other = with(r#"{"mtu": 1300, "allmulti": false, "txQLen": 8}"#);
        assert_eq!(other.mtu, Some(1300));
        assert_eq!(other.allmulti, Some(false));
        assert_eq!(other.txqlen, Some(8));
        assert_eq!(other.promisc, Some(true));
    }

    #[test]
    fn the_mac_comes_from_the_last_who_says_one() {
        let mac = |config: &str, args: &str| {
            let mac = attributes_of(config, args).unwrap().mac;
            mac.map(|mac| mac.to_string()).unwrap_or_default()
        };
        let of_config = r#"{"mac": "02:00:00:00:00:01"}"#;
        let of_runtime = r#"{"mac": "02:00:00:00:00:01",
            "runtimeConfig": {"mac": "02:00:00:00:00:03"}}"#;
        let of_args = r#"{"runtimeConfig": {"mac": "02:00:00:00:00:03"},
            "args": {"cni": {"mac": "02:00:00:00:00:04"}}}"#;
        let none = r#"{"runtimeConfig": {"mac": "02:00:00:00:00:03"},
            "args": {"cni": {"mac": ""}}}"#;
        assert_eq!(mac(of_config, ""), "02:00:00:00:00:01");
        assert_eq!(mac(of_config, "MAC="), "02:00:00:00:00:01");
        assert_eq!(mac(of_config, "MAC=02:00:00:00:00:02"), "02:00:00:00:00:02");
        assert_eq!(
            mac(of_runtime, "MAC=02:00:00:00:00:02"),
            "02:00:00:00:00:03"
        );
        assert_eq!(mac(of_args, "MAC=02:00:00:00:00:02"), "02:00:00:00:00:04");
        assert_eq!(mac(none, "MAC=02:00:00:00:00:02"), "");
    }

    #[test]
    fn a_mac_that_no_interface_can_have_is_refused_with_its_place() {
        for (config, place) in [
            (r#"{"mac": "01:00:00:00:00:01"}"#, "mac: "),
            (r#"{"runtimeConfig": {"mac": "x"}}"#, "runtimeConfig.mac: "),
            (
                r#"{"args": {"cni": {"mac": "00:00:00:00:00:00"}}}"#,
                "args.cni.mac: ",
            ),
        ] {
            let error = attributes_of(config, "").unwrap_err();
            assert_eq!(error.code, Code::INVALID_CONFIG);
            assert!(error.msg.starts_with(place), "{error}");
        }
        for args in ["MAC=ff:ff:ff:ff:ff:ff", "MAC=x"] {
            let error = attributes_of("{}", args).unwrap_err();
            assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
            assert!(error.msg.starts_with("CNI_ARGS: MAC"), "{error}");
        }
    }

    #[test]
    fn unknown_arguments_are_refused() {
        assert_eq!(
            attributes_of("{}", "COLOUR=red").unwrap_err().code,
            Code::INVALID_ENVIRONMENT
        );
        assert!(attributes_of("{}", "COLOUR=red;IgnoreUnknown=1").is_ok());
        assert!(attributes_of("{}", "IP=10.1.0.5;GATEWAY=10.1.0.1").is_ok());
    }

    #[test]
    fn an_empty_directory_is_none() {
        let data_dir = |text: &str| {
            let config: Config = serde_json::from_str(text).unwrap();
            config.data_dir().to_owned()
        };
        assert_eq!(data_dir("{}"), "/run/cni/tuning");
        assert_eq!(data_dir(r#"{"dataDir": ""}"#), "/run/cni/tuning");
        assert_eq!(
            data_dir(r#"{"dataDir": "/run/cni/other"}"#),
            "/run/cni/other"
        );
    }
}
