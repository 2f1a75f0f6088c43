//! `weir grants list --host`: who may change the host, with what, and whose that is.

use anyhow::Result;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_files::Paths;
use weir_grant::rule::{RuleFields, rules_of, sentence};
use weir_grant::{Capabilities, Capability, Section, internal_grant};
use weir_network::Settings;
use weir_sandbox::{Catalogue, Plugin, authors};

use super::grant_state::Grant;
use super::origin::{Whose, all_rules_of_weir};
use crate::cli::output::{capability_words, print_line, show};
use crate::cli::policy::reach::changes_host;
use crate::cli::table::{or_dash, print_table};

/// A plugin that may change the host, on networks of one section of its grant.
#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Changer {
    plugin: String,
    whose: Whose,
    /// The globs of the networks.
    networks: Vec<String>,
    /// The capabilities by which; empty for a native plugin, which may change anything.
    capabilities: Vec<Capability>,
    /// The rules in words.
    may: Vec<String>,
    /// As the component says, which nothing confirms.
    author: Option<String>,
    /// The digest of the component, or of the native plugin's file.
    digest: Option<String>,
    /// The artifact or the URI that the component is from; none if it was installed from a file.
    origin: Option<String>,
    /// The grant's name.
    grant: Option<String>,
    /// `shipped`, or the file.
    from: String,
}

/// The changers of the host among these grants, those that no grant bounds, and weir itself.
pub(super) fn changers(
    paths: &Paths,
    grants: &[&Grant],
    wanted: Option<&str>,
) -> Result<Vec<Changer>> {
    let catalogue = Catalogue::new(paths);
    let in_force = grants.iter().filter(|grant| grant.is_in_force());
    let mut found: Vec<Changer> = in_force
        .flat_map(|grant| of_grant(&catalogue, grant))
        .collect();
    found.extend(natives(paths)?);
    found.extend(weir_itself()?);
    found.retain(|one| wanted.is_none_or(|plugin| one.plugin == plugin));
    // Those that did not come with weir first.
    found.sort_by_key(|one| match one.whose {
        Whose::ThirdParty | Whose::Native => 0,
        Whose::Shipped => 1,
        Whose::Weir => 2,
    });
    Ok(found)
}

fn of_grant(catalogue: &Catalogue, grant: &Grant) -> Vec<Changer> {
    let document = &grant.loaded.document;
    let plugin = catalogue.find(grant.plugin()).ok();
    let component = plugin.as_ref().and_then(|plugin| plugin.component().ok());
    let author = component.as_deref().and_then(authors);
    let provenance = plugin.as_ref().and_then(Plugin::provenance);
    let origin = provenance.and_then(|p| p.origin.clone().or_else(|| p.uri.clone()));
    let digest = plugin.map(|plugin| plugin.digest.to_string());
    let sections = document.spec.sections().filter_map(|(section, rules)| {
        let networks = document.networks();
        let networks = networks.filter(|glob| Section::of(glob) == section);
        let changer = Changer {
            plugin: grant.plugin().to_owned(),
            whose: Whose::of(grant.plugin()),
            author: author.clone(),
            digest: digest.clone(),
            origin: origin.clone(),
            grant: Some(document.metadata.name.clone()),
            from: grant.loaded.origin.to_string(),
            ..Changer::on(networks.collect(), rules)
        };
        Some(changer).filter(|one| !one.networks.is_empty() && !one.may.is_empty())
    });
    sections.collect()
}

impl Changer {
    /// What these rules change of the host, on these networks.
    fn on(networks: Vec<String>, rules: &Capabilities) -> Self {
        let all = Capability::ALL.into_iter();
        let rules: Vec<RuleFields> = all
            .flat_map(|capability| rules_of(rules, capability))
            .filter(changes_host)
            .collect();
        let mut capabilities: Vec<Capability> = rules.iter().map(|rule| rule.capability).collect();
        capabilities.dedup();
        Self {
            plugin: String::new(),
            whose: Whose::Weir,
            networks,
            capabilities,
            may: rules.iter().map(sentence).collect(),
            author: None,
            digest: None,
            origin: None,
            grant: None,
            from: String::new(),
        }
    }
}

/// The programs outside the sandbox.
fn natives(paths: &Paths) -> Result<Vec<Changer>> {
    let entries = Settings::load(paths).map_err(show)?.native_plugins;
    let from = paths.configuration().display().to_string();
    let native = entries.into_iter().map(|entry| Changer {
        plugin: entry.name,
        whose: Whose::Native,
        may: vec!["do anything that root may".to_owned()],
        digest: Some(entry.digest.to_string()),
        from: from.clone(),
        ..Changer::on(
            entry.networks.into_iter().map(String::from).collect(),
            &Capabilities::default(),
        )
    });
    Ok(native.collect())
}

/// What weir does on its own behalf.
fn weir_itself() -> Result<Vec<Changer>> {
    let all = all_rules_of_weir()?.into_iter();
    let changers = all.map(|(from, rules)| Changer {
        plugin: internal_grant::NAME.to_owned(),
        from: from.to_owned(),
        ..Changer::on(vec!["*".to_owned(), "*/*".to_owned()], &rules)
    });
    Ok(changers.filter(|one| !one.may.is_empty()).collect())
}

pub(super) fn print_changers(changers: &[Changer]) {
    if changers.is_empty() {
        return print_line!("no plugin");
    }
    let row = |one: &Changer| {
        let component = match (&one.digest, one.whose) {
            (_, Whose::Shipped) => "built in".to_owned(),
            (digest, _) => or_dash(digest.clone().unwrap_or_default()),
        };
        let from = one.origin.iter().map(|origin| format!(" from {origin}"));
        let component = component + &from.collect::<String>();
        let may_change = if one.capabilities.is_empty() {
            "anything".to_owned()
        } else {
            capability_words(&one.capabilities)
        };
        [
            one.plugin.clone(),
            one.whose.word().to_owned(),
            one.networks.join(","),
            may_change,
            or_dash(one.author.clone().unwrap_or_default()),
            one.from.clone(),
            component,
        ]
    };
    let rows: Vec<[String; 7]> = changers.iter().map(row).collect();
    print_table(
        [
            "PLUGIN",
            "WHOSE",
            "NETWORKS",
            "MAY CHANGE ON THE HOST",
            "AUTHOR",
            "GRANT",
            "COMPONENT",
        ],
        &rows,
    );
    print_line!(
        "\nAUTHOR is what the component says in its section `authors`, which nothing confirms; `-` where it says nothing."
    );
}
