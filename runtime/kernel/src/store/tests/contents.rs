//! The keys and values of a store, and which store a plugin has.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::super::key::MOST_VALUE;
use super::super::*;
use super::{NETWORK, Node, Open, data, lease, masked, mode, names, set};

#[test]
fn a_lease_is_the_reference_plugins_files() {
    let node = Node::new();
    let mut store = node.open();
    assert_eq!(
        store
            .claim(&["10.1.0.2", "10.1.0.3"], &lease("c1"))
            .unwrap(),
        Some("10.1.0.2".into())
    );
    store.put("last_reserved_ip.0", b"10.1.0.2").unwrap();
    store.commit();
    drop(store);
    assert_eq!(node.files(), set(&["10.1.0.2", "last_reserved_ip.0"]));
    assert_eq!(fs::read(node.file("10.1.0.2")).unwrap(), b"c1\r\neth0");
    assert_eq!(
        fs::read(node.file("last_reserved_ip.0")).unwrap(),
        b"10.1.0.2"
    );
    assert_eq!(fs::read(node.file("lock")).unwrap(), b"");
    assert_eq!(mode(&node.file("10.1.0.2")), masked(&node, 0o644));
    let node_modes = [
        (node.root.join("data"), 0o755),
        (node.directory(), 0o755),
        (node.file("last_reserved_ip.0"), 0o644),
        (node.file("lock"), 0o750),
    ];
    let mask = mode(&node.root.join("probe.d")) | 0o111;
    for (path, wanted) in node_modes {
        assert_eq!(mode(&path), wanted & mask, "{}", path.display());
    }
}

#[test]
fn a_change_is_read_whatever_was_read_before() {
    let node = Node::new();
    let mut store = node.open();
    let code = |read: Result<Vec<u8>, Error>| read.map_err(|error| error.code);
    assert_eq!(code(store.get("a")), Err(Code::NotFound));
    store.claim(&["a", "b"], b"1").unwrap();
    assert_eq!(store.get("a").unwrap(), b"1");
    store.put("a", b"2").unwrap();
    assert_eq!(store.get("a").unwrap(), b"2");
    store.put("b", b"3").unwrap();
    assert_eq!(store.get("a").unwrap(), b"2");
    store.delete("a").unwrap();
    assert_eq!(code(store.get("a")), Err(Code::NotFound));
    assert_eq!(store.get("b").unwrap(), b"3");
    drop(store);
    assert_eq!(node.files(), set(&[]), "nothing was committed");
}

#[test]
fn a_claim_takes_the_first_free_key() {
    let node = Node::new();
    let mut store = node.open();
    store.claim(&["a"], b"1").unwrap();
    fs::create_dir(node.file("b")).unwrap();
    symlink("nowhere", node.file("c")).unwrap();
    assert_eq!(
        store.claim(&["a", "b", "c", "d"], b"2").unwrap(),
        Some("d".into())
    );
    assert_eq!(store.claim(&["a", "d"], b"3").unwrap(), None);
    assert_eq!(store.claim(&[], b"3").unwrap(), None);
    assert_eq!(store.get("a").unwrap(), b"1");
    assert_eq!(node.files(), set(&["a", "b", "c", "d"]));
}

/// A store has a bound, however its files came about. What is replaced by as much, or removed, is let through.
#[test]
fn a_full_store_takes_no_more() {
    let node = Node::new();
    drop(node.open());
    let most = usize::try_from(MOST_STORE).unwrap() / MOST_VALUE;
    for number in 0..most {
        let file = fs::File::create(node.file(&format!("key{number}"))).unwrap();
        // Nobody needs to write half a gigabyte for it.
        file.set_len(MOST_VALUE as u64).unwrap();
    }
    let mut store = node.open();
    let refused = store.put("one-more", b"").unwrap_err();
    assert_eq!(refused.code, Code::Exhausted, "{refused}");
    assert!(refused.to_string().contains("is full"), "{refused}");
    assert_eq!(
        store.claim(&["one-more"], b"").unwrap_err().code,
        Code::Exhausted
    );
    store.put("key0", &[b'x'; MOST_VALUE]).unwrap();
    store.delete("key1").unwrap();
    store.put("one-more", b"value").unwrap();
    // The room of the key that was removed, less one block.
    for number in 1..MOST_VALUE / 4096 {
        store.put(&format!("more{number}"), b"").unwrap();
    }
    assert_eq!(
        store.put("too-many", b"").unwrap_err().code,
        Code::Exhausted
    );
    store.commit();
    drop(store);
    assert!(node.has_usable_index());
    assert_eq!(
        node.open().put("too-many", b"").unwrap_err().code,
        Code::Exhausted
    );
}

#[test]
fn put_get_delete() {
    let node = Node::new();
    let mut store = node.open();
    assert_eq!(store.get("k").unwrap_err().code, Code::NotFound);
    assert_eq!(store.delete("k").unwrap_err().code, Code::NotFound);
    store.put("k", b"1").unwrap();
    store.put("k", b"").unwrap();
    assert_eq!(store.get("k").unwrap(), b"");
    store.delete("k").unwrap();
    assert_eq!(store.get("k").unwrap_err().code, Code::NotFound);
    assert_eq!(store.commit(), []);
}

#[test]
fn keys_are_the_contracts() {
    let node = Node::new();
    let mut store = node.open();
    let long = "k".repeat(255);
    for key in [
        "fe80::1",
        "last_reserved_ip.0",
        "-",
        "_",
        "...",
        long.as_str(),
    ] {
        store.put(key, b"v").unwrap();
    }
    let too_long = "k".repeat(256);
    for key in [
        "",
        ".",
        "..",
        "lock",
        "a/b",
        "a~",
        "ü",
        "a b",
        "a\0",
        too_long.as_str(),
    ] {
        let error = store.put(key, b"v").unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{key:?}");
        assert_eq!(store.get(key).unwrap_err().code, Code::Invalid);
        assert_eq!(store.delete(key).unwrap_err().code, Code::Invalid);
        assert_eq!(
            store.claim(&["free", key], b"v").unwrap_err().code,
            Code::Invalid
        );
    }
    assert_eq!(store.keys().len(), 6);
}

#[test]
fn a_value_has_at_most_64_kib() {
    let node = Node::new();
    let mut store = node.open();
    let most = vec![b'v'; MOST_VALUE];
    store.put("most", &most).unwrap();
    assert_eq!(store.get("most").unwrap(), most);
    let more = vec![b'v'; MOST_VALUE + 1];
    assert_eq!(store.put("more", &more).unwrap_err().code, Code::Invalid);
    assert_eq!(
        store.claim(&["more"], &more).unwrap_err().code,
        Code::Invalid
    );
    fs::write(node.file("more"), &more).unwrap();
    let error = store.get("more").unwrap_err();
    assert_eq!(error.code, Code::Invalid);
    assert!(error.message.contains("65537"), "{error}");
}

#[test]
fn garbage_is_an_error_of_its_key_alone() {
    let node = Node::new();
    drop(node.open());
    fs::create_dir(node.file("directory")).unwrap();
    symlink("good", node.file("link")).unwrap();
    nix::unistd::mkfifo(&node.file("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    fs::write(node.file("binary"), [0xff, 0, b'\n']).unwrap();
    fs::write(node.file("empty"), "").unwrap();
    let mut store = node.open();
    store.put("good", &lease("c1")).unwrap();
    for key in ["directory", "link", "fifo"] {
        for error in [
            store.get(key).unwrap_err(),
            store.put(key, b"v").unwrap_err(),
            store.delete(key).unwrap_err(),
        ] {
            assert_eq!(error.code, Code::Invalid, "{key}");
            assert!(error.message.contains("not a regular file"), "{error}");
        }
    }
    assert_eq!(store.get("binary").unwrap(), [0xff, 0, b'\n']);
    assert_eq!(store.find(&lease("c1")), ["good"]);
    assert_eq!(store.find(&[0xff, 0]), ["binary"]);
    assert_eq!(store.find(b""), ["empty"]);
    assert_eq!(
        store.keys(),
        set(&["binary", "directory", "empty", "fifo", "good", "link"])
    );
}

#[test]
fn find_ignores_white_space_around_values() {
    let node = Node::new();
    let mut store = node.open();
    store.put("old", b"\x0bc1\r\n").unwrap();
    store.put("new", b"c1\r\neth0").unwrap();
    store.put("other", b"c1\neth0").unwrap();
    assert_eq!(store.find(b"c1"), ["old"]);
    assert_eq!(store.find(b"c1\r\neth0"), ["new"]);
    assert!(store.find(b" c1").is_empty());
    store.commit();
    drop(store);
    assert!(node.has_usable_index());
    let mut store = node.open();
    assert_eq!(store.find(b"c1"), ["old"]);
    assert!(store.find(b" c1").is_empty());
}

#[test]
fn reading_a_missing_store_finds_it_empty_and_makes_nothing() {
    let node = Node::new();
    let mut store = node.open_to_read();
    assert!(store.keys().is_empty());
    assert!(store.find(b"v").is_empty());
    assert_eq!(store.get("k").unwrap_err().code, Code::NotFound);
    assert_eq!(store.put("k", b"v").unwrap_err().code, Code::Invalid);
    assert_eq!(store.commit(), []);
    drop(store);
    assert!(names(&node.root).is_empty());
}

#[test]
fn a_store_opened_for_reading_is_not_written() {
    let node = Node::new();
    let mut store = node.open();
    store.put("k", b"v").unwrap();
    store.commit();
    drop(store);
    let mut store = node.open_to_read();
    assert_eq!(store.get("k").unwrap(), b"v");
    assert_eq!(store.find(b"v"), ["k"]);
    for error in [
        store.put("k", b"w").unwrap_err(),
        store.claim(&["l"], b"w").unwrap_err(),
        store.delete("k").unwrap_err(),
    ] {
        assert_eq!(error.code, Code::Invalid);
        assert!(error.message.contains("opened for reading"), "{error}");
    }
}

#[test]
fn a_private_store_is_the_plugins_and_the_networks() {
    let node = Node::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    let location = Location::Private;
    let open = OpenWrite {
        location: location.clone(),
    };
    let mut private = Open::new(&mut node.linux(deadline), open, location).unwrap();
    private.put("k", b"v").unwrap();
    private.commit();
    assert!(node.paths.stores().join("host-local/pods/k").exists());
}

#[test]
fn a_network_or_plugin_name_leads_nowhere_else() {
    let node = Node::new();
    for name in ["", ".", "..", "a/b", "/etc", "a\0"] {
        let now = Instant::now();
        let network = node.linux_of("host-local", name, now);
        let plugin = node.linux_of(name, NETWORK, now);
        for (mut linux, location) in [(network, data()), (plugin, Location::Private)] {
            let open = OpenWrite {
                location: location.clone(),
            };
            let error = Open::new(&mut linux, open, location).err().unwrap();
            assert_eq!(error.code, Code::Invalid, "{name:?}");
        }
    }
    assert!(names(&node.root).is_empty());
}

#[test]
fn a_permit_is_for_one_store() {
    let node = Node::new();
    let mut store = node.open();
    let keys = store.perform(Keys {
        location: Location::Private,
    });
    assert_eq!(keys.unwrap_err().code, Code::Denied);
}
