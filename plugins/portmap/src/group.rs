//! Mappings that are looked up under the same conditions and marked in the same way: they share rules,
//! maps and sets.
//!
//! Most networks name no conditions and no mark; theirs have plain names. All others have names with
//! eight digits that follow from conditions and mark.

use weir_sdk::digest::digest;
use weir_sdk::firewall::Condition;
use weir_sdk::{Error, IpFamily};

use crate::conditions;
use crate::config::Config;

/// What the mappings of a configuration have in common.
#[derive(Clone, Debug)]
pub struct Group {
    suffix: String,
    ipv4: Vec<Condition>,
    ipv6: Vec<Condition>,
    mark_bit: Option<u32>,
}

impl Group {
    /// The group of a configuration's mappings. Errors: code 7, naming the key.
    pub fn of(config: &Config) -> Result<Self, Error> {
        let (v4, v6) = (&config.conditions_v4, &config.conditions_v6);
        Ok(Group {
            suffix: suffix(v4, v6, config.mark_bit()?),
            ipv4: conditions::parse("conditionsV4", v4, IpFamily::Ipv4)?,
            ipv6: conditions::parse("conditionsV6", v6, IpFamily::Ipv6)?,
            mark_bit: config.mark_bit()?,
        })
    }

    /// The group's name of a map, a set or a rule.
    pub fn name(&self, plain: &str) -> String {
        format!("{plain}{}", self.suffix)
    }

    /// What a packet of a family must be like.
    pub fn conditions(&self, family: IpFamily) -> &[Condition] {
        match family {
            IpFamily::Ipv4 => &self.ipv4,
            IpFamily::Ipv6 => &self.ipv6,
        }
    }

    /// The mark of what is masqueraded.
    pub fn mark(&self) -> Option<u32> {
        self.mark_bit.map(|bit| 1 << bit)
    }
}

fn suffix(v4: &[String], v6: &[String], mark_bit: Option<u32>) -> String {
    if v4.is_empty() && v6.is_empty() && mark_bit.is_none() {
        return String::new();
    }
    let text = format!("{v4:?} {v6:?} {mark_bit:?}");
    format!("_{}", &digest(&text)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(text: &str) -> Group {
        Group::of(&serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn groups_differ_in_conditions_and_mark_alone() {
        assert_eq!(group("{}").name("ports4"), "ports4");
        assert_eq!(group(r#"{"snat": false}"#).name("ports4"), "ports4");
        let names = [
            r#"{"conditionsV4": ["-s", "10.0.0.0/8"]}"#,
            r#"{"conditionsV4": ["-d", "10.0.0.0/8"]}"#,
            r#"{"conditionsV6": ["-s", "fd00::/8"]}"#,
            r#"{"markMasqBit": 13}"#,
            r#"{"markMasqBit": 14}"#,
        ]
        .map(|text| group(text).name("ports4"));
        for (index, name) in names.iter().enumerate() {
            assert_eq!(name.len(), "ports4_".len() + 8);
            assert!(!names[..index].contains(name), "{name}");
        }
    }
}
