//! The grants of a test: the component's, and those of the built-in plugins beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::json;
use weir_cni::NetworkConfigList;
use weir_grant::document::{API_VERSION, Digest, KIND};
use weir_grant::{Document, Limits};
use weir_sandbox::{Catalogue, Sandbox, parse_grant, survey_grants};

use super::Arguments;
use super::settings::Settings;
use crate::cli::component::read;
use crate::cli::output::show;

/// The grant of a project is beside its test configuration.
const GRANT: &str = "grant.yaml";

/// Those that are put in force on the temporary node. The others there are the shipped ones.
#[derive(Clone)]
pub struct Grants {
    /// The component's name as a plugin.
    plugin: String,
    given: Vec<Given>,
    /// Where the component's is read if no other file is given.
    beside: PathBuf,
}

#[derive(Clone)]
struct Given {
    document: Document,
    /// None for one that was made for the test.
    file: Option<PathBuf>,
}

impl Grants {
    /// Returns the given ones. The component's is otherwise the one beside the configuration, or one of nothing.
    ///
    /// Errors: a document that is not valid, or of another plugin; several of one plugin.
    pub fn read(arguments: &Arguments, settings: &Settings, plugin: &str) -> Result<Self> {
        let mut grants = Self {
            plugin: plugin.to_owned(),
            given: Vec::new(),
            beside: arguments.config.with_file_name(GRANT),
        };
        for file in &settings.grants {
            grants.add(file)?;
        }
        // A suggestion may be on its way there.
        let is_read = !arguments.suggest_grant && grants.beside.exists();
        if grants.own().is_none() && is_read {
            grants.add(&grants.beside.clone())?;
        }
        if grants.own().is_none() {
            grants.replace(nothing(plugin)?);
        }
        Ok(grants)
    }

    fn add(&mut self, file: &Path) -> Result<()> {
        let document = document(file, &self.plugin)?;
        let plugin = &document.spec.plugin.name;
        if let Some(one) = self.of(plugin) {
            bail!(
                "`{}` and `{}` are both grants of plugin `{plugin}`: give one of them",
                one.file.as_deref().unwrap_or(file).display(),
                file.display(),
            );
        }
        self.given.push(Given {
            document,
            file: Some(file.to_owned()),
        });
        Ok(())
    }

    fn of(&self, plugin: &str) -> Option<&Given> {
        let mut given = self.given.iter();
        given.find(|given| given.document.spec.plugin.name == plugin)
    }

    fn own(&self) -> Option<&Given> {
        self.of(&self.plugin)
    }

    /// Returns the file of the component's grant, if it has one.
    pub fn file(&self) -> Option<&Path> {
        self.own()?.file.as_deref()
    }

    /// Returns the files of the grants by plugin, and that in which the component's is, or would be.
    pub fn files(&self) -> BTreeMap<String, PathBuf> {
        let given = self.given.iter();
        let mut files: BTreeMap<String, PathBuf> = given
            .filter_map(|given| {
                let plugin = given.document.spec.plugin.name.clone();
                Some((plugin, given.file.clone()?))
            })
            .collect();
        let own = files.entry(self.plugin.clone());
        own.or_insert_with(|| self.beside.clone());
        files
    }

    /// Returns the limits of the component's grant.
    pub fn limits(&self) -> Limits {
        let own = self.own();
        own.map_or_else(Limits::default, |own| own.document.spec.limits.clone())
    }

    /// Puts a document in the place of the component's grant.
    pub fn replace(&mut self, document: Document) {
        let plugin = &self.plugin;
        self.given
            .retain(|given| given.document.spec.plugin.name != *plugin);
        self.given.push(Given {
            document,
            file: None,
        });
    }

    /// Returns the plugins of the network that run the component as their IPAM plugin, and whose grant was not given.
    pub fn widened(&self, list: &NetworkConfigList) -> Vec<String> {
        let plugins = list.plugins.iter();
        let running = plugins.filter(|plugin| plugin.ipam_type() == Some(&self.plugin));
        let mut names: Vec<String> = running.map(|p| p.plugin_type().to_owned()).collect();
        names.retain(|name| self.of(name).is_none());
        names.dedup();
        names
    }

    /// Puts them in force for a component of this digest. A plugin that runs it as its IPAM plugin may do so, beyond its shipped
    /// grant.
    pub fn put_in_force(
        &self,
        sandbox: &Sandbox,
        list: &NetworkConfigList,
        digest: &Digest,
    ) -> Result<()> {
        let directory = sandbox.paths().grants();
        fs::create_dir_all(&directory)?;
        let mut documents: Vec<Document> = self
            .given
            .iter()
            .map(|given| given.document.clone())
            .collect();
        for main in self.widened(list) {
            documents.extend(with_ipam(sandbox, &main, &self.plugin)?);
        }
        for mut document in documents {
            let plugin = document.spec.plugin.name.clone();
            if plugin == self.plugin {
                document.spec.plugin.digest = Some(digest.clone());
            } else {
                // A document replaces the shipped one of its name.
                document.metadata.name.clone_from(&plugin);
            }
            let file = directory.join(format!("{plugin}.yaml"));
            fs::write(file, serde_saphyr::to_string(&document)?)
                .context("put the grant in force")?;
        }
        Ok(())
    }
}

/// The shipped grant of a plugin, which may also run this IPAM plugin.
fn with_ipam(sandbox: &Sandbox, main: &str, ipam: &str) -> Result<Option<Document>> {
    let all = survey_grants(sandbox.paths()).map_err(show)?;
    let mut documents = all.into_iter().flatten().map(|loaded| loaded.document);
    let Some(mut document) = documents.find(|document| document.spec.plugin.name == main) else {
        return Ok(None);
    };
    document.spec.capabilities.ipam.push(ipam.to_owned());
    Ok(Some(document))
}

fn document(file: &Path, plugin: &str) -> Result<Document> {
    let shown = file.display();
    let text = String::from_utf8(read(file)?).with_context(|| format!("`{shown}` is not text"))?;
    let document = parse_grant(file, &text)
        .context("the grant is not valid")?
        .document;
    let named = &document.spec.plugin.name;
    if named != plugin && !Catalogue::is_built_in(named) {
        bail!("`{shown}` is a grant of plugin `{named}`, and the network's plugin is `{plugin}`");
    }
    Ok(document)
}

fn nothing(plugin: &str) -> Result<Document> {
    Ok(serde_json::from_value(json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": { "name": plugin },
        "spec": { "plugin": { "name": plugin }, "networks": ["*"] },
    }))?)
}
