//! The lock that every ADD holds.

use tempfile::TempDir;
use weir_files::Paths;

use crate::without_permit::SharedLock;

#[test]
fn the_lock_is_had_alone_only_without_others() {
    let root = TempDir::new().expect("a fresh directory");
    let paths = Paths::below(root.path());
    let mut one = SharedLock::take(&paths).unwrap();
    let two = SharedLock::take(&paths).unwrap();
    assert!(!one.try_exclusive().unwrap());
    drop(two);
    assert!(one.try_exclusive().unwrap());
    drop(one);
    SharedLock::take(&paths).unwrap();
}

#[test]
fn a_link_in_place_of_the_file_is_not_followed() {
    let root = TempDir::new().expect("a fresh directory");
    let paths = Paths::below(root.path());
    drop(SharedLock::take(&paths).unwrap());
    let file = paths.run().join("add.lock");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(root.path().join("elsewhere"), &file).unwrap();
    let error = SharedLock::take(&paths).unwrap_err();
    assert!(error.message.contains("add.lock"), "{error}");
    assert!(!root.path().join("elsewhere").exists());
}
