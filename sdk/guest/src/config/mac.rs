//! Keys that hold a MAC, and which MACs an interface can have.

use serde::Deserialize;
use weir_cni::{Args, Error, Mac};

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

/// Returns the MAC that an attachment asks for: of `runtimeConfig`, else of `args.cni`, else of `CNI_ARGS`.
///
/// Errors: code 7 for a MAC of a key that no interface can have, code 4 for one of `CNI_ARGS`, and for unknown
/// arguments there.
pub fn requested(
    runtime_config: &MacKey,
    args_cni: &MacKey,
    args: &Args,
) -> Result<Option<Mac>, Error> {
    args.check_known()?;
    let of_config = [
        ("runtimeConfig.mac", &runtime_config.mac),
        ("args.cni.mac", &args_cni.mac),
    ];
    match of_config.into_iter().find(|(_, mac)| !mac.is_empty()) {
        Some((key, mac)) => usable(key, mac).map(Some),
        None => of_args(args),
    }
}

/// Returns the MAC that an attachment asks for as [`requested`] has it, else that of the key `mac`, which may be empty.
///
/// Errors: those of [`requested`]; code 7 for a key's that no interface can have.
pub fn requested_or(
    key: &str,
    runtime_config: &MacKey,
    args_cni: &MacKey,
    args: &Args,
) -> Result<Option<Mac>, Error> {
    match requested(runtime_config, args_cni, args)? {
        None if !key.is_empty() => usable("mac", key).map(Some),
        requested => Ok(requested),
    }
}

/// Returns the MAC of `CNI_ARGS`. Errors: code 4 for text that is not a MAC, and for one that no interface can have.
pub fn of_args(args: &Args) -> Result<Option<Mac>, Error> {
    let mac = args.mac()?;
    match mac.as_ref().and_then(fault) {
        None => Ok(mac),
        Some(fault) => Err(Error::invalid_environment(format!(
            "CNI_ARGS: MAC: {fault}"
        ))),
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

    #[test]
    fn the_runtime_is_asked_first_and_cni_args_last() {
        let key = |last: &str| MacKey {
            mac: format!("02:00:00:00:00:{last}"),
        };
        let args: Args = "MAC=02:00:00:00:00:03".parse().unwrap();
        let asked = |runtime: &MacKey, cni: &MacKey| {
            let mac = requested(runtime, cni, &args).unwrap();
            mac.unwrap().to_string()
        };
        let none = MacKey::default();
        assert_eq!(asked(&key("01"), &key("02")), "02:00:00:00:00:01");
        assert_eq!(asked(&none, &key("02")), "02:00:00:00:00:02");
        assert_eq!(asked(&none, &none), "02:00:00:00:00:03");
        assert_eq!(requested(&none, &none, &Args::default()), Ok(None));
        for text in ["MAC=01:00:00:00:00:01", "MAC=nonsense", "NONE=1"] {
            let error = requested(&none, &none, &text.parse().unwrap()).unwrap_err();
            assert_eq!(error.code, weir_cni::Code::INVALID_ENVIRONMENT, "{text}");
        }
    }
}
