//! Keys that hold a MAC, and which MACs an interface can have.

use serde::Deserialize;
use weir_cni::{Error, Mac};

/// An object with the key `mac`, such as `runtimeConfig`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MacKey {
    /// The container interface's MAC; empty for none.
    pub mac: String,
}

/// Parses the MAC in the value of `key`. Errors have code 7 and begin with the key: for text that is not a MAC, and
/// for one that no interface can have.
pub fn usable(key: &str, text: &str) -> Result<Mac, Error> {
    let mac: Mac = text
        .parse()
        .map_err(|error| Error::invalid_config(format!("{key}: {error}")))?;
    match fault(&mac) {
        None => Ok(mac),
        Some(fault) => Err(Error::invalid_config(format!("{key}: {fault}"))),
    }
}

/// Returns why no interface can have a MAC; none if one can.
pub fn fault(mac: &Mac) -> Option<String> {
    let is_usable = mac.as_bytes().len() == 6 && !mac.is_multicast() && !mac.is_zero();
    (!is_usable).then(|| format!("{mac} cannot be an interface's MAC: expected 6 bytes, unicast"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_that_no_interface_can_have_is_refused() {
        for text in [
            "nonsense",
            "01:00:00:00:00:01",
            "ff:ff:ff:ff:ff:ff",
            "00:00:00:00:00:00",
            "02:00:00:00:00:00:00:01",
        ] {
            let error = usable("runtimeConfig.mac", text).unwrap_err();
            assert_eq!(error.code, weir_cni::Code::INVALID_CONFIG);
            assert!(error.msg.starts_with("runtimeConfig.mac: "), "{error}");
        }
        let mac = usable("mac", "02-00-00-00-00-AA").unwrap();
        assert_eq!(mac.to_string(), "02:00:00:00:00:aa");
    }
}
