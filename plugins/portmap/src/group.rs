//! Mappings that are looked up under the same conditions and marked in the same way: they share rules,
//! maps and sets.
//!
//! Most networks name no conditions and no mark; theirs have plain names. All others have names with
//! eight digits that follow from conditions and mark.

use weir_sdk::digest::digest;
use weir_sdk::firewall::Condition;
use weir_sdk::{Error, IpFamily};

use crate::conditions;

/// What the mappings of a configuration have in common.
#[derive(Clone, Debug)]
pub struct Group {
    suffix: String,
    ipv4: Vec<Condition>,
    ipv6: Vec<Condition>,
    mark_bit: Option<u32>,
}

impl Group {
    /// The group of mappings with these conditions and this mark. Errors: code 7, naming the key.
    pub fn new(v4: &[String], v6: &[String], mark_bit: Option<u32>) -> Result<Self, Error> {
        Ok(Group {
            suffix: suffix(v4, v6, mark_bit),
            ipv4: conditions::parse("conditionsV4", v4, IpFamily::Ipv4)?,
            ipv6: conditions::parse("conditionsV6", v6, IpFamily::Ipv6)?,
            mark_bit,
        })
    }

    /// The group's name of a map, a set or a rule.
    pub fn name(&self, plain: &str) -> String {
        format!("{plain}{}", self.suffix)
    }

    /// The name without its group's suffix.
    pub fn plain(name: &str) -> &str {
        name.split('_').next().unwrap_or(name)
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

    fn group(v4: &[&str], v6: &[&str], mark_bit: Option<u32>) -> Group {
        let owned = |words: &[&str]| words.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        Group::new(&owned(v4), &owned(v6), mark_bit).unwrap()
    }

    #[test]
    fn groups_differ_in_conditions_and_mark_alone() {
        assert_eq!(group(&[], &[], None).name("ports4"), "ports4");
        let names = [
            group(&["-s", "10.0.0.0/8"], &[], None),
            group(&["-d", "10.0.0.0/8"], &[], None),
            group(&[], &["-s", "fd00::/8"], None),
            group(&[], &[], Some(13)),
            group(&[], &[], Some(14)),
        ]
        .map(|group| group.name("ports4"));
        for (index, name) in names.iter().enumerate() {
            assert_eq!(name.len(), "ports4_".len() + 8);
            assert!(!names[..index].contains(name), "{name}");
        }
    }
}
