//! A plugin's own configuration, read from the execution configuration with `serde`.
//!
//! Every error has CNI code 7, the full path of the key, what was expected and what was found:
//!
//! ```text
//! vlanTrunk[0].minID: expected an integer from 0 to 65535, found "ten"
//! hairpinmod: unknown key; did you mean `hairpinMode`?
//! ```
//!
//! Beyond serde's rules, those of the reference plugins hold:
//!
//! - Names of keys match in any case where no key matches exactly.
//! - `null` is the same as no key. Give fields a default with `#[serde(default)]`.
//!
//! An unknown key is reported in weir's log, because a mistyped key has no effect. Other plugins of the same name may
//! know it, so it is an error only with `"weir.dev/strict": true` beside `type`. These keys are never unknown: those
//! that CNI or the specification of multiple networks defines for every plugin, those with a dot, a slash or a colon
//! (namespaced), those that begin with an underscore (comments), and everything inside `args` and `runtimeConfig`,
//! which several plugins share.

mod de;
mod dns;
pub mod ip;
mod ipam;
mod keys;
pub mod mac;

use std::cell::RefCell;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_cni::Error;

use de::{Node, Path};

pub use dns::DnsKeys;
pub use ipam::{Ipam, IpamConfig};

/// The key `args`: arguments by convention are below its key `cni`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ArgsKey<T> {
    /// `args.cni`.
    pub cni: T,
}

/// The configuration of a plugin without keys.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct NoKeys {}

/// The key that makes unknown keys an error.
const STRICT: &str = "weir.dev/strict";

/// Returns what the word of a key stands for; an empty one is the first. Errors: code 7, with the words.
pub fn choice<T: Copy>(key: &str, word: &str, choices: &[(&str, T)]) -> Result<T, Error> {
    let mut found = choices
        .iter()
        .filter(|(known, _)| word.is_empty() || *known == word);
    found.next().map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = choices
            .iter()
            .map(|(known, _)| format!("`{known}`"))
            .collect();
        let expected = words.join(", ");
        let expected = match expected.rsplit_once(", ") {
            Some((others, last)) => format!("{others} or {last}"),
            None => expected,
        };
        Error::invalid_config(format!("{key}: expected {expected}, found `{word}`"))
    })
}

/// How a configuration is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The keys outside `ipam` are those of the plugin that runs this one.
    pub(crate) is_ipam: bool,
    /// Unknown keys are ignored, even in a strict configuration.
    pub(crate) is_lenient: bool,
}

/// Reads a plugin's configuration from the text of an execution configuration. Returns it with a message about each
/// unknown key.
pub(crate) fn parse<C: DeserializeOwned>(
    text: &str,
    rules: Rules,
) -> Result<(C, Vec<String>), Error> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Error::decoding_failure(format!("configuration: not JSON: {error}")))?;
    let unknown = RefCell::default();
    let root = Node::new(&value, &Path::Root, rules, &unknown);
    let config = C::deserialize(root).map_err(|error| Error::invalid_config(error.to_string()))?;
    let unknown = unknown.into_inner();
    let is_strict = !rules.is_lenient && value.get(STRICT) == Some(&Value::Bool(true));
    match unknown.first() {
        Some(message) if is_strict => Err(Error::invalid_config(message)),
        _ => Ok((config, unknown)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use weir_cni::Code;

    use super::mac::MacKey;
    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", default)]
    struct Config {
        bridge: String,
        is_gateway: bool,
        mtu: u16,
        offset: i8,
        gateway: Option<IpAddr>,
        backend: Backend,
        trunk: Vec<Trunk>,
        routes: Vec<Destination>,
        args: ArgsKey<MacKey>,
        ipam: Ipam,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Backend {
        #[default]
        Nftables,
        Iptables,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Trunk {
        id: u16,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Destination {
        dst: ipnet::IpNet,
    }

    const RULES: Rules = Rules {
        is_ipam: false,
        is_lenient: false,
    };

    /// Reads a configuration, strictly.
    fn parse<C: DeserializeOwned>(text: &str, rules: Rules) -> Result<C, Error> {
        let text = text.replacen('{', r#"{"weir.dev/strict": true, "#, 1);
        super::parse(&text, rules).map(|(config, _)| config)
    }

    fn read(text: &str) -> Result<Config, Error> {
        parse(text, RULES)
    }

    fn message(text: &str) -> String {
        let error = read(text).unwrap_err();
        assert_eq!(error.code, Code::INVALID_CONFIG, "{error}");
        error.msg
    }

    #[test]
    fn reads_what_is_well_formed() {
        let config = read(
            r#"{"cniVersion": "1.0.0", "name": "n", "type": "t", "bridge": "br0", "isGateway": true,
                "mtu": 1400, "offset": -3, "gateway": "10.0.0.1", "backend": "iptables",
                "trunk": [{"id": 7}], "ipam": {"type": "host-local", "subnet": "10.0.0.0/24"}}"#,
        )
        .unwrap();
        assert_eq!(
            config,
            Config {
                bridge: "br0".to_owned(),
                is_gateway: true,
                mtu: 1400,
                offset: -3,
                gateway: Some("10.0.0.1".parse().unwrap()),
                backend: Backend::Iptables,
                trunk: vec![Trunk { id: 7 }],
                routes: Vec::new(),
                args: ArgsKey::default(),
                ipam: Ipam {
                    plugin: "host-local".to_owned()
                },
            }
        );
    }

    #[test]
    fn names_match_in_any_case_and_the_exact_one_wins() {
        assert!(read(r#"{"isgateway": true}"#).unwrap().is_gateway);
        let config = read(r#"{"MTU": 1, "mtu": 2, "Mtu": 3}"#).unwrap();
        assert_eq!(config.mtu, 2);
    }

    #[test]
    fn null_is_no_key() {
        let config = read(r#"{"bridge": null, "trunk": null, "gateway": null}"#).unwrap();
        assert_eq!(config, Config::default());
    }

    #[test]
    fn type_errors_name_path_expectation_and_value() {
        for (text, expected) in [
            (r#"{"bridge": 7}"#, "bridge: expected a string, found 7"),
            (
                r#"{"isGateway": "yes"}"#,
                "isGateway: expected true or false, found \"yes\"",
            ),
            (
                r#"{"mtu": "1500"}"#,
                "mtu: expected an integer from 0 to 65535, found \"1500\"",
            ),
            (
                r#"{"mtu": 70000}"#,
                "mtu: expected an integer from 0 to 65535, found 70000",
            ),
            (
                r#"{"offset": -129}"#,
                "offset: expected an integer from -128 to 127, found -129",
            ),
            (
                r#"{"trunk": [{"id": 1}, {"id": true}]}"#,
                "trunk[1].id: expected an integer from 0 to 65535, found true",
            ),
            (r#"{"trunk": [{}]}"#, "trunk[0]: key `id` is missing"),
            (
                r#"{"trunk": {"id": 1}}"#,
                "trunk: expected a list, found {\"id\":1}",
            ),
            (r#"{"args": []}"#, "args: expected an object, found []"),
            (
                r#"{"gateway": "10.0.0"}"#,
                "gateway: invalid IP address syntax, found \"10.0.0\"",
            ),
            (
                r#"{"routes": [{"dst": "10.0.0.1"}]}"#,
                "routes[0].dst: expected a prefix length after the address, such as `10.0.0.1/32`, found \"10.0.0.1\"",
            ),
            (
                r#"{"routes": [{"dst": "10.0.0.0/33"}]}"#,
                "routes[0].dst: expected a prefix length from 0 to 32 after the address, found \"10.0.0.0/33\"",
            ),
            (
                r#"{"routes": [{"dst": "hello"}]}"#,
                "routes[0].dst: invalid IP address syntax, found \"hello\"",
            ),
            (
                r#"{"backend": "ebtables"}"#,
                "backend: expected `nftables` or `iptables`, found \"ebtables\"",
            ),
            (
                r#"{"ipam": {"type": 5}}"#,
                "ipam.type: expected a string, found 5",
            ),
            ("[1]", "configuration: expected an object, found [1]"),
        ] {
            assert_eq!(message(text), expected, "{text}");
        }
    }

    #[test]
    fn unknown_keys_are_named_with_the_nearest_one() {
        assert_eq!(
            message(r#"{"isGatway": true}"#),
            "isGatway: unknown key; did you mean `isGateway`?"
        );
        assert_eq!(
            message(r#"{"trunk": [{"id": 1, "idd": 2}]}"#),
            "trunk[0].idd: unknown key; did you mean `id`?"
        );
        assert_eq!(
            message(r#"{"trunk": [{"id": 1, "colour": 2}]}"#),
            "trunk[0].colour: unknown key; the keys are id"
        );
    }

    #[test]
    fn keys_of_everybody_are_accepted() {
        read(
            r#"{"cniVersion": "1.0.0", "cniVersions": [], "name": "n", "type": "t", "ipMasq": true,
                "dns": {}, "capabilities": {"mac": true}, "runtimeConfig": {"x": 1},
                "prevResult": {}, "disableCheck": true, "cni.dev/attachments": [],
                "example.com/x": 1, "k8s:y": 2, "_comment": "why", "deviceID": "0000:00:1f.6",
                "args": {"cni": {"mac": "", "ips": []}, "labels": []}}"#,
        )
        .unwrap();
    }

    #[test]
    fn what_is_everybodys_is_so_in_any_case() {
        read(r#"{"RuntimeConfig": {"ips": ["10.0.0.2"]}, "ARGS": {"cni": {"labels": 1}}}"#)
            .unwrap();
        assert_eq!(read(r#"{"IPAM": {"type": "x"}}"#).unwrap().ipam.plugin, "x");
    }

    #[test]
    fn unknown_keys_are_reported_unless_strictness_is_asked_for() {
        let text =
            r#"{"isGatway": true, "trunk": [{"id": 1, "idd": 2}], "weir.dev/strict": STRICT}"#;
        let read = |strict| super::parse::<Config>(&text.replace("STRICT", strict), RULES);
        let (config, told) = read("false").unwrap();
        assert_eq!(config.trunk.len(), 1);
        assert_eq!(
            told,
            [
                "isGatway: unknown key; did you mean `isGateway`?",
                "trunk[0].idd: unknown key; did you mean `id`?",
            ]
        );
        assert_eq!(read("true").unwrap_err().msg, told[0]);
    }

    #[test]
    fn lenient_rules_ignore_unknown_keys_but_not_types() {
        let lenient = Rules {
            is_lenient: true,
            ..RULES
        };
        assert_eq!(
            parse::<Config>(r#"{"isGatway": true, "mtu": 9}"#, lenient).unwrap(),
            Config {
                mtu: 9,
                ..Config::default()
            }
        );
        assert!(parse::<Config>(r#"{"mtu": "x"}"#, lenient).is_err());
    }

    #[test]
    fn an_ipam_plugin_owns_the_keys_in_ipam_only() {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Inner {
            subnet: String,
        }
        type Outer = IpamConfig<Inner>;
        let rules = Rules {
            is_ipam: true,
            ..RULES
        };
        let good = r#"{"bridge": "b", "anything": 1, "ipam": {"type": "x", "subnet": "s"}}"#;
        assert_eq!(parse::<Outer>(good, rules).unwrap().ipam.subnet, "s");
        let error = parse::<Outer>(r#"{"ipam": {"subnet": "s", "subnets": 1}}"#, rules);
        assert_eq!(
            error.unwrap_err().msg,
            "ipam.subnets: unknown key; did you mean `subnet`?"
        );
    }

    #[test]
    fn what_is_not_json_is_a_decoding_failure() {
        assert_eq!(read("{").unwrap_err().code, Code::DECODING_FAILURE);
    }
}
