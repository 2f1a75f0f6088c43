//! Kernel parameters of a network namespace, by files that stay open: to open one takes longer than to read it, and a run of the tests
//! reads millions.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use nix::fcntl::{OFlag, openat};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::Mode;
use serde_json::{Map, Value, json};

/// Everything below `/proc/sys/net/ipv[46]/conf`, and some of the whole namespace: what is in each directory, by the
/// directory's path below `/proc/sys/net`. Of a link, what is other than in `default`.
pub type Parameters = BTreeMap<String, Map<String, Value>>;

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

/// How many files of parameters this process has open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Reads the parameters of one namespace again and again.
#[derive(Default)]
pub struct Reader {
    /// By directory, each in the order of its names.
    open: HashMap<String, Vec<Option<OpenFile>>>,
}

/// A file that stays open.
struct OpenFile(File);

impl Reader {
    /// Reads those of the calling thread's namespace, which must be the same each time.
    pub fn read(&mut self) -> Result<Parameters> {
        static IPV4: OnceLock<Vec<String>> = OnceLock::new();
        static IPV6: OnceLock<Vec<String>> = OnceLock::new();
        let mut parameters = BTreeMap::new();
        for (table, names) in [("ipv4/conf", &IPV4), ("ipv6/conf", &IPV6)] {
            let path = Path::new(PARAMETERS).join(table);
            // The kernel gives all links the same parameters, and a list of them takes as long as their values.
            let names =
                names.get_or_init(|| names_in(&path.join("all")).expect("parameters of all links"));
            let default = self.values(&format!("{table}/default"), names, &[])?;
            let of_default = |name: &String| default[name].as_str().map(str::to_owned);
            let defaults: Vec<Option<String>> = names.iter().map(of_default).collect();
            let links = names_in(&path)?;
            self.forget_others(table, &links);
            for link in links.iter().filter(|link| *link != "default") {
                let directory = format!("{table}/{link}");
                let own = self.values(&directory, names, &defaults)?;
                parameters.insert(directory, own);
            }
            parameters.insert(format!("{table}/default"), default);
        }
        let of_namespace = self.values("ipv4", &OF_NAMESPACE, &[])?;
        parameters.insert("ipv4".to_owned(), of_namespace);
        Ok(parameters)
    }

    /// Closes the files of links that are gone.
    fn forget_others(&mut self, table: &str, links: &[String]) {
        let table = format!("{table}/");
        self.open.retain(|directory, _| {
            let link = directory.strip_prefix(&table);
            link.is_none_or(|link| links.iter().any(|there| there == link))
        });
    }

    /// The values of these parameters in a directory that are other than these, in the same order: null for one that cannot be read,
    /// as a secret that was never set.
    fn values(
        &mut self,
        directory: &str,
        names: &[impl AsRef<str>],
        others: &[Option<String>],
    ) -> Result<Map<String, Value>> {
        let files = self.open.entry(directory.to_owned()).or_default();
        files.resize_with(names.len(), || None);
        let directory = File::open(Path::new(PARAMETERS).join(directory))?;
        let mut buffer = [0; 128];
        let mut values = Map::new();
        for (place, file) in files.iter_mut().enumerate() {
            let name = names[place].as_ref();
            let value = value_of(file, &directory, name, &mut buffer);
            let other = others.get(place);
            // Most are the same: nothing is made for them, as there are a hundred thousand in a run.
            if other.is_none_or(|other| other.as_deref() != value) {
                values.insert(name.to_owned(), json!(value));
            }
        }
        Ok(values)
    }
}

/// By the open file. That of a link that is gone, or has another name now, fails: then it is opened again.
fn value_of<'b>(
    open: &mut Option<OpenFile>,
    directory: &File,
    name: &str,
    buffer: &'b mut [u8],
) -> Option<&'b str> {
    let read = open.as_ref().map(|file| file.0.read_at(buffer, 0));
    let length = match read {
        Some(Ok(length)) => length,
        _ => {
            let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
            let file = File::from(openat(directory, name, flags, Mode::empty()).ok()?);
            let length = file.read_at(buffer, 0).ok()?;
            *open = OpenFile::keep(file);
            length
        }
    };
    std::str::from_utf8(&buffer[..length]).ok().map(str::trim)
}

impl OpenFile {
    /// None if a half of the files that the process may open are of parameters already.
    fn keep(file: File) -> Option<Self> {
        static MOST: OnceLock<usize> = OnceLock::new();
        let most = MOST.get_or_init(|| {
            let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
            usize::try_from(limit / 2).unwrap_or(usize::MAX)
        });
        let file = Self(file);
        (OPEN.fetch_add(1, Ordering::Relaxed) < *most).then_some(file)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

fn names_in(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}
