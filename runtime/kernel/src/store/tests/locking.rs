//! The lock of a store.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::super::*;
use super::{Node, assert_refused, lease, set};

#[test]
fn a_lock_that_is_held_is_waited_for_until_the_deadline() {
    let node = Node::new();
    let holder = node.open();
    let error = node
        .open_until(Instant::now() + Duration::from_millis(20))
        .err()
        .unwrap();
    assert_eq!(error.code, Code::Busy);
    assert!(
        error.message.contains(node.file("lock").to_str().unwrap()),
        "{error}"
    );

    let (sender, opened) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let store = node.open();
            sender.send(()).unwrap();
            drop(store);
        });
        assert!(opened.try_recv().is_err());
        drop(holder);
        opened.recv_timeout(Duration::from_secs(30)).unwrap();
    });
}

#[test]
fn the_lock_excludes_flock_of_other_programs() {
    let node = Node::new();
    drop(node.open());
    let other = fs::File::open(node.file("lock")).unwrap();
    other.lock().unwrap();
    assert_eq!(
        node.open_until(Instant::now()).err().unwrap().code,
        Code::Busy
    );
    other.unlock().unwrap();
    let store = node.open();
    assert!(other.try_lock().is_err());
    drop(store);
    other.try_lock().unwrap();
}

#[test]
fn a_store_that_is_removed_while_its_lock_is_awaited_is_made_again() {
    let node = Node::new();
    let holder = node.open();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut store = node.open();
            store.put("k", b"v").unwrap();
            store.commit();
        });
        wait_until_locked_by(&node, 2);
        fs::remove_dir_all(node.directory()).unwrap();
        drop(holder);
        waiter.join().unwrap();
    });
    assert_eq!(node.files(), set(&["k"]));
}

/// Waits until this process has the lock file open `count` times.
fn wait_until_locked_by(node: &Node, count: usize) {
    let lock = fs::canonicalize(node.file("lock")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let opened = || {
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter(|e| {
                let link = e.as_ref().map(|e| fs::read_link(e.path()));
                matches!(link, Ok(Ok(path)) if path == lock)
            })
            .count()
    };
    while opened() < count {
        assert!(Instant::now() < deadline, "nobody waits for the lock");
        thread::yield_now();
    }
}

#[test]
fn a_lock_that_is_no_file_is_refused() {
    let node = Node::new();
    fs::create_dir_all(node.file("lock")).unwrap();
    assert_refused(&node, &["lock` is not a regular file"]);
    fs::remove_dir(node.file("lock")).unwrap();
    symlink("elsewhere", node.file("lock")).unwrap();
    assert_refused(&node, &["lock` is not a regular file"]);
    assert_eq!(node.files(), set(&[]));
}

#[test]
fn no_key_is_claimed_twice() {
    let node = Node::new();
    let keys: Vec<String> = (0..100).map(|n| format!("10.0.0.{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let claimed: Vec<String> = thread::scope(|scope| {
        let claimers: Vec<_> = (0..8)
            .map(|claimer| {
                let (node, keys) = (&node, &keys);
                scope.spawn(move || {
                    (0..10)
                        .map(|n| {
                            let mut store = node.open();
                            let value = lease(&format!("c{claimer}-{n}"));
                            assert!(store.find(&value).is_empty());
                            let key = store.claim(keys, &value).unwrap().unwrap();
                            store.put("last_reserved_ip.0", key.as_bytes()).unwrap();
                            store.commit();
                            key
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        claimers
            .into_iter()
            .flat_map(|c| c.join().unwrap())
            .collect()
    });
    assert_eq!(claimed.len(), 80);
    assert_eq!(claimed.iter().collect::<BTreeSet<_>>().len(), 80);
    assert!(node.has_usable_index());
    node.assert_findable();
}
