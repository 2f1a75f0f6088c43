//! Kernel parameters of a network namespace: a run of the tests needs millions of values. Those of links are read once for each
//! report of the kernel; the files of what is there as long as the namespace stay open, as to open one takes longer than to read it.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit};
use serde_json::{Map, Value};

use crate::devconf::{self, OfLink, UNREPORTED};

/// Everything below `/proc/sys/net/ipv[46]/conf`, and some of the whole namespace: what is in each directory, by the
/// directory's path below `/proc/sys/net`. Of a link and of `all`, what is other than in `default`.
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

/// What the parameters of one directory are, in the order of their names: nothing for one that cannot be read.
type Values = Vec<Option<String>>;

/// The parameters that each link has of a family.
struct Family {
    /// Their directory below [`PARAMETERS`].
    table: &'static str,
    /// What the kernel reports of them.
    reported: fn(&OfLink) -> Option<&[u8]>,
    names: OnceLock<Names>,
    /// The values of links, by what the kernel reports.
    known: Mutex<BTreeMap<Vec<u8>, Arc<Values>>>,
}

/// The same for all links.
struct Names {
    /// Those in the kernel's report come first.
    all: Vec<String>,
    /// How many these are.
    reported: usize,
}

impl Names {
    fn reported(&self) -> &[String] {
        &self.all[..self.reported]
    }

    fn unreported(&self) -> &[String] {
        &self.all[self.reported..]
    }
}

/// The link that is in a namespace from its beginning to its end.
const LOOPBACK: &str = "lo";

static FAMILIES: [Family; 2] = [
    Family::new("ipv4/conf", |link| link.ipv4.as_deref()),
    Family::new("ipv6/conf", |link| link.ipv6.as_deref()),
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
        let links = devconf::of_links()?;
        let mut parameters = BTreeMap::new();
        for family in &FAMILIES {
            parameters.append(&mut self.of_family(family, &links)?);
        }
        let of_namespace = self.values("ipv4", &OF_NAMESPACE)?;
        parameters.insert("ipv4".to_owned(), named(&OF_NAMESPACE, &of_namespace));
        Ok(parameters)
    }

    fn of_family(
        &mut self,
        family: &Family,
        links: &BTreeMap<String, OfLink>,
    ) -> Result<Parameters> {
        let names = family.names()?;
        let [all, default] = ["all", "default"].map(|whose| family.directory(whose));
        let defaults = self.values(&default, &names.all)?;
        let of_all = others(&names.all, &self.values(&all, &names.all)?, &defaults);
        let mut parameters =
            BTreeMap::from([(all, of_all), (default, named(&names.all, &defaults))]);
        for (link, report) in links {
            let Some(report) = (family.reported)(report) else {
                continue;
            };
            let directory = family.directory(link);
            let mut own = others(names.reported(), &family.of_link(link, report)?, &defaults);
            let values = if link == LOOPBACK {
                self.values(&directory, names.unreported())?
            } else {
                read(&directory, names.unreported())?
            };
            own.extend(others(
                names.unreported(),
                &values,
                &defaults[names.reported..],
            ));
            parameters.insert(directory, own);
        }
        Ok(parameters)
    }

    /// The values of these parameters in a directory.
    fn values(&mut self, directory: &str, names: &[impl AsRef<str>]) -> Result<Values> {
        let files = self.open.entry(directory.to_owned()).or_default();
        files.resize_with(names.len(), || None);
        let directory = path_of(directory)?;
        let mut values = Vec::with_capacity(names.len());
        for (file, name) in files.iter_mut().zip(names) {
            if file.is_none() {
                *file = File::open(directory.join(name.as_ref()))
                    .ok()
                    .map(OpenFile::new);
            }
            values.push(file.as_ref().and_then(|file| value_in(&file.0)));
            if OpenFile::are_too_many() {
                *file = None;
            }
        }
        Ok(values)
    }
}

impl Family {
    const fn new(table: &'static str, reported: fn(&OfLink) -> Option<&[u8]>) -> Self {
        Self {
            table,
            reported,
            names: OnceLock::new(),
            known: Mutex::new(BTreeMap::new()),
        }
    }

    /// Of a link, of `all` or of `default`.
    fn directory(&self, whose: &str) -> String {
        format!("{}/{whose}", self.table)
    }

    fn names(&self) -> Result<&Names> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let directory = path_of(&self.directory("all"))?;
        let entries = fs::read_dir(&directory).with_context(|| directory.display().to_string())?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let is_unreported = |name: &String| UNREPORTED.contains(&name.as_str());
        let (unreported, mut all): (Vec<_>, Vec<_>) = names
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .partition(is_unreported);
        let reported = all.len();
        all.extend(unreported);
        Ok(self.names.get_or_init(|| Names { all, reported }))
    }

    /// The values of a link with this report.
    fn of_link(&self, link: &str, reported: &[u8]) -> Result<Arc<Values>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(values) = known().get(reported) {
            return Ok(values.clone());
        }
        let values = Arc::new(read(&self.directory(link), self.names()?.reported())?);
        // These are the values of the report unless something has changed in between.
        let now = devconf::of_links()?;
        if now.get(link).and_then(self.reported) == Some(reported) {
            known().insert(reported.to_owned(), values.clone());
        }
        Ok(values)
    }
}

/// Reads parameters of a directory whose files do not stay open.
fn read(directory: &str, names: &[String]) -> Result<Values> {
    let directory = path_of(directory)?;
    let files = names.iter().map(|name| File::open(directory.join(name)));
    Ok(files.map(|file| value_in(&file.ok()?)).collect())
}

/// The parameters whose values are others than these.
fn others(
    names: &[String],
    values: &[Option<String>],
    defaults: &[Option<String>],
) -> Map<String, Value> {
    let values = names.iter().zip(values).zip(defaults);
    let others = values.filter(|((_, value), default)| value != default);
    others
        .map(|((name, value), _)| (name.clone(), value.clone().into()))
        .collect()
}

fn named(names: &[impl AsRef<str>], values: &Values) -> Map<String, Value> {
    let values = names.iter().zip(values);
    values
        .map(|(name, value)| (name.as_ref().to_owned(), value.clone().into()))
        .collect()
}

/// Errors: the directory is not there, as of a link that is gone. Without it, no parameter would have a value on either side.
fn path_of(directory: &str) -> Result<PathBuf> {
    let path = Path::new(PARAMETERS).join(directory);
    fs::metadata(&path).with_context(|| path.display().to_string())?;
    Ok(path)
}

fn value_in(file: &File) -> Option<String> {
    let mut buffer = [0; 128];
    let length = file.read_at(&mut buffer, 0).ok()?;
    let value = std::str::from_utf8(&buffer[..length]).ok()?;
    Some(value.trim().to_owned())
}

impl OpenFile {
    fn new(file: File) -> Self {
        OPEN.fetch_add(1, Ordering::Relaxed);
        Self(file)
    }

    /// Whether a half of the files that the process may open are of parameters.
    fn are_too_many() -> bool {
        static MOST: OnceLock<usize> = OnceLock::new();
        let most = MOST.get_or_init(|| {
            let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
            usize::try_from(limit / 2).unwrap_or(usize::MAX)
        });
        OPEN.load(Ordering::Relaxed) > *most
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}
