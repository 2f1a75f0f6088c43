//! An index from values to keys, so that `find` need not read every file.
//!
//! The index is a cache. It may be deleted, damaged or left behind by a crash at any point, and no
//! answer becomes wrong, only slower: what cannot be trusted is built again from the files.
//!
//! It has two parts, in a directory of its own below [`Paths::indexes`]: 256 *shards* with one
//! entry (hash of the value, key) for each key, and a *manifest* with the checksum of each shard
//! and the *fingerprint* of the store's directory that the shards belong to. Everything happens
//! while the store's lock is held.
//!
//! **An entry too many is harmless**: each key is read before it is answered. What must be shown is
//! that none is missing from an index that is used.
//!
//! - *Other programs.* The fingerprint is the directory's device, inode, modification time and
//!   change time. Creating, removing and renaming a file sets both times to one value. When the
//!   index is complete, weir sets the modification time to the precise current time, and the
//!   kernel sets the change time, which is of the clock's last tick. A fingerprint is recorded only
//!   if the two differ. So no state of the directory after a further change can equal the recorded
//!   one, however coarse the clock's ticks are and whether or not the clock was set back. Two
//!   indexes of one directory, reached by two names, do not mistake each other's mark for their
//!   own either: the precise time differs.
//! - *Crashes of this process.* The first change of a transaction spoils the fingerprint by itself.
//!   It is recorded again at the end: shards first, then the directory's time, then the manifest. A
//!   shard that is half written or damaged does not have the manifest's checksum, and of a manifest
//!   that is half written no checksum counts but those that its shards have.
//! - *Power failures.* Nothing here is synced, so that shards may be lost and the manifest not. The
//!   manifest names the boot in which it was written and counts in no other.
//! - *What is not seen*: a file whose content another program changes in place, and a program that
//!   changes the directory without the lock at the very moment when weir records the fingerprint.
//!   The reference `host-local` does neither: it creates and removes leases under the lock, and
//!   changes `last_reserved_ip.*` in place only after it has created a lease.
//!
//! An index that cannot be written is no failure: every `find` then reads every file.
//!
//! [`Paths::indexes`]: crate::paths::Paths::indexes

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::directory::Directory;
use crate::kernel::{Code, Error};

const SHARDS: usize = 256;
const MANIFEST: &str = "manifest";
/// No index file that weir wrote is larger.
const MOST_FILE: u64 = 64 * 1024 * 1024;
/// The kernel makes a new one at each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The index of one store during one transaction.
pub(super) struct Index {
    /// Where all stores' indexes are.
    place: PathBuf,
    state: State,
    /// What the transaction changed and the shards do not say yet.
    pending: BTreeMap<String, Pending>,
    /// The directory's times have changed, so that the fingerprint must be recorded again.
    spoilt: bool,
}

enum State {
    /// Not looked at yet.
    Unchecked,
    /// Missing, outdated or damaged.
    Unusable,
    /// Shards and `pending` together have every key.
    Usable(Shards),
}

/// Hashes of a key's values: before the first change, and now.
struct Pending {
    before: Option<u64>,
    after: Option<u64>,
}

impl Index {
    /// Reads nothing yet. `place` is where all stores' indexes are.
    pub fn new(place: PathBuf) -> Self {
        Self {
            place,
            state: State::Unchecked,
            pending: BTreeMap::new(),
            spoilt: false,
        }
    }

    /// Must be called before each change of the directory: looks whether the index fits, as long as
    /// that can be told.
    pub fn before_change(&mut self, directory: &Directory) {
        self.check(directory);
        self.spoilt = true;
    }

    /// Must be called after each change of a key.
    pub fn note(&mut self, key: &str, before: Option<&[u8]>, after: Option<&[u8]>) {
        if !matches!(self.state, State::Usable(_)) {
            return;
        }
        let after = after.map(hash_of);
        match self.pending.get_mut(key) {
            Some(pending) => pending.after = after,
            None => {
                let before = before.map(hash_of);
                self.pending
                    .insert(key.to_owned(), Pending { before, after });
            }
        }
    }

    /// The keys with this value.
    pub fn find(&mut self, directory: &Directory, value: &[u8]) -> Result<Vec<String>, Error> {
        self.check(directory);
        let Some(candidates) = self.candidates(hash_of(value)) else {
            return self.build(directory, value);
        };
        let mut found = Vec::new();
        for key in candidates {
            if read_if_readable(directory, &key)?.is_some_and(|v| trim(&v) == value) {
                found.push(key);
            }
        }
        Ok(found)
    }

    /// Writes what is pending and records the fingerprint: the last thing a transaction does. An
    /// index that cannot be written stays unusable, because its fingerprint is spoilt already.
    pub fn settle(&mut self, directory: &Directory) {
        let state = std::mem::replace(&mut self.state, State::Unchecked);
        let pending = std::mem::take(&mut self.pending);
        if let State::Usable(mut shards) = state
            && std::mem::take(&mut self.spoilt)
        {
            let _ = shards
                .apply(&pending)
                .and_then(|()| shards.record(directory));
        }
    }

    /// Whether the last look found the index complete.
    #[cfg(test)]
    pub fn is_usable(&self) -> bool {
        matches!(self.state, State::Usable(_))
    }

    fn check(&mut self, directory: &Directory) {
        if matches!(self.state, State::Unchecked) {
            self.state = match Shards::open(&self.place, directory) {
                Ok(Some(shards)) => State::Usable(shards),
                Ok(None) | Err(_) => State::Unusable,
            };
        }
    }

    /// The keys that may have a value of this hash, without duplicates; none when the index cannot
    /// tell.
    fn candidates(&self, hash: u64) -> Option<Vec<String>> {
        let State::Usable(shards) = &self.state else {
            return None;
        };
        let mut keys: Vec<String> = self
            .pending
            .iter()
            .filter(|(_, p)| p.after == Some(hash))
            .map(|(key, _)| key.clone())
            .collect();
        let entries = shards.read(shard_of(hash)).ok()?;
        let indexed = entries.into_iter().filter(|e| e.hash == hash);
        keys.extend(indexed.map(|e| e.key));
        keys.sort_unstable();
        keys.dedup();
        Some(keys)
    }

    /// Reads every file, answers from that, and writes a new index.
    fn build(&mut self, directory: &Directory, value: &[u8]) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        let mut contents = vec![Vec::new(); SHARDS];
        let mut sums = vec![0; SHARDS];
        for key in directory.keys()? {
            let Some(content) = read_if_readable(directory, &key)? else {
                continue;
            };
            let content = trim(&content);
            let entry = Entry {
                hash: hash_of(content),
                key,
            };
            let shard = shard_of(entry.hash);
            entry.encode(&mut contents[shard]);
            add(&mut sums[shard], entry.sum());
            if content == value {
                found.push(entry.key);
            }
        }
        self.pending.clear();
        self.spoilt = true;
        self.state = match Shards::write_new(&self.place, directory, &contents, sums) {
            Ok(shards) => State::Usable(shards),
            Err(_) => State::Unusable,
        };
        Ok(found)
    }
}

/// A key's value for a search: what is no value (a directory, a file that is too large) cannot be
/// what is looked for.
fn read_if_readable(directory: &Directory, key: &str) -> Result<Option<Vec<u8>>, Error> {
    match directory.read(key) {
        Err(error) if error.code == Code::Invalid => Ok(None),
        read => read,
    }
}

/// A value without the white space around it: Unicode's, as the reference trims, where it is text.
pub(super) fn trim(value: &[u8]) -> &[u8] {
    match std::str::from_utf8(value) {
        Ok(text) => text.trim().as_bytes(),
        Err(_) => value.trim_ascii(),
    }
}

/// The hash of a value without white space around it. `DefaultHasher` may be another algorithm
/// after an update of the compiler: the shards' sums are made with it too, and do not match then.
fn hash_of(value: &[u8]) -> u64 {
    hash(&trim(value))
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn shard_of(hash: u64) -> usize {
    usize::try_from(hash % SHARDS as u64).unwrap_or(0)
}

/// Sums do not depend on the entries' order, so that an entry is added without reading the others.
fn add(sum: &mut u64, entry: u64) {
    *sum = sum.wrapping_add(entry);
}

/// A line of a shard: 8 bytes of hash, 1 byte length of the key, the key.
#[derive(Hash)]
struct Entry {
    hash: u64,
    key: String,
}

impl Entry {
    fn sum(&self) -> u64 {
        hash(self)
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.hash.to_le_bytes());
        // A key has at most 255 bytes.
        into.push(u8::try_from(self.key.len()).unwrap_or(u8::MAX));
        into.extend(self.key.as_bytes());
    }

    /// The first entry of `bytes`, which then has the rest.
    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let (hash, rest) = bytes.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first()?;
        let (key, rest) = rest.split_at_checked(usize::from(*length))?;
        *bytes = rest;
        Some(Self {
            hash: u64::from_le_bytes(*hash),
            key: std::str::from_utf8(key).ok()?.to_owned(),
        })
    }
}

/// What a usable index is recorded with.
#[derive(Serialize, Deserialize)]
struct Manifest {
    fingerprint: Fingerprint,
    sums: Vec<u64>,
}

/// The directory's state at the end of weir's last transaction.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fingerprint {
    boot: String,
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds of the last modification.
    modified: (i64, i64),
    /// Seconds and nanoseconds of the last change.
    changed: (i64, i64),
}

impl Fingerprint {
    fn of(directory: &Directory) -> io::Result<Self> {
        let metadata = directory.metadata()?;
        Ok(Self {
            boot: fs::read_to_string(BOOT_ID)?,
            device: metadata.dev(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Marks the directory, and returns the mark; none where the file system keeps times too
    /// coarsely to tell the mark from a later change.
    fn mark(directory: &Directory) -> io::Result<Option<Self>> {
        let now = SystemTime::now();
        directory.set_modified(now)?;
        let mark = Self::of(directory)?;
        let kept = directory.metadata()?.modified()? == now;
        Ok((kept && mark.modified != mark.changed).then_some(mark))
    }
}

/// The shards on disk, and the sums that they must have.
struct Shards {
    dir: Dir,
    sums: Vec<u64>,
}

impl Shards {
    /// The recorded index, if it is of the directory's present state.
    fn open(place: &Path, store: &Directory) -> io::Result<Option<Self>> {
        let dir = open_dir(&place.join(name_of(store)?))?;
        let manifest: Manifest = serde_json::from_slice(&read_file(&dir, MANIFEST)?)?;
        let fits = manifest.sums.len() == SHARDS && manifest.fingerprint == Fingerprint::of(store)?;
        Ok(fits.then_some(Self {
            dir,
            sums: manifest.sums,
        }))
    }

    /// Writes all shards anew.
    fn write_new(
        place: &Path,
        store: &Directory,
        contents: &[Vec<u8>],
        sums: Vec<u64>,
    ) -> io::Result<Self> {
        let path = place.join(name_of(store)?);
        fs::DirBuilder::new().recursive(true).create(place)?;
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => created?,
        }
        let dir = open_dir(&path)?;
        for entry in dir.entries()? {
            dir.remove_file(entry?.file_name())?;
        }
        let shards = Self { dir, sums };
        for (shard, content) in contents.iter().enumerate().filter(|(_, c)| !c.is_empty()) {
            shards.write(&file_of(shard), content)?;
        }
        Ok(shards)
    }

    /// A shard's entries. Errors: `InvalidData` when the sum does not match.
    fn read(&self, shard: usize) -> io::Result<Vec<Entry>> {
        let bytes = match read_file(&self.dir, &file_of(shard)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let mut rest = bytes.as_slice();
        let mut entries = Vec::new();
        while let Some(entry) = Entry::decode(&mut rest) {
            entries.push(entry);
        }
        let mut sum = 0;
        entries.iter().for_each(|e| add(&mut sum, e.sum()));
        if rest.is_empty() && sum == self.sums[shard] {
            Ok(entries)
        } else {
            Err(ErrorKind::InvalidData.into())
        }
    }

    fn apply(&mut self, pending: &BTreeMap<String, Pending>) -> io::Result<()> {
        let mut changes: BTreeMap<usize, ShardChange<'_>> = BTreeMap::new();
        for (key, Pending { before, after }) in pending.iter().filter(|(_, p)| p.before != p.after)
        {
            if let Some(hash) = *before {
                let change = changes.entry(shard_of(hash)).or_default();
                change.removed.insert(key, hash);
            }
            if let Some(hash) = *after {
                let key = key.clone();
                let change = changes.entry(shard_of(hash)).or_default();
                change.added.push(Entry { hash, key });
            }
        }
        changes
            .iter()
            .try_for_each(|(shard, change)| self.change(*shard, change))
    }

    fn change(&mut self, shard: usize, change: &ShardChange<'_>) -> io::Result<()> {
        let rewrite = !change.removed.is_empty();
        let mut content = Vec::new();
        if rewrite {
            for entry in self.read(shard)? {
                if change.removed.get(entry.key.as_str()) == Some(&entry.hash) {
                    self.sums[shard] = self.sums[shard].wrapping_sub(entry.sum());
                } else {
                    entry.encode(&mut content);
                }
            }
        }
        for entry in &change.added {
            add(&mut self.sums[shard], entry.sum());
            entry.encode(&mut content);
        }
        if rewrite {
            self.write(&file_of(shard), &content)
        } else {
            self.append(shard, &content)
        }
    }

    /// Marks the directory and writes the manifest.
    fn record(&self, store: &Directory) -> io::Result<()> {
        let Some(fingerprint) = Fingerprint::mark(store)? else {
            return Ok(());
        };
        let manifest = Manifest {
            fingerprint,
            sums: self.sums.clone(),
        };
        self.write(MANIFEST, &serde_json::to_vec(&manifest)?)
    }

    /// Overwrites a file. Not with `O_TRUNC`: ext4 then starts to write to the disk when the file
    /// is closed, which costs more than all the rest.
    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file = self.open_file(name, OpenOptions::new().write(true))?;
        file.write_all(content)?;
        file.set_len(content.len() as u64)
    }

    fn append(&self, shard: usize, content: &[u8]) -> io::Result<()> {
        self.open_file(&file_of(shard), OpenOptions::new().append(true))?
            .write_all(content)
    }

    fn open_file(&self, name: &str, options: &mut OpenOptions) -> io::Result<File> {
        options
            .create(true)
            .mode(0o600)
            .custom_flags(OFlag::O_NOFOLLOW.bits());
        Ok(self.dir.open_with(name, options)?.into_std())
    }
}

/// What a transaction changes in one shard.
#[derive(Default)]
struct ShardChange<'a> {
    /// Keys, and the hash under which they are to go.
    removed: BTreeMap<&'a str, u64>,
    added: Vec<Entry>,
}

fn file_of(shard: usize) -> String {
    format!("{shard:02x}")
}

fn open_dir(path: &Path) -> io::Result<Dir> {
    let handle = fs::OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits())
        .open(path)?;
    Ok(Dir::from_std_file(handle))
}

fn read_file(dir: &Dir, name: &str) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let file = dir.open_with(name, &options)?;
    let size = file.metadata()?.len().min(MOST_FILE);
    // One byte more than the file has, so that the read after the last finds its end.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(MOST_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The index's directory: the network, for people, and a hash of the whole path.
fn name_of(store: &Directory) -> io::Result<String> {
    let path = fs::canonicalize(store.path())?;
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    let hash: String = digest[..8].iter().map(|b| format!("{b:02x}")).collect();
    let network = path.file_name().unwrap_or_default().to_string_lossy();
    let readable: String = network
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c))
        .take(64)
        .collect();
    Ok(format!("{readable}-{hash}"))
}
