//! What ADD has chosen: the sources of an attachment with their tables, for DEL and for other ADDs.
//!
//! One file for each attachment in `/run/cni/sbr`, which all networks share: the network in the first line, then an
//! address and a table in each. The store's lock is what keeps two ADDs for one container from choosing the same table, and
//! the file is there before the first rule is, so that DEL finds what a killed ADD has made.

use weir_sdk::route::Route;
use weir_sdk::store::{Access, Records, Transaction};
use weir_sdk::{Context, Error, GcRequest, IpConfig, Namespace, OperationError, Outcome, Request};

use crate::config::Config;
use crate::source::{self, Source};

const RECORDS: Records = Records::in_directory("/run/cni/sbr");

/// The first table that is chosen, as in the reference plugin.
const FIRST_TABLE: u32 = 100;

const DOING: &str = "cannot use the records in `/run/cni/sbr`";

/// Chooses a table for each address, where the container has these routes, and records that. An earlier ADD of the
/// attachment, without DEL, is undone first.
pub fn choose(
    request: &Request<Config>,
    ips: &[&IpConfig],
    routes: &[Route],
) -> Result<Vec<Source>, Error> {
    let store = RECORDS.open(Access::Write).context(DOING)?;
    let key = Records::key_of(request);
    let earlier = store.get(&key).found().context(DOING)?;
    let earlier = earlier.map(|text| sources(&text)).unwrap_or_default();
    earlier.iter().try_for_each(Source::remove)?;
    let addresses = ips.iter().map(|ip| ip.address.addr());
    let sources: Vec<Source> = match request.config.table {
        Some(table) => addresses.map(|address| Source { address, table }).collect(),
        None => {
            let used = used(&store, routes, &request.container_id, &key)?;
            let free = (FIRST_TABLE..).filter(|table| !used.contains(table));
            let pairs = addresses.zip(free);
            pairs
                .map(|(address, table)| Source { address, table })
                .collect()
        }
    };
    let lines = sources.iter().map(|source| format!("\n{source}"));
    let text = request.known_as.clone() + &lines.collect::<String>();
    let write = || {
        store.put(&key, text.as_bytes())?;
        store.commit()
    };
    write().context(DOING)?;
    Ok(sources)
}

/// The tables that the container uses, or that another of its attachments is about to.
fn used(
    store: &Transaction,
    routes: &[Route],
    container_id: &str,
    own: &str,
) -> Result<Vec<u32>, Error> {
    let rules = weir_sdk::policy_rule::list(Namespace::Container, None);
    let rules = rules.context("cannot list the container's policy rules")?;
    let mut used: Vec<u32> = rules.iter().map(|rule| rule.table).collect();
    used.extend(routes.iter().filter_map(|route| route.table));
    let of_container = Records::key_of_container(container_id);
    for other in store.keys().context(DOING)? {
        if other.starts_with(&of_container) && other != own {
            let text = store.get(&other).found().context(DOING)?;
            let recorded = sources(&text.unwrap_or_default()).into_iter();
            used.extend(recorded.map(|source| source.table));
        }
    }
    Ok(used)
}

/// Returns what ADD has recorded; none where it has recorded nothing.
fn load(request: &Request<Config>) -> Result<Option<Vec<Source>>, Error> {
    let text = RECORDS.load(request).context(DOING)?;
    Ok(text.map(|text| sources(&text)))
}

/// Removes the record.
pub fn remove(request: &Request<Config>) -> Result<(), Error> {
    RECORDS.remove(request).context(DOING)
}

/// Removes the records of the network's attachments that are not valid. Their rules went with their namespaces.
pub fn retain(request: &GcRequest<Config>) -> Result<(), Error> {
    let store = RECORDS.open(Access::Write).context(DOING)?;
    let valid = request.valid_attachments.iter().map(Records::key);
    let valid: Vec<String> = valid.collect();
    let garbage = || -> Result<(), OperationError> {
        for key in store.keys()?.into_iter().filter(|key| !valid.contains(key)) {
            let text = store.get(&key).found()?.unwrap_or_default();
            if text.split(|byte| *byte == b'\n').next() == Some(request.known_as.as_bytes()) {
                store.delete(&key).found()?;
            }
        }
        store.commit()
    };
    garbage().context(DOING)
}

/// The sources of a record. A line that is garbled is passed over: failing would block every further DEL.
fn sources(text: &[u8]) -> Vec<Source> {
    let text = String::from_utf8_lossy(text);
    text.lines().skip(1).filter_map(Source::parse).collect()
}

/// The sources of an attachment: those that ADD recorded, or where the reference plugin made it, those for which rules stand
/// and that the previous result has.
pub fn of_attachment(request: &Request<Config>) -> Result<Vec<Source>, Error> {
    if let Some(recorded) = load(request)? {
        return Ok(recorded);
    }
    let Some(previous) = &request.previous else {
        return Ok(Vec::new());
    };
    let ips = source::of_interface(previous, &request.ifname);
    let is_own = |source: &Source| {
        let has_address = ips.iter().any(|ip| ip.address.addr() == source.address);
        let table = request.config.table;
        has_address && table.is_none_or(|table| table == source.table)
    };
    Ok(source::ruled()?.into_iter().filter(is_own).collect())
}
