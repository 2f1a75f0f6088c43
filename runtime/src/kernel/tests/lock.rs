//! The lock that every ADD holds.

use std::path::PathBuf;

use crate::kernel::lock::Shared;
use crate::paths::Paths;

/// A directory that goes with the value.
struct Root(PathBuf);

impl Root {
    fn new(test: &str) -> Self {
        let name = format!("weir-lock-{test}-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir(&root).expect("a fresh directory");
        Self(root)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_lock_is_had_alone_only_without_others() {
    let root = Root::new("alone");
    let paths = Paths::below(&root.0);
    let mut one = Shared::take(&paths).unwrap();
    let two = Shared::take(&paths).unwrap();
    assert!(!one.try_exclusive().unwrap());
    drop(two);
    assert!(one.try_exclusive().unwrap());
    drop(one);
    Shared::take(&paths).unwrap();
}

#[test]
fn a_link_in_place_of_the_file_is_not_followed() {
    let root = Root::new("symlink");
    let paths = Paths::below(&root.0);
    drop(Shared::take(&paths).unwrap());
    let file = paths.run().join("add.lock");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(root.0.join("elsewhere"), &file).unwrap();
    let error = Shared::take(&paths).unwrap_err();
    assert!(error.message.contains("add.lock"), "{error}");
    assert!(!root.0.join("elsewhere").exists());
}
