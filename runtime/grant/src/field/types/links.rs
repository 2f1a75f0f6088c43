//! Kinds of links, and their owners.

use super::one;
use crate::field::{FieldType, Flaw, Seen, Texts};
use crate::invocation::Invocation;
use crate::owner::Owner;
use crate::phrase::{joined, quoted};
use crate::word::Word;

/// Kinds of links, as the kernel reports them.
pub struct Kinds;

impl Kinds {
    /// The kinds that the kernel has words for. It reports others as well, but a grant rarely means those.
    const KNOWN: [&'static str; 25] = [
        "bareudp",
        "bond",
        "bridge",
        "dummy",
        "geneve",
        "gre",
        "gretap",
        "ifb",
        "ip6tnl",
        "ipip",
        "ipvlan",
        "ipvtap",
        "loopback",
        "macvlan",
        "macvtap",
        "netkit",
        "physical",
        "sit",
        "team",
        "tun",
        "veth",
        "vlan",
        "vrf",
        "vxlan",
        "wireguard",
    ];
}

impl FieldType for Kinds {
    type Values = Vec<String>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] =
        &["veth", "bridge", "ifb", "dummy", "physical", "loopback"];
    const OTHER: Option<&'static str> = Some("another");

    fn matches(kinds: &Vec<String>, fact: &str, _: &Invocation) -> bool {
        kinds.iter().any(|kind| kind == fact)
    }

    fn text(fact: &str) -> Texts {
        one(fact)
    }

    fn flaws(kinds: &Texts) -> Vec<Flaw> {
        let is_unknown = |kind: &&String| !Self::KNOWN.contains(&kind.as_str());
        let unknown: Vec<&String> = kinds.iter().filter(is_unknown).collect();
        if unknown.is_empty() {
            return Vec::new();
        }
        let text = format!(
            "no link has the kind {}; expected one of {}",
            joined(quoted(unknown), "and"),
            Self::KNOWN.join(", ")
        );
        vec![("unknown-kind", text)]
    }
}

/// An owner, by its mark.
pub struct Owners;

impl FieldType for Owners {
    type Values = Vec<Owner>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] = Owner::WORDS;
    const OTHER: Option<&'static str> = Some("another");

    fn matches(owners: &Vec<Owner>, mark: &str, invocation: &Invocation) -> bool {
        owners.iter().any(|owner| owner.has(mark, invocation))
    }

    fn text(mark: &str) -> Texts {
        one(mark)
    }

    fn write(mark: &str, seen: &Seen<'_>) -> Texts {
        let has = |owner: &&Owner| owner.has(mark, seen.invocation);
        // What the attachment owns, its network owns as well; the narrower one comes last.
        Owner::ALL.iter().rfind(has).map_or_else(Texts::new, one)
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        wide == narrow || (wide, narrow) == (Owner::Network.word(), Owner::Attachment.word())
    }

    /// Whose mark it is depends on the invocation. What weir did not make has none.
    fn meets(_: &str, mark: &str) -> bool {
        !mark.is_empty()
    }
}
