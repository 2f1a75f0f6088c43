//! The configuration, key by key.

use serde_json::json;
use weir_sdk::Error;

use crate::group::Group;
use crate::mapping::{Mapping, MappingKeys};

/// The highest bit of a mark.
const MARK_BIT_MAX: u32 = 31;

/// The chain in which Kubernetes marks what it masquerades, and the bit that it sets.
const KUBERNETES_CHAIN: (&str, u32) = ("KUBE-MARK-MASQ", 14);

/// The key of the mappings.
const MAPPINGS: &str = "runtimeConfig.portMappings";

/// A plugin configuration of the type `portmap`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug)]
pub struct Config {
    /// `nftables` or `iptables`, of which either means the plugin's own tables, or empty.
    pub backend: String,
    /// Masquerade connections whose answers would not come back otherwise.
    pub snat: bool,
    /// Masquerade everything that comes to a mapped port.
    pub masq_all: bool,
    /// The bit that is set in the mark of what is masqueraded.
    pub mark_masq_bit: Option<u32>,
    /// The chain whose mark is set instead.
    pub external_set_mark_chain: Option<String>,
    /// What a packet of IPv4 must be like to be mapped.
    #[serde(rename = "conditionsV4")]
    pub conditions_v4: Vec<String>,
    /// What a packet of IPv6 must be like to be mapped.
    #[serde(rename = "conditionsV6")]
    pub conditions_v6: Vec<String>,
    /// Capability arguments.
    pub runtime_config: RuntimeConfig,
}

/// `runtimeConfig`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct RuntimeConfig {
    /// The mappings of this container.
    pub port_mappings: Vec<MappingKeys>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            backend: String::new(),
            snat: true,
            masq_all: false,
            mark_masq_bit: None,
            external_set_mark_chain: None,
            conditions_v4: Vec::new(),
            conditions_v6: Vec::new(),
            runtime_config: RuntimeConfig::default(),
        }
    }
}

impl Config {
    /// Checks what the types do not. Errors have code 7, or 2 for a value that no version of this
    /// plugin supports, and begin with the key.
    pub fn validate(&self) -> Result<(), Error> {
        if !matches!(self.backend.as_str(), "" | "nftables" | "iptables") {
            return Err(unsupported("backend", &self.backend)
                .with_details("weir uses nftables, whichever of nftables and iptables is named"));
        }
        self.mark_bit()?;
        self.group()?;
        self.mappings().map(drop)
    }

    /// What its mappings have in common. Errors: code 7, naming the key.
    pub fn group(&self) -> Result<Group, Error> {
        Group::new(&self.conditions_v4, &self.conditions_v6, self.mark_bit()?)
    }

    /// The bit that is set in the mark of what is masqueraded; none if nothing is to be marked.
    pub fn mark_bit(&self) -> Result<Option<u32>, Error> {
        match (self.mark_masq_bit, self.external_set_mark_chain.as_deref()) {
            (Some(_), Some(_)) => Err(Error::invalid_config(
                "markMasqBit and externalSetMarkChain cannot both be given: choose one",
            )),
            (Some(bit), None) if bit > MARK_BIT_MAX => Err(Error::invalid_config(format!(
                "markMasqBit: expected 0 to {MARK_BIT_MAX}, found {bit}"
            ))),
            (bit, None) => Ok(bit),
            (None, Some(chain)) => external_bit(chain).map(Some),
        }
    }

    /// The mappings. Errors name the first one that is wrong.
    pub fn mappings(&self) -> Result<Vec<Mapping>, Error> {
        Mapping::all(MAPPINGS, &self.runtime_config.port_mappings)
    }

    /// Warnings about mappings that have no effect.
    pub fn repeated(&self) -> Vec<String> {
        Mapping::repeated(MAPPINGS, &self.runtime_config.port_mappings)
    }
}

/// The mark bit that a chain of iptables sets. nftables cannot jump to such a chain; Kubernetes' is known.
fn external_bit(chain: &str) -> Result<u32, Error> {
    let (name, bit) = KUBERNETES_CHAIN;
    if chain == name {
        return Ok(bit);
    }
    Err(unsupported("externalSetMarkChain", chain).with_details(format!(
        "nftables cannot jump to a chain of iptables; weir knows only `{name}`, which sets bit {bit}. \
         Give the bit that your chain sets as `markMasqBit`"
    )))
}

fn unsupported(key: &str, value: &str) -> Error {
    Error::unsupported_field(key, &json!(value))
}

#[cfg(test)]
mod tests {
    use weir_sdk::Code;

    use super::*;

    fn fault(text: &str) -> Error {
        let config: Config = serde_json::from_str(text).unwrap();
        config.validate().unwrap_err()
    }

    fn bit(text: &str) -> Option<u32> {
        let config: Config = serde_json::from_str(text).unwrap();
        config.mark_bit().unwrap()
    }

    #[test]
    fn other_backends_are_unsupported_values() {
        let error = fault(r#"{"backend": "ebtables"}"#);
        assert_eq!(error.code, Code::UNSUPPORTED_FIELD);
        assert!(
            error.msg.contains("backend") && error.msg.contains("ebtables"),
            "{error}"
        );
        for backend in ["", "nftables", "iptables"] {
            let config = serde_json::from_str::<Config>(&format!(r#"{{"backend": "{backend}"}}"#));
            assert!(config.unwrap().validate().is_ok(), "{backend}");
        }
    }

    #[test]
    fn nothing_is_marked_unless_it_is_asked_for() {
        assert_eq!(bit("{}"), None);
        assert_eq!(bit(r#"{"markMasqBit": 0}"#), Some(0));
        assert_eq!(
            bit(r#"{"externalSetMarkChain": "KUBE-MARK-MASQ"}"#),
            Some(14)
        );
    }

    #[test]
    fn marks_have_32_bits_and_one_origin() {
        assert!(
            fault(r#"{"markMasqBit": 32}"#)
                .msg
                .starts_with("markMasqBit: ")
        );
        let both = r#"{"markMasqBit": 3, "externalSetMarkChain": "KUBE-MARK-MASQ"}"#;
        assert!(
            fault(both)
                .msg
                .starts_with("markMasqBit and externalSetMarkChain")
        );
        let unknown = fault(r#"{"externalSetMarkChain": "MY-CHAIN"}"#);
        assert_eq!(unknown.code, Code::UNSUPPORTED_FIELD);
        assert!(unknown.details.contains("markMasqBit"), "{unknown}");
    }
}
