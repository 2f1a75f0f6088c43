//! The grants in force on this node: those shipped in the binary, and those of the administrator
//! in `/etc/weir/grants.d`.

pub(crate) mod deciding;

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_cni::{Command, Error};
use weir_files::file_trust::{self, Untrusted};
use weir_files::{Paths, entries};
use weir_grant::diagnostic::Diagnostic;
use weir_grant::document::{Digest, Spec};
use weir_grant::reading::MOST_BYTES;
use weir_grant::section::Request as PodRequest;
use weir_grant::{Capabilities, Capability, Document, Limits, Section};

use self::deciding::{Undecided, deciding};
use super::builtin::BuiltIn;
use super::catalogue::Plugin;
use super::installed::digest;
use super::request::Request;
use super::seen::{One, Seen};
use super::{builtin, codes};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Shipped,
    File(PathBuf),
}

impl Origin {
    /// Where a plugin's grant is, in a sentence.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Shipped => "its grant is the shipped one".to_owned(),
            Self::File(path) => format!("its grant is `{}`", path.display()),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped => f.write_str("shipped"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub document: Document,
    pub origin: Origin,
}

impl Loaded {
    fn shipped(document: Document) -> Self {
        let origin = Origin::Shipped;
        Self { document, origin }
    }
}

impl AsRef<Loaded> for Loaded {
    fn as_ref(&self) -> &Loaded {
        self
    }
}

/// What a plugin may do for one request.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    /// Which section a capability's rules are from.
    pub section: fn(Capability) -> Section,
    pub capabilities: Capabilities,
    pub limits: Limits,
    pub origin: Origin,
}

impl Granted {
    /// What a plugin may do on one of the node's own networks. A pod's `portMappings` become rules of the host's packet filter,
    /// which are limited as for tenants.
    fn on_own_network(spec: Spec, requests: &[PodRequest], origin: Origin) -> Self {
        let limits = spec.limits;
        match spec
            .tenants
            .filter(|_| requests.contains(&PodRequest::PortMappings))
        {
            None => Self {
                section: |_| Section::Node,
                capabilities: spec.capabilities,
                limits,
                origin,
            },
            Some(tenants) => Self {
                section: |capability| match capability {
                    Capability::Firewall | Capability::Conntrack => Section::Tenants,
                    _ => Section::Node,
                },
                capabilities: Capabilities {
                    firewall: tenants.capabilities.firewall,
                    conntrack: tenants.capabilities.conntrack,
                    ..spec.capabilities
                },
                limits,
                origin,
            },
        }
    }
}

/// The grants in force. Shipped ones are read when they are needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    administrators: Vec<Loaded>,
    seen: Seen,
}

impl Grants {
    /// Reads the administrator's documents.
    ///
    /// Errors: `codes::NO_GRANT` for a document that cannot be read, is not valid, or could have been written by someone other
    /// than root. It may be one that narrows another, so nothing runs until it is fixed.
    pub(super) fn load(paths: &Paths) -> Result<Self, Error> {
        let mut grants = Self::default();
        for path in documents(paths)? {
            let (loaded, digest) = read_trusted(&path, paths)?;
            let plugin = loaded.document.spec.plugin.name.clone();
            let file = path.display().to_string();
            grants.seen.add(file, One { digest, plugin });
            grants.administrators.push(loaded);
        }
        Ok(grants)
    }

    /// The administrator's documents, to compare with those of the last invocation.
    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// What a plugin may do for a request.
    ///
    /// Errors: as [`covering`](Self::covering); `codes::NO_GRANT` for a tenant's request if the grant has no section for tenants,
    /// and for a request of a pod that the grant does not allow.
    pub(crate) fn for_plugin(&self, plugin: &Plugin, request: &Request) -> Result<Granted, Error> {
        let network = request.granted_as();
        let section = Section::of(network);
        let shipped = if section == Section::Node && request.requested_by_pod.is_empty() {
            BuiltIn::grant_without_tenants
        } else {
            BuiltIn::grant
        };
        let Loaded { document, origin } = self.covering(plugin, network, shipped)?;
        let spec = document.spec;
        if section == Section::Tenants {
            let tenants = spec
                .tenants
                .ok_or_else(|| not_for_tenants(plugin, network, &origin))?;
            return Ok(Granted {
                section: |_| Section::Tenants,
                capabilities: tenants.capabilities,
                limits: spec.limits,
                origin,
            });
        }
        let may_request = spec.tenants.as_ref().map_or(&[][..], |t| &t.pods);
        let mut requests = request.requested_by_pod.iter();
        match requests.find(|one| !may_request.contains(one)) {
            Some(refused) if request.command == Command::Add => {
                Err(not_for_pods(plugin, network, *refused, &origin))
            }
            _ => Ok(Granted::on_own_network(
                spec,
                &request.requested_by_pod,
                origin,
            )),
        }
    }

    /// The grant that decides for a plugin on a network, with as much of a shipped one as is needed.
    ///
    /// Errors: `codes::NO_GRANT`, naming the plugin, its digest and what to do.
    fn covering(
        &self,
        plugin: &Plugin,
        network: &str,
        read: fn(&BuiltIn) -> Document,
    ) -> Result<Loaded, Error> {
        // A grant for the version in place of a kept one is not about that.
        let is_about = |grant: &&Loaded| {
            !plugin.is_kept_version
                || grant.document.spec.plugin.digest.as_ref() == Some(&plugin.digest)
        };
        let administrators = self.administrators.iter().filter(is_about);
        let administrators = administrators.map(Cow::Borrowed);
        // Read only where none of the administrator's decides.
        let shipped = builtin::find(&plugin.name).into_iter();
        let shipped = shipped.map(|plugin| Cow::Owned(Loaded::shipped(read(plugin))));
        let covers = |document: &Document| document.covers_network(network);
        let grants = administrators.chain(shipped);
        let decided = deciding(grants, &plugin.name, Some(&plugin.digest), covers);
        let grant = decided.map_err(|undecided| match undecided {
            Undecided::NoGrant => none(plugin),
            Undecided::OtherNetworks(others) => other_network(plugin, network, &others),
        })?;
        check_digest(plugin, &grant)?;
        Ok(grant.into_owned())
    }
}

/// Whether a grant is for a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    Fits,
    /// The grant has no digest, and needs none for a built-in plugin.
    NotNeeded,
    /// The grant has no digest, and needs one.
    Missing,
    /// It is for another component.
    Other(Digest),
}

impl Fit {
    /// Compares a document with a component.
    pub fn of(document: &Document, digest: &Digest, is_built_in: bool) -> Self {
        match &document.spec.plugin.digest {
            Some(granted) if granted == digest => Self::Fits,
            Some(granted) => Self::Other(granted.clone()),
            None if is_built_in => Self::NotNeeded,
            None => Self::Missing,
        }
    }

    /// Whether the component runs under the grant.
    pub fn lets_run(&self) -> bool {
        matches!(self, Self::Fits | Self::NotNeeded)
    }
}

/// An administrator's document that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    pub file: PathBuf,
    pub error: Error,
}

/// Every document of the node: the administrator's by file name, then all shipped ones, including those that are replaced.
pub fn survey(paths: &Paths) -> Result<Vec<Result<Loaded, Broken>>, Error> {
    let mut found = Vec::new();
    for file in documents(paths)? {
        let loaded = read_trusted(&file, paths).map(|(loaded, _)| loaded);
        found.push(loaded.map_err(|error| Broken { file, error }));
    }
    let shipped = builtin::all().iter().map(BuiltIn::grant);
    found.extend(shipped.map(|document| Ok(Loaded::shipped(document))));
    Ok(found)
}

/// The files beside the administrator's documents that are not read, so that people notice a misnamed document. Hidden files
/// are left out: they are an editor's.
pub fn not_read(paths: &Paths) -> Result<Vec<PathBuf>, Error> {
    let directory = paths.grants();
    let mut others = entries(&directory).map_err(|e| unreadable(&directory, &e))?;
    let is_hidden = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with('.')
    };
    others.retain(|path| !is_document(path) && !is_hidden(path));
    Ok(others)
}

/// The administrator's documents. Errors: others can write to their directory.
fn documents(paths: &Paths) -> Result<Vec<PathBuf>, Error> {
    let directory = paths.grants();
    match file_trust::check_directory(&directory, paths.root()) {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        checked => checked.map_err(|e| untrusted(&directory, &e))?,
    }
    let mut files = entries(&directory).map_err(|e| unreadable(&directory, &e))?;
    files.retain(|path| is_document(path));
    Ok(files)
}

/// The extensions of documents. JSON is YAML.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

fn is_document(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// A document that is not valid or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    pub path: PathBuf,
    /// At least one, in the order of the document's lines.
    pub mistakes: Vec<Diagnostic>,
}

/// `FILE:LINE:COLUMN: what is wrong`, a line for each mistake.
impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        for (index, mistake) in self.mistakes.iter().enumerate() {
            let end_of_line = if index == 0 { "" } else { "\n" };
            let space = if mistake.position.is_some() { "" } else { " " };
            write!(f, "{end_of_line}{path}:{space}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

impl From<Invalid> for Error {
    /// The first mistake is the message; the others are among the details.
    fn from(invalid: Invalid) -> Self {
        let lines = invalid.to_string();
        let (first, others) = lines.split_once('\n').unwrap_or((&lines, ""));
        let end_of_line = if others.is_empty() { "" } else { "\n" };
        let details = format!("{others}{end_of_line}no plugin runs until it is fixed or removed");
        Error::new(codes::NO_GRANT, format!("a grant is not valid: {first}")).with_details(details)
    }
}

/// Reads a document that anyone may have written. Errors: all its mistakes.
pub fn read(path: &Path) -> Result<Loaded, Invalid> {
    let bytes = File::open(path)
        .and_then(read_some)
        .map_err(|error| Invalid {
            path: path.to_owned(),
            mistakes: vec![Diagnostic::of_all(format!("it cannot be read: {error}"))],
        })?;
    read_bytes(path, &bytes)
}

/// Reads an administrator's document. Also returns the digest of the file.
fn read_trusted(path: &Path, paths: &Paths) -> Result<(Loaded, Digest), Error> {
    let file = file_trust::open(path, paths.root()).map_err(|e| untrusted(path, &e))?;
    let bytes = read_some(file).map_err(|e| unreadable(path, &e))?;
    Ok((read_bytes(path, &bytes)?, digest(&bytes)))
}

/// Reads at most one byte more than a document may have.
fn read_some(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MOST_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_bytes(path: &Path, bytes: &[u8]) -> Result<Loaded, Invalid> {
    let document = Document::read(bytes).map_err(|mistakes| Invalid {
        path: path.to_owned(),
        mistakes,
    })?;
    Ok(Loaded {
        document,
        origin: Origin::File(path.to_owned()),
    })
}

/// Parses a document that may not be in force. Errors: all its mistakes.
pub fn parse(path: &Path, text: &str) -> Result<Loaded, Invalid> {
    read_bytes(path, text.as_bytes())
}

fn check_digest(plugin: &Plugin, loaded: &Loaded) -> Result<(), Error> {
    let Plugin { name, digest, .. } = plugin;
    match Fit::of(&loaded.document, digest, plugin.is_built_in()) {
        Fit::Fits | Fit::NotNeeded => Ok(()),
        Fit::Other(granted) => Err(Error::new(
            codes::NO_GRANT,
            format!("plugin `{name}` is {digest}, but its grant is for {granted}"),
        )
        .with_details(format!(
            "review the new component with `weir plugin inspect {name}`, then put a grant for it beside `{}`, or, if `weir plugin \
             list` does not show that component as kept for attachments, change `spec.plugin.digest` there",
            loaded.origin
        ))),
        Fit::Missing => Err(Error::new(
            codes::NO_GRANT,
            format!("the grant of plugin `{name}` names no digest"),
        )
        .with_details(format!(
            "only built-in plugins need none; put `digest: {digest}` below `spec.plugin` in `{}`",
            loaded.origin
        ))),
    }
}

fn none(plugin: &Plugin) -> Error {
    let Plugin { name, digest, .. } = plugin;
    Error::new(
        codes::NO_GRANT,
        format!("plugin `{name}` ({digest}) has no grant"),
    )
    .with_details(format!("print one to review with `weir grants new {name}`"))
}

fn other_network(plugin: &Plugin, network: &str, grants: &[Cow<'_, Loaded>]) -> Error {
    let name = &plugin.name;
    let origins: Vec<String> = grants
        .iter()
        .map(|grant| grant.origin.to_string())
        .collect();
    Error::new(
        codes::NO_GRANT,
        format!("no grant of plugin `{name}` covers the network `{network}`"),
    )
    .with_details(format!(
        "its grants: {}; see `spec.networks` there",
        origins.join(", ")
    ))
}

fn not_for_tenants(plugin: &Plugin, network: &str, origin: &Origin) -> Error {
    let name = &plugin.name;
    Error::new(
        codes::NO_GRANT,
        format!(
            "the grant of plugin `{name}` allows nothing on networks of NetworkAttachmentDefinitions, such as `{network}`"
        ),
    )
    .with_details(format!(
        "rules for such networks are below `spec.tenants` ({origin})"
    ))
}

fn not_for_pods(plugin: &Plugin, network: &str, refused: PodRequest, origin: &Origin) -> Error {
    let (name, key) = (&plugin.name, refused.word());
    Error::new(
        codes::NO_GRANT,
        format!(
            "the pod requests `{key}` on the node's own network `{network}`, but the grant of plugin `{name}` does not \
             allow pods to request it"
        ),
    )
    .with_details(format!(
        "the node's owner allows it with `{key}` in `spec.tenants.pods` ({origin})"
    ))
}

fn untrusted(path: &Path, error: &Untrusted) -> Error {
    let exposed = match error {
        Untrusted::Unreadable(error) => return unreadable(path, error),
        Untrusted::Exposed(exposed) => exposed,
    };
    Error::new(
        codes::NO_GRANT,
        format!("grants: `{}` is not trusted: {exposed}", path.display()),
    )
    .with_details(format!("{}; no plugin runs until then", exposed.remedy()))
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(
        codes::NO_GRANT,
        format!("grants: `{}` cannot be read: {error}", path.display()),
    )
}
