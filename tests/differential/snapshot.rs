//! What is on a node: its kernel's state in the host and in every container, and its leases.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use serde_json::{Map, Value, json};
use weir_kit::shown::Shown;

use crate::side::Side;

/// One network namespace.
pub struct Space {
    pub shown: Shown,
    pub parameters: Parameters,
}

/// Everything below `/proc/sys/net/ipv[46]/conf`, and some of the whole namespace: what is in each directory, by the
/// directory's path below `/proc/sys/net`. Of a link, what is other than in `default`.
pub type Parameters = BTreeMap<String, Map<String, Value>>;

/// A node.
pub struct Snapshot {
    pub host: Space,
    pub containers: Vec<Space>,
    /// Everything below `var/lib/cni`, by its path: content and mode.
    pub files: BTreeMap<String, Value>,
}

/// Where parameters are, of the namespace of the thread that reads.
const PARAMETERS: &str = "/proc/sys/net";

/// The parameters of a whole namespace that plugins change.
const OF_NAMESPACE: [&str; 5] = [
    "ip_forward",
    "ip_local_port_range",
    "tcp_keepalive_time",
    "tcp_retries1",
    "tcp_rmem",
];

impl Snapshot {
    /// Of a side, now.
    pub fn take(side: &Side) -> Result<Self> {
        let containers = side.containers.iter();
        Ok(Self {
            host: Space {
                shown: side.node.shown()?,
                parameters: side.node.inside(parameters)?,
            },
            containers: containers
                .map(|c| {
                    Ok(Space {
                        shown: c.shown()?,
                        parameters: c.inside(parameters)?,
                    })
                })
                .collect::<Result<_>>()?,
            files: files(side.node.root())?,
        })
    }
}

impl Space {
    /// The link of this name.
    pub fn link(&self, name: &str) -> Option<&Value> {
        self.shown.links.iter().find(|link| link["ifname"] == name)
    }
}

/// That of the calling thread's namespace.
fn parameters() -> Result<Parameters> {
    static IPV4: OnceLock<Vec<String>> = OnceLock::new();
    static IPV6: OnceLock<Vec<String>> = OnceLock::new();
    let mut parameters = BTreeMap::new();
    for (table, names) in [("ipv4/conf", &IPV4), ("ipv6/conf", &IPV6)] {
        let path = Path::new(PARAMETERS).join(table);
        // The kernel gives all links the same parameters, and a list of them takes as long as their values.
        let names =
            names.get_or_init(|| names_in(&path.join("all")).expect("parameters of all links"));
        let default = values(&path.join("default"), names, &Map::new())?;
        for link in names_in(&path)?.iter().filter(|link| *link != "default") {
            let own = values(&path.join(link), names, &default)?;
            parameters.insert(format!("{table}/{link}"), own);
        }
        parameters.insert(format!("{table}/default"), default);
    }
    let of_namespace = values(
        &Path::new(PARAMETERS).join("ipv4"),
        &OF_NAMESPACE,
        &Map::new(),
    )?;
    parameters.insert("ipv4".to_owned(), of_namespace);
    Ok(parameters)
}

fn names_in(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// The values of these parameters in a directory that are other than these: null for one that cannot be read, as a secret
/// that was never set.
fn values(
    directory: &Path,
    names: &[impl AsRef<str>],
    others: &Map<String, Value>,
) -> Result<Map<String, Value>> {
    let directory = File::open(directory)?;
    let mut buffer = [0; 128];
    let mut values = Map::new();
    for name in names.iter().map(AsRef::as_ref) {
        let value = value_of(&directory, name, &mut buffer);
        let other = others.get(name);
        // Most are the same: nothing is made for them, as there are a hundred thousand in a run.
        if other.is_none_or(|other| other.as_str() != value) {
            values.insert(name.to_owned(), json!(value));
        }
    }
    Ok(values)
}

/// One short path and one read.
fn value_of<'b>(directory: &File, name: &str, buffer: &'b mut [u8]) -> Option<&'b str> {
    let parameter = openat(
        directory,
        name,
        OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    );
    let length = File::from(parameter.ok()?).read(buffer).ok()?;
    std::str::from_utf8(&buffer[..length]).ok().map(str::trim)
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
