//! Values that are overwritten in place, and files that must not be.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use super::super::key::MOST_VALUE;
use super::super::*;
use super::{Node, indexed, lease, mode, names};

/// Whoever looks without the lock, or after a crash at any point, sees a whole value or none.
#[test]
fn values_appear_whole() {
    let node = Node::new();
    let values = [lease("c1"), lease("c2")];
    let mut store = node.open();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let mut seen = 0_u32;
            while !done.load(Ordering::Relaxed) {
                if let Ok(value) = fs::read(node.file("k")) {
                    assert!(values.contains(&value), "{value:?}");
                    seen += 1;
                }
            }
            seen
        });
        for _ in 0..500 {
            store.claim(&["k"], &values[0]).unwrap().unwrap();
            store.put("k", &values[1]).unwrap();
            store.delete("k").unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(observer.join().unwrap() > 0);
    });
}

#[test]
fn overwriting_makes_and_frees_no_file() {
    let node = indexed();
    let inode = |name: &str| fs::metadata(node.file(name)).unwrap().ino();
    for n in 0..3 {
        let mut store = node.open();
        store
            .put("last_reserved_ip.0", format!("10.0.0.{n}").as_bytes())
            .unwrap();
        store.commit();
    }
    let index = fs::File::open(node.index()).unwrap();
    let files = [inode("last_reserved_ip.0"), inode(spare::NAME)];
    for n in 3..20 {
        let mut store = node.open();
        let value = format!("10.0.0.{n}");
        store.put("last_reserved_ip.0", value.as_bytes()).unwrap();
        assert_eq!(store.get("last_reserved_ip.0").unwrap(), value.as_bytes());
        store.commit();
        drop(store);
        let mut now = [inode("last_reserved_ip.0"), inode(spare::NAME)];
        if n % 2 == 1 {
            now.reverse();
        }
        assert_eq!(now, files, "{n}");
        assert_eq!(mode(&node.file("last_reserved_ip.0")), masked_file(&node));
    }
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
    assert_eq!(names(&node.directory()).len(), node.files().len() + 2);
    node.assert_findable();
}

/// The mode of a new file.
fn masked_file(node: &Node) -> u32 {
    mode(&node.file("a"))
}

#[test]
fn an_open_file_keeps_its_value_however_often_the_key_is_overwritten() {
    let node = indexed();
    let mut store = node.open();
    store.put("k", b"0").unwrap();
    let mut readers = Vec::new();
    for n in 1..8_u8 {
        readers.push((n - 1, fs::File::open(node.file("k")).unwrap()));
        store.put("k", &[b'0' + n]).unwrap();
    }
    for (n, mut reader) in readers {
        let mut value = Vec::new();
        reader.read_to_end(&mut value).unwrap();
        assert_eq!(value, [b'0' + n]);
    }
}

#[test]
fn no_value_is_written_into_a_file_that_can_be_executed() {
    let node = indexed();
    let mut store = node.open();
    for value in [b"1", b"2"] {
        store.put("hint", value).unwrap();
    }
    for names in [&["hint"][..], &["hint", spare::NAME]] {
        for name in names {
            let executable = PermissionsExt::from_mode(0o755);
            fs::set_permissions(node.file(name), executable).unwrap();
        }
        store.put("hint", b"#!/bin/sh").unwrap();
        assert_eq!(mode(&node.file("hint")) & 0o111, 0, "{names:?}");
    }
}

#[test]
fn a_spare_that_is_no_longer_weirs_alone_is_not_written() {
    type Spoil = fn(&Node);
    let spoils: [Spoil; 5] = [
        |node| fs::hard_link(node.file(spare::NAME), node.root.join("kept")).unwrap(),
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            fs::remove_file(node.file(spare::NAME)).unwrap();
            symlink(node.root.join("kept"), node.file(spare::NAME)).unwrap();
        },
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            let mode = PermissionsExt::from_mode(0o600);
            fs::set_permissions(node.file(spare::NAME), mode).unwrap();
        },
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            fs::remove_file(node.file(spare::NAME)).unwrap();
            fs::create_dir(node.file(spare::NAME)).unwrap();
        },
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            fs::remove_file(node.file(spare::NAME)).unwrap();
            nix::unistd::mkfifo(&node.file(spare::NAME), nix::sys::stat::Mode::S_IRWXU).unwrap();
        },
    ];
    for (n, spoil) in spoils.iter().enumerate() {
        let node = indexed();
        let mut store = node.open();
        store.put("k", b"1").unwrap();
        store.put("k", b"2").unwrap();
        spoil(&node);
        for value in [b"3", b"4", b"5"] {
            store.put("k", value).unwrap();
            assert_eq!(fs::read(node.file("k")).unwrap(), value, "{n}");
            assert!(!node.file(".weir~new").exists(), "{n}");
            assert_eq!(mode(&node.file("k")), masked_file(&node), "{n}");
        }
        assert_eq!(fs::read(node.root.join("kept")).unwrap(), b"1", "{n}");
    }
}

#[test]
fn values_of_every_length_replace_one_another() {
    let node = indexed();
    let mut store = node.open();
    store.put("k", b"first").unwrap();
    let lengths = [
        5,
        3,
        0,
        7,
        spare::MOST,
        1,
        spare::MOST + 1,
        2,
        0,
        0,
        MOST_VALUE,
        9,
    ];
    for (n, length) in lengths.into_iter().enumerate() {
        let value = vec![b'a' + u8::try_from(n).unwrap(); length];
        store.put("k", &value).unwrap();
        assert_eq!(fs::read(node.file("k")).unwrap(), value);
        let spare = fs::metadata(node.file(spare::NAME)).map_or(0, |m| m.len());
        assert!(spare <= spare::MOST as u64, "{spare} bytes after {length}");
    }
    store.commit();
    drop(store);
    node.assert_findable();
}

/// The lease on the spare holds up whoever opens it, and tells this process by a signal that must
/// not end it.
#[test]
fn the_spare_may_be_opened_at_any_moment() {
    let node = indexed();
    let mut store = node.open();
    store.put("k", b"1").unwrap();
    store.put("k", b"2").unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let mut seen = 0_u32;
            while !done.load(Ordering::Relaxed) {
                if let Ok(value) = fs::read(node.file(spare::NAME)) {
                    assert_eq!(value.len(), 1);
                    seen += 1;
                }
            }
            seen
        });
        for n in 0..2000_u32 {
            let value = n.to_le_bytes()[0].to_string().into_bytes();
            store.put("k", &value[..1]).unwrap();
            assert_eq!(store.get("k").unwrap(), &value[..1]);
        }
        done.store(true, Ordering::Relaxed);
        assert!(observer.join().unwrap() > 0);
    });
    store.commit();
}
