//! The configuration, key by key.

use weir_sdk::config::{DnsKeys, Ipam};
use weir_sdk::{Error, Mac};

/// A plugin configuration of the type `host-device`.
#[weir_sdk::config(default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The link's name.
    pub device: String,
    /// The link's MAC.
    pub hwaddr: String,
    /// The device's path below `/sys/devices`.
    pub kernelpath: String,
    /// The device's PCI address.
    #[serde(rename = "pciBusID")]
    pub pci_bus_id: String,
    /// Which IPAM plugin; without one the device gets no addresses.
    pub ipam: Ipam,
    /// DNS settings.
    pub dns: DnsKeys,
    /// Capability arguments.
    #[serde(rename = "runtimeConfig")]
    pub runtime_config: RuntimeConfig,
}

/// `runtimeConfig`.
#[weir_sdk::config(default)]
#[derive(Clone, Debug, Default)]
pub struct RuntimeConfig {
    /// The device that the runtime has assigned to the container, in place of `pciBusID`: its PCI address, or its name on the
    /// auxiliary bus.
    #[serde(rename = "deviceID")]
    pub device_id: String,
}

/// How a configuration names a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector<'a> {
    Name(&'a str),
    Mac(Mac),
    Path(&'a str),
    Pci(&'a str),
    Auxiliary(&'a str),
}

impl Config {
    /// Returns how the device is named: by the first of `device`, `hwaddr`, `kernelpath`, `deviceID` and `pciBusID` that is
    /// there. Errors: code 7.
    pub fn selector(&self) -> Result<Selector<'_>, Error> {
        let filled =
            |text: &'static str, value| Some((text, value)).filter(|_| !str::is_empty(value));
        let keys = [
            filled("device", self.device.as_str()),
            filled("hwaddr", &self.hwaddr),
            filled("kernelpath", &self.kernelpath),
            filled("deviceID", &self.runtime_config.device_id),
            filled("pciBusID", &self.pci_bus_id),
        ];
        match keys.into_iter().flatten().next() {
            Some(("device", name)) => Ok(Selector::Name(name)),
            Some(("hwaddr", mac)) => {
                let read = mac.parse().map(Selector::Mac);
                read.map_err(|_| {
                    let expected = "expected a MAC such as `02:00:00:00:00:01`";
                    Error::invalid_config(format!("hwaddr: {expected}, found `{mac}`"))
                })
            }
            Some(("kernelpath", path)) => Ok(Selector::Path(path)),
            // A PCI address has colons, and a name on the auxiliary bus has none.
            Some(("deviceID", name)) if !name.contains(':') => Ok(Selector::Auxiliary(name)),
            Some((_, address)) => Ok(Selector::Pci(address)),
            None => Err(Error::invalid_config(
                "no device: expected one of the keys `device`, `hwaddr`, `kernelpath` and `pciBusID`, or `deviceID` in \
                 `runtimeConfig`",
            )),
        }
    }

    /// The key that has the PCI address.
    pub fn pci_key(&self) -> &'static str {
        if self.runtime_config.device_id.is_empty() {
            "pciBusID"
        } else {
            "deviceID"
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_sdk::Component;

    use super::*;
    use crate::HostDevice;

    #[test]
    fn the_first_key_names_the_device() {
        for (text, expected) in [
            (
                r#"{"device": "eth1", "hwaddr": "x", "pciBusID": "y"}"#,
                Selector::Name("eth1"),
            ),
            (
                r#"{"device": "", "kernelpath": "/sys/devices/a", "pciBusID": "y"}"#,
                Selector::Path("/sys/devices/a"),
            ),
            (
                r#"{"pciBusID": "0000:03:00.0"}"#,
                Selector::Pci("0000:03:00.0"),
            ),
            (
                r#"{"pciBusID": "0000:03:00.0", "runtimeConfig": {"deviceID": "0000:03:00.1"}}"#,
                Selector::Pci("0000:03:00.1"),
            ),
            (
                r#"{"pciBusID": "0000:03:00.0", "runtimeConfig": {"deviceID": "mlx5_core.sf.4"}}"#,
                Selector::Auxiliary("mlx5_core.sf.4"),
            ),
        ] {
            let config = Component::<HostDevice>::configuration(text).unwrap();
            assert_eq!(config.selector().unwrap(), expected, "{text}");
        }
        let by_mac = r#"{"hwaddr": "02:00:00:00:00:AA"}"#;
        let by_mac = Component::<HostDevice>::configuration(by_mac).unwrap();
        let mac = "02:00:00:00:00:aa".parse().unwrap();
        assert_eq!(by_mac.selector().unwrap(), Selector::Mac(mac));
    }

    #[test]
    fn a_device_must_be_named() {
        for (text, word) in [("{}", "no device"), (r#"{"hwaddr": "02:00"}"#, "hwaddr: ")] {
            let error = Component::<HostDevice>::configuration(text).unwrap_err();
            assert!(error.msg.starts_with(word), "{error}");
        }
    }
}
