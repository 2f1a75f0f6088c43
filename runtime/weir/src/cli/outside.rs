//! Names that are not those of components: weir's own, and those of native plugins, which run outside the sandbox.
//!
//! No grant applies to them, and the commands for grants and components say so instead of giving useless advice.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use weir_files::Paths;
use weir_grant::internal_grant;
use weir_grant::native::NativePlugin;
use weir_network::Settings;
use weir_sandbox::Catalogue;

use super::output::show;

pub enum Outside {
    /// weir itself.
    Weir,
    Native(Native),
}

/// A native plugin that weir's configuration lists.
pub struct Native {
    pub name: String,
    pub entries: Vec<NativePlugin>,
    pub configuration: PathBuf,
}

impl Outside {
    /// Returns what a name refers to; none if it is a component's or unknown.
    ///
    /// Errors: it is not a component's, and weir's configuration cannot be read.
    pub fn of(paths: &Paths, name: &str) -> Result<Option<Self>> {
        if name == internal_grant::NAME {
            return Ok(Some(Self::Weir));
        }
        if Catalogue::new(paths).has(name) {
            return Ok(None);
        }
        let mut entries = Settings::load(paths).map_err(show)?.native_plugins;
        entries.retain(|entry| entry.name == name);
        let native = Native {
            name: name.to_owned(),
            entries,
            configuration: paths.configuration(),
        };
        Ok((!native.entries.is_empty()).then_some(Self::Native(native)))
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weir => {
                let name = internal_grant::NAME;
                write!(
                    f,
                    "`{name}` is weir itself and not a plugin: what it may do on its own behalf is fixed in the binary, and \
                     no grant changes that; `weir grants show {name}` shows it"
                )
            }
            Self::Native(Native {
                name,
                configuration,
                ..
            }) => write!(
                f,
                "`{name}` is a native plugin, a program outside the sandbox that `{}` lists: no grant limits it; \
                 `weir grants show {name}` shows where it may run",
                configuration.display()
            ),
        }
    }
}

/// Fails if a name is weir's or a native plugin's. An unknown one passes.
pub fn refuse(paths: &Paths, name: &str) -> Result<()> {
    match Outside::of(paths, name)? {
        Some(outside) => bail!("{outside}"),
        None => Ok(()),
    }
}
