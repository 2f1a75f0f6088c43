//! The functions of the contract, and which verb of a rule allows what each of them does.

use super::super::Capability;
use super::super::verb::Verb;
use super::table::OPERATIONS;

/// Returns the verbs of the operations that a function may perform, one per call. Empty for a
/// function that needs no rule, because it is part of something already allowed.
///
/// `[method]transaction.get` is a method of a resource.
pub fn verbs(capability: Capability, function: &str) -> Vec<Verb> {
    let own = function.rsplit('.').next().unwrap_or(function);
    // Several at once are that many operations.
    let own = own.strip_suffix("-all").unwrap_or(own);
    let name = match capability {
        // The same operation for every command.
        Capability::Ipam => format!("{capability}.run"),
        _ => format!("{capability}.{own}"),
    };
    let operations = OPERATIONS.iter().filter(|known| known.name == name);
    let mut verbs: Vec<Verb> = Vec::new();
    for known in operations {
        if !verbs.contains(&known.verb) {
            verbs.push(known.verb);
        }
    }
    verbs
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The functions of an interface of the contract, as it is written.
    fn functions(capability: Capability) -> Vec<String> {
        let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let file = contract.join(format!("{capability}.wit"));
        let text = fs::read_to_string(file).expect("a file for each capability");
        let names = text.lines().filter_map(|line| line.split_once(": func("));
        names
            .map(|(name, _)| name.trim().trim_start_matches('%').to_owned())
            .collect()
    }

    #[test]
    fn every_function_of_the_contract_has_a_verb_or_follows_from_another() {
        let follow = ["store.commit", "packet.send", "packet.receive", "log.write"];
        let mut count = 0;
        for capability in Capability::ALL {
            for function in functions(capability) {
                let name = format!("{capability}.{function}");
                let has_none = verbs(capability, &function).is_empty();
                assert_eq!(has_none, follow.contains(&name.as_str()), "{name}");
                count += 1;
            }
        }
        assert!(count > 50, "{count}");
    }

    #[test]
    fn the_verb_is_that_of_the_operation() {
        use Capability::{Ipam, Link, Store};
        for (capability, function, expected) in [
            (Link, "update-port", &[Verb::Update][..]),
            (Link, "get", &[Verb::Read]),
            (Link, "delete-all", &[Verb::Delete]),
            (Store, "open", &[Verb::Read, Verb::Write]),
            (Store, "[method]transaction.put", &[Verb::Write]),
            (Ipam, "del", &[Verb::Run]),
        ] {
            assert_eq!(verbs(capability, function), expected, "{function}");
        }
    }
}
