//! host-local's leases, in the reference plugin's format: a file for each address, with the container id and the interface.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use weir_cni::NetworkConfigList;
use weir_files::Paths;
use weir_files::entries;
use weir_files::file_trust::{check_directory, open_entry};
use weir_grant::pattern::is_plain;

use super::recorded::network;
use crate::cli::node_networks::of_node;

/// The directory of all networks' leases where a configuration names none.
const DATA_DIR: &str = "/var/lib/cni/networks";

/// A container id has at most 1024 bytes here, and an interface 15.
const MOST_BYTES: u64 = 4096;

/// An address that is taken.
pub(super) struct Lease {
    pub file: PathBuf,
    pub written: Option<SystemTime>,
    pub address: IpAddr,
    /// As people know it.
    pub network: String,
    pub container_id: String,
    /// None in files of old versions.
    pub ifname: Option<String>,
}

impl Lease {
    /// Whether it is an attachment's. Its network is not compared: a plugin that frees leases does not either.
    pub fn is_of(&self, container_id: &str, ifname: Option<&str>) -> bool {
        self.container_id == container_id
            && (self.ifname.is_none() || self.ifname.as_deref() == ifname)
    }

    /// Whether nobody has freed it, or taken it again, since it was read.
    pub fn is_still_there(&self) -> bool {
        let now = open_entry(&self.file).ok().and_then(|file| read(&file));
        now.is_some_and(|(container_id, ifname)| {
            (container_id, ifname) == (self.container_id.clone(), self.ifname.clone())
        })
    }
}

/// The directories with networks' leases: the usual one, and what configurations name in `dataDir`, those of these lists and
/// those of the node.
pub(super) fn directories(paths: &Paths, lists: &[NetworkConfigList]) -> BTreeSet<PathBuf> {
    let of_node = of_node(paths);
    let plugins = lists.iter().chain(&of_node).flat_map(|list| &list.plugins);
    let named = plugins.filter_map(|plugin| plugin.get("ipam")?.get("dataDir")?.as_str());
    let mut all: BTreeSet<PathBuf> = named.map(PathBuf::from).filter(|d| is_plain(d)).collect();
    all.insert(DATA_DIR.into());
    all
}

/// The leases in these directories. Those that someone other than root and weir's user could have written are not used:
/// `unused` gets why.
pub(super) fn leases(
    paths: &Paths,
    directories: &BTreeSet<PathBuf>,
    unused: &mut Vec<String>,
) -> Vec<Lease> {
    let mut found = Vec::new();
    for directory in directories {
        let directory = paths.resolve(directory);
        let stores = entries(&directory).unwrap_or_else(|error| {
            unused.push(format!("leases in `{}`: {error}", directory.display()));
            Vec::new()
        });
        for store in stores.iter().filter(|store| store.is_dir()) {
            if let Err(why) = of_network(paths, store, &mut found, unused) {
                unused.push(format!("leases in `{}`: {why}", store.display()));
            }
        }
    }
    found
}

fn of_network(
    paths: &Paths,
    store: &Path,
    found: &mut Vec<Lease>,
    unused: &mut Vec<String>,
) -> anyhow::Result<()> {
    let addresses: Vec<(IpAddr, PathBuf)> = entries(store)?
        .into_iter()
        .filter_map(|file| Some((file.file_name()?.to_str()?.parse().ok()?, file)))
        .collect();
    if addresses.is_empty() {
        return Ok(());
    }
    check_directory(store, paths.root())?;
    let name = store.file_name().unwrap_or_default().to_string_lossy();
    for (address, file) in addresses {
        let open = match open_entry(&file) {
            Ok(open) => open,
            // It has been freed.
            Err(error) if error.is_missing() => continue,
            Err(error) => {
                unused.push(format!("lease `{}`: {error}", file.display()));
                continue;
            }
        };
        match read(&open) {
            Some((container_id, ifname)) => found.push(Lease {
                address,
                network: network(&name),
                container_id,
                ifname,
                written: open
                    .metadata()
                    .and_then(|metadata| metadata.modified())
                    .ok(),
                file,
            }),
            None => unused.push(format!(
                "lease `{}` does not have a container id and an interface",
                file.display()
            )),
        }
    }
    Ok(())
}

/// The container id and the interface; none for a file that is not a lease.
fn read(file: &File) -> Option<(String, Option<String>)> {
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let (container_id, ifname) = match text.split_once('\n') {
        Some((container_id, ifname)) => (container_id.trim(), Some(ifname.trim().to_owned())),
        None => (text.trim(), None),
    };
    let is_lease = !container_id.is_empty();
    is_lease.then(|| {
        (
            container_id.to_owned(),
            ifname.filter(|name| !name.is_empty()),
        )
    })
}
