//! Processes that are killed, and disks that are full.

use std::io::{BufRead, BufReader};
use std::process::{self, Stdio};
use std::time::{Duration, Instant};
use std::{fs, hint};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::geteuid;

use super::super::key::is_key;
use super::super::*;
use super::{Node, Open, indexed, lease, set};

#[test]
fn what_a_killed_process_left_is_swept_and_never_listed() {
    let node = indexed();
    fs::write(node.file(".weir~new"), lease("c1")).unwrap();
    let mut store = node.open();
    assert_eq!(store.keys(), set(&["a", "b"]));
    assert_eq!(store.find(&lease("c1")), ["a"]);
    store.delete("a").unwrap();
    store.commit();
    drop(store);
    assert_eq!(node.files(), set(&["b"]));
}

#[test]
fn a_process_killed_at_any_point_leaves_whole_leases_and_a_true_index() {
    let node = Node::new();
    for kill in 0..40 {
        let mut child = node
            .process(&[], "process_that_is_killed")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Each `+` is a transaction begun; the moment of the kill moves through the transaction.
        let begun = lines.by_ref().map_while(Result::ok);
        assert_eq!(begun.filter(|l| l == "+").take(3).count(), 3);
        let moment = Instant::now() + Duration::from_micros(25) * kill;
        while Instant::now() < moment {
            hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for name in node.files().iter().filter(|n| is_key(n)) {
            let value = fs::read(node.file(name)).unwrap();
            assert!(value.ends_with(b"\r\neth0"), "`{name}` has {value:?}");
        }
        let mut store = node.open();
        for key in store.keys() {
            let value = store.get(&key).unwrap();
            assert!(store.find(&value).contains(&key), "{key}");
        }
    }
}

#[test]
#[ignore = "another test runs it as a process and kills it"]
fn process_that_is_killed() {
    let node = Node::inherited();
    for n in 0_u32.. {
        println!("+");
        let mut store = node.open();
        let key = format!("10.0.0.{}", n % 64);
        let value = lease(&format!("{}-{n}", process::id()));
        assert!(store.find(&value).is_empty());
        if store.claim(&[&key], &value).unwrap().is_none() {
            store.delete(&key).unwrap();
        }
        store.put("last", &value).unwrap();
        if !n.is_multiple_of(3) {
            store.commit();
        }
    }
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    // Mounting needs a mount namespace of its own, and one process that is alone in it.
    let wrapper: &[&str] = if geteuid().is_root() {
        &["unshare", "--mount"]
    } else {
        &["unshare", "--user", "--map-root-user", "--mount"]
    };
    let node = Node::new();
    let output = node
        .process(wrapper, "process_with_a_full_disk")
        .output()
        .expect("unshare, of the package util-linux");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{text}{errors}");
}

#[test]
#[ignore = "another test runs it in a mount namespace"]
fn process_with_a_full_disk() {
    let node = Node::inherited();
    let data = node.root.join("data");
    fs::create_dir(&data).unwrap();
    let options = Some("size=64k,mode=755");
    mount(
        Some("none"),
        &data,
        Some("tmpfs"),
        MsFlags::empty(),
        options,
    )
    .unwrap();
    let mut store = node.open();
    store.claim(&["a"], &lease("c1")).unwrap();
    store.put("last", b"1").unwrap();
    store.commit();
    let ballast = data.join("ballast");
    fs::write(&ballast, vec![0; 1024 * 1024]).unwrap_err();
    let attempts: [fn(&mut Open) -> Error; 3] = [
        |store| store.claim(&["b"], &lease("c2")).unwrap_err(),
        |store| store.put("b", b"2").unwrap_err(),
        |store| store.put("last", b"2").unwrap_err(),
    ];
    for attempt in attempts {
        let error = attempt(&mut store);
        assert_eq!(error.code, Code::Exhausted);
        assert!(error.message.contains("ENOSPC"), "{error}");
        assert_eq!(node.files(), set(&["a", "last"]));
    }
    assert_eq!(store.get("last").unwrap(), b"1");
    // Removing works on a full disk.
    store.delete("a").unwrap();
    store.commit();
    drop(store);
    assert_eq!(node.files(), set(&["last"]));
    fs::remove_file(ballast).unwrap();
    let mut store = node.open();
    assert_eq!(store.claim(&["b"], &lease("c2")).unwrap(), Some("b".into()));
    drop(store);

    // The index on a full disk: no failure.
    let indexes = node.paths.indexes();
    fs::create_dir_all(&indexes).unwrap();
    mount(
        Some("none"),
        &indexes,
        Some("tmpfs"),
        MsFlags::empty(),
        options,
    )
    .unwrap();
    fs::write(indexes.join("ballast"), vec![0; 1024 * 1024]).unwrap_err();
    node.claim_without_index("c", "c3");
    for mounted in [&indexes, &data] {
        umount2(mounted, MntFlags::MNT_DETACH).unwrap();
    }
}
