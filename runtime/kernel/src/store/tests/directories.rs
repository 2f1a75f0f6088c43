//! Directories and links that are refused as a store.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::super::*;
use super::{NETWORK, Node, assert_refused, names};

#[test]
fn a_symbolic_link_is_no_store() {
    let node = Node::new();
    let data = node.root.join("data");
    let elsewhere = node.root.join("elsewhere");
    fs::create_dir_all(elsewhere.join(NETWORK)).unwrap();
    symlink(&elsewhere, &data).unwrap();
    assert_refused(&node, &[data.to_str().unwrap(), "is a symbolic link"]);
    fs::remove_file(&data).unwrap();

    fs::create_dir(&data).unwrap();
    symlink(elsewhere.join(NETWORK), node.directory()).unwrap();
    let shown = node.directory();
    assert_refused(&node, &[shown.to_str().unwrap(), "is a symbolic link"]);
    fs::remove_file(node.directory()).unwrap();

    symlink("nowhere", node.directory()).unwrap();
    assert_refused(&node, &[shown.to_str().unwrap(), "is a symbolic link"]);
    assert!(names(&elsewhere.join(NETWORK)).is_empty());
}

#[test]
fn a_file_is_no_store() {
    let node = Node::new();
    fs::write(node.root.join("data"), "").unwrap();
    assert_refused(&node, &["is not a directory"]);
    fs::remove_file(node.root.join("data")).unwrap();
    fs::create_dir(node.root.join("data")).unwrap();
    fs::write(node.directory(), "").unwrap();
    assert_refused(&node, &["pods` is not a directory"]);
}

#[test]
fn a_directory_that_others_can_write_is_no_store() {
    let node = Node::new();
    fs::create_dir_all(node.directory()).unwrap();
    let set =
        |path: PathBuf, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    for mode in [0o775, 0o757, 0o1777] {
        set(node.directory(), mode);
        assert_refused(&node, &[&format!("{mode:04o}"), "chmod go-w"]);
    }
    set(node.directory(), 0o755);
    set(node.root.join("data"), 0o777);
    assert_refused(&node, &["data` has mode 0777"]);
    // As /tmp: what is ours there stays where it is.
    set(node.root.join("data"), 0o1777);
    node.open();
}

#[test]
fn a_foreign_directory_is_no_store() {
    let node = Node::new();
    fs::create_dir_all(node.directory()).unwrap();
    if chown(node.directory(), Some(65534), None).is_ok() {
        assert_refused(&node, &["belongs to user 65534", "chown 0"]);
        chown(node.directory(), Some(0), None).unwrap();
        chown(node.root.join("data"), Some(65534), None).unwrap();
        assert_refused(&node, &["data` belongs to user 65534"]);
    } else {
        // Without root, or in a user namespace that has no other user, no directory can be given
        // away, but `/usr` is another user's already, and so may be `/`.
        let refused = Directory::open(Path::new("/"), "usr", Missing::Leave)
            .err()
            .unwrap();
        assert!(refused.message.contains("` belongs to user"), "{refused}");
    }
}
