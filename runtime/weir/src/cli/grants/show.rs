//! `weir grants show`: what a plugin may do, in words.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_files::Paths;
use weir_grant::native::NativePlugin;
use weir_grant::pattern::is_glob;
use weir_grant::rule::{RuleFields, rules_of};
use weir_grant::section::Request;
use weir_grant::{Capabilities, Capability, Document, Section, internal_grant};
use weir_grant::{phrase::joined, rule::sentence};
use weir_sandbox::{Catalogue, Loaded, Origin, read_grant};

use super::document::{to_yaml, wrapped};
use super::grant_state::{self, Grant, State};
use super::origin::rules_of_weir;
use crate::cli::node_networks;
use crate::cli::output::{Answer, Format, complain, print_line, print_text, say};
use crate::cli::outside::{Native, Outside};
use crate::cli::policy::describe::{limits, subject};

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name.
    plugin: String,
    /// A document to show instead of the grants of this node.
    #[arg(long, value_name = "FILE")]
    grant: Option<PathBuf>,
    /// Only what applies to this network.
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// The documents themselves.
    #[arg(long, conflicts_with = "output")]
    yaml: bool,
    #[command(flatten)]
    format: Format,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    name: String,
    plugin: String,
    /// `shipped`, or the file.
    from: String,
    #[serde(skip)]
    is_shipped: bool,
    /// Whether its plugin is built in.
    #[serde(skip)]
    is_built_in: bool,
    /// Not of a document that is given.
    state: Option<State>,
    because: Option<String>,
    networks: Vec<String>,
    digest: Option<String>,
    allowed: Vec<Allowed>,
    /// The network that it is shown for.
    network: Option<String>,
    /// For tenants; none without such a section, and of one network.
    tenants: Option<ForTenants>,
    /// What pods may request on the network, if that is one of the node's own.
    pods: Option<Vec<Request>>,
    not_allowed: Vec<Capability>,
    limits: Vec<String>,
    document: Document,
}

#[derive(Serialize)]
struct ForTenants {
    allowed: Vec<Allowed>,
    /// What pods may request on the node's own networks.
    pods: Vec<Request>,
}

#[derive(Serialize)]
struct Allowed {
    capability: Capability,
    may: Vec<String>,
}

/// No if the plugin has no grant in force.
pub fn run(paths: &Paths, arguments: &Arguments) -> Result<Answer> {
    if let Some(file) = &arguments.grant {
        let shown = given(file, arguments)?;
        print_all(arguments, &[shown])?;
        return Ok(Answer::Yes);
    }
    let plugin = &arguments.plugin;
    match Outside::of(paths, plugin)? {
        Some(Outside::Weir) => return show_own(arguments),
        Some(Outside::Native(native)) => return show_native(arguments, &native),
        None => {}
    }
    let network = arguments.network.as_deref();
    let all = grant_state::grants(paths)?;
    let is_shown = |grant: &&Grant| grant.plugin() == plugin && grant.by.is_empty();
    let shown: Vec<Shown> = match network {
        None => all.iter().filter(is_shown).map(shown_grant).collect(),
        Some(network) => {
            node_networks::report_unknown(paths, network);
            let deciding = grant_state::applying(&all, plugin, Some(network)).into_iter();
            deciding
                .map(|grant| shown_grant(grant).of_network(network))
                .collect()
        }
    };
    let has_grant = all.iter().any(|grant| grant.plugin() == plugin);
    let none = match network.filter(|_| has_grant) {
        Some(network) => format!("no grant of plugin `{plugin}` covers the network `{network}`"),
        None => grant_state::no_grant(plugin, &all),
    };
    if shown.is_empty() && !has_grant && !is_known(paths, plugin) {
        bail!(none);
    }
    if shown.is_empty() {
        complain(&none);
    }
    print_all(arguments, &shown)?;
    let is_in_force = |one: &Shown| one.state == Some(State::InForce);
    Ok(shown.iter().any(is_in_force).into())
}

/// A document that is in a file. Errors: it is not valid, is for another plugin, or does not cover the network.
fn given(file: &Path, arguments: &Arguments) -> Result<Shown> {
    let loaded = read_grant(file)?;
    let document = &loaded.document;
    let (plugin, of) = (&arguments.plugin, &document.spec.plugin.name);
    if of != plugin {
        bail!(
            "`{}` is a grant of plugin `{of}`, not of `{plugin}`",
            file.display()
        );
    }
    match &arguments.network {
        None => Ok(shown(loaded)),
        Some(network) if document.covers_network(network) => Ok(shown(loaded).of_network(network)),
        Some(network) => bail!(
            "`{}` does not cover the network `{network}`",
            file.display()
        ),
    }
}

fn print_all(arguments: &Arguments, all: &[Shown]) -> Result<()> {
    if arguments.yaml {
        all.iter().for_each(print_document);
        return Ok(());
    }
    arguments.format.print(&all, |all| {
        for (index, one) in all.iter().enumerate() {
            if index > 0 {
                print_line!();
            }
            print(one);
        }
    })
}

/// What weir may do on its own behalf, which the audit log records.
fn show_own(arguments: &Arguments) -> Result<Answer> {
    let name = internal_grant::NAME;
    if arguments.yaml {
        bail!("`{name}` is weir itself; no document grants what it does on its own behalf");
    }
    let allowed = allowed(&rules_of_weir()?);
    arguments.format.print(&allowed, |allowed| {
        print_line!(
            "What {name} itself may do to an interface of a pod whose selection has `default-route`;\n\
             this is fixed in the binary:"
        );
        allowed.iter().for_each(print_allowed);
        print_words(name);
    })?;
    Ok(Answer::Yes)
}

/// Where a native plugin may run, since nothing bounds what it may do.
fn show_native(arguments: &Arguments, native: &Native) -> Result<Answer> {
    let Native {
        name,
        entries,
        configuration,
    } = native;
    if arguments.yaml {
        bail!("`{name}` is a native plugin; no grant applies to it");
    }
    let network = arguments.network.as_deref();
    let covers = |entry: &&NativePlugin| network.is_none_or(|n| entry.covers_network(n));
    let entries: Vec<&NativePlugin> = entries.iter().filter(covers).collect();
    arguments.format.print(&entries, |entries| {
        say!("The native plugin {name} is a program outside the sandbox: it may do whatever root may,");
        say!("and no grant bounds it. It runs where `{}` lists it:", configuration.display());
        for entry in entries.iter() {
            let networks: Vec<String> = entry.networks.iter().cloned().map(String::from).collect();
            let networks = all_in_words(&networks);
            print_wrapped(&format!("{}, on {networks}", entry.digest), "  * ");
        }
        say!("`weir audit --plugin {name}` shows when it ran.");
    })?;
    Ok((!entries.is_empty()).into())
}

/// Whether there is a plugin of that name, damaged or not.
fn is_known(paths: &Paths, plugin: &str) -> bool {
    Catalogue::is_built_in(plugin) || Catalogue::new(paths).is_installed(plugin)
}

/// Says in words what a document allows.
pub fn print_rules(document: &Document) {
    print_section(&allowed(&document.spec.capabilities));
    if let Some(tenants) = for_tenants(document) {
        print_tenants(&tenants);
    }
}

fn for_tenants(document: &Document) -> Option<ForTenants> {
    let tenants = document.spec.tenants.as_ref()?;
    Some(ForTenants {
        allowed: allowed(&tenants.capabilities),
        pods: tenants.pods.clone(),
    })
}

fn shown_grant(grant: &Grant) -> Shown {
    Shown {
        state: Some(grant.state),
        because: grant.because.clone(),
        ..shown(grant.loaded.clone())
    }
}

fn shown(Loaded { document, origin }: Loaded) -> Shown {
    let capabilities = &document.spec.capabilities;
    let sections: Vec<&Capabilities> = document.spec.sections().map(|(_, all)| all).collect();
    let not_allowed = not_allowed(&sections);
    let tenants = for_tenants(&document);
    Shown {
        name: document.metadata.name.clone(),
        plugin: document.spec.plugin.name.clone(),
        from: origin.to_string(),
        is_shipped: origin == Origin::Shipped,
        is_built_in: Catalogue::is_built_in(&document.spec.plugin.name),
        state: None,
        because: None,
        networks: document.networks().collect(),
        digest: document.spec.plugin.digest.as_ref().map(|d| d.to_string()),
        allowed: allowed(capabilities),
        network: None,
        tenants,
        pods: None,
        not_allowed,
        limits: limits(&document.spec.limits),
        document,
    }
}

impl Shown {
    /// The part that applies to a network.
    fn of_network(self, network: &str) -> Self {
        let section = Section::of(network);
        let nothing = Capabilities::default();
        let capabilities = self.document.spec.section(section).unwrap_or(&nothing);
        let tenants = self.document.spec.tenants.as_ref();
        let pods = tenants.map_or_else(Vec::new, |tenants| tenants.pods.clone());
        Self {
            allowed: allowed(capabilities),
            not_allowed: not_allowed(&[capabilities]),
            network: Some(network.to_owned()),
            tenants: None,
            pods: Some(pods).filter(|_| section == Section::Node),
            ..self
        }
    }
}

/// The capabilities of which none of these has anything.
fn not_allowed(all: &[&Capabilities]) -> Vec<Capability> {
    let has = |capability: &Capability| all.iter().any(|one| one.has(*capability));
    Capability::ALL.into_iter().filter(|c| !has(c)).collect()
}

fn allowed(capabilities: &Capabilities) -> Vec<Allowed> {
    let granted = Capability::ALL
        .into_iter()
        .filter(|c| *c != Capability::Log && capabilities.has(*c));
    granted
        .map(|capability| Allowed {
            capability,
            may: sentences(&rules_of(capabilities, capability)),
        })
        .collect()
}

/// A sentence for each rule; names of IPAM plugins, which are rules each, go into one.
fn sentences(rules: &[RuleFields]) -> Vec<String> {
    match rules {
        [first, others @ ..] if first.capability == Capability::Ipam => {
            let mut all = first.clone();
            for other in others {
                for (field, values) in &other.fields {
                    let own = all.fields.entry(field.clone()).or_default();
                    own.extend(values.iter().cloned());
                }
            }
            vec![sentence(&all)]
        }
        rules => rules.iter().map(sentence).collect(),
    }
}

fn print_document(shown: &Shown) {
    say!("# {}", shown.from);
    print_text!("{}", to_yaml(&shown.document));
}

fn print(shown: &Shown) {
    print_title(shown);
    print_section(&shown.allowed);
    if let Some(tenants) = &shown.tenants {
        print_tenants(tenants);
    }
    if let Some(pods) = &shown.pods {
        print_pods(pods, "On this network");
    }
    print_not_allowed(&shown.not_allowed);
    print_line!("\n  Each time it runs it has");
    for limit in &shown.limits {
        print_line!("    * {limit}");
    }
    print_component(shown);
    print_words(&shown.plugin);
}

/// The plugin, the grant's origin, and whether it is in force.
fn print_title(shown: &Shown) {
    let networks = match &shown.network {
        Some(network) => format!("the network {network}"),
        None => all_in_words(&shown.networks),
    };
    say!("What the plugin {} may do on {networks}", shown.plugin);
    if shown.is_shipped {
        say!("by the grant `{}`, which comes with weir:", shown.name)
    } else {
        say!("by the grant `{}`, from {}:", shown.name, shown.from)
    }
    if let (Some(because), Some(state)) = (&shown.because, shown.state) {
        let state = state.word();
        print_line!();
        say!("  THIS GRANT IS NOT IN FORCE ({state}): {because}");
    }
}

fn all_in_words(networks: &[String]) -> String {
    if networks.is_empty() {
        return "no network".to_owned();
    }
    joined(networks.iter().map(|n| in_words(n)).collect(), "and")
}

/// The networks that a glob covers.
fn in_words(network: &str) -> String {
    let Some((namespace, name)) = network.split_once('/') else {
        return match network {
            "*" => "the node's own networks".to_owned(),
            glob if is_glob(glob) => format!("the node's own networks named {glob}"),
            name => name.to_owned(),
        };
    };
    if !is_glob(network) {
        return network.to_owned();
    }
    let definitions = match name {
        "*" => "those of NetworkAttachmentDefinitions".to_owned(),
        name => format!("those of NetworkAttachmentDefinitions named {name}"),
    };
    match namespace {
        "*" => format!("{definitions} of every namespace"),
        glob if is_glob(glob) => format!("{definitions} of the namespaces {glob}"),
        namespace => format!("{definitions} of the namespace {namespace}"),
    }
}

fn print_section(allowed: &[Allowed]) {
    allowed.iter().for_each(print_allowed);
    if allowed.is_empty() {
        print_line!("\n  nothing: it computes its answer from its configuration.");
    }
}

fn print_tenants(tenants: &ForTenants) {
    print_line!(
        "\nOn networks of NetworkAttachmentDefinitions, whose text tenants write, it may do"
    );
    print_section(&tenants.allowed);
    print_pods(&tenants.pods, "On the node's own networks");
}

fn print_pods(pods: &[Request], place: &str) {
    let requests = pods.iter().map(|request| request.word().to_owned());
    let requests: Vec<String> = requests.collect();
    let text = if requests.is_empty() {
        format!("{place}, a pod may request nothing.")
    } else {
        let requests = joined(requests, "and");
        format!("{place}, a pod may request {requests}.")
    };
    print_line!();
    print_wrapped(&text, "  ");
}

fn print_allowed(allowed: &Allowed) {
    let Allowed { capability, may } = allowed;
    print_line!("\n  {capability} - {}", subject(*capability));
    for may in may {
        print_wrapped(&format!("may {may}"), "    * ");
    }
}

fn print_not_allowed(capabilities: &[Capability]) {
    let words = capabilities
        .iter()
        .map(|c| format!("{} ({c})", subject(*c)));
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        print_line!("\n  It has no access to");
        print_wrapped(&joined(words, "or"), "    ");
    }
}

fn print_component(shown: &Shown) {
    match (&shown.digest, shown.is_built_in) {
        (Some(digest), _) => {
            print_line!("\n  The grant is for the component {digest} and for no other.");
        }
        (None, true) => print_line!("\n  The component is the one inside this weir."),
        (None, false) => print_line!("\n  It names no digest, so no component runs under it."),
    }
}

/// The meaning of words in the sentences, and where to look further.
fn print_words(plugin: &str) {
    print_line!(
        "\n  \"The attachment's interface\" is the one in the container that the container runtime names;\n  \
         \"host\" and \"container\" are network namespaces. Everything else is denied and recorded:"
    );
    say!("  `weir audit --plugin {plugin}` shows what it has done.");
}

fn print_wrapped(text: &str, start: &str) {
    for line in wrapped(text, start).lines() {
        say!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_glob_of_networks_tells_what_it_includes() {
        for (glob, expected) in [
            ("pods", "pods"),
            ("*", "the node's own networks"),
            ("blue-*", "the node's own networks named blue-*"),
            ("lab/net", "lab/net"),
            (
                "*/*",
                "those of NetworkAttachmentDefinitions of every namespace",
            ),
            (
                "lab/*",
                "those of NetworkAttachmentDefinitions of the namespace lab",
            ),
            (
                "team-*/data?",
                "those of NetworkAttachmentDefinitions named data? of the namespaces team-*",
            ),
        ] {
            assert_eq!(in_words(glob), expected);
        }
    }
}
