//! The functions of the contract, and which verb of a rule allows what each of them does.

use super::super::Capability;
use super::super::rule::RuleFields;
use super::super::verb::Verb;
use super::table::OPERATIONS;

/// Returns the verbs of the operations that a function may perform, one per call. Empty for a
/// function that needs no rule, because it is part of something already allowed.
///
/// `[method]transaction.get` is a method of a resource.
pub fn verbs(capability: Capability, function: &str) -> Vec<Verb> {
    let name = operation(capability, function);
    let operations = OPERATIONS.iter().filter(|known| known.name == name);
    let mut verbs: Vec<Verb> = Vec::new();
    for known in operations {
        if !verbs.contains(&known.verb) {
            verbs.push(known.verb);
        }
    }
    verbs
}

/// Returns the verbs that a function needs besides one of [`verbs`], on another object.
pub fn further_verbs(capability: Capability, function: &str) -> &'static [Verb] {
    match (capability, function) {
        // In the namespace that the link enters.
        (Capability::Link, "move") => &[Verb::Create],
        _ => &[],
    }
}

/// Whether a rule is about what a function touches: one about files only lets a plugin read a file, and no other does.
pub fn concerns(capability: Capability, function: &str, rule: &RuleFields) -> bool {
    let (is_store, has) = (capability == Capability::Store, |key| {
        rule.get(key).is_some()
    });
    match function {
        "read-file" if is_store => has("files"),
        _ if is_store => has("directories") || !has("files"),
        _ => true,
    }
}

/// The name of a function's operation in a record.
fn operation(capability: Capability, function: &str) -> String {
    let own = function.rsplit('.').next().unwrap_or(function);
    // Several at once are that many operations.
    let own = own.strip_suffix("-all").unwrap_or(own);
    match capability {
        // The same operation for every command.
        Capability::Ipam => format!("{capability}.run"),
        _ => format!("{capability}.{own}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    use super::*;

    /// A function of the contract, and the sentence of its documentation about the grant.
    struct Documented {
        /// As a component imports it.
        name: String,
        grant: Option<String>,
    }

    /// The functions of an interface of the contract, as it is written.
    fn functions(capability: Capability) -> Vec<Documented> {
        let contract = repository().join("wit");
        let file = contract.join(format!("{capability}.wit"));
        let text = fs::read_to_string(file).expect("a file for each capability");
        let (mut comment, mut resource) = (String::new(), None);
        let mut functions = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(more) = line.strip_prefix("///") {
                comment += more;
            } else if let Some(name) = line.strip_prefix("resource ") {
                resource = name.split_whitespace().next();
            } else if let Some((name, _)) = line.split_once(": func(") {
                let name = name.trim_start_matches('%');
                functions.push(Documented {
                    name: match resource {
                        Some(resource) => format!("[method]{resource}.{name}"),
                        None => name.to_owned(),
                    },
                    grant: grant(&comment),
                });
            } else if line == "}" {
                resource = None;
            }
            if !line.starts_with("///") && !line.starts_with('@') {
                comment.clear();
            }
        }
        functions
    }

    /// What a comment says after `Grant: verb`.
    fn grant(comment: &str) -> Option<String> {
        let (_, grant) = comment.split_once("Grant: verb ")?;
        let (sentence, _) = grant.split_once('.').unwrap_or((grant, ""));
        Some(sentence.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn every_function_of_the_contract_has_a_verb_or_follows_from_another() {
        let follow = [
            "store.[method]transaction.commit",
            "packet.[method]udp-socket.send",
            "packet.[method]udp-socket.receive",
            "packet.[method]raw-socket.send",
            "packet.[method]raw-socket.receive",
            "log.write",
        ];
        let mut count = 0;
        for capability in Capability::ALL {
            for function in functions(capability) {
                let name = format!("{capability}.{}", function.name);
                let has_none = verbs(capability, &function.name).is_empty();
                assert_eq!(has_none, follow.contains(&name.as_str()), "{name}");
                count += 1;
            }
        }
        assert!(count > 50, "{count}");
    }

    #[test]
    fn the_contract_documents_the_verbs_of_each_function() {
        for capability in Capability::ALL {
            for function in functions(capability) {
                let Some(grant) = function.grant else {
                    continue;
                };
                let all = Verb::ALL.iter().map(|verb| verb.word());
                let documented = all.filter(|word| grant.contains(&format!("`{word}`")));
                let documented: BTreeSet<&str> = documented.collect();
                let mut needed = verbs(capability, &function.name);
                needed.extend(further_verbs(capability, &function.name));
                let needed: BTreeSet<&str> = needed.iter().map(|verb| verb.word()).collect();
                assert_eq!(documented, needed, "{capability}.{}", function.name);
            }
        }
    }

    /// `docs/functions.md`, whose table is written from the contract and from the operations.
    #[test]
    fn the_page_of_functions_is_up_to_date() {
        let path = repository().join("docs/functions.md");
        let page = fs::read_to_string(&path).expect("the page of functions");
        let start = page.find("| capability |").expect("the page has a table");
        let written = page[..start].to_owned() + &table();
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &written).expect("the page can be written");
        } else {
            assert!(
                page == written,
                "docs/functions.md is not the contract's: run this test with UPDATE_DOCS=1 to write it anew"
            );
        }
    }

    fn table() -> String {
        let mut table = String::from(
            "| capability | function | verb of a rule | operation |\n|---|---|---|---|\n",
        );
        for capability in Capability::ALL {
            for Documented { name, grant } in functions(capability) {
                let verbs = verbs(capability, &name);
                let words: Vec<String> = verbs.iter().map(|v| format!("`{}`", v.word())).collect();
                let needed = match (grant, words.as_slice()) {
                    (Some(grant), _) => grant,
                    (None, []) => "none".to_owned(),
                    (None, words) => words.join(" or "),
                };
                let operation = if verbs.is_empty() {
                    String::new()
                } else {
                    format!("`{}`", operation(capability, &name))
                };
                table += &format!("| `{capability}` | `{name}` | {needed} | {operation} |\n");
            }
        }
        table
    }

    #[test]
    fn a_file_and_a_store_need_rules_of_their_own() {
        let rule = |fields: &[&str]| {
            let rule = RuleFields::new(Capability::Store);
            fields
                .iter()
                .fold(rule, |rule, field| rule.with(field, ["/a"]))
        };
        for (fields, of_file, of_store) in [
            (&[][..], false, true),
            (&["directories"], false, true),
            (&["files"], true, false),
            (&["directories", "files"], true, true),
        ] {
            let concerns = |name| concerns(Capability::Store, name, &rule(fields));
            assert_eq!(concerns("read-file"), of_file, "{fields:?}");
            assert_eq!(concerns("[method]transaction.get"), of_store, "{fields:?}");
        }
        let link = RuleFields::new(Capability::Link);
        assert!(concerns(Capability::Link, "get", &link));
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
