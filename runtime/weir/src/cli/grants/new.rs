//! `weir grants new`: a document to start from, by the functions that a component imports.

use anyhow::Result;
use clap::Args;
use weir_files::Paths;
use weir_grant::document::{API_VERSION, KIND};
use weir_grant::operation_names::function::{further_verbs, verbs};
use weir_grant::{Capability, Verb};
use weir_sandbox::Sandbox;

use super::show_error;
use crate::cli::output::{Answer, print_line, say};
use crate::cli::outside::refuse;

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name.
    plugin: String,
}

/// Prints a document with a rule for every capability that the component imports, with the verbs of its functions. Rules
/// without fields allow everything of a capability, so each says what to narrow.
pub fn run(paths: Paths, arguments: &Arguments) -> Result<Answer> {
    let plugin = &arguments.plugin;
    refuse(&paths, plugin)?;
    let sandbox = Sandbox::new(paths, false).map_err(show_error)?;
    let found = sandbox.catalogue().find(plugin).map_err(show_error)?;
    let inspection = sandbox
        .inspect(&found.component().map_err(show_error)?)
        .map_err(show_error)?;
    print_line!(
        "# Review every rule: a key that is left out allows everything. `weir grants learn {plugin}` and"
    );
    print_line!("# `weir grants suggest {plugin}` find out what the plugin needs. Then save it as");
    say!("# {}/{plugin}.yaml", sandbox.paths().grants().display());
    print_line!("apiVersion: {}", API_VERSION);
    print_line!("kind: {}", KIND);
    print_line!("metadata:\n  name: {plugin}");
    print_line!(
        "spec:\n  plugin:\n    name: {plugin}\n    digest: {}",
        found.digest
    );
    print_line!("  networks: [\"*\"]\n  capabilities:");
    let rules: Vec<String> = inspection
        .imports
        .functions
        .iter()
        .filter_map(rule)
        .collect();
    for rule in &rules {
        print_line!("{rule}");
    }
    if rules.is_empty() {
        print_line!("    {{}}");
    }
    print_line!(
        "  # For NetworkAttachmentDefinitions, whose text tenants write, put \"*/*\" among the"
    );
    print_line!("  # networks, and below `tenants` the rules that may then be used:");
    print_line!("  # tenants:\n  #   capabilities: {{}}");
    Ok(Answer::Yes)
}

/// The rule for a capability's functions, which are named above it; none if they need none.
fn rule((capability, functions): (&Capability, &Vec<String>)) -> Option<String> {
    let needs_rule = |function: &&String| !verbs(*capability, function).is_empty();
    let functions: Vec<&str> = functions
        .iter()
        .filter(needs_rule)
        .map(String::as_str)
        .collect();
    let fields =
        template(*capability).filter(|_| capability.is_implemented() && !functions.is_empty())?;
    let needed: Vec<Verb> = functions
        .iter()
        .flat_map(|function| {
            let further = further_verbs(*capability, function).iter().copied();
            verbs(*capability, function).into_iter().chain(further)
        })
        .collect();
    let all = capability.description().map_or(&[][..], |d| d.verbs);
    let words: Vec<&str> = all
        .iter()
        .filter(|verb| needed.contains(verb))
        .map(|verb| verb.word())
        .collect();
    let rule = match fields {
        Fields::Name(name) => name.to_owned(),
        Fields::None => format!("{{ verbs: [{}] }}", words.join(", ")),
        Fields::Of(fields) => format!("{{ {fields}, verbs: [{}] }}", words.join(", ")),
    };
    let functions = functions.join(", ");
    Some(format!(
        "    {capability}:\n      # For {functions}.\n      - {rule}"
    ))
}

/// What a first rule has besides its verbs.
enum Fields {
    /// The rule is only a name.
    Name(&'static str),
    None,
    Of(&'static str),
}

fn template(capability: Capability) -> Option<Fields> {
    Some(match capability {
        Capability::Link => Fields::Of(r#"namespace: container, names: ["{ifname}"]"#),
        Capability::Address | Capability::Neighbour | Capability::Route | Capability::Traffic => {
            Fields::Of(r#"namespace: container, links: ["{ifname}"]"#)
        }
        Capability::Firewall => Fields::Of("namespace: host, families: [inet]"),
        Capability::Firewalld => Fields::Of("zones: [trusted]"),
        Capability::Conntrack => Fields::Of("namespace: container, protocols: [udp]"),
        Capability::Sysctl => {
            Fields::Of(r#"namespace: container, keys: ["net.ipv4.conf.{ifname}.*"]"#)
        }
        Capability::PolicyRule => Fields::Of("namespace: container"),
        Capability::Store | Capability::Device => Fields::None,
        Capability::Ipam => Fields::Name("host-local"),
        Capability::Packet | Capability::Log | Capability::Native => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(capability: Capability, functions: &[&str]) -> Option<String> {
        let functions = functions.iter().map(|f| (*f).to_owned()).collect();
        rule((&capability, &functions))
    }

    #[test]
    fn a_rule_has_the_verbs_of_the_imported_functions_and_no_others() {
        assert_eq!(
            of(Capability::Link, &["get", "update"]).as_deref(),
            Some(
                "    link:\n      # For get, update.\n      \
                 - { namespace: container, names: [\"{ifname}\"], verbs: [read, update] }"
            )
        );
        let store = ["[method]transaction.keys", "commit", "open"];
        assert_eq!(
            of(Capability::Store, &store).as_deref(),
            Some(
                "    store:\n      # For [method]transaction.keys, open.\n      \
                 - { verbs: [read, write] }"
            )
        );
        assert_eq!(
            of(Capability::Ipam, &["add", "del"]).as_deref(),
            Some("    ipam:\n      # For add, del.\n      - host-local")
        );
        assert_eq!(of(Capability::Log, &["write"]), None);
        assert_eq!(of(Capability::Packet, &["open-udp"]), None);
    }
}
