//! Names that stand for no component: weir's own, and those of native plugins, which run outside of the sandbox.
//!
//! No grant is about them, so that a command which tells of grants or components has this to say instead of
//! advice that leads nowhere.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use weir_files::Paths;
use weir_grant::native::NativePlugin;
use weir_grant::own;
use weir_network::Settings;
use weir_sandbox::Catalogue;

use super::output::show;

/// What such a name stands for.
pub enum Outside {
    /// weir itself.
    Weir,
    Native(Native),
}

/// A native plugin that weir's own configuration lists.
pub struct Native {
    pub name: String,
    pub entries: Vec<NativePlugin>,
    pub configuration: PathBuf,
}

impl Outside {
    /// What a name stands for; none where it is a component's, or nothing's.
    ///
    /// Errors: it is not a component's, and weir's own configuration cannot be read.
    pub fn of(paths: &Paths, name: &str) -> Result<Option<Self>> {
        if name == own::NAME {
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
                let name = own::NAME;
                write!(
                    f,
                    "`{name}` is weir itself and not a plugin: what it does on its own behalf is fixed in the \
                     binary, and no document changes that; `weir grants show {name}` tells what it is"
                )
            }
            Self::Native(Native {
                name,
                configuration,
                ..
            }) => write!(
                f,
                "`{name}` is a native plugin, a program outside of the sandbox that `{}` lists: no grant bounds it; \
                 `weir grants show {name}` tells where it may run",
                configuration.display()
            ),
        }
    }
}

/// Fails where a name is no component's, and a component's is needed. Passes one that nothing has.
pub fn refuse(paths: &Paths, name: &str) -> Result<()> {
    match Outside::of(paths, name)? {
        Some(outside) => bail!("{outside}"),
        None => Ok(()),
    }
}
