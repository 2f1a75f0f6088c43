//! The three that are measured, and where their programs are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contender {
    Floor,
    Reference,
    Weir,
}

impl Contender {
    pub const ALL: [Self; 3] = [Self::Floor, Self::Reference, Self::Weir];

    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Reference => "reference",
            Self::Weir => "weir",
        }
    }
}

/// The plugins of both sides that are measured on this machine's kernel.
const OF_BOTH: [&str; 7] = [
    "bridge",
    "host-local",
    "macvlan",
    "portmap",
    "sbr",
    "static",
    "tuning",
];
/// One that only weir's side is measured with.
const OF_WEIR_ALONE: &str = "bandwidth";

/// Their programs.
pub struct Contenders {
    floor: PathBuf,
    reference: PathBuf,
    weir: PathBuf,
}

impl Contenders {
    /// Finds all that is measured on this machine's kernel. An error names what is missing and how to get it.
    pub fn find(floor: &Path, reference: &Path, weir: &Path) -> Result<Self> {
        let package = "install the package containernetworking-plugins";
        let install = "`weir install --bin-dir DIR` makes it";
        for plugin in OF_BOTH {
            must_be_there(&reference.join(plugin), package)?;
        }
        for plugin in [OF_WEIR_ALONE].into_iter().chain(OF_BOTH) {
            must_be_there(&weir.join(plugin), install)?;
        }
        Self::in_directories(floor, reference, weir)
    }

    /// Whatever is in these directories.
    pub fn in_directories(floor: &Path, reference: &Path, weir: &Path) -> Result<Self> {
        must_be_there(floor, "--floor names the `weir-floor` program")?;
        Ok(Self {
            floor: fs::canonicalize(floor)?,
            reference: fs::canonicalize(reference)?,
            weir: fs::canonicalize(weir)?,
        })
    }

    /// The program that is run as the main plugin.
    pub fn program(&self, contender: Contender) -> PathBuf {
        match contender {
            Contender::Floor => self.floor.clone(),
            Contender::Reference => self.reference.join("bridge"),
            Contender::Weir => self.weir.join("bridge"),
        }
    }

    pub fn floor(&self) -> &Path {
        &self.floor
    }

    /// Whether a contender has the plugin. The floor knows all that are measured.
    pub fn has(&self, contender: Contender, plugin: &str) -> bool {
        contender == Contender::Floor || self.search_path(contender).join(plugin).is_file()
    }

    /// weir as the delegating plugin.
    pub fn delegating(&self) -> PathBuf {
        self.weir.join("weir")
    }

    /// `CNI_PATH`.
    pub fn search_path(&self, contender: Contender) -> &Path {
        match contender {
            Contender::Weir => &self.weir,
            Contender::Floor | Contender::Reference => &self.reference,
        }
    }

    /// Bytes of the programs that one ADD needs, each file once.
    pub fn size(&self, contender: Contender) -> Result<u64> {
        let mut files = vec![fs::canonicalize(self.program(contender))?];
        if contender != Contender::Floor {
            files.push(fs::canonicalize(
                self.search_path(contender).join("host-local"),
            )?);
        }
        files.dedup();
        let sizes = files
            .iter()
            .map(|file| fs::metadata(file).map(|data| data.len()));
        Ok(sizes.sum::<std::io::Result<u64>>()?)
    }
}

fn must_be_there(program: &Path, otherwise: &str) -> Result<()> {
    let shown = program.display();
    let data = fs::metadata(program).with_context(|| format!("`{shown}`: {otherwise}"))?;
    ensure!(data.is_file(), "`{shown}` is not a file: {otherwise}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Contender;

    #[test]
    fn a_place_among_all_is_the_contenders_number() {
        for (place, contender) in Contender::ALL.into_iter().enumerate() {
            assert_eq!(contender as usize, place);
        }
    }
}
