//! What is on a node: its kernel's state in the host and in every container, and its leases.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::PoisonError;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::shown::Shown;

use crate::parameters::{Parameters, Reader};
use crate::side::{Readers, Side};

/// One network namespace.
pub struct Space {
    pub shown: Shown,
    pub parameters: Parameters,
}

/// A node.
pub struct Snapshot {
    pub host: Space,
    pub containers: Vec<Space>,
    /// Everything below `var/lib/cni`, by its path: content and mode.
    pub files: BTreeMap<String, Value>,
}

impl Snapshot {
    /// Of a side, now.
    pub fn take(side: &Side) -> Result<Self> {
        let mut readers = side.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let Readers { host, containers } = &mut *readers;
        containers.resize_with(side.containers.len(), Reader::default);
        let containers = side.containers.iter().zip(containers);
        // In one thread, from one namespace to the next.
        side.node.inside(|| {
            Ok(Self {
                host: Space {
                    shown: side.node.shown()?,
                    parameters: host.read()?,
                },
                containers: containers
                    .map(|(container, reader)| {
                        container.enter()?;
                        Ok(Space {
                            shown: container.shown()?,
                            parameters: reader.read()?,
                        })
                    })
                    .collect::<Result<_>>()?,
                files: files(side.node.root())?,
            })
        })
    }
}

impl Space {
    /// The link of this name.
    pub fn link(&self, name: &str) -> Option<&Value> {
        self.shown.links.iter().find(|link| link["ifname"] == name)
    }
}

fn files(root: &Path) -> Result<BTreeMap<String, Value>> {
    let mut files = BTreeMap::new();
    collect(&root.join("var/lib/cni"), root, &mut files)?;
    Ok(files)
}

fn collect(directory: &Path, root: &Path, files: &mut BTreeMap<String, Value>) -> Result<()> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        let mode = format!("{:o}", fs::metadata(&path)?.permissions().mode());
        let name = path.strip_prefix(root)?.display().to_string();
        if path.ends_with(".weir~old") {
            // weir's spare file: the reference neither makes nor minds it.
        } else if path.is_dir() {
            files.insert(name, json!({ "mode": mode }));
            collect(&path, root, files)?;
        } else {
            let content = String::from_utf8(fs::read(&path)?).context("a lease is text")?;
            files.insert(name, json!({ "mode": mode, "content": content }));
        }
    }
    Ok(())
}
