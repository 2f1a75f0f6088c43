//! The rules in the kernel's older tables, which `iptables-legacy` writes: a table is read and replaced as a whole.
//!
//! Reading a missing table makes it, so that weir first asks which exist. Like every program that changes these tables, weir
//! holds their lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{SockFlag, SockProtocol, SockType, socket};
use weir_files::paths;

use super::blob::{FAMILIES, Family, Table};
use super::traces::Traces;
use crate::error::{Error, Result, WhileDoing as _};

/// The lock of iptables.
const LOCK: &str = "/run/xtables.lock";

/// How long the lock is waited for, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

/// How often a table that others change without the lock is read again.
const MOST_ATTEMPTS: usize = 10;

/// `IPT_SO_GET_INFO`, `IPT_SO_GET_ENTRIES`, `IPT_SO_SET_REPLACE`, `IPT_SO_SET_ADD_COUNTERS`: the same for IPv6.
const GET_INFO: i32 = 64;
const GET_ENTRIES: i32 = 65;
const SET_REPLACE: i32 = 64;
const SET_ADD_COUNTERS: i32 = 65;

/// Where entries and counters begin behind the name and the size of a request.
const LIST: usize = 40;

/// Removes what there is, and returns how many rules and chains they were.
pub(super) fn remove(traces: &Traces) -> Result<u32> {
    let mut removed = 0;
    for family in &FAMILIES {
        for table in affected(traces, &table_names(family)?) {
            removed += remove_from(family, table, traces).while_doing(format_args!(
                "remove rules of the reference plugin from the table `{table}` of {}",
                family.program
            ))?;
        }
    }
    Ok(removed)
}

/// How many rules and chains there are.
pub(super) fn count(traces: &Traces) -> Result<u32> {
    let mut count = 0;
    for family in &FAMILIES {
        for table in affected(traces, &table_names(family)?) {
            let less = read(&open(family)?, family, table)?.without(traces)?;
            count += less.map_or(0, |less| less.removed);
        }
    }
    Ok(count)
}

/// Returns the existing tables that may have traces.
fn affected(traces: &Traces, existing: &str) -> Vec<&'static str> {
    let exists = |table: &str| existing.lines().any(|name| name == table);
    let tables = [
        ("nat", !traces.chains.is_empty()),
        ("filter", !traces.accepted.is_empty()),
    ];
    let affected = tables
        .into_iter()
        .filter(|(table, has_traces)| *has_traces && exists(table));
    affected.map(|(table, _)| table).collect()
}

/// Reads the names of this namespace's tables, one per line.
fn table_names(family: &Family) -> Result<String> {
    let path = family.names;
    match fs::read_to_string(path).map_err(|e| (e.kind(), e)) {
        // A kernel without these tables, or no root of the namespace, who alone could have made any.
        Err((ErrorKind::NotFound | ErrorKind::PermissionDenied, _)) => Ok(String::new()),
        Err((_, error)) => Err(error).while_doing(format_args!("read `{path}`")),
        Ok(names) => Ok(names),
    }
}

fn remove_from(family: &'static Family, name: &str, traces: &Traces) -> Result<u32> {
    let _lock = lock()?;
    let socket = open(family)?;
    for _ in 0..MOST_ATTEMPTS {
        let table = read(&socket, family, name)?;
        let Some(less) = table.without(traces)? else {
            return Ok(0);
        };
        let count = less.removed;
        match replace(&socket, family, &table, &less.table) {
            Ok(counters) => {
                let kept = less.kept.iter().filter_map(|at| counters.get(*at));
                add_counters(&socket, family, name, kept.copied());
                return Ok(count);
            }
            Err(Errno::EAGAIN) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Error::busy("the table keeps changing"))
}

fn lock() -> Result<File> {
    let file = paths::open_lock(Path::new(LOCK));
    let locked = file.and_then(|file| {
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(PAUSE),
                locked => return locked.map(|()| file).map_err(io::Error::from),
            }
        }
    });
    locked.while_doing(format_args!("lock `{LOCK}`"))
}

fn open(family: &Family) -> Result<OwnedFd> {
    let socket = socket(
        family.domain,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::Raw,
    );
    Ok(socket?)
}

/// Reads a table.
fn read(socket: &OwnedFd, family: &'static Family, name: &str) -> Result<Table> {
    let mut info = request(name, Table::INFO);
    get(socket, family, GET_INFO, &mut info)?;
    let size = Table::size_in(&info);
    let mut entries = request(name, LIST + size);
    entries[32..36].copy_from_slice(&(size as u32).to_ne_bytes());
    get(socket, family, GET_ENTRIES, &mut entries)?;
    Table::parse(family, &info, entries.split_off(LIST))
}

/// Replaces a table by another one, and returns the counters of the entries that it had.
fn replace(
    socket: &OwnedFd,
    family: &'static Family,
    old: &Table,
    new: &Table,
) -> Result<Vec<[u64; 2]>, Errno> {
    let mut counters = vec![[0_u64; 2]; old.count()];
    let message = new.replacement(counters.len(), counters.as_mut_ptr() as usize);
    // SAFETY: the message points to `counters`, which has room for as many as it says, and lives longer.
    set(socket, family, SET_REPLACE, &message)?;
    Ok(counters)
}

/// Restores the counters of the remaining rules. A failure is ignored.
fn add_counters(
    socket: &OwnedFd,
    family: &'static Family,
    name: &str,
    counters: impl Iterator<Item = [u64; 2]>,
) {
    let mut message = request(name, LIST);
    let mut count = 0_u32;
    for counter in counters.flatten() {
        message.extend(counter.to_ne_bytes());
        count += 1;
    }
    message[32..36].copy_from_slice(&(count / 2).to_ne_bytes());
    let _ = set(socket, family, SET_ADD_COUNTERS, &message);
}

/// Bytes that begin with a table's name.
fn request(name: &str, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn get(
    socket: &OwnedFd,
    family: &'static Family,
    option: i32,
    bytes: &mut [u8],
) -> Result<(), Errno> {
    let mut length = bytes.len() as libc::socklen_t;
    assert!(bytes.len() >= size_of::<u32>());
    // SAFETY: the kernel writes at most `length` bytes, which are there.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            family.level,
            option,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    Errno::result(outcome).map(drop)
}

fn set(socket: &OwnedFd, family: &'static Family, option: i32, bytes: &[u8]) -> Result<(), Errno> {
    // SAFETY: the kernel reads the bytes, which exist; the caller keeps what they point to.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            family.level,
            option,
            bytes.as_ptr().cast(),
            bytes.len() as libc::socklen_t,
        )
    };
    Errno::result(outcome).map(drop)
}
