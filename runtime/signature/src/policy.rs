//! The node's policy for plugins, `/etc/weir/plugin-policy.yaml`: who may provide which, and what else may be installed.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::{self, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use weir_cni::validate_plugin_name;
use weir_files::Paths;
use weir_files::file_trust;
use weir_grant::diagnostic::Diagnostic;
use weir_grant::document::{Digest, constant};
use weir_grant::phrase::joined;
use weir_grant::reading::{self, MOST_BYTES};
use weir_grant::text::misleads;

use super::error::{Error, Invalid, Result};
use super::key::PublicKey;
use super::trust_root::TrustRoot;

const API_VERSION: &str = "weir.dev/v1alpha1";
const KIND: &str = "PluginPolicy";

/// The policy of a node. Without a file it admits what is pinned by digest, and nothing else.
#[derive(Debug)]
pub struct Policy {
    pub(crate) path: PathBuf,
    /// None without a file.
    pub(crate) spec: Option<Spec>,
    pub(crate) paths: Paths,
    /// Whether only a signature counts, and no digest that is named elsewhere.
    pub(crate) is_of_a_signer: bool,
}

/// The document. Unknown keys are errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    #[serde(deserialize_with = "api_version")]
    #[serde(rename = "apiVersion")]
    _api_version: (),
    #[serde(deserialize_with = "kind")]
    #[serde(rename = "kind")]
    _kind: (),
    spec: Spec,
}

/// What may be installed. Each key may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Spec {
    pub trust_root: Option<PathBuf>,
    pub signers: Vec<Signer>,
    pub unsigned: Vec<Name>,
    pub pinned: Vec<Pin>,
    pub refused: Vec<Refusal>,
}

/// The same as it is written, before its parts are compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
#[derive(Default)]
struct Written {
    #[serde(deserialize_with = "absolute")]
    trust_root: Option<PathBuf>,
    #[serde(deserialize_with = "signers")]
    signers: Vec<Signer>,
    unsigned: Vec<Name>,
    pinned: Vec<Pin>,
    refused: Vec<Refusal>,
}

impl TryFrom<Written> for Spec {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let needing = written.signers.iter().filter(|s| s.needs_trust_root());
        let needing: Vec<String> = needing.map(|s| format!("`{}`", s.name)).collect();
        let needs = if needing.len() == 1 { "needs" } else { "need" };
        if written.trust_root.is_none() && !needing.is_empty() {
            return Err(format!(
                "`trustRoot` is missing, the absolute path of a `trusted_root.json`, which signer {} {}",
                joined(needing, "and"),
                needs
            ));
        }
        Ok(Self {
            trust_root: written.trust_root,
            signers: written.signers,
            unsigned: written.unsigned,
            pinned: written.pinned,
            refused: written.refused,
        })
    }
}

/// Somebody who may provide plugins.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenSigner")]
pub struct Signer {
    pub name: String,
    pub(crate) plugins: Vec<Name>,
    pub by: By,
}

/// How a signer is known.
#[derive(Clone, Debug)]
pub enum By {
    /// By a key, and whether its signatures must be in a transparency log.
    Key { key: PublicKey, logged: bool },
    /// By an identity that an issuer vouches for.
    Keyless(Keyless),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenSigner {
    #[serde(deserialize_with = "printable_name")]
    name: String,
    #[serde(deserialize_with = "some_names")]
    plugins: Vec<Name>,
    public_key: Option<PublicKey>,
    #[serde(default)]
    require_log: bool,
    keyless: Option<Keyless>,
}

impl TryFrom<WrittenSigner> for Signer {
    type Error = String;

    fn try_from(written: WrittenSigner) -> Result<Self, String> {
        let logged = written.require_log;
        let by = match (written.public_key, written.keyless) {
            (Some(key), None) => By::Key { key, logged },
            (None, Some(keyless)) => By::Keyless(keyless),
            _ => return Err("expected either `publicKey` or `keyless`".to_owned()),
        };
        if logged && matches!(by, By::Keyless(_)) {
            return Err(
                "`requireLog` is for a key; the trust root says what a keyless signature needs"
                    .to_owned(),
            );
        }
        Ok(Self {
            name: written.name,
            plugins: written.plugins,
            by,
        })
    }
}

impl Signer {
    /// One that may provide any plugin, for a command that names the signer itself.
    pub fn named(name: &str, by: By) -> Self {
        Self {
            name: name.to_owned(),
            plugins: vec![Name("*".to_owned())],
            by,
        }
    }

    pub(crate) fn needs_trust_root(&self) -> bool {
        matches!(self.by, By::Keyless(_) | By::Key { logged: true, .. })
    }

    pub(crate) fn may_provide(&self, plugin: &str) -> bool {
        self.plugins.iter().any(|name| name.matches(plugin))
    }
}

/// An identity, and who vouches for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyless {
    pub identity: Identity,
    /// Exactly as it is in certificates, such as `https://token.actions.githubusercontent.com`.
    #[serde(deserialize_with = "issuer")]
    pub issuer: String,
}

/// The identity in a certificate: exactly this one, or with a `*` at its end, which stands for anything without a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(String);

impl Identity {
    /// Errors: a wildcard that would match what others can choose.
    pub fn new(text: &str) -> Result<Self, String> {
        check_wildcard(text)?;
        if let Some(before) = text.strip_suffix('*') {
            let path = before
                .split_once("://")
                .and_then(|(_, rest)| rest.split_once('/'));
            if path.is_none_or(|(host, _)| host.is_empty()) {
                return Err(format!(
                    "identity `{text}` leaves open whose it is; `*` is possible after a URL with a path, such as \
                     `https://github.com/acme/labels/.github/workflows/release.yml@refs/tags/*`"
                ));
            }
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn matches(&self, identity: &str) -> bool {
        matches(&self.0, identity)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// The name of a plugin, or the beginning of names and a `*`.
#[derive(Clone, Debug)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn matches(&self, plugin: &str) -> bool {
        matches(&self.0, plugin)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        check_wildcard(&text).map_err(de::Error::custom)?;
        // What is before the wildcard must be able to begin a name.
        let begins = text
            .strip_suffix('*')
            .map_or(text.clone(), |before| format!("{before}a"));
        validate_plugin_name(&begins).map_err(|error| de::Error::custom(error.msg))?;
        Ok(Self(text))
    }
}

fn check_wildcard(text: &str) -> Result<(), String> {
    if text.trim_end_matches('*').contains('*') || text.ends_with("**") {
        return Err(format!("`{text}` has a `*` that is not at its end"));
    }
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(())
}

/// Compares byte by byte. All that is not a `*` at the end stands for itself.
fn matches(text: &str, value: &str) -> bool {
    match text.strip_suffix('*') {
        Some(before) => {
            let rest = value.strip_prefix(before);
            rest.is_some_and(|rest| !rest.contains('/'))
        }
        None => text == value,
    }
}

/// A component that may be installed whoever signed it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pin {
    #[serde(deserialize_with = "plugin_name")]
    pub plugin: String,
    pub digest: Digest,
}

/// A component or an artifact that may not be installed, whoever signed it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub digest: Digest,
    #[serde(default)]
    pub reason: String,
}

impl Policy {
    /// The policy of a node.
    ///
    /// Errors: it has mistakes, with line and column of each; somebody other than root and weir's user could have written it.
    pub fn load(paths: &Paths) -> Result<Self> {
        let path = paths.plugin_policy();
        let spec = match file_trust::open(&path, paths.root()) {
            Err(error) if error.is_missing() => None,
            Err(why) => return Err(Error::Untrusted { path, why }),
            Ok(file) => {
                let mut bytes = Vec::new();
                // One byte more than it may have.
                let read = file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes);
                if let Err(why) = read {
                    let why = why.into();
                    return Err(Error::Untrusted { path, why });
                }
                Some(parse(&bytes).map_err(|mistakes| {
                    let path = path.clone();
                    Error::Policy(Invalid { path, mistakes })
                })?)
            }
        };
        Ok(Self {
            path,
            spec,
            paths: paths.clone(),
            is_of_a_signer: false,
        })
    }

    /// Reads a policy that is in no file.
    #[cfg(feature = "fuzzing")]
    pub fn parse(bytes: &[u8], paths: &Paths) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self {
            path: paths.plugin_policy(),
            spec: Some(parse(bytes)?),
            paths: paths.clone(),
            is_of_a_signer: false,
        })
    }

    /// A policy with one signer, for a command that names it: nothing counts but a signature that it made. The trust root is where
    /// the command says, not below weir's root.
    pub fn of(signer: Signer, trust_root: Option<&Path>, paths: &Paths) -> Self {
        Self {
            path: paths.plugin_policy(),
            spec: Some(Spec {
                trust_root: trust_root.map(Path::to_owned),
                signers: vec![signer],
                ..Spec::default()
            }),
            paths: Paths::below(Path::new("/")),
            is_of_a_signer: true,
        }
    }

    /// The trust root that it names.
    pub(crate) fn trust_root(&self) -> Result<TrustRoot> {
        let named = self.spec.as_ref().and_then(|spec| spec.trust_root.as_ref());
        let Some(named) = named else {
            return Err(Error::TrustRoot {
                path: self.path.clone(),
                why: "none is named".to_owned(),
            });
        };
        TrustRoot::read(&self.paths.resolve(named), self.paths.root())
    }
}

fn parse(bytes: &[u8]) -> Result<Spec, Vec<Diagnostic>> {
    let document: Document =
        reading::read(bytes, "a policy, with `apiVersion`, `kind` and `spec`")?;
    Ok(document.spec)
}

/// Reads signers. Two of the same name are an error.
fn signers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Signer>, D::Error> {
    deserializer.deserialize_seq(Signers)
}

struct Signers;

impl<'de> Visitor<'de> for Signers {
    type Value = Vec<Signer>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of signers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<Signer>, A::Error> {
        let mut signers = Vec::new();
        while let Some(signer) = elements.next_element_seed(Another(&signers))? {
            signers.push(signer);
        }
        Ok(signers)
    }
}

/// Reads a signer beside others.
struct Another<'a>(&'a [Signer]);

impl<'de> DeserializeSeed<'de> for Another<'_> {
    type Value = Signer;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Signer, D::Error> {
        let signer = Signer::deserialize(deserializer)?;
        if self.0.iter().any(|other| other.name == signer.name) {
            let name = &signer.name;
            return Err(de::Error::custom(format!("signer `{name}` is there twice")));
        }
        Ok(signer)
    }
}

fn absolute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let path: Option<PathBuf> = Option::deserialize(deserializer)?;
    match path {
        Some(path) if !path.is_absolute() => Err(de::Error::custom(format!(
            "`trustRoot` is `{}`; expected an absolute path",
            path.display()
        ))),
        path => Ok(path),
    }
}

fn some_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Name>, D::Error> {
    let names: Vec<Name> = Vec::deserialize(deserializer)?;
    if names.is_empty() {
        return Err(de::Error::custom(
            "`plugins` is empty; expected names, such as `labels`",
        ));
    }
    Ok(names)
}

/// A name that people are shown.
fn printable_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.trim().is_empty() || name.chars().any(misleads) {
        return Err(de::Error::custom(format!(
            "`{name}` is not a name that can be shown"
        )));
    }
    Ok(name)
}

fn plugin_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    validate_plugin_name(&name).map_err(|error| de::Error::custom(error.msg))?;
    Ok(name)
}

fn issuer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let issuer = String::deserialize(deserializer)?;
    if issuer.is_empty() || issuer.contains('*') {
        return Err(de::Error::custom(format!(
            "`issuer` is `{issuer}`; expected exactly what is in certificates, such as `https://token.actions.githubusercontent.com`"
        )));
    }
    Ok(issuer)
}

fn api_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    constant(deserializer, "apiVersion", API_VERSION).map(drop)
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    constant(deserializer, "kind", KIND).map(drop)
}
