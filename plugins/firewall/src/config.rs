//! The configuration, key by key.

use std::fmt;

use serde_json::json;
use weir_sdk::Error;

/// The administrator's chain without `iptablesAdminChainName`.
pub const ADMIN_CHAIN: &str = "CNI-ADMIN";

/// The longest name of a chain, in bytes.
const CHAIN_NAME_MAX: usize = 31;

/// The zone without `firewalldZone`: all packets pass it.
const ZONE: &str = "trusted";

/// The chains that are not the administrator's.
const OWN_CHAINS: [&str; 2] = ["forward", "admins"];

/// A plugin configuration of the type `firewall`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What lets the container's packets pass.
    pub backend: Backend,
    /// The administrator's chain.
    pub iptables_admin_chain_name: String,
    /// The zone of firewalld that the container's addresses are bound to.
    pub firewalld_zone: String,
    /// Which connections reach the container.
    pub ingress_policy: IngressPolicy,
}

/// `backend`.
#[weir_sdk::config(from = "String")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The plugin's own tables, and firewalld where it runs.
    #[default]
    Whichever,
    /// Only the plugin's own tables.
    Nftables,
    /// As without the key, but firewalld must run.
    Firewalld,
    /// A backend that does not exist.
    Other(String),
}

impl From<String> for Backend {
    fn from(text: String) -> Self {
        match text.as_str() {
            "" => Self::Whichever,
            // What the reference plugin makes with iptables, weir makes in tables of its own.
            "nftables" | "iptables" => Self::Nftables,
            "firewalld" => Self::Firewalld,
            _ => Self::Other(text),
        }
    }
}

/// `ingressPolicy`.
#[weir_sdk::config(rename_all = "kebab-case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IngressPolicy {
    /// All connections.
    #[default]
    #[serde(alias = "")]
    Open,
    /// None from containers on other bridges that have a policy.
    SameBridge,
    /// As `same-bridge`, and none from other containers on the bridge.
    Isolated,
}

impl fmt::Display for IngressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::SameBridge => "same-bridge",
            Self::Isolated => "isolated",
        })
    }
}

impl Config {
    /// Returns the administrator's chain.
    pub fn admin_chain(&self) -> &str {
        match self.iptables_admin_chain_name.as_str() {
            "" => ADMIN_CHAIN,
            name => name,
        }
    }

    /// Returns the zone of firewalld.
    pub fn zone(&self) -> &str {
        match self.firewalld_zone.as_str() {
            "" => ZONE,
            zone => zone,
        }
    }

    /// Checks what the types cannot say. Errors have code 7, or 2 for a backend that does not exist.
    pub fn validate(&self) -> Result<(), Error> {
        if let Backend::Other(backend) = &self.backend {
            return Err(unsupported_backend(backend));
        }
        let name = self.admin_chain();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= CHAIN_NAME_MAX
            && name.chars().all(allowed)
            && !OWN_CHAINS.contains(&name);
        if is_name {
            Ok(())
        } else {
            Err(Error::invalid_config(format!(
                "iptablesAdminChainName: `{}` cannot be the administrator's chain: expected a letter \
                 and at most 30 letters, digits, dots, dashes and underscores, other than {}",
                name.escape_debug(),
                OWN_CHAINS.join(" and ")
            )))
        }
    }
}

fn unsupported_backend(backend: &str) -> Error {
    Error::unsupported_field("backend", &json!(backend)).with_details(
        "expected `nftables`, `iptables` or `firewalld`, or no key: nftables, and firewalld where it runs",
    )
}

#[cfg(test)]
mod tests {
    use weir_sdk::Code;

    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn policies_have_the_references_names() {
        let policy =
            |text: &str| config(&format!(r#"{{"ingressPolicy": "{text}"}}"#)).ingress_policy;
        for (text, expected) in [
            ("", IngressPolicy::Open),
            ("open", IngressPolicy::Open),
            ("same-bridge", IngressPolicy::SameBridge),
            ("isolated", IngressPolicy::Isolated),
        ] {
            assert_eq!(policy(text), expected);
        }
        assert_eq!(config("{}").ingress_policy, IngressPolicy::Open);
        assert!(serde_json::from_str::<Config>(r#"{"ingressPolicy": "closed"}"#).is_err());
    }

    #[test]
    fn other_backends_are_unsupported_values() {
        for backend in ["ebtables", "Firewalld"] {
            let error = config(&format!(r#"{{"backend": "{backend}"}}"#));
            let error = error.validate().unwrap_err();
            assert_eq!(error.code, Code::UNSUPPORTED_FIELD);
            assert!(
                error.msg.contains("backend") && error.msg.contains(backend),
                "{error}"
            );
        }
        for backend in ["", "nftables", "iptables", "firewalld"] {
            let config = config(&format!(r#"{{"backend": "{backend}"}}"#));
            assert!(config.validate().is_ok(), "{backend}");
        }
    }

    #[test]
    fn the_administrators_chain_has_a_name_of_its_own() {
        let is_valid = |name: &str| {
            config(&format!(r#"{{"iptablesAdminChainName": "{name}"}}"#))
                .validate()
                .is_ok()
        };
        assert!(is_valid("") && is_valid("MY-CHAIN_1"));
        for name in ["forward", "admins", "1st", "a b", "a;b"] {
            assert!(!is_valid(name), "{name}");
        }
        assert!(is_valid(&"a".repeat(31)) && !is_valid(&"a".repeat(32)));
    }
}
