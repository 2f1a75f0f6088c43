//! A Kubernetes node as it is to be, and one pass that makes it so: the binary, the links, the kubeconfig,
//! and last, when the default network is there, the configuration.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weir_files::Paths;

use super::arguments::{Arguments, DEFAULT_NETWORK};
use super::bin_dir::{self, BinDir};
use super::conf_dir::{Search, own_configurations};
use super::config_file::{self, ConfigFile};
use super::configuration::{self, NodePaths};
use super::default_network;
use super::kubeconfig;
use super::multus;
use super::plugin_names;
use super::replaced;
use super::takeover::Takeover;
use crate::OWN_NAME;
use crate::cli::output::{Answer, complain, say};

/// Where the kubeconfig is in the directory of network configurations.
pub const KUBECONFIG: &str = "weir.d/weir.kubeconfig";

/// What is to be on the node.
pub struct Node<'a> {
    arguments: &'a Arguments,
    paths: Paths,
    conf_dir: PathBuf,
}

/// What came of a pass.
pub enum State {
    /// All is in its place; whether something was put there now.
    Whole { changed: bool },
    /// All but the configuration, and why.
    Waiting(String),
}

/// weir's configuration, and Multus' one that it replaces.
struct Wanted {
    configuration: ConfigFile,
    set_aside: Option<String>,
    takeover: Option<Takeover>,
}

impl<'a> Node<'a> {
    /// For these options.
    pub fn new(arguments: &'a Arguments, paths: Paths) -> Self {
        let conf_dir = arguments.node.conf_dir.clone();
        Self {
            conf_dir: conf_dir.unwrap_or_else(|| paths.networks()),
            arguments,
            paths,
        }
    }

    /// Puts in place what is not, the configuration last, and tells of each thing.
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
        let wanted = match self.wanted()? {
            Search::Missing(reason) => return Ok(State::Waiting(reason)),
            Search::Found(wanted) => wanted,
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
        if !bin_dir::has_binary(place)? {
            bin_dir.put_binary()?;
            changes.tell("installed", &place.join(OWN_NAME));
        }
        let (names, damaged) = plugin_names(&self.paths)?;
        // It must not keep the others, nor the token, from being put in place.
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

    /// A configuration of weir's in the other form, and Multus', once weir's is in force.
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
                fs::remove_file(&path).with_context(|| format!("remove `{}`", path.display()))?;
                changes.tell("removed", &path);
            }
        }
        config_file::sync(&self.conf_dir)
    }

    /// Tells what is not as it is to be.
    pub fn check(&self) -> Result<Answer> {
        let amiss = self.amiss()?;
        for line in &amiss {
            say!("{line}");
        }
        Ok(if amiss.is_empty() {
            Answer::Yes
        } else {
            Answer::No
        })
    }

    fn amiss(&self) -> Result<Vec<String>> {
        let place = &self.arguments.bin_dir;
        let mut amiss = Vec::new();
        if !bin_dir::has_binary(place)? {
            let own = place.join(OWN_NAME);
            amiss.push(format!("`{}` is not this weir", own.display()));
        }
        let (names, _) = plugin_names(&self.paths)?;
        for name in names.iter().filter(|name| !bin_dir::has_link(place, name)) {
            let link = place.join(name);
            amiss.push(format!("`{}` is not a link to weir", link.display()));
        }
        let wanted = self.wanted()?;
        let mut files = Vec::new();
        files.extend(self.kubeconfig()?);
        match wanted {
            Search::Missing(reason) => amiss.push(reason),
            Search::Found(wanted) => {
                files.push(wanted.configuration);
                amiss.extend(wanted.set_aside.map(|name| {
                    let standing = self.conf_dir.join(name);
                    format!("`{}` is still in force", standing.display())
                }));
            }
        }
        for file in files {
            if !file.is_there()? {
                let path = file.path.display();
                amiss.push(format!("`{path}` is not as it is to be"));
            }
        }
        Ok(amiss)
    }

    /// None where one that is there is used.
    fn kubeconfig(&self) -> Result<Option<ConfigFile>> {
        let node = &self.arguments.node;
        // Multus' configuration names one, but for the thick plugin's.
        let is_given = node.kubeconfig.is_some() || self.is_converted()?;
        if is_given && node.kubeconfig_path.is_none() {
            return Ok(None);
        }
        Ok(Some(ConfigFile {
            path: self.kubeconfig_path(),
            content: kubeconfig::of_service_account(&node.service_account)?,
        }))
    }

    /// Whether the configuration is to be Multus' own with another type.
    fn is_converted(&self) -> Result<bool> {
        let node = &self.arguments.node;
        if !node.from_multus {
            return Ok(false);
        }
        Ok(
            match multus::find(&self.conf_dir, &node.conf_name, self.paths.root())? {
                Search::Found(source) => !source.is_of_thick_plugin(),
                Search::Missing(_) => true,
            },
        )
    }

    fn kubeconfig_path(&self) -> PathBuf {
        let given = self.arguments.node.kubeconfig_path.clone();
        given.unwrap_or_else(|| self.conf_dir.join(KUBECONFIG))
    }

    fn wanted(&self) -> Result<Search<Wanted>> {
        let wanted = if self.arguments.node.from_multus {
            self.converted()?
        } else {
            self.generated(None)?
        };
        if let Search::Found(wanted) = &wanted {
            let own = wanted.configuration.path.file_name().unwrap_or_default();
            let set_aside = wanted
                .set_aside
                .as_ref()
                .map(|name| self.conf_dir.join(name));
            default_network::check_precedence(
                &self.conf_dir,
                &own.to_string_lossy(),
                set_aside.as_deref(),
            )?;
        }
        Ok(wanted)
    }

    fn converted(&self) -> Result<Search<Wanted>> {
        let own = &self.arguments.node.conf_name;
        let source = match multus::find(&self.conf_dir, own, self.paths.root())? {
            Search::Missing(reason) => return Ok(Search::Missing(reason)),
            Search::Found(source) => source,
        };
        if source.is_of_thick_plugin() {
            return self.in_place_of_thick_plugin(&source);
        }
        let unused = self.arguments.configuration.given();
        if !unused.is_empty() && !source.is_kept {
            complain(&format!(
                "not used, for the configuration is that of Multus in `{}`: {}",
                source.name,
                unused.join(", ")
            ));
        }
        Ok(Search::Found(Wanted {
            configuration: ConfigFile {
                path: self.conf_dir.join(source.converted_name(own)),
                content: source.convert()?,
            },
            takeover: Some(Takeover::new(source.pods(&self.paths)?, &self.paths)),
            set_aside: (!source.is_kept).then_some(source.name),
        }))
    }

    /// A configuration as without Multus, and the pods that Multus attached.
    fn in_place_of_thick_plugin(&self, source: &multus::Source) -> Result<Search<Wanted>> {
        let name = &self.arguments.configuration.network_name;
        let pods = source.pods_of_thick_plugin(name, &self.paths)?;
        Ok(match self.generated(Some(&source.name))? {
            Search::Missing(reason) => Search::Missing(reason),
            Search::Found(wanted) => Search::Found(Wanted {
                takeover: Some(Takeover::new(pods, &self.paths)),
                set_aside: (!source.is_kept).then(|| source.name.clone()),
                ..wanted
            }),
        })
    }

    /// What is to be set aside is no default network.
    fn generated(&self, set_aside: Option<&str>) -> Result<Search<Wanted>> {
        let node = &self.arguments.node;
        let (own, wanted) = (&node.conf_name, node.default_network_file.as_deref());
        let found =
            match default_network::find(&self.conf_dir, own, wanted, set_aside, self.paths.root())?
            {
                Search::Missing(reason) => return Ok(Search::Missing(reason)),
                Search::Found(found) => found,
            };
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
        Ok(Search::Found(Wanted {
            configuration: ConfigFile {
                path: self.conf_dir.join(&node.conf_name),
                content: configuration::render(&found.network, arguments, &paths),
            },
            set_aside: None,
            takeover: None,
        }))
    }

    fn on_node(&self, place: &Path) -> String {
        self.paths.on_node(place).display().to_string()
    }

    /// The directories in which a change may ask for another pass.
    pub fn directories(&self) -> Result<Vec<PathBuf>> {
        let mut directories = vec![
            self.arguments.bin_dir.clone(),
            self.conf_dir.clone(),
            self.arguments.node.service_account.clone(),
            self.paths.plugins(),
        ];
        directories.extend(self.kubeconfig_path().parent().map(Path::to_owned));
        // A network's plugins may stand in a directory of the network's name.
        let names = replaced::file_names(&self.conf_dir)?.into_iter();
        directories.extend(names.map(|name| self.conf_dir.join(name)));
        directories.retain(|directory| directory.is_dir());
        Ok(directories)
    }
}

/// What a pass has changed, told as it happens: the next thing may fail.
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
