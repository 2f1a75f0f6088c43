//! Whether the grants in force allow a component all that it asks for.

use std::iter;

use anyhow::{Result, bail};
use serde::Serialize;
use weir_files::Paths;
use weir_grant::document::Spec;
use weir_grant::operation_names::function;
use weir_grant::rule::{RuleFields, rules_of};
use weir_grant::{Capability, Verb};
use weir_sandbox::{Catalogue, Fit, Inspection, Loaded, Sandbox};

use crate::cli::grants::grant_state;
use crate::cli::output::{capability_words, print_list};
use crate::cli::policy::reads::Functions;

/// The grants in force for a component under a plugin's name, or the one that was given instead.
#[derive(Debug, Serialize)]
pub struct Coverage {
    /// The administrator's first.
    pub grants: Vec<Covering>,
    /// Why the grants are unknown: they cannot be read, and then no plugin runs; or the name is that of a built-in plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One grant, and how it fits.
#[derive(Debug, Serialize)]
pub struct Covering {
    pub name: String,
    /// A file, or `shipped`.
    pub origin: String,
    pub networks: Vec<String>,
    pub digest: Fit,
    /// What the component requests and the grant has no rule for: every use is denied.
    pub not_granted: Vec<Capability>,
    /// The functions of other capabilities whose verb is in no rule: every use is denied as well.
    pub functions_not_granted: Vec<Function>,
    /// What the grant has rules for and the component does not request.
    pub not_requested: Vec<Capability>,
}

/// A function of the contract, and the verbs that it needs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Function {
    pub capability: Capability,
    /// `[method]transaction.put` is one of a resource.
    pub function: String,
    /// One of these is enough.
    pub verbs: Vec<Verb>,
}

impl Coverage {
    /// Compares a component with one grant, as if that were the only one on the node.
    ///
    /// Errors: it is a grant of another plugin.
    pub fn by(
        sandbox: &Sandbox,
        grant: Loaded,
        name: &str,
        inspection: &Inspection,
    ) -> Result<Self> {
        let granted = &grant.document.spec.plugin.name;
        if granted != name {
            bail!(
                "`{}` is a grant of plugin `{granted}`, and the component is `{name}`; use --name to name it otherwise",
                grant.origin
            );
        }
        let is_built_in = is_built_in(sandbox, name, inspection);
        Ok(Self {
            grants: vec![compare(grant, inspection, is_built_in)],
            error: None,
        })
    }

    /// Compares a component with the grants of the name that it has or would have on the node.
    pub fn of(sandbox: &Sandbox, name: &str, inspection: &Inspection) -> Self {
        let is_built_in = is_built_in(sandbox, name, inspection);
        if Catalogue::is_built_in(name) && !is_built_in {
            return Self::none_for(format!(
                "plugin `{name}` is built into weir, and this is another component: give it another name with --name"
            ));
        }
        match grant_state::grants(sandbox.paths()) {
            Ok(grants) => Self {
                grants: grants
                    .into_iter()
                    .filter(|grant| grant.plugin() == name && grant.by.is_empty())
                    .map(|grant| compare(grant.loaded, inspection, is_built_in))
                    .collect(),
                error: None,
            },
            Err(error) => Self::none_for(error.to_string()),
        }
    }

    fn none_for(error: String) -> Self {
        Self {
            grants: Vec::new(),
            error: Some(error),
        }
    }

    /// Whether a grant is for this component.
    pub fn has_grant(&self) -> bool {
        self.grants.iter().any(|grant| grant.digest.lets_run())
    }

    /// Whether a grant allows the component all that it asks for.
    pub fn is_granted(&self) -> bool {
        self.grants.iter().any(Covering::fits)
    }

    pub fn print(&self, plugin: &str) {
        if let Some(error) = &self.error {
            print_list("grant", error.lines());
        } else if self.grants.is_empty() {
            print_list("grant", ["none: it does not run without one"]);
        }
        for grant in &self.grants {
            let networks = if grant.networks.is_empty() {
                "no network".to_owned()
            } else {
                format!("networks {}", grant.networks.join(", "))
            };
            let title = format!("{} ({}), for {networks}", grant.name, grant.origin);
            print_list("grant", iter::once(title).chain(grant.remarks(plugin)));
        }
    }
}

/// Those of some networks which no grant in force for an installed component covers: ADD fails there. Errors: the grants cannot be
/// read, and then no plugin runs.
pub fn not_covered(paths: &Paths, plugin: &str, networks: &[String]) -> Result<Vec<String>> {
    let mut grants = grant_state::grants(paths)?;
    grants.retain(|grant| grant.plugin() == plugin && grant.is_in_force());
    let is_covered = |network: &String| {
        let mut documents = grants.iter().map(|grant| &grant.loaded.document);
        documents.any(|document| document.covers_network(network))
    };
    let rest = networks.iter().filter(|network| !is_covered(network));
    Ok(rest.cloned().collect())
}

/// Whether the component is the built-in plugin of that name.
fn is_built_in(sandbox: &Sandbox, name: &str, inspection: &Inspection) -> bool {
    let plugin = sandbox.catalogue().find(name);
    plugin.is_ok_and(|p| p.is_built_in() && p.digest == inspection.digest)
}

impl Covering {
    fn fits(&self) -> bool {
        self.digest.lets_run()
            && self.not_granted.is_empty()
            && self.functions_not_granted.is_empty()
            && !self.networks.is_empty()
    }

    fn remarks(&self, plugin: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        match &self.digest {
            Fit::Fits | Fit::NotNeeded => {}
            Fit::Missing => remarks.push(format!(
                "it names no digest, so `{plugin}` does not run: add this one below `spec.plugin`"
            )),
            Fit::Other(digest) => remarks.push(format!(
                "it is for another component, {digest}, so this one does not run"
            )),
        }
        if !self.not_granted.is_empty() {
            let words = capability_words(&self.not_granted);
            remarks.push(format!("requested and not granted: {words}"));
        }
        remarks.extend(self.functions_not_granted.iter().map(Function::remark));
        if !self.not_requested.is_empty() {
            let words = capability_words(&self.not_requested);
            remarks.push(format!("granted and not requested: {words}"));
        }
        if remarks.is_empty() {
            remarks.push("it has rules for all functions that it imports".to_owned());
        }
        remarks
    }
}

fn compare(grant: Loaded, component: &Inspection, is_built_in: bool) -> Covering {
    let spec = &grant.document.spec;
    let requested = &component.imports.functions;
    let granted = |c: &Capability| spec.sections().any(|(_, granted)| granted.has(*c));
    let not_requested = Capability::ALL
        .into_iter()
        // It needs no rule.
        .filter(|capability| *capability != Capability::Log)
        .filter(|capability| granted(capability) && !requested.contains_key(capability));
    Covering {
        digest: Fit::of(&grant.document, &component.digest, is_built_in),
        functions_not_granted: not_granted(requested, spec),
        not_granted: (component.imports.capabilities())
            .filter(|c| !granted(c))
            .collect(),
        not_requested: not_requested.collect(),
        networks: grant.document.networks().collect(),
        name: grant.document.metadata.name,
        origin: grant.origin.to_string(),
    }
}

/// Returns the functions whose verb is in no rule, of capabilities that have rules.
pub fn not_granted(requested: &Functions, granted: &Spec) -> Vec<Function> {
    let mut functions = Vec::new();
    for (capability, imported) in requested {
        let sections = granted.sections();
        let rules: Vec<RuleFields> = sections
            .flat_map(|(_, capabilities)| rules_of(capabilities, *capability))
            .collect();
        if rules.is_empty() {
            continue;
        }
        for function in imported {
            let concerns = |rule: &&RuleFields| function::concerns(*capability, function, rule);
            let about = rules.iter().filter(concerns);
            let allowed: Vec<Verb> = about.flat_map(RuleFields::verbs).collect();
            let further = function::further_verbs(*capability, function).iter();
            let mut needed = vec![function::verbs(*capability, function)];
            needed.extend(further.map(|verb| vec![*verb]));
            let is_missing = |verbs: &Vec<Verb>| {
                !verbs.is_empty() && !verbs.iter().any(|verb| allowed.contains(verb))
            };
            functions.extend(needed.into_iter().filter(is_missing).map(|verbs| Function {
                capability: *capability,
                function: function.clone(),
                verbs,
            }));
        }
    }
    functions
}

impl Function {
    /// `link.update`
    pub fn name(&self) -> String {
        format!("{}.{}", self.capability, self.function)
    }

    /// `link.update: no rule allows update`
    fn remark(&self) -> String {
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.word()).collect();
        format!("{}: no rule allows {}", self.name(), verbs.join(" or "))
    }
}
