//! `weir grants check`: validates documents, and points out what is probably wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::node_networks;
use crate::cli::policy::lint::{Remark, Subnet, Weight, overlapping_routes, remarks};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_cni::NetworkConfigList;
use weir_files::Paths;
use weir_grant::diagnostic::Diagnostic;
use weir_grant::document::{Digest, Spec};
use weir_grant::native::NativePlugin;
use weir_grant::reading::empty_lists;
use weir_grant::{Capabilities, Document, Section};
use weir_network::Settings;
use weir_sandbox::{Catalogue, Imports, Invalid, Loaded, Origin, Sandbox, not_read, read_grant};

use super::document::wrapped;
use super::grant_state::{self, Grant, NOT_READ, State};
use super::missing::{self, Beside};
use super::show_error;
use crate::cli::output::{Answer, Format, print_line, say};

#[derive(Args)]
pub struct Arguments {
    /// The documents' files [default: all grants of this node, as they go together].
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Exit with 3 if there is a warning.
    #[arg(long)]
    strict: bool,
    /// Print the notes on the grants that come with weir as well.
    #[arg(long, conflicts_with = "files")]
    shipped: bool,
    #[command(flatten)]
    format: Format,
}

/// What was found in one document.
#[skip_serializing_none]
#[derive(Default, Serialize)]
struct Checked {
    /// The file, or `shipped`.
    from: String,
    #[serde(skip)]
    is_shipped: bool,
    valid: bool,
    error: Option<String>,
    /// What is wrong, each with its line and column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mistakes: Vec<Diagnostic>,
    name: Option<String>,
    plugin: Option<String>,
    remarks: Vec<Remark>,
}

impl Checked {
    fn has_warning(&self) -> bool {
        self.remarks.iter().any(|r| r.weight == Weight::Warning)
    }
}

/// No if there is a warning, with `--strict`. Errors: a document that is not valid.
pub fn run(paths: &Paths, arguments: &Arguments) -> Result<Answer> {
    let node = KnownNode::of(paths);
    let checked: Vec<Checked> = match arguments.files.as_slice() {
        [] => of_node(paths, &node)?,
        files => {
            let grants = grant_state::grants(paths).unwrap_or_default();
            let checked = files.iter().map(|file| of_file(&node, file, &grants));
            checked.collect()
        }
    };
    arguments
        .format
        .print(&checked, |checked| print_all(checked, arguments.shipped))?;
    let broken: Vec<&str> = checked
        .iter()
        .filter(|one| one.error.is_some())
        .map(|one| one.from.as_str())
        .collect();
    if !broken.is_empty() {
        bail!("not valid: {}", broken.join(", "));
    }
    let warned = checked.iter().any(Checked::has_warning);
    Ok((!(arguments.strict && warned)).into())
}

/// What a document is checked against.
pub struct KnownNode {
    catalogue: Catalogue,
    /// Which reads the imports of components; none where this machine cannot run the engine.
    sandbox: Option<Arc<Sandbox>>,
    /// The subnets of the node's own networks.
    subnets: Vec<Subnet>,
    /// None run where weir's configuration cannot be read.
    native: Vec<NativePlugin>,
}

impl KnownNode {
    pub fn of(paths: &Paths) -> Self {
        Self {
            catalogue: Catalogue::new(paths),
            sandbox: Sandbox::new(paths.clone(), false).ok(),
            subnets: subnets(paths),
            native: Settings::load(paths).unwrap_or_default().native_plugins,
        }
    }

    /// What the component that a document is about imports, if this node has it.
    fn imports(&self, spec: &Spec) -> Option<Imports> {
        let plugin = self.catalogue.find(&spec.plugin.name).ok()?;
        let is_meant = |digest: &Digest| *digest == plugin.digest;
        if !spec.plugin.digest.as_ref().is_none_or(is_meant) {
            return None;
        }
        self.sandbox.as_ref()?.imports(&plugin).ok()
    }
}

fn subnets(paths: &Paths) -> Vec<Subnet> {
    let lists = node_networks::of_node(paths);
    let of_list = |list: &NetworkConfigList| {
        let subnets = node_networks::subnets(list).into_iter();
        subnets
            .map(|subnet| (list.name.clone(), subnet))
            .collect::<Vec<_>>()
    };
    lists.iter().flat_map(of_list).collect()
}

/// Remarks on a file, beside the grants of the node.
fn of_file(node: &KnownNode, file: &Path, grants: &[Grant]) -> Checked {
    match read_grant(file) {
        Err(invalid) => not_valid(&invalid),
        Ok(loaded) => {
            let found = of_document(node, &loaded.document, file, grants);
            valid(file.display().to_string(), &loaded.document, found)
        }
    }
}

/// Remarks on an administrator's document, on this node, whose other grants may show more.
fn of_document(
    node: &KnownNode,
    document: &Document,
    file: &Path,
    grants: &[Grant],
) -> Vec<Remark> {
    let built_in = Catalogue::is_built_in(&document.spec.plugin.name);
    let mut found = remarks(document, built_in);
    found.extend(takes_a_grant_away(document));
    found.extend(empty_lists_of(file));
    found.extend(overlapping_routes(document, &node.subnets));
    for (section, capabilities) in document.spec.sections() {
        found.extend(unknown_ipam(node, section, capabilities));
    }
    if let Some(imports) = node.imports(&document.spec) {
        let beside = Beside::of(&document.spec.plugin.name, grants);
        let missing = missing::remarks(&document.spec, &imports.functions, beside.as_ref());
        found.extend(missing);
    }
    found
}

/// Remarks on capabilities for which a document has an empty list.
fn empty_lists_of(file: &Path) -> Vec<Remark> {
    let bytes = fs::read(file).unwrap_or_default();
    let remark = |capability| Remark {
        rule: Some(capability),
        weight: Weight::Warning,
        code: "no-effect",
        text: "the list is empty, so it allows nothing, as without the key".to_owned(),
    };
    empty_lists(&bytes).into_iter().map(remark).collect()
}

/// Remarks on IPAM plugins that are neither components of this node nor native plugins that it lists.
fn unknown_ipam<'a>(
    node: &'a KnownNode,
    section: Section,
    capabilities: &'a Capabilities,
) -> impl Iterator<Item = Remark> + 'a {
    let is_unknown = |name: &str| {
        weir_cni::validate_plugin_type(name).is_ok()
            && node.catalogue.find(name).is_err()
            && !node.native.iter().any(|entry| entry.name == name)
    };
    let names = capabilities.ipam.iter().enumerate();
    let unknown = names.filter(move |(_, name)| is_unknown(name));
    unknown.map(move |(index, name)| Remark {
        rule: Some(section.rule(&format!("ipam[{index}]"))),
        weight: Weight::Note,
        code: "unknown-ipam",
        text: format!("this node has no plugin `{name}`, and lists no native plugin of that name"),
    })
}

/// A remark on a document that replaces a shipped one of another plugin.
fn takes_a_grant_away(document: &Document) -> Option<Remark> {
    let (name, plugin) = (&document.metadata.name, &document.spec.plugin.name);
    if name == plugin || !Catalogue::is_built_in(name) {
        return None;
    }
    Some(Remark {
        rule: None,
        weight: Weight::Warning,
        code: "takes-grant-away",
        text: format!(
            "its name `{name}` replaces the shipped grant of plugin `{name}`, but it is about plugin `{plugin}`: rename it, or \
             `{name}` may have no grant"
        ),
    })
}

fn valid(from: String, document: &Document, remarks: Vec<Remark>) -> Checked {
    Checked {
        from,
        valid: true,
        name: Some(document.metadata.name.clone()),
        plugin: Some(document.spec.plugin.name.clone()),
        remarks,
        ..Checked::default()
    }
}

fn not_valid(invalid: &Invalid) -> Checked {
    Checked {
        from: invalid.path.display().to_string(),
        error: Some(invalid.to_string()),
        mistakes: invalid.mistakes.clone(),
        ..Checked::default()
    }
}

/// A file among the documents that is not read.
fn not_a_document(path: &Path) -> Checked {
    Checked {
        from: path.display().to_string(),
        remarks: vec![Remark {
            rule: None,
            weight: Weight::Warning,
            code: "not-read",
            text: NOT_READ.to_owned(),
        }],
        ..Checked::default()
    }
}

/// All documents of the node, and the files among them that are not read.
fn of_node(paths: &Paths, node: &KnownNode) -> Result<Vec<Checked>> {
    let mut checked = Vec::new();
    for one in grant_state::survey(paths)? {
        checked.push(match one {
            Ok(grant) => {
                let Loaded { document, origin } = &grant.loaded;
                let remarks = of_grant(node, &grant);
                Checked {
                    is_shipped: *origin == Origin::Shipped,
                    ..valid(origin.to_string(), document, remarks)
                }
            }
            // It has the position of each mistake.
            Err(broken) => of_file(node, &broken.file, &[]),
        });
    }
    let others = not_read(paths).map_err(show_error)?;
    checked.extend(others.iter().map(|path| not_a_document(path)));
    Ok(checked)
}

/// Remarks on a document of the node, among the others; also for the page of `weir audit`.
pub fn of_grant(node: &KnownNode, grant: &Grant) -> Vec<Remark> {
    let mut found = not_in_force(grant).into_iter().collect::<Vec<_>>();
    let document = &grant.loaded.document;
    match grant.loaded.origin {
        Origin::File(ref file) => found.extend(of_document(node, document, file, &[])),
        // It is weir's own, for the component in the binary.
        Origin::Shipped => {
            let mut of_weir = remarks(document, true);
            of_weir.extend(overlapping_routes(document, &node.subnets));
            let of_weir = of_weir.into_iter();
            found.extend(of_weir.filter(|remark| remark.code != "no-digest"));
            for remark in &mut found {
                remark.weight = Weight::Note;
            }
        }
    }
    found
}

fn not_in_force(grant: &Grant) -> Option<Remark> {
    let because = grant.because.as_ref()?;
    let (weight, code) = match grant.state {
        State::Replaced => (Weight::Note, "replaced"),
        State::ForKeptVersion => (Weight::Note, "kept-version"),
        State::Shadowed => (Weight::Warning, "no-effect"),
        State::NoPlugin => (Weight::Warning, "no-plugin"),
        State::Damaged => (Weight::Warning, "damaged"),
        State::OtherDigest => (Weight::Warning, "other-digest"),
        // Other remarks cover these.
        State::NoNetwork | State::Stopped => return None,
        _ => (Weight::Warning, "not-in-force"),
    };
    Some(Remark {
        rule: None,
        weight,
        code,
        text: format!("it is not in force: {because}"),
    })
}

/// Leaves out the notes on the grants that come with weir, unless `--shipped` is given.
fn print_all(checked: &[Checked], shipped: bool) {
    let is_left_out = |one: &&Checked| one.is_shipped && !one.has_warning() && !shipped;
    checked
        .iter()
        .filter(|one| !is_left_out(one))
        .for_each(print);
    let left_out = checked.iter().filter(is_left_out).count();
    if left_out > 0 {
        let notes = checked
            .iter()
            .filter(is_left_out)
            .map(|one| one.remarks.len())
            .sum::<usize>();
        print_line!("shipped: {left_out} valid grants, with {notes} notes that `--shipped` prints");
    }
}

fn print(checked: &Checked) {
    let Checked { from, plugin, .. } = checked;
    match (&checked.error, plugin) {
        (Some(error), _) => {
            say!("{from}: not valid");
            error.lines().for_each(|line| say!("    {line}"));
        }
        (None, Some(plugin)) => say!("{from}: a valid grant of plugin {plugin}"),
        (None, None) => say!("{from}: no document"),
    }
    for remark in &checked.remarks {
        let weight = match remark.weight {
            Weight::Warning => "warning",
            Weight::Note => "note",
        };
        let rule = remark.rule.as_ref().map(|rule| format!("{rule}: "));
        let text = format!(
            "{}{} [{}]",
            rule.unwrap_or_default(),
            remark.text,
            remark.code
        );
        print_line!("{}", wrapped(&text, &format!("    {weight:<8} ")));
    }
}
