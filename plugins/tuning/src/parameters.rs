//! The kernel parameters of `sysctl`.
//!
//! A key is written with dots or with slashes, and `IFNAME` in it stands for the interface's name.

use std::collections::BTreeMap;

use weir_sdk::check::wrong;
use weir_sdk::{Context, Error, Namespace, Outcome, sysctl};

use crate::config::Config;

/// What stands for the interface's name in a key.
const IFNAME: &str = "IFNAME";

/// The kernel's error number for a parameter that cannot be read.
const EACCES: i32 = 13;

/// A parameter, and the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key as it was configured.
    pub configured: String,
    /// The key as the capability has it.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Returns the requested parameters by key: those of `sysctl`, and in their place those of
/// `args.cni.sysctl`. Errors have code 7 and name the key.
pub fn of(config: &Config, ifname: &str) -> Result<Vec<Parameter>, Error> {
    let mut parameters = read_keys("sysctl", &config.sysctl, ifname)?;
    let instead = &config.args.cni.sysctl;
    parameters.extend(read_keys("args.cni.sysctl", instead, ifname)?);
    Ok(parameters.into_values().collect())
}

fn read_keys(
    path: &str,
    pairs: &BTreeMap<String, String>,
    ifname: &str,
) -> Result<BTreeMap<String, Parameter>, Error> {
    let mut parameters: BTreeMap<String, Parameter> = BTreeMap::new();
    for (configured, value) in pairs {
        let parameter = Parameter {
            configured: configured.clone(),
            key: key(path, configured, ifname)?,
            value: value.clone(),
        };
        if let Some(other) = parameters.insert(parameter.key.clone(), parameter) {
            let (one, other) = (other.configured.escape_debug(), configured.escape_debug());
            return Err(Error::invalid_config(format!(
                "{path}: `{one}` and `{other}` are the same parameter: remove one of them"
            )));
        }
    }
    Ok(parameters)
}

/// The key as the capability has it: with dots, and a dot inside the interface's name as a slash.
fn key(path: &str, configured: &str, ifname: &str) -> Result<String, Error> {
    let dotted = configured.replace('/', ".");
    let mut parts = dotted.split('.');
    let is_net = parts.next() == Some("net") && parts.clone().count() > 0;
    if !is_net || parts.any(str::is_empty) {
        return Err(Error::invalid_config(format!(
            "{path}: `{}` is not a kernel parameter below `net.`: expected a key such as \
             `net.core.somaxconn` or `net/core/somaxconn`",
            configured.escape_debug()
        )));
    }
    Ok(dotted.replace(IFNAME, &sysctl::interface_segment(ifname)))
}

/// Gives the parameters their values.
pub fn write(parameters: &[Parameter]) -> Result<(), Error> {
    for Parameter {
        configured,
        key,
        value,
    } in parameters
    {
        sysctl::write(Namespace::Container, key, value)
            .context(format!("cannot set `{configured}`"))?;
    }
    Ok(())
}

/// Fails if a parameter has another value.
pub fn check(parameters: &[Parameter]) -> Result<(), Error> {
    parameters.iter().try_for_each(check_one)
}

fn check_one(parameter: &Parameter) -> Result<(), Error> {
    let Parameter {
        configured,
        key,
        value,
    } = parameter;
    let found = match sysctl::read(Namespace::Container, key).found() {
        // A parameter that can only be written, such as `net.ipv4.route.flush`, has no value to compare.
        Err(error) if error.errno == Some(EACCES) => return Ok(()),
        found => found.context(format!("cannot read `{configured}`"))?,
    };
    match found {
        None => Err(wrong(format!("sysctl: `{configured}` does not exist"))),
        Some(found) if is_same(&found, value) => Ok(()),
        Some(found) => Err(wrong(format!(
            "sysctl: `{configured}`: expected `{value}`, found `{found}`"
        ))),
    }
}

/// The kernel takes any white space between numbers, and prints tabs.
fn is_same(found: &str, expected: &str) -> bool {
    found.split_whitespace().eq(expected.split_whitespace())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_sdk::Code;

    use super::*;

    fn of_text(config: &str, ifname: &str) -> Result<Vec<Parameter>, Error> {
        of(&serde_json::from_str(config).unwrap(), ifname)
    }

    fn pairs(config: &str, ifname: &str) -> Vec<(String, String)> {
        let parameters = of_text(config, ifname).unwrap();
        let pair = |parameter: Parameter| (parameter.key, parameter.value);
        parameters.into_iter().map(pair).collect()
    }

    fn one_key(configured: &str, ifname: &str) -> String {
        key("sysctl", configured, ifname).unwrap()
    }

    #[test]
    fn dots_and_slashes_separate() {
        for configured in [
            "net.ipv4.conf.all.rp_filter",
            "net/ipv4/conf/all/rp_filter",
            "net/ipv4.conf/all.rp_filter",
        ] {
            assert_eq!(one_key(configured, "eth0"), "net.ipv4.conf.all.rp_filter");
        }
    }

    #[test]
    fn the_interfaces_name_is_put_in_its_place() {
        for configured in [
            "net.ipv4.conf.IFNAME.rp_filter",
            "net/ipv4/conf/IFNAME/rp_filter",
        ] {
            assert_eq!(one_key(configured, "eth0"), "net.ipv4.conf.eth0.rp_filter");
            assert_eq!(
                one_key(configured, "eth0.100"),
                "net.ipv4.conf.eth0/100.rp_filter"
            );
        }
    }

    #[test]
    fn keys_that_are_not_below_net_are_refused() {
        for configured in [
            "kernel.hostname",
            "net",
            "net.",
            "",
            "/net/core/somaxconn",
            "net..core.somaxconn",
            "net.core.somaxconn.",
            "net/../kernel/hostname",
            "networks.core",
        ] {
            let error = key("args.cni.sysctl", configured, "eth0").unwrap_err();
            assert_eq!(error.code, Code::INVALID_CONFIG);
            let expected = format!("args.cni.sysctl: `{configured}` is not");
            assert!(error.msg.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn the_same_parameter_twice_is_refused() {
        for (one, other) in [
            ("net.core.somaxconn", "net/core/somaxconn"),
            (
                "net.ipv4.conf.IFNAME.rp_filter",
                "net.ipv4.conf.eth0.rp_filter",
            ),
        ] {
            let config = format!(r#"{{"sysctl": {{"{one}": "1", "{other}": "1"}}}}"#);
            let error = of_text(&config, "eth0").unwrap_err();
            assert_eq!(error.code, Code::INVALID_CONFIG);
            assert!(
                error.msg.contains(one) && error.msg.contains(other),
                "{error}"
            );
        }
    }

    #[test]
    fn those_of_args_take_the_place_of_the_configurations() {
        let config = r#"{"sysctl": {"net.core.somaxconn": "1", "net.ipv4.ip_forward": "0"},
            "args": {"cni": {"sysctl": {"net/core/somaxconn": "2", "net.unix.max_dgram_qlen": "3"}}}}"#;
        let expected = [
            ("net.core.somaxconn", "2"),
            ("net.ipv4.ip_forward", "0"),
            ("net.unix.max_dgram_qlen", "3"),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(pairs(config, "eth0"), expected);
        let alone = r#"{"args": {"cni": {"sysctl": {"net.core.somaxconn": "2"}}}}"#;
        assert_eq!(pairs(alone, "eth0"), expected[..1]);
    }

    #[test]
    fn white_space_does_not_count() {
        assert!(is_same("4096\t131072\t6291456", "4096 131072  6291456"));
        assert!(is_same("1", " 1 "));
        assert!(!is_same("1\t2", "12"));
        assert!(!is_same("1\t2", "1"));
    }

    proptest! {
        #[test]
        fn every_key_has_one_spelling(parts in proptest::collection::vec("[a-z0-9_-]{1,9}", 1..5)) {
            let parts: Vec<&str> = ["net"].into_iter().chain(parts.iter().map(String::as_str)).collect();
            let dotted = parts.join(".");
            prop_assert_eq!(one_key(&dotted, "eth0"), dotted.clone());
            prop_assert_eq!(one_key(&parts.join("/"), "eth0"), dotted);
        }

        #[test]
        fn a_key_never_leaves_net(configured in "[a-z./]{0,20}", ifname in "[a-z.]{1,15}") {
            if let Ok(key) = key("sysctl", &configured, &ifname) {
                prop_assert!(key.starts_with("net."));
                prop_assert!(key.split('.').all(|part| !part.is_empty()));
            }
        }
    }
}
