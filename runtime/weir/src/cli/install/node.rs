//! Installing on a Kubernetes node: the binary, the links, the kubeconfig, and last, once the default network exists, the
//! configuration.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weir_files::Paths;

use super::arguments::{Arguments, DEFAULT_NETWORK};
use super::bin_dir::{BinDir, has_binary, is_own_link};
use super::conf_dir::{Missing, own_configurations};
use super::config_file::{self, ConfigFile};
use super::configuration::{self, NodePaths};
use super::listed::Listed;
use super::takeover::Takeover;
use super::{default_network, kubeconfig, multus, plugin_names, replaced, settings};
use crate::OWN_NAME;
use crate::cli::output::{Answer, complain, say};

/// The kubeconfig's path in the directory of network configurations.
pub const KUBECONFIG: &str = "weir.d/weir.kubeconfig";

pub struct Node<'a> {
    arguments: &'a Arguments,
    paths: Paths,
    conf_dir: PathBuf,
}

/// The outcome of a pass.
pub enum State {
    /// All is installed. `changed`: something was installed in this pass.
    Whole { changed: bool },
    /// All but the configuration, and why.
    Waiting(String),
}

/// weir's configuration, and that of Multus which it replaces.
struct Wanted {
    configuration: ConfigFile,
    set_aside: Option<String>,
    takeover: Option<Takeover>,
}

impl<'a> Node<'a> {
    pub fn new(arguments: &'a Arguments, paths: Paths) -> Self {
        let conf_dir = arguments.node.conf_dir.clone();
        Self {
            conf_dir: conf_dir.unwrap_or_else(|| paths.networks()),
            arguments,
            paths,
        }
    }

    /// The plugins that every node gets, if the options name a list. Errors: as of [`Sandbox::new`](weir_sandbox::Sandbox::new).
    pub fn listed(&self) -> Result<Option<Listed>> {
        let given = self.arguments.node.kubeconfig.clone();
        let kubeconfig = given.unwrap_or_else(|| self.paths.on_node(&self.kubeconfig_path()));
        Listed::of(&self.arguments.node, &self.paths, kubeconfig)
    }

    /// Installs what is missing, the configuration last, and prints each change.
    pub fn pass(&self) -> Result<State> {
        let bin_dir = BinDir::lock(&self.arguments.bin_dir)?;
        let mut changes = Changes::default();
        self.put_plugins(&bin_dir, &mut changes)?;
        fs::create_dir_all(&self.conf_dir)
            .with_context(|| format!("create `{}`", self.conf_dir.display()))?;
        config_file::clear_up(&self.conf_dir)?;
        if let Some(kubeconfig) = self.kubeconfig()? {
            config_file::clear_up(kubeconfig.path.parent().unwrap_or(&self.conf_dir))?;
            changes.put(&kubeconfig)?;
        }
        if let Some(settings) = self.settings()? {
            changes.put(&settings)?;
        }
        let wanted = match self.wanted() {
            Err(error) => return Ok(State::Waiting(error.downcast::<Missing>()?.0)),
            Ok(wanted) => wanted,
        };
        if let (Some(takeover), Some(_)) = (&wanted.takeover, &wanted.set_aside) {
            takeover.begin()?;
        }
        changes.put(&wanted.configuration)?;
        self.remove_others(&wanted, &mut changes)?;
        if let Some(takeover) = &wanted.takeover {
            takeover.finish()?;
        }
        Ok(State::Whole {
            changed: changes.are_some,
        })
    }

    fn put_plugins(&self, bin_dir: &BinDir, changes: &mut Changes) -> Result<()> {
        let place = &self.arguments.bin_dir;
        if !has_binary(place)? {
            bin_dir.put_binary()?;
            changes.tell("installed", &place.join(OWN_NAME));
        }
        let (names, damaged) = plugin_names(&self.paths)?;
        // A damaged one does not keep the others, or the token, from being installed.
        for error in damaged {
            complain(&format!("{error:#}"));
        }
        for name in names {
            if bin_dir.put_link(&name)? {
                changes.tell("installed", &place.join(name));
            }
        }
        bin_dir.sync()
    }

    /// Removes a configuration of weir's in the other form, and sets Multus' aside, once weir's is in force.
    fn remove_others(&self, wanted: &Wanted, changes: &mut Changes) -> Result<()> {
        if let Some(name) = &wanted.set_aside {
            let path = self.conf_dir.join(name);
            fs::rename(&path, self.conf_dir.join(replaced::name_of(name)))
                .with_context(|| format!("set `{}` aside", path.display()))?;
            changes.tell("set aside", &path);
        }
        for name in own_configurations(&self.conf_dir, &self.arguments.node.conf_name)? {
            let path = self.conf_dir.join(name);
            if path != wanted.configuration.path {
                replaced::remove(&path)?;
                changes.tell("removed", &path);
            }
        }
        config_file::sync(&self.conf_dir)
    }

    pub fn check(&self) -> Result<Answer> {
        let differences = self.differences()?;
        for line in &differences {
            say!("{line}");
        }
        Ok(differences.is_empty().into())
    }

    fn differences(&self) -> Result<Vec<String>> {
        let place = &self.arguments.bin_dir;
        let mut differences = Vec::new();
        if !has_binary(place)? {
            let own = place.join(OWN_NAME);
            differences.push(format!("`{}` is not this weir", own.display()));
        }
        let (names, _) = plugin_names(&self.paths)?;
        let links = names.iter().map(|name| place.join(name));
        for link in links.filter(|link| !is_own_link(link)) {
            differences.push(format!("`{}` is not a link to weir", link.display()));
        }
        let wanted = self.wanted();
        let mut files = Vec::from_iter(self.kubeconfig()?);
        files.extend(self.settings()?);
        match wanted {
            Err(error) => differences.push(error.downcast::<Missing>()?.0),
            Ok(wanted) => {
                files.push(wanted.configuration);
                if wanted.takeover.is_some_and(|it| it.is_unfinished()) {
                    let line = "the pods that Multus attached are not all taken over";
                    differences.push(line.to_owned());
                }
                differences.extend(wanted.set_aside.map(|name| {
                    let path = self.conf_dir.join(name);
                    format!("`{}` is still in force", path.display())
                }));
            }
        }
        for file in files {
            if !file.is_there()? {
                let path = file.path.display();
                differences.push(format!("`{path}` is missing or different"));
            }
        }
        Ok(differences)
    }

    /// The kubeconfig to write; none if an existing one is used.
    fn kubeconfig(&self) -> Result<Option<ConfigFile>> {
        let node = &self.arguments.node;
        // Multus' configuration names one, except the thick plugin's.
        let is_given = node.kubeconfig.is_some() || self.is_converted()?;
        if is_given && node.kubeconfig_path.is_none() {
            return Ok(None);
        }
        Ok(Some(ConfigFile {
            path: self.kubeconfig_path(),
            content: kubeconfig::of_service_account(&node.service_account)?,
        }))
    }

    /// weir's own configuration with the interfaces that the options name; none if it has them, or they name none.
    fn settings(&self) -> Result<Option<ConfigFile>> {
        settings::with_host_interfaces(&self.paths, &self.arguments.node.host_interfaces)
    }

    /// Whether the configuration is Multus' own with another type.
    fn is_converted(&self) -> Result<bool> {
        let node = &self.arguments.node;
        if !node.from_multus {
            return Ok(false);
        }
        match multus::find(&self.conf_dir, &node.conf_name, self.paths.root()) {
            Ok(source) => Ok(!source.is_of_thick_plugin()),
            Err(error) => error.downcast::<Missing>().map(|_| true),
        }
    }

    fn kubeconfig_path(&self) -> PathBuf {
        let given = self.arguments.node.kubeconfig_path.clone();
        given.unwrap_or_else(|| self.conf_dir.join(KUBECONFIG))
    }

    /// Errors: also [`Missing`].
    fn wanted(&self) -> Result<Wanted> {
        let wanted = if self.arguments.node.from_multus {
            self.converted()?
        } else {
            self.generated(None)?
        };
        let own = wanted.configuration.path.file_name().unwrap_or_default();
        let own = own.to_string_lossy();
        let set_aside = wanted.set_aside.as_ref();
        let set_aside = set_aside.map(|name| self.conf_dir.join(name));
        default_network::check_precedence(&self.conf_dir, &own, set_aside.as_deref())?;
        Ok(wanted)
    }

    fn converted(&self) -> Result<Wanted> {
        let own = &self.arguments.node.conf_name;
        let source = multus::find(&self.conf_dir, own, self.paths.root())?;
        if source.is_of_thick_plugin() {
            return self.in_place_of_thick_plugin(&source);
        }
        let unused = self.arguments.configuration.given();
        if !unused.is_empty() && !source.is_kept {
            complain(&format!(
                "not used, because the configuration is that of Multus in `{}`: {}",
                source.name,
                unused.join(", ")
            ));
        }
        Ok(Wanted {
            configuration: ConfigFile {
                path: self.conf_dir.join(source.converted_name(own)),
                content: source.convert()?,
            },
            takeover: Some(Takeover::new(source.pods(&self.paths)?, &self.paths)),
            set_aside: (!source.is_kept).then_some(source.name),
        })
    }

    /// A generated configuration, and the pods that Multus attached.
    fn in_place_of_thick_plugin(&self, source: &multus::Source) -> Result<Wanted> {
        let name = &self.arguments.configuration.network_name;
        let pods = source.pods_of_thick_plugin(name, &self.paths)?;
        Ok(Wanted {
            takeover: Some(Takeover::new(pods, &self.paths)),
            set_aside: (!source.is_kept).then(|| source.name.clone()),
            ..self.generated(Some(&source.name))?
        })
    }

    /// A file that is to be set aside is not the default network.
    fn generated(&self, set_aside: Option<&str>) -> Result<Wanted> {
        let node = &self.arguments.node;
        let (own, wanted) = (&node.conf_name, node.default_network_file.as_deref());
        let root = self.paths.root();
        let found = default_network::find(&self.conf_dir, own, wanted, set_aside, root)?;
        let arguments = &self.arguments.configuration;
        let indicator = arguments.readiness_indicator_file.as_deref();
        let kubeconfig = match &node.kubeconfig {
            Some(file) => file.display().to_string(),
            None => self.on_node(&self.kubeconfig_path()),
        };
        let paths = NodePaths {
            kubeconfig,
            conf_dir: self.on_node(&self.conf_dir),
            default_network: self.on_node(&found.file),
            readiness_indicator: indicator.map(|file| match file {
                DEFAULT_NETWORK => self.on_node(&found.file),
                file => file.to_owned(),
            }),
        };
        Ok(Wanted {
            configuration: ConfigFile {
                path: self.conf_dir.join(&node.conf_name),
                content: configuration::render(&found.network, arguments, &paths),
            },
            set_aside: None,
            takeover: None,
        })
    }

    fn on_node(&self, place: &Path) -> String {
        self.paths.on_node(place).display().to_string()
    }

    /// Returns the directories whose changes may need another pass.
    pub fn directories(&self) -> Result<Vec<PathBuf>> {
        let mut directories = vec![
            self.arguments.bin_dir.clone(),
            self.conf_dir.clone(),
            self.arguments.node.service_account.clone(),
            self.paths.plugins(),
        ];
        directories.extend(self.kubeconfig_path().parent().map(Path::to_owned));
        // A network's plugins may be in a directory of its name.
        let names = replaced::file_names(&self.conf_dir)?.into_iter();
        directories.extend(names.map(|name| self.conf_dir.join(name)));
        directories.retain(|directory| directory.is_dir());
        Ok(directories)
    }
}

/// The changes of a pass, printed as they happen: the next one may fail.
#[derive(Default)]
struct Changes {
    are_some: bool,
}

impl Changes {
    fn put(&mut self, file: &ConfigFile) -> Result<()> {
        if file.put()? {
            self.tell("installed", &file.path);
        }
        Ok(())
    }

    fn tell(&mut self, what: &str, place: &Path) {
        say!("{what} {}", place.display());
        self.are_some = true;
    }
}
