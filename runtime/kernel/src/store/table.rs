//! The index's file: a *header* of one page, and 256 *buckets* of entries behind it.
//!
//! All buckets have the same room, and the hash of an entry's value determines its bucket. The header has the length and the
//! sum of each bucket, the fingerprint of the store's directory, and how much room the store's files take. It also holds
//! *loose* entries, those of keys whose value was overwritten: such a key is likely to be overwritten again, as
//! `last_reserved_ip.0` is with each lease, and then no bucket changes.
//!
//! Files are written in place and never shrink: allocating and freeing inodes and blocks takes ext4 longer than all the
//! rest.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

use super::directory::Directory;
use super::fingerprint::{self, Fingerprint};

const BUCKETS: usize = 256;
/// One page: no part of it is written without the rest, unless the disk is full.
pub(super) const HEADER: usize = 4096;
/// Tells this format from others.
const FORMAT: [u8; 8] = *b"weir ix2";
/// The header's own sum, which comes first and covers what follows.
pub(super) const SUM: usize = 8;
/// Bytes of loose entries that a header has room for: some thirty keys as the reference names them.
const MOST_LOOSE: usize =
    HEADER - SUM - FORMAT.len() - fingerprint::LENGTH - 8 - 4 - BUCKETS * Bucket::LENGTH - 4;
/// A bucket's room at first: some twenty leases.
pub(super) const LEAST_ROOM: u32 = 512;
/// No bucket that weir writes has more room.
const MOST_ROOM: u32 = 16 * 1024 * 1024;

/// A key's entry before and after a transaction: the hashes of its values.
pub(super) struct Pending {
    pub before: Option<u64>,
    pub after: Option<u64>,
}

/// The hash of a value. If an update of the compiler changes `DefaultHasher`, the sums, made with it too, do not match.
pub(super) fn hash(what: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// 8 bytes of hash, 1 byte length of the key, the key.
#[derive(Hash)]
struct Entry<'a> {
    hash: u64,
    key: &'a str,
}

impl<'a> Entry<'a> {
    fn sum(&self) -> u64 {
        hash(self)
    }

    fn length_for(key: &str) -> usize {
        8 + 1 + key.len()
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.hash.to_le_bytes());
        // A key has at most 255 bytes.
        into.push(u8::try_from(self.key.len()).unwrap_or(u8::MAX));
        into.extend(self.key.as_bytes());
    }

    fn decode(bytes: &mut &'a [u8]) -> Option<Self> {
        let hash = u64::from_le_bytes(take(bytes)?);
        let [length] = take(bytes)?;
        let (key, rest) = bytes.split_at_checked(usize::from(length))?;
        *bytes = rest;
        let key = std::str::from_utf8(key).ok()?;
        Some(Self { hash, key })
    }

    /// All entries of `bytes`; none where there is anything else.
    fn decode_all(mut bytes: &'a [u8]) -> Option<Vec<Self>> {
        let mut entries = Vec::with_capacity(bytes.len() / 16);
        while !bytes.is_empty() {
            entries.push(Self::decode(&mut bytes)?);
        }
        Some(entries)
    }
}

/// The first bytes of `bytes`, which then has the rest.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

/// A bucket in the header. The sum does not depend on the order of the entries, so that one is added without reading the
/// others.
#[derive(Clone, Copy, Default)]
struct Bucket {
    length: u32,
    sum: u64,
}

impl Bucket {
    const LENGTH: usize = 4 + 8;

    fn add(&mut self, entry: &Entry<'_>) {
        self.sum = self.sum.wrapping_add(entry.sum());
    }
}

fn bucket_of(hash: u64) -> usize {
    usize::try_from(hash % BUCKETS as u64).unwrap_or(0)
}

/// An index, complete except for what is pending.
pub(super) struct Table {
    file: File,
    /// What all files of the store take, in bytes; see [`room_of`](super::room_of).
    pub size: u64,
    /// The room of each bucket, in bytes.
    room: u32,
    buckets: Vec<Bucket>,
    loose: BTreeMap<String, u64>,
}

/// Opening.
impl Table {
    /// The recorded index, if it is of the directory's present state.
    pub(super) fn open(path: &Path, store: &Directory) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
            .open(path)?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0)?;
        let Some((fingerprint, table)) = Self::decode(file, &header) else {
            return Ok(None);
        };
        Ok((fingerprint == Fingerprint::of(store)?).then_some(table))
    }

    /// A new index of these keys and hashes. It counts when it is recorded.
    pub(super) fn create(path: &Path, entries: &[(String, u64)], size: u64) -> io::Result<Self> {
        if let Some(place) = path.parent() {
            DirBuilder::new().recursive(true).create(place)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed?,
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let mut table = Self {
            file,
            size,
            room: LEAST_ROOM,
            buckets: vec![Bucket::default(); BUCKETS],
            loose: BTreeMap::new(),
        };
        let mut contents = vec![Vec::new(); BUCKETS];
        for (key, hash) in entries {
            let entry = Entry { hash: *hash, key };
            let bucket = bucket_of(*hash);
            entry.encode(&mut contents[bucket]);
            table.buckets[bucket].add(&entry);
        }
        table.write_all(&contents)?;
        Ok(table)
    }

    fn decode(file: File, header: &[u8; HEADER]) -> Option<(Fingerprint, Self)> {
        let mut rest = header.as_slice();
        let sum = u64::from_le_bytes(take(&mut rest)?);
        if sum != hash(rest) || take(&mut rest)? != FORMAT {
            return None;
        }
        let fingerprint = Fingerprint::from_bytes(take(&mut rest)?);
        let size = u64::from_le_bytes(take(&mut rest)?);
        let room = u32::from_le_bytes(take(&mut rest)?);
        let mut buckets = Vec::with_capacity(BUCKETS);
        for _ in 0..BUCKETS {
            let length = u32::from_le_bytes(take(&mut rest)?);
            let sum = u64::from_le_bytes(take(&mut rest)?);
            buckets.push(Bucket { length, sum });
        }
        let length = usize::try_from(u32::from_le_bytes(take(&mut rest)?)).ok()?;
        let loose = Entry::decode_all(rest.get(..length)?)?;
        let loose = loose.iter().map(|e| (e.key.to_owned(), e.hash)).collect();
        let table = Self {
            file,
            size,
            room,
            buckets,
            loose,
        };
        Some((fingerprint, table))
    }

    fn encode(&self, fingerprint: &Fingerprint) -> Vec<u8> {
        let mut header = Vec::with_capacity(HEADER);
        header.extend([0; SUM]);
        header.extend(FORMAT);
        header.extend(fingerprint.bytes());
        header.extend(self.size.to_le_bytes());
        header.extend(self.room.to_le_bytes());
        for bucket in &self.buckets {
            header.extend(bucket.length.to_le_bytes());
            header.extend(bucket.sum.to_le_bytes());
        }
        let length = self.loose_length();
        header.extend(u32::try_from(length).unwrap_or(0).to_le_bytes());
        for (key, hash) in &self.loose {
            Entry { hash: *hash, key }.encode(&mut header);
        }
        header.resize(HEADER, 0);
        let sum = hash(&header[SUM..]);
        header[..SUM].copy_from_slice(&sum.to_le_bytes());
        header
    }

    fn loose_length(&self) -> usize {
        self.loose.keys().map(|k| Entry::length_for(k)).sum()
    }
}

/// Using.
impl Table {
    /// The keys that may have a value of this hash. Errors: `InvalidData` for a damaged bucket.
    pub(super) fn candidates(&self, hash: u64) -> io::Result<Vec<String>> {
        let content = self.read(bucket_of(hash))?;
        let entries = decoded(&content)?;
        let indexed = entries.iter().filter(|e| e.hash == hash);
        let loose = self.loose.iter().filter(|(_, h)| **h == hash);
        let indexed = indexed.map(|e| e.key.to_owned());
        Ok(indexed.chain(loose.map(|(key, _)| key.clone())).collect())
    }

    /// Updates the buckets and the loose entries. After an error the table must not be used.
    pub(super) fn apply(&mut self, pending: &BTreeMap<String, Pending>) -> io::Result<()> {
        let mut changes: BTreeMap<usize, BucketChange<'_>> = BTreeMap::new();
        for (key, Pending { before, after }) in pending {
            if before == after || self.apply_to_loose(key, *after) {
                continue;
            }
            if let Some(hash) = *before {
                let change = changes.entry(bucket_of(hash)).or_default();
                change.removed.insert(key, hash);
            }
            let Some(hash) = *after else { continue };
            if before.is_none() || !self.add_loose(key, hash) {
                let change = changes.entry(bucket_of(hash)).or_default();
                change.added.push(Entry { hash, key });
            }
        }
        changes
            .iter()
            .try_for_each(|(bucket, change)| self.change(*bucket, change))
    }

    /// Marks the directory and records that the table is of its present state.
    pub(super) fn record(&self, store: &Directory) -> io::Result<()> {
        match Fingerprint::mark(store)? {
            Some(fingerprint) => self.file.write_all_at(&self.encode(&fingerprint), 0),
            None => Ok(()),
        }
    }

    /// Changes a loose entry. Returns false if the key has none.
    fn apply_to_loose(&mut self, key: &str, after: Option<u64>) -> bool {
        match (self.loose.get_mut(key), after) {
            (None, _) => false,
            (Some(hash), Some(after)) => {
                *hash = after;
                true
            }
            (Some(_), None) => self.loose.remove(key).is_some(),
        }
    }

    /// Adds a loose entry. Returns false if there is no room.
    fn add_loose(&mut self, key: &str, hash: u64) -> bool {
        let fits = self.loose_length() + Entry::length_for(key) <= MOST_LOOSE;
        if fits {
            self.loose.insert(key.to_owned(), hash);
        }
        fits
    }

    fn change(&mut self, bucket: usize, change: &BucketChange<'_>) -> io::Result<()> {
        let mut content = Vec::new();
        let mut new = self.buckets[bucket];
        let mut kept = new.length;
        if !change.removed.is_empty() {
            // Written anew, from its beginning.
            kept = 0;
            let old = self.read(bucket)?;
            for entry in decoded(&old)? {
                if change.removed.get(entry.key) == Some(&entry.hash) {
                    new.sum = new.sum.wrapping_sub(entry.sum());
                } else {
                    entry.encode(&mut content);
                }
            }
        }
        for entry in &change.added {
            entry.encode(&mut content);
            new.add(entry);
        }
        let added = u32::try_from(content.len()).map_err(|_| ErrorKind::FileTooLarge)?;
        new.length = kept.saturating_add(added);
        self.make_room(new.length)?;
        let place = self.place(bucket) + u64::from(kept);
        self.file.write_all_at(&content, place)?;
        self.buckets[bucket] = new;
        Ok(())
    }

    /// Moves the buckets apart where one of them needs more room than they have.
    fn make_room(&mut self, needed: u32) -> io::Result<()> {
        if needed <= self.room {
            return Ok(());
        }
        let contents: Vec<Vec<u8>> = (0..BUCKETS)
            .map(|bucket| self.read(bucket))
            .collect::<io::Result<_>>()?;
        self.room = room_for(needed)?;
        self.write_all(&contents)
    }

    /// Writes all buckets, with room for all of them. Their sums are left as they are.
    fn write_all(&mut self, contents: &[Vec<u8>]) -> io::Result<()> {
        let longest = contents.iter().map(Vec::len).max().unwrap_or(0);
        let longest = u32::try_from(longest).map_err(|_| ErrorKind::FileTooLarge)?;
        if longest > self.room {
            self.room = room_for(longest)?;
        }
        for (bucket, content) in contents.iter().enumerate() {
            self.file.write_all_at(content, self.place(bucket))?;
            self.buckets[bucket].length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        }
        Ok(())
    }

    fn place(&self, bucket: usize) -> u64 {
        HEADER as u64 + bucket as u64 * u64::from(self.room)
    }

    /// A bucket's content, which must have the recorded sum.
    fn read(&self, bucket: usize) -> io::Result<Vec<u8>> {
        let Bucket { length, sum } = self.buckets[bucket];
        if length > self.room || self.room > MOST_ROOM {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut content = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut content, self.place(bucket))?;
        let entries = decoded(&content)?;
        let found = entries
            .iter()
            .fold(0, |sum: u64, e| sum.wrapping_add(e.sum()));
        let content = Some(content).filter(|_| found == sum);
        content.ok_or_else(|| ErrorKind::InvalidData.into())
    }
}

/// Twice what is needed, so that this is rare.
fn room_for(needed: u32) -> io::Result<u32> {
    let room = needed
        .checked_next_power_of_two()
        .map(|n| n.saturating_mul(2));
    room.filter(|room| *room <= MOST_ROOM)
        .ok_or_else(|| ErrorKind::FileTooLarge.into())
}

fn decoded(content: &[u8]) -> io::Result<Vec<Entry<'_>>> {
    Entry::decode_all(content).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// What a transaction changes in one bucket.
#[derive(Default)]
struct BucketChange<'a> {
    /// Keys, and the hash under which they are to go.
    removed: BTreeMap<&'a str, u64>,
    added: Vec<Entry<'a>>,
}
