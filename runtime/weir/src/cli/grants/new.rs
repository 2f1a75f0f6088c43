//! `weir grants new`: a document to start from, by a component's imports.

use anyhow::Result;
use clap::Args;
use weir_files::Paths;
use weir_grant::Capability;
use weir_grant::document::{API_VERSION, KIND};
use weir_sandbox::Sandbox;

use super::show_error;
use crate::cli::output::{Answer, print_line, say};
use crate::cli::outside::refuse;

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name.
    plugin: String,
}

/// Prints a document with a rule for every capability that the component imports. Rules without fields
/// allow everything of a capability, so each says what to narrow.
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
    let capabilities = inspection.imports.capabilities();
    let mut rules = 0;
    for capability in capabilities.filter(|c| c.is_implemented()) {
        if let Some(rule) = template(capability) {
            print_line!("    {capability}:\n      - {rule}");
            rules += 1;
        }
    }
    if rules == 0 {
        print_line!("    {{}}");
    }
    print_line!(
        "  # For NetworkAttachmentDefinitions, whose text tenants write, put \"*/*\" among the"
    );
    print_line!("  # networks, and below `tenants` the rules that may then be used:");
    print_line!("  # tenants:\n  #   capabilities: {{}}");
    Ok(Answer::Yes)
}

fn template(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Link => Some(r#"{ namespace: container, names: ["{ifname}"], verbs: [read] }"#),
        Capability::Address | Capability::Neighbour | Capability::Route | Capability::Traffic => {
            Some(r#"{ namespace: container, links: ["{ifname}"], verbs: [read] }"#)
        }
        Capability::Firewall => Some("{ namespace: host, families: [inet], verbs: [read] }"),
        Capability::Firewalld => Some("{ zones: [trusted], verbs: [read] }"),
        Capability::Conntrack => {
            Some("{ namespace: container, protocols: [udp], verbs: [delete] }")
        }
        Capability::Sysctl => {
            Some(r#"{ namespace: container, keys: ["net.ipv4.conf.{ifname}.*"], verbs: [read] }"#)
        }
        Capability::Store => Some("{ verbs: [read, write] }"),
        Capability::Ipam => Some("host-local"),
        Capability::PolicyRule
        | Capability::Device
        | Capability::Packet
        | Capability::Log
        | Capability::Native => None,
    }
}
