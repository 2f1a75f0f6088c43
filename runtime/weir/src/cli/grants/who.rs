//! `weir grants who`: which plugins may do something, by which rules, and under which conditions.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use weir_files::Paths;
use weir_grant::operation_names::{Case, names, no_such, question};
use weir_grant::pattern::{globs_meet, is_glob};
use weir_grant::phrase::joined;
use weir_grant::rule::{Bounds, Facts, RuleFields, bounds_in_words, facts_in_words, rules_of};
use weir_grant::{Capabilities, Namespace, Section, internal_grant};
use weir_network::Settings;

use super::explain::fields;
use super::grant_state::{self, Grant};
use super::origin::{Whose, all_rules_of_weir};
use crate::cli::node_networks;
use crate::cli::output::{Answer, Format, complain, print_line, show};
use crate::cli::table::{or_dash, print_table};

#[derive(Args)]
pub struct Arguments {
    /// The operation, such as `link.update`, or several: `link.*`.
    #[arg(required_unless_present = "interface")]
    operation: Option<String>,
    /// What it is about, such as `namespace=host name=eth0 up=false`; wildcards are allowed, and what is left out may be
    /// anything.
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// Everything that changes this interface of the host, or what goes over it, in place of an operation.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["operation", "fields"])]
    interface: Option<String>,
    /// The interface's kind, such as `physical` for a network card [default: any].
    #[arg(long, value_name = "KIND", requires = "interface")]
    kind: Option<String>,
    /// Only on this network [default: on all].
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    #[command(flatten)]
    format: Format,
}

/// The operation that makes a link.
const NEW_LINK: &str = "link.create";

/// A plugin that may do it, under one section of one grant.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct May {
    operation: &'static str,
    plugin: String,
    whose: Whose,
    /// The grant's name; none for what no grant bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<String>,
    /// `shipped`, or the file.
    from: String,
    /// The globs of the networks.
    networks: Vec<String>,
    /// Networks among them on which an earlier grant decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    except_networks: Vec<String>,
    /// What must be allowed, all of it. Empty for what no grant bounds.
    needs: Vec<Needed>,
}

#[derive(Serialize)]
struct Needed {
    /// "change interfaces of kind veth, on the host".
    what: String,
    /// The values that the operation has for the fields of a rule.
    #[serde(skip)]
    values: RuleFields,
    /// The rules of which each may allow it.
    rules: Vec<Possible>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Possible {
    /// `link[0]`.
    name: String,
    rule: Value,
    /// The values that the rule asks for and the question leaves open, by field.
    only_if: Bounds,
}

/// An operation, and the cases of the question about it.
struct OperationQuery {
    operation: &'static str,
    cases: Vec<Case>,
}

type Field = (String, String);

/// The rules of a plugin on some networks.
struct Rules<'a> {
    section: Section,
    capabilities: &'a Capabilities,
    /// A plugin that may do nothing yet.
    plugin: May,
}

/// No if no plugin may.
pub fn run(paths: &Paths, arguments: &Arguments) -> Result<Answer> {
    let queries = match (&arguments.interface, &arguments.operation) {
        (Some(interface), _) => about_interface(interface, arguments.kind.as_deref())?,
        (None, Some(operation)) => operation_queries(operation, &fields(&arguments.fields)?)?,
        (None, None) => bail!("expected an operation, or `--interface NAME`"),
    };
    let network = arguments.network.as_deref();
    let grants = grant_state::grants(paths)?;
    if let Some(network) = network {
        node_networks::report_unknown(paths, network);
    }
    let own = all_rules_of_weir()?;
    let mut all = rules_in_force(&grants, network);
    all.extend(
        own.iter()
            .map(|(from, rules)| own_rules(from, rules, network)),
    );
    let mut may: Vec<May> = Vec::new();
    for OperationQuery { operation, cases } in &queries {
        let of_rules = all.iter().map(|rules| rules.allow(operation, cases));
        let about = arguments.interface.as_deref();
        may.extend(of_rules.flatten().filter_map(|may| may.about(about)));
        may.extend(natives(paths, operation, network)?);
    }
    let several = queries.len() > 1 || arguments.interface.is_some();
    arguments.format.print(&may, |may| print(may, several))?;
    Ok((!may.is_empty()).into())
}

/// The operations of a name or of a glob. Errors: none has the name; a field does not belong to it; it needs no rule.
fn operation_queries(name: &str, given: &[(String, String)]) -> Result<Vec<OperationQuery>> {
    if !is_glob(name) {
        let Some(operation) = names().into_iter().find(|known| *known == name) else {
            bail!(no_such(name));
        };
        let cases = question(operation, given).map_err(|why| anyhow!(why))?;
        if !needs_a_rule(&cases) {
            bail!(
                "`{operation}` needs no rule itself; each thing it shows does: ask who may read that"
            );
        }
        if let Some(why) = cases.iter().find_map(Case::flaw) {
            bail!("weir itself refuses that, whatever a grant allows: {why}");
        }
        return Ok(vec![OperationQuery { operation, cases }]);
    }
    let matching = names().into_iter().filter(|known| globs_meet(name, known));
    let matching: Vec<&'static str> = matching.collect();
    if matching.is_empty() {
        bail!("no operation matches `{name}`");
    }
    // Most fields belong to some of them.
    let mut left_out: Vec<(&str, String)> = Vec::new();
    let mut queries = Vec::new();
    for operation in matching {
        match question(operation, given) {
            Ok(cases) if needs_a_rule(&cases) => queries.push(OperationQuery { operation, cases }),
            Ok(_) => {}
            Err(error) => left_out.push((operation, error)),
        }
    }
    match (queries.is_empty(), left_out.as_slice()) {
        (true, [(_, why), ..]) => {
            bail!("no operation that matches `{name}` has all of these fields: {why}")
        }
        (true, []) => bail!("what matches `{name}` needs no rule itself"),
        (false, []) => {}
        (false, left_out) => {
            let names = left_out
                .iter()
                .map(|(operation, _)| (*operation).to_owned());
            let names = joined(names.collect(), "and");
            complain(&format!(
                "left out, because they do not have all of these fields: {names}"
            ));
        }
    }
    Ok(queries)
}

/// Everything that changes an interface of the host, its addresses, routes, parameters and queues, or makes another one over
/// it.
///
/// Errors: the kind is not one that a link has.
fn about_interface(interface: &str, kind: Option<&str>) -> Result<Vec<OperationQuery>> {
    let field = |key: String, value: &str| (key, value.to_owned());
    // As the operation's own link, and as a part of another one's settings.
    let as_link = |key: &str, prefix: &str| -> Vec<Field> {
        let mut fields = vec![
            field(format!("{prefix}namespace"), Namespace::Host.word()),
            field(format!("{prefix}{key}"), interface),
        ];
        fields.extend(kind.map(|kind| field(format!("{prefix}kind"), kind)));
        fields
    };
    // Routes and neighbours have a link without its kind.
    let without_kind = |mut fields: Vec<Field>| {
        fields.retain(|(key, _)| key != "kind");
        fields
    };
    let parameter = vec![
        field("namespace".to_owned(), Namespace::Host.word()),
        field(
            "key".to_owned(),
            &format!("net.*.*.{}.*", interface.replace('.', "/")),
        ),
    ];
    let questions = [
        as_link("name", ""),
        as_link("link", ""),
        without_kind(as_link("link", "")),
        as_link("name", "lower."),
        as_link("name", "master."),
        parameter,
    ];
    let mut queries: Vec<OperationQuery> = Vec::new();
    let mut why = None;
    for operation in names() {
        // A new link of that name is another one.
        let is_new = |fields: &Vec<Field>| operation == NEW_LINK && fields[1].0 == "name";
        let mut all = Vec::new();
        for fields in questions.iter().filter(|fields| !is_new(fields)) {
            match question(operation, fields) {
                Ok(cases) if all.is_empty() || operation.starts_with("link.") => all.extend(cases),
                Ok(_) => {}
                Err(error) => why = why.or(Some(error)),
            }
        }
        all.retain(|case| !case.is_read());
        if needs_a_rule(&all) {
            queries.push(OperationQuery {
                operation,
                cases: all,
            });
        }
    }
    if queries.is_empty() {
        bail!(why.unwrap_or_default());
    }
    Ok(queries)
}

fn needs_a_rule(cases: &[Case]) -> bool {
    let nothing = Capabilities::default();
    cases.iter().any(|case| !case.facts(&nothing).is_empty())
}

/// The sections of the grants under which plugins run.
fn rules_in_force<'a>(grants: &'a [Grant], network: Option<&str>) -> Vec<Rules<'a>> {
    let mut found = Vec::new();
    for (at, grant) in grants.iter().enumerate().filter(|(_, g)| g.is_in_force()) {
        let document = &grant.loaded.document;
        let decides = network.is_none_or(|network| {
            let deciding = grant_state::applying(grants, grant.plugin(), Some(network));
            deciding.is_ok_and(|deciding| std::ptr::eq(deciding, grant))
        });
        for (section, capabilities) in document.spec.sections().filter(|_| decides) {
            let networks = document.networks();
            let networks: Vec<String> = networks
                .filter(|glob| Section::of(glob) == section)
                .collect();
            if networks.is_empty() || network.is_some_and(|n| Section::of(n) != section) {
                continue;
            }
            let plugin = May {
                operation: "",
                plugin: grant.plugin().to_owned(),
                whose: Whose::of(grant.plugin()),
                grant: Some(document.metadata.name.clone()),
                from: grant.loaded.origin.to_string(),
                except_networks: decided_before(&grants[..at], grant.plugin(), &networks),
                networks,
                needs: Vec::new(),
            };
            found.push(Rules {
                section,
                capabilities,
                plugin,
            });
        }
    }
    found
}

/// The globs of networks on which an earlier grant of the plugin decides.
fn decided_before(earlier: &[Grant], plugin: &str, globs: &[String]) -> Vec<String> {
    let earlier = earlier
        .iter()
        .filter(|grant| grant.plugin() == plugin && grant.state.decides());
    let mut decided: Vec<String> = earlier
        .flat_map(|grant| grant.loaded.document.networks())
        .collect();
    let meets =
        |one: &str, other: &str| Section::of(one) == Section::of(other) && globs_meet(one, other);
    decided.retain(|glob| globs.iter().any(|own| meets(own, glob)));
    decided
}

/// What weir does on its own behalf.
fn own_rules<'a>(from: &str, capabilities: &'a Capabilities, network: Option<&str>) -> Rules<'a> {
    Rules {
        section: Section::Node,
        capabilities,
        plugin: May {
            operation: "",
            plugin: internal_grant::NAME.to_owned(),
            whose: Whose::Weir,
            grant: None,
            from: from.to_owned(),
            networks: match network {
                Some(network) => vec![network.to_owned()],
                None => vec!["*".to_owned(), "*/*".to_owned()],
            },
            except_networks: Vec::new(),
            needs: Vec::new(),
        },
    }
}

/// The native plugins, which may do anything.
fn natives(paths: &Paths, operation: &'static str, network: Option<&str>) -> Result<Vec<May>> {
    let mut entries = Settings::load(paths).map_err(show)?.native_plugins;
    entries.retain(|entry| network.is_none_or(|network| entry.covers_network(network)));
    let from = paths.configuration().display().to_string();
    let native = entries.into_iter().map(|entry| May {
        operation,
        plugin: entry.name,
        whose: Whose::Native,
        grant: None,
        from: from.clone(),
        networks: entry.networks.into_iter().map(String::from).collect(),
        except_networks: Vec::new(),
        needs: Vec::new(),
    });
    Ok(native.collect())
}

impl May {
    /// Leaves out what the operation needs besides, such as the new link over an interface; none if nothing is left.
    fn about(mut self, interface: Option<&str>) -> Option<Self> {
        if let Some(interface) = interface {
            self.needs.retain(|need| need.is_about(interface));
        }
        (!self.needs.is_empty()).then_some(self)
    }
}

impl Needed {
    /// Whether it is about an interface of the host, or one of its parameters.
    fn is_about(&self, interface: &str) -> bool {
        let in_key = interface.replace('.', "/");
        let is_it = |text: &String| text == interface || text.split('.').any(|part| part == in_key);
        let is_on_host = self.values.names("namespace", Namespace::Host.word());
        is_on_host && self.values.fields.values().flatten().any(is_it)
    }
}

impl Rules<'_> {
    /// The cases that the rules may allow.
    fn allow(&self, operation: &'static str, cases: &[Case]) -> Vec<May> {
        let allowed = cases.iter().filter_map(|case| {
            let facts = case.facts(self.capabilities);
            let needs: Option<Vec<Needed>> = facts.iter().map(|facts| self.meet(facts)).collect();
            let needs = needs.filter(|needs| !needs.is_empty())?;
            let plugin = &self.plugin;
            Some(May {
                operation,
                plugin: plugin.plugin.clone(),
                grant: plugin.grant.clone(),
                from: plugin.from.clone(),
                networks: plugin.networks.clone(),
                except_networks: plugin.except_networks.clone(),
                needs,
                ..*plugin
            })
        });
        allowed.collect()
    }

    /// The rules that may meet a need; none if none does.
    fn meet(&self, facts: &Facts) -> Option<Needed> {
        let rules = rules_of(self.capabilities, facts.capability);
        let possible = rules.iter().enumerate().filter_map(|(index, rule)| {
            Some(Possible {
                name: self.section.rule(&format!("{}[{index}]", facts.capability)),
                only_if: rule.bounds_for(facts)?,
                rule: rule.to_json(),
            })
        });
        let rules: Vec<Possible> = possible.collect();
        let values = facts.as_rule();
        let what = facts_in_words(facts);
        let needed = Needed {
            what,
            values,
            rules,
        };
        Some(needed).filter(|needed| !needed.rules.is_empty())
    }
}

/// The columns of the table. The last one is left out where all rows have the same.
const TITLES: [&str; 7] = [
    "PLUGIN", "WHOSE", "NETWORKS", "RULE", "GRANT", "ONLY IF", "TO",
];

fn print(may: &[May], several: bool) {
    if may.is_empty() {
        return print_line!("no plugin");
    }
    let needs = may.iter().flat_map(|may| &may.needs);
    let whats: BTreeSet<&str> = needs.map(|need| need.what.as_str()).collect();
    let rows = one_for_each_rule(may.iter().flat_map(|one| rows_of(one, several)));
    if several || whats.len() > 1 {
        return print_table(TITLES, &rows);
    }
    let [plugin, whose, networks, rule, grant, only_if, _] = TITLES;
    let rows = rows
        .into_iter()
        .map(|[a, b, c, d, e, f, _]| [a, b, c, d, e, f]);
    let rows: Vec<[String; 6]> = rows.collect();
    print_table([plugin, whose, networks, rule, grant, only_if], &rows);
}

/// Joins rows that differ only in the last column: what one rule allows under the same conditions.
fn one_for_each_rule(rows: impl Iterator<Item = [String; 7]>) -> Vec<[String; 7]> {
    let mut joined: Vec<([String; 6], Vec<String>)> = Vec::new();
    for [a, b, c, d, e, f, what] in rows {
        let rule = [a, b, c, d, e, f];
        match joined.iter_mut().find(|(other, _)| *other == rule) {
            Some((_, whats)) if whats.contains(&what) => {}
            Some((_, whats)) => whats.push(what),
            None => joined.push((rule, vec![what])),
        }
    }
    let row = |([a, b, c, d, e, f], whats): ([String; 6], Vec<String>)| {
        [a, b, c, d, e, f, whats.join("; ")]
    };
    joined.into_iter().map(row).collect()
}

/// A row for each rule of each need.
fn rows_of(may: &May, several: bool) -> Vec<[String; 7]> {
    let mut networks = may.networks.join(",");
    if !may.except_networks.is_empty() {
        networks += &format!(" except {}", may.except_networks.join(","));
    }
    let row = |rule: &str, only_if: String, what: &str| {
        let what = match may.needs.len() {
            _ if !several => what.to_owned(),
            0 | 1 => may.operation.to_owned(),
            _ => format!("{}: {what}", may.operation),
        };
        [
            may.plugin.clone(),
            may.whose.word().to_owned(),
            networks.clone(),
            rule.to_owned(),
            may.from.clone(),
            or_dash(only_if),
            what,
        ]
    };
    if may.needs.is_empty() {
        return vec![row("no rule bounds it", String::new(), "anything")];
    }
    let of_need = |need: &Needed| -> Vec<[String; 7]> {
        let in_words = |rule: &Possible| bounds_in_words(need.values.capability, &rule.only_if);
        let rules = need.rules.iter();
        rules
            .map(|rule| row(&rule.name, in_words(rule), &need.what))
            .collect()
    };
    may.needs.iter().flat_map(of_need).collect()
}
