//! `weir grants new`: a document to start from, by the functions that a component imports.

use anyhow::Result;
use clap::Args;
use serde_json::json;
use weir_cni::NetworkConfigList;
use weir_files::Paths;
use weir_grant::document::{API_VERSION, KIND};
use weir_grant::flow::flow;
use weir_grant::operation_names::function::{further_verbs, verbs};
use weir_grant::{Capability, Limits, Verb};
use weir_sandbox::Sandbox;

use super::document::limits;
use super::show_error;
use crate::cli::node_networks;
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
    let sandbox = Sandbox::new(paths.clone(), false).map_err(show_error)?;
    let found = sandbox.catalogue().find(plugin).map_err(show_error)?;
    let inspection = sandbox.inspect_plugin(&found).map_err(show_error)?;
    print_line!(
        "# Review every rule: a key that is left out allows everything. What the plugin needs is found out by"
    );
    print_line!(
        "# `weir plugin test FILE CONFIG --suggest-grant`, with its component and a network, or by"
    );
    print_line!(
        "# `weir grants learn {plugin}` and `weir grants suggest {plugin}`. Then save it as"
    );
    say!("# {}/{plugin}.yaml", paths.grants().display());
    print_line!("apiVersion: {}", API_VERSION);
    print_line!("kind: {}", KIND);
    print_line!("metadata:\n  name: {plugin}");
    print_line!(
        "spec:\n  plugin:\n    name: {plugin}\n    digest: {}",
        found.digest
    );
    print_networks(&paths, plugin);
    print_line!("  capabilities:");
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
    print_line!("  # weir's own. A plugin that exceeds one fails, and the error names the key.");
    print_line!("  limits: {}", limits(&Limits::default()));
    print_line!(
        "  # For NetworkAttachmentDefinitions, whose text tenants write, put \"*/*\" among the"
    );
    print_line!("  # networks, and below `tenants` the rules that may then be used:");
    print_line!("  # tenants:\n  #   capabilities: {{}}");
    Ok(Answer::Yes)
}

/// Prints the networks of this node that name the plugin. None may use it if there are none: whoever adds one is asked to name
/// it.
fn print_networks(paths: &Paths, plugin: &str) {
    let uses = |list: &NetworkConfigList| {
        let mut plugins = list.plugins.iter();
        plugins.any(|p| p.plugin_type() == plugin || p.ipam_type() == Some(plugin))
    };
    let lists = node_networks::of_node(paths).into_iter();
    let names: Vec<String> = lists.filter(uses).map(|list| list.name).collect();
    if names.is_empty() {
        print_line!("  # Name the networks that may use it: no configuration of this node does.");
    }
    say!("  networks: {}", flow(&json!(names)));
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
