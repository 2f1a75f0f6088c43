//! `test.yaml`: the options of a test, in a file beside the network configuration.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use glob::Pattern;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use weir_grant::reading;
use weir_sandbox::Invalid;

use super::Arguments;
use crate::cli::config::capability_args;

/// The file's name.
const NAME: &str = "test.yaml";

/// What a document should have been.
const EXPECTED: &str =
    "a mapping, with `grants`, `keeps`, `ifname`, `args`, `capabilityArgs` or `expect`";

/// The options of a test. In the file they are all optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Settings {
    /// Files of grants; relative paths are from the directory of the file.
    pub grants: Vec<PathBuf>,
    #[serde(deserialize_with = "patterns")]
    pub keeps: Vec<Pattern>,
    /// The interface's name; none for the default.
    pub ifname: Option<String>,
    /// `CNI_ARGS`.
    pub args: String,
    pub capability_args: Map<String, Value>,
    /// The file of what is expected; a relative path is from the directory of the file.
    pub expect: Option<PathBuf>,
}

/// Reads globs. Errors: one that is not valid.
fn patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Pattern>, D::Error> {
    let globs = Vec::<Glob>::deserialize(deserializer)?;
    Ok(globs.into_iter().map(|glob| glob.0).collect())
}

struct Glob(Pattern);

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let pattern = Pattern::new(&text);
        pattern.map(Self).map_err(|why| {
            D::Error::custom(format!(
                "`{text}` is not a glob: {why}; expected one such as `host: link cni0 *`"
            ))
        })
    }
}

impl Settings {
    /// Returns the options of the command line, and for those that are not given the ones of the file. An option takes
    /// the place of a key as a whole.
    ///
    /// Errors: a file that cannot be read or is not valid, with line and column of each mistake.
    pub fn of(arguments: &Arguments) -> Result<Self> {
        let mut settings = Self::beside(arguments)?;
        if !arguments.grant.is_empty() {
            settings.grants.clone_from(&arguments.grant);
        }
        if !arguments.keeps.is_empty() {
            settings.keeps.clone_from(&arguments.keeps);
        }
        settings.ifname = arguments.ifname.clone().or(settings.ifname);
        settings.args = arguments.args.clone().unwrap_or(settings.args);
        if let Some(text) = &arguments.capability_args {
            settings.capability_args = capability_args(Some(text))?;
        }
        settings.expect = arguments.expect.clone().or(settings.expect);
        Ok(settings)
    }

    /// Those of the given file, or of the one beside the configuration if there is one.
    fn beside(arguments: &Arguments) -> Result<Self> {
        let beside = arguments.config.with_file_name(NAME);
        match &arguments.settings {
            Some(file) => Self::read(file),
            None if beside.exists() => Self::read(&beside),
            None => Ok(Self::default()),
        }
    }

    fn read(file: &Path) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("read `{}`", file.display()))?;
        let mut settings: Self = reading::read(&bytes, EXPECTED).map_err(|mistakes| Invalid {
            path: file.to_owned(),
            mistakes,
        })?;
        let directory = file.parent().unwrap_or(Path::new(""));
        let paths = settings.grants.iter_mut().chain(&mut settings.expect);
        for path in paths {
            *path = directory.join(&*path);
        }
        Ok(settings)
    }
}
