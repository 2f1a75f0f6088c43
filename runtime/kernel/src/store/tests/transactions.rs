//! What is committed, undone and reverted.

use std::fs;

use super::{Node, lease, set};

#[test]
fn what_is_not_committed_is_undone() {
    let node = Node::new();
    let mut store = node.open_with(&["kept", "changed", "deleted"]);
    store.put("changed", b"2").unwrap();
    store.put("changed", b"3").unwrap();
    store.delete("deleted").unwrap();
    store.claim(&["claimed"], b"2").unwrap();
    store.put("put", b"2").unwrap();
    drop(store);
    assert_eq!(node.files(), set(&["changed", "deleted", "kept"]));
    for key in ["changed", "deleted", "kept"] {
        assert_eq!(fs::read(node.file(key)).unwrap(), b"1");
    }
    node.assert_findable();
}

#[test]
fn a_commit_can_be_reverted() {
    let node = Node::new();
    let mut store = node.open_with(&["changed", "deleted"]);
    store.put("changed", b"2").unwrap();
    store.delete("deleted").unwrap();
    store.claim(&["claimed"], b"2").unwrap();
    let changes = store.commit();
    assert_eq!(changes.len(), 3);
    drop(store);
    node.revert(changes).unwrap();
    assert_eq!(node.files(), set(&["changed", "deleted"]));
    assert_eq!(fs::read(node.file("changed")).unwrap(), b"1");
    node.assert_findable();
}

#[test]
fn a_revert_leaves_what_others_did_since() {
    let node = Node::new();
    let mut store = node.open_with(&["deleted", "last"]);
    store.claim(&["mine", "theirs"], b"2").unwrap();
    store.claim(&["theirs"], b"2").unwrap();
    store.claim(&["gone"], b"2").unwrap();
    store.put("last", b"2").unwrap();
    store.delete("deleted").unwrap();
    let changes = store.commit();
    drop(store);
    fs::write(node.file("theirs"), "3").unwrap();
    fs::write(node.file("deleted"), "3").unwrap();
    fs::write(node.file("last"), "3").unwrap();
    fs::remove_file(node.file("gone")).unwrap();
    node.revert(changes.clone()).unwrap();
    assert_eq!(node.files(), set(&["deleted", "last", "theirs"]));
    for key in ["deleted", "last", "theirs"] {
        assert_eq!(fs::read(node.file(key)).unwrap(), b"3");
    }
    fs::remove_dir_all(node.directory()).unwrap();
    node.revert(changes).unwrap();
    assert!(!node.directory().exists());
}

#[test]
fn find_sees_the_transactions_own_changes() {
    let node = Node::new();
    for _ in 0..2 {
        // First while the index is built, then from the index.
        let mut store = node.open();
        assert!(store.find(&lease("c1")).is_empty());
        store.claim(&["a"], &lease("c1")).unwrap();
        store.claim(&["b"], &lease("c1")).unwrap();
        let mut found = store.find(&lease("c1"));
        found.sort();
        assert_eq!(found, ["a", "b"]);
        store.put("a", &lease("c2")).unwrap();
        assert_eq!(store.find(&lease("c1")), ["b"]);
        assert_eq!(store.find(&lease("c2")), ["a"]);
        store.delete("a").unwrap();
        store.delete("b").unwrap();
        assert!(store.find(&lease("c1")).is_empty());
        store.commit();
        drop(store);
        assert!(node.has_usable_index());
    }
}
