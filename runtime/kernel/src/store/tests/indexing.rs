//! The index of a store: damaged, lost, of another time, and what it spares.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::time::SystemTime;

use weir_files::rename;

use super::super::table::{HEADER, LEAST_ROOM, SUM};
use super::super::*;
use super::{NETWORK, Node, indexed, lease, set};

#[test]
fn other_programs_changes_are_seen_within_the_same_tick() {
    let node = indexed();
    for n in 0..200 {
        // At once after weir's transaction: the directory's times may be of the same tick.
        let container = format!("other{n}");
        fs::write(node.file("x"), lease(&container)).unwrap();
        let mut store = node.open();
        assert_eq!(store.find(&lease(&container)), ["x"], "{n}");
        store.delete("x").unwrap();
        store.commit();
        drop(store);
        assert!(node.has_usable_index());
    }
}

/// What makes a mark unmistakable, on the kernel and the file system of this machine.
#[test]
fn the_directorys_times_tell_weirs_mark_from_a_change() {
    let node = indexed();
    let times = || {
        let metadata = fs::metadata(node.directory()).unwrap();
        [
            (metadata.mtime(), metadata.mtime_nsec()),
            (metadata.ctime(), metadata.ctime_nsec()),
        ]
    };
    let [modified, changed] = times();
    assert_ne!(modified, changed);
    let changes: [fn(&Path); 4] = [
        |directory| fs::write(directory.join("x"), "v").unwrap(),
        |directory| fs::rename(directory.join("x"), directory.join("y")).unwrap(),
        |directory| rename::exchange(&fs::File::open(directory).unwrap(), "y", "a").unwrap(),
        |directory| fs::remove_file(directory.join("y")).unwrap(),
    ];
    for change in changes {
        let directory = fs::File::open(node.directory()).unwrap();
        directory.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        change(&node.directory());
        let [modified, changed] = times();
        assert_eq!(modified, changed);
    }
}

#[test]
fn two_indexes_of_one_directory_do_not_mistake_each_other() {
    let node = indexed();
    // The same store for two nodes with indexes of their own, as two containers may see it.
    let other = Node::new();
    for n in 0..200 {
        let writer = if n % 2 == 0 { &other } else { &node };
        let parent = node.root.join("data");
        let directory = Directory::open(&parent, NETWORK, Missing::Leave)
            .unwrap()
            .unwrap();
        let mut index = Index::new(writer.paths.indexes());
        let value = lease(&format!("n{n}"));
        assert!(index.find(&directory, &value).unwrap().is_empty());
        let key = format!("k{n}");
        index.before_change(&directory);
        fs::write(node.file(&key), &value).unwrap();
        index.note(&key, None, Some(&value));
        index.settle(&directory);
        if n > 0 {
            let previous = lease(&format!("n{}", n - 1));
            let found = Index::new(writer.paths.indexes()).find(&directory, &previous);
            assert_eq!(found.unwrap(), [format!("k{}", n - 1)]);
        }
    }
}

#[test]
fn an_index_may_be_lost_or_damaged() {
    type Damage = fn(&Path);
    let damages: [Damage; 8] = [
        |index| fs::remove_file(index).unwrap(),
        |index| fs::write(index, "").unwrap(),
        |index| fs::write(index, "{}").unwrap(),
        |index| symlink_in_place(index),
        |index| change(index, |bytes| bytes[..HEADER].fill(0)),
        |index| change(index, |bytes| bytes.truncate(HEADER)),
        |index| change(index, |bytes| bytes[HEADER..].fill(0)),
        |index| {
            change(index, |bytes| {
                for bucket in bytes[HEADER..].chunks_mut(LEAST_ROOM as usize) {
                    bucket[0] ^= 1;
                }
            });
        },
    ];
    for (n, damage) in damages.iter().enumerate() {
        let node = indexed();
        damage(&node.index());
        let mut store = node.open();
        assert_eq!(store.find(&lease("c1")), ["a"], "damage {n}");
        drop(store);
        damage(&node.index());
        // A change that does not look anything up first.
        let mut store = node.open();
        store.delete("a").unwrap();
        store.claim(&["c"], &lease("c3")).unwrap();
        store.commit();
        drop(store);
        node.assert_findable();
        node.assert_findable();
        assert!(node.has_usable_index(), "damage {n}");
    }
}

/// Changes an index's file.
fn change(index: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(index).unwrap();
    change(&mut bytes);
    fs::write(index, bytes).unwrap();
}

fn symlink_in_place(index: &Path) {
    let elsewhere = index.with_extension("moved");
    fs::rename(index, &elsewhere).unwrap();
    symlink(&elsewhere, index).unwrap();
    fs::remove_file(elsewhere).unwrap();
}

/// Every damaged byte that can change an answer is noticed.
#[test]
fn no_byte_of_a_header_can_change_unnoticed() {
    let node = indexed();
    let sound = fs::read(node.index()).unwrap();
    for n in 0..HEADER {
        let mut bytes = sound.clone();
        bytes[n] ^= 1;
        fs::write(node.index(), bytes).unwrap();
        assert!(!node.has_usable_index(), "byte {n}");
    }
    fs::write(node.index(), sound).unwrap();
    assert!(node.has_usable_index());
}

/// What a disk that fails to write leaves: a bucket that was sound, but some time ago.
#[test]
fn a_bucket_of_another_time_does_not_count() {
    let node = indexed();
    let earlier = fs::read(node.index()).unwrap();
    let mut store = node.open();
    // The same value as of `a`, thus the same bucket.
    store.claim(&["z"], &lease("c1")).unwrap();
    store.commit();
    drop(store);
    change(&node.index(), |bytes| {
        bytes.truncate(HEADER);
        bytes.extend(&earlier[HEADER..]);
    });
    assert!(node.has_usable_index(), "the header is sound");
    node.assert_findable();
}

#[test]
fn an_index_of_another_boot_does_not_count() {
    let node = indexed();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let boot = boot.trim().as_bytes();
    let seal = |bytes: &mut Vec<u8>| {
        let sum = table::hash(&bytes[SUM..HEADER]);
        bytes[..SUM].copy_from_slice(&sum.to_le_bytes());
    };
    change(&node.index(), seal);
    assert!(node.has_usable_index(), "sealed as weir seals it");
    change(&node.index(), |bytes| {
        let place = bytes.windows(boot.len()).position(|w| w == boot).unwrap();
        bytes[place..place + boot.len()].fill(b'0');
        seal(bytes);
    });
    assert!(!node.has_usable_index());
}

#[test]
fn a_bucket_grows_with_its_entries() {
    let node = indexed();
    let index = fs::File::open(node.index()).unwrap();
    // Keys with one value are all in one bucket.
    for n in 0..200 {
        let mut store = node.open();
        let key = format!("10.0.0.{n}");
        store.claim(&[&key], &lease("c1")).unwrap();
        store.commit();
        drop(store);
        assert!(node.has_usable_index(), "{n}");
    }
    assert_eq!(node.open().find(&lease("c1")).len(), 201);
    node.assert_findable();
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
    for n in 0..200 {
        let mut store = node.open();
        store.delete(&format!("10.0.0.{n}")).unwrap();
        store.commit();
    }
    assert!(node.has_usable_index());
    assert_eq!(node.open().find(&lease("c1")), ["a"]);
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
}

/// Overwritten keys are indexed in the header, as many as it has room for.
#[test]
fn overwritten_keys_are_found() {
    let node = indexed();
    let index = fs::File::open(node.index()).unwrap();
    for round in 0..4 {
        for n in 0..100 {
            let mut store = node.open();
            let key = format!("last_reserved_ip.{n}");
            let value = format!("10.{round}.0.{}", n % 50);
            store.put(&key, value.as_bytes()).unwrap();
            store.commit();
        }
        assert!(node.has_usable_index());
        node.assert_findable();
        assert_eq!(
            node.open().find(format!("10.{round}.0.7").as_bytes()).len(),
            2
        );
        assert!(node.open().find(b"10.9.0.7").is_empty());
    }
    for n in 0..100 {
        let mut store = node.open();
        store.delete(&format!("last_reserved_ip.{n}")).unwrap();
        store.commit();
    }
    assert!(node.has_usable_index());
    assert_eq!(node.files(), set(&["a", "b"]));
    assert!(node.open().find(b"10.3.0.7").is_empty());
    node.assert_findable();
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
}

#[test]
fn an_index_that_cannot_be_written_is_no_failure() {
    let node = Node::new();
    // A file where the directory should be stops root, too.
    fs::create_dir_all(node.paths.indexes().parent().unwrap()).unwrap();
    fs::write(node.paths.indexes(), "").unwrap();
    node.claim_without_index("a", "c1");
}

#[test]
fn a_store_that_takes_anothers_place_does_not_get_its_index() {
    let node = indexed();
    fs::rename(node.directory(), node.root.join("old")).unwrap();
    let mut store = node.open();
    assert!(store.find(&lease("c1")).is_empty());
    store.claim(&["z"], &lease("c9")).unwrap();
    store.commit();
    drop(store);
    fs::remove_dir_all(node.directory()).unwrap();
    fs::rename(node.root.join("old"), node.directory()).unwrap();
    assert_eq!(node.open().find(&lease("c1")), ["a"]);
    node.assert_findable();
}

/// Calls of read(2) of this thread so far.
fn reads() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let reads = counters.lines().find_map(|l| l.strip_prefix("syscr: "));
    reads.unwrap().parse().unwrap()
}

/// What an ADD and a DEL of the same container do, and how often they read.
fn add_and_delete(node: &Node) -> u64 {
    let start = reads();
    let mut store = node.open();
    assert!(store.find(&lease("new")).is_empty());
    store
        .claim(&["10.255.0.1"], &lease("new"))
        .unwrap()
        .unwrap();
    store.put("last_reserved_ip.0", b"10.255.0.1").unwrap();
    store.commit();
    drop(store);
    let mut store = node.open();
    assert_eq!(store.find(&lease("new")), ["10.255.0.1"]);
    store.delete("10.255.0.1").unwrap();
    store.commit();
    drop(store);
    reads() - start
}

#[test]
fn the_work_does_not_grow_with_the_number_of_keys() {
    let empty = Node::new();
    add_and_delete(&empty);
    let with_none = add_and_delete(&empty);

    let full = Node::new();
    drop(full.open());
    for n in 0..60_000_u32 {
        let key = format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255);
        fs::write(full.file(&key), lease(&format!("c{n}"))).unwrap();
    }
    let first = add_and_delete(&full);
    assert!(
        first > 60_000,
        "{first}: the first look-up reads every file"
    );
    let with_many = add_and_delete(&full);
    assert!(
        with_many <= with_none * 3 / 2,
        "{with_many} reads with 60,000 keys, {with_none} with none"
    );
    assert_eq!(full.open().find(&lease("c4711")), ["10.0.18.103"]);
}
