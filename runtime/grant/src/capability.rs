//! The types made from the list of capabilities in the crate's root: their words, the rules that a grant has for
//! each, and the requirements of operations.

use std::fmt;

use super::invocation::Invocation;
use super::native::{self, NativePlugin};
use super::rule::{Facts, Listed, Rule};
use super::{Capabilities, Capability, Need};

/// Declares the capabilities of the contract, in its order: those that have rules, and the one that needs none.
macro_rules! capabilities {
    (
        $($(#[$doc:meta])* $variant:ident, $word:literal $(once $old:literal)?, $module:ident: $rule:ty;)*
        => without rules $free:ident, $free_word:literal;
        => configured $native:ty;
    ) => {
        /// One family of host functions, and the key of its rules in a grant.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum Capability {
            $(#[serde(rename = $word $(, alias = $old)?)] $variant,)*
            #[serde(rename = $free_word)] $free,
            /// weir's own, bounded by its own configuration. No plugin has it and no grant can give it.
            #[serde(rename = "native")]
            Native,
        }

        impl Capability {
            /// All capabilities of the contract, in its order.
            pub const ALL: [Self; Self::Native as usize] = [$(Self::$variant,)* Self::$free];

            /// All capabilities that the audit log records, weir's own included.
            pub const RECORDED: [Self; Self::Native as usize + 1] =
                [$(Self::$variant,)* Self::$free, Self::Native];

            /// Former words of capabilities, each with the present one. Both are read.
            pub(crate) const FORMER_WORDS: &'static [(&'static str, &'static str)] = &[$($(($old, $word),)?)*];

            /// Returns the word for it: an interface of the contract, a key of a grant, a field of the audit log.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::$free => $free_word,
                    Self::Native => "native",
                }
            }

            /// Describes its rules; none for the capability that needs none.
            pub fn description(self) -> Option<&'static $crate::rule::Description> {
                match self {
                    $(Self::$variant => Some(&<$rule as $crate::rule::Rule>::DESCRIPTION),)*
                    Self::$free => None,
                    Self::Native => Some(&<$native as $crate::rule::Rule>::DESCRIPTION),
                }
            }
        }

        /// The rules, capability by capability. An absent capability allows nothing.
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct Capabilities {
            $($(#[$doc])* #[serde(rename = $word $(, alias = $old)?, skip_serializing_if = "Vec::is_empty")] pub $module: Vec<$rule>,)*
            /// The native plugins that weir's own configuration lists. No document can list them.
            #[serde(skip)]
            pub native: Vec<$native>,
        }

        impl Capabilities {
            /// Whether the grant has a rule for this capability. `log` needs none.
            pub fn has(&self, capability: Capability) -> bool {
                match capability {
                    $(Capability::$variant => !self.$module.is_empty(),)*
                    Capability::$free => true,
                    Capability::Native => !self.native.is_empty(),
                }
            }
        }

        $(impl $crate::rule::Listed for $rule {
            fn of(capabilities: &Capabilities) -> &[Self] {
                &capabilities.$module
            }
        })*

        /// One object that an operation touches, and how.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Need {
            $($variant($module::Requirement),)*
            Native(<$native as $crate::rule::Rule>::Requirement),
        }

        $(impl From<$module::Requirement> for Need {
            fn from(requirement: $module::Requirement) -> Self {
                Self::$variant(requirement)
            }
        })*

        impl Need {
            /// Whether rules of the grant meet it.
            pub fn is_met(&self, capabilities: &Capabilities, invocation: &$crate::Invocation) -> bool {
                match self {
                    $(Self::$variant(r) => $crate::capability::is_met::<$rule>(capabilities, r, invocation),)*
                    Self::Native(r) => $crate::capability::is_met::<$native>(capabilities, r, invocation),
                }
            }

            /// Returns each way in which it can come about under these rules: usually itself alone.
            pub fn ways(&self, capabilities: &Capabilities) -> Vec<Self> {
                match self {
                    $(Self::$variant(r) => {
                        let ways = $crate::capability::ways::<$rule>(capabilities, r);
                        ways.into_iter().map(Self::$variant).collect()
                    })*
                    Self::Native(r) => vec![Self::Native(r.clone())],
                }
            }

            /// Returns the facts about each way in which it can come about under these rules.
            pub fn facts(&self, capabilities: &Capabilities) -> Vec<$crate::rule::Facts> {
                match self {
                    $(Self::$variant(r) => $crate::capability::facts::<$rule>(capabilities, r),)*
                    Self::Native(r) => $crate::capability::facts::<$native>(capabilities, r),
                }
            }

            /// Drafts the rule that allows it.
            pub fn draft(&self, seen: &$crate::field::Seen<'_>) -> $crate::rule::Draft {
                match self {
                    $(Self::$variant(r) => <$rule as $crate::rule::Rule>::draft(r, seen),)*
                    Self::Native(r) => <$native as $crate::rule::Rule>::draft(r, seen),
                }
            }
        }

        impl std::fmt::Display for Need {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant(requirement) => std::fmt::Display::fmt(requirement, f),)*
                    Self::Native(requirement) => std::fmt::Display::fmt(requirement, f),
                }
            }
        }
    };
}

pub(crate) use capabilities;

impl Capability {
    /// Returns the contract's capability of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.word() == word)
    }

    /// Whether this version of weir implements the capability's operations. The others are part
    /// of the contract and answer `unsupported`.
    pub fn is_implemented(self) -> bool {
        !matches!(self, Self::Packet)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Listed for NativePlugin {
    fn of(capabilities: &Capabilities) -> &[Self] {
        &capabilities.native
    }
}

impl From<native::Requirement> for Need {
    fn from(requirement: native::Requirement) -> Self {
        Self::Native(requirement)
    }
}

pub(crate) fn facts<R: Rule>(
    capabilities: &Capabilities,
    requirement: &R::Requirement,
) -> Vec<Facts> {
    let ways = ways::<R>(capabilities, requirement);
    ways.iter().map(R::facts).collect()
}

pub(crate) fn ways<R: Rule>(
    capabilities: &Capabilities,
    requirement: &R::Requirement,
) -> Vec<R::Requirement> {
    R::spread(R::of(capabilities), requirement.clone())
}

pub(crate) fn is_met<R: Rule>(
    capabilities: &Capabilities,
    requirement: &R::Requirement,
    invocation: &Invocation,
) -> bool {
    let rules = R::of(capabilities);
    let is_met = |r: &R::Requirement| rules.iter().any(|rule| rule.miss(r, invocation).is_none());
    R::spread(rules, requirement.clone()).iter().all(is_met)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capability whose rules were not found would be denied whatever a grant says.
    #[test]
    fn every_capability_finds_its_rules() {
        for capability in Capability::ALL {
            let rule = match capability {
                Capability::Log => continue,
                Capability::Ipam => serde_json::json!("host-local"),
                _ => serde_json::json!({}),
            };
            let grant = serde_json::json!({ capability.to_string(): [rule] });
            let grant: Capabilities = serde_json::from_value(grant).expect("a grant");
            for other in Capability::ALL {
                let expected = other == capability || other == Capability::Log;
                assert_eq!(
                    grant.has(other),
                    expected,
                    "{other} of a grant for {capability}"
                );
            }
        }
    }
    /// Grants and records from before policy rules were called so are read on.
    #[test]
    fn a_former_word_is_still_read() {
        for word in ["rule", "policy-rule"] {
            let grant = format!(r#"{{"{word}": [{{"tables": [100]}}]}}"#);
            let grant: Capabilities = serde_json::from_str(&grant).expect("a grant");
            let rules = serde_json::to_string(&grant).expect("JSON");
            assert_eq!(rules, r#"{"policy-rule":[{"tables":[100]}]}"#);
            let recorded: Capability = serde_json::from_str(&format!("\"{word}\"")).expect("one");
            assert_eq!(recorded, Capability::PolicyRule);
        }
    }
}
