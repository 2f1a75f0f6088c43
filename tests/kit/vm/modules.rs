//! The guest's kernel modules, in the order in which they can be loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The modules that `tests/vm/prepare` left, and what each depends on.
pub(super) struct Modules {
    dir: PathBuf,
    dependencies: BTreeMap<String, Vec<String>>,
    builtin: Vec<String>,
}

impl Modules {
    pub(super) fn read(kernel_dir: &Path) -> Result<Self> {
        let read = |name: &str| {
            fs::read_to_string(kernel_dir.join(name)).with_context(|| {
                format!(
                    "no prepared guest in {0}: reading {name}; run tests/vm/prepare {0}",
                    kernel_dir.display()
                )
            })
        };
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Ok(Self {
            dir: kernel_dir.join("modules"),
            dependencies: read("modules.dep")?
                .lines()
                .filter_map(parse_dependencies)
                .collect(),
            builtin: lines(&read("modules.builtin")?),
        })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.ko"))
    }

    /// Every module that must be loaded for `wanted`, each after all it depends on.
    pub(super) fn load_order<'a>(
        &self,
        wanted: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<String>> {
        let mut order = Vec::new();
        for name in wanted {
            self.append(&name.replace('-', "_"), &mut order)?;
        }
        Ok(order)
    }

    fn append(&self, name: &str, order: &mut Vec<String>) -> Result<()> {
        if order.iter().any(|loaded| loaded == name) || self.builtin.iter().any(|b| b == name) {
            return Ok(());
        }
        let Some(dependencies) = self.dependencies.get(name) else {
            bail!(
                "no kernel module {name:?} in {}; tests/vm/prepare has the list of what it copies",
                self.dir.display()
            );
        };
        for dependency in dependencies {
            self.append(dependency, order)?;
        }
        order.push(name.to_owned());
        Ok(())
    }
}

/// Reads one line `NAME: DEPENDENCY...`.
fn parse_dependencies(line: &str) -> Option<(String, Vec<String>)> {
    let (name, dependencies) = line.split_once(':')?;
    let dependencies = dependencies.split_whitespace().map(str::to_owned);
    Some((name.to_owned(), dependencies.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules() -> Modules {
        let lines = ["8021q: garp stp llc", "garp: stp llc", "stp: llc", "llc:"];
        Modules {
            dir: PathBuf::from("/modules"),
            dependencies: lines.into_iter().filter_map(parse_dependencies).collect(),
            builtin: vec!["nf_unit".to_owned()],
        }
    }

    #[test]
    fn a_module_follows_its_dependencies_once() {
        let order = modules().load_order(["stp", "8021q", "nf-unit"].into_iter());
        assert_eq!(order.unwrap(), ["llc", "stp", "garp", "8021q"]);
    }

    #[test]
    fn an_unknown_module_is_named() {
        let error = modules().load_order(["vxlan"].into_iter()).unwrap_err();
        assert!(error.to_string().contains("\"vxlan\""), "{error}");
    }
}
