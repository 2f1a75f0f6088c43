//! What is on a node: its kernel's state in the host and in every container, and its leases.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::side::Side;

/// One network namespace, as `ip -j -d` tells it.
pub struct Space {
    /// Links with their addresses.
    pub links: Vec<Value>,
    pub routes: Vec<Value>,
    pub rules: Vec<Value>,
    pub neighbours: Vec<Value>,
    /// Everything below `/proc/sys/net/ipv[46]/conf`, by its path there, and some of the whole
    /// namespace.
    pub parameters: BTreeMap<String, String>,
}

/// A node.
pub struct Snapshot {
    pub host: Space,
    pub containers: Vec<Space>,
    /// Everything below `var/lib/cni`, by its path: content and mode.
    pub files: BTreeMap<String, Value>,
}

/// The commands for `ip`, in the order of [`Space`]'s lists.
const QUESTIONS: &str = "address show\nroute show table all\nrule show\nneighbour show\n";

/// The command whose answer is of one family, the other one.
const OF_IPV6: &str = "rule show\n";

/// The parameters of a whole namespace that plugins change.
const OF_NAMESPACE: [&str; 5] = [
    "ipv4/ip_forward",
    "ipv4/ip_local_port_range",
    "ipv4/tcp_keepalive_time",
    "ipv4/tcp_retries1",
    "ipv4/tcp_rmem",
];

impl Snapshot {
    /// Of a side, now.
    pub fn take(side: &Side) -> Result<Self> {
        let containers = side.containers.iter();
        Ok(Self {
            host: side.node.inside(Space::here)?,
            containers: containers
                .map(|c| c.inside(Space::here))
                .collect::<Result<_>>()?,
            files: files(side.node.root())?,
        })
    }
}

impl Space {
    /// That of the calling thread.
    fn here() -> Result<Self> {
        let mut answers = ask_ip(&[], QUESTIONS)?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        Ok(Self {
            links: next(),
            routes: next(),
            rules: [next(), ask_ip(&["-6"], OF_IPV6)?.concat()].concat(),
            neighbours: next(),
            parameters: parameters()?,
        })
    }

    /// The link of this name.
    pub fn link(&self, name: &str) -> Option<&Value> {
        self.links.iter().find(|link| link["ifname"] == name)
    }
}

/// The lists that `ip` prints, one per question.
fn ask_ip(options: &[&str], questions: &str) -> Result<Vec<Vec<Value>>> {
    let mut ip = Command::new("ip")
        .args(["-j", "-d", "-batch", "-"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("run `ip`: install the package iproute2")?;
    let mut input = ip.stdin.take().context("the standard input of `ip`")?;
    input.write_all(questions.as_bytes())?;
    drop(input);
    let output = ip.wait_with_output()?;
    ensure!(output.status.success(), "`ip -batch` failed: {output:?}");
    let lists = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Vec<Value>>();
    let lists: Vec<_> = lists
        .collect::<Result<_, _>>()
        .context("the output of `ip`")?;
    ensure!(
        lists.len() == questions.lines().count(),
        "`ip` left a question unanswered"
    );
    Ok(lists)
}

fn parameters() -> Result<BTreeMap<String, String>> {
    // Of the namespace of the thread that reads.
    let root = Path::new("/proc/sys/net");
    let mut parameters = BTreeMap::new();
    for table in ["ipv4/conf", "ipv6/conf"] {
        for link in fs::read_dir(root.join(table)).with_context(|| table.to_owned())? {
            for parameter in fs::read_dir(link?.path())? {
                let path = parameter?.path();
                // A secret that was never set cannot be read.
                if let Ok(value) = parameter_of(&path) {
                    parameters.insert(path.strip_prefix(root)?.display().to_string(), value);
                }
            }
        }
    }
    for path in OF_NAMESPACE {
        parameters.insert(path.to_owned(), parameter_of(&root.join(path))?);
    }
    Ok(parameters)
}

/// One read, since there are a hundred thousand in a run.
fn parameter_of(path: &Path) -> Result<String> {
    let mut buffer = [0; 128];
    let length = File::open(path)?.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).trim().to_owned())
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
