//! A full disk.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use weir_kit::disk::on_small_disk;
use weir_kit::{Node, weir};

use super::{config, refused};

#[test]
fn a_full_disk() -> Result<()> {
    for size in ["size=16k,mode=755", "nr_inodes=32,mode=755"] {
        let (node, container) = Node::with_container()?;
        on_small_disk(node.root().join("var/lib"), size, || {
            let small = node.root().join("var/lib/cni/networks/bad");
            fs::create_dir_all(&small)?;
            fill(&node)?;
            let add = weir(&node, "bridge", "ADD", &container, &config());
            refused(
                &node,
                &container,
                &add,
                105,
                &["No space left", "free some space"],
            );
            let taken = node.taken("bad");
            assert!(taken.is_empty(), "{taken:?}");
            let del = weir(&node, "bridge", "DEL", &container, &config());
            let deleted = node.run(&del)?;
            assert!([Some(0), Some(1)].contains(&deleted.status), "{deleted:?}");

            empty(&node)?;
            node.run(&add)?.result();
            fill(&node)?;
            // DEL frees space, and works on a full disk.
            node.run(&del)?.result();
            assert!(node.taken("bad").is_empty());
            Ok(())
        })
        .with_context(|| size.to_owned())?;
    }
    Ok(())
}

/// The directory of the files that fill the disk.
fn ballast(node: &Node) -> PathBuf {
    node.root().join("var/lib/ballast")
}

/// Fills the disk below `var/lib`: with empty files until no inode is left, and with one that takes all space.
fn fill(node: &Node) -> Result<()> {
    fs::create_dir_all(ballast(node))?;
    let in_the_way = |n: usize| fs::write(ballast(node).join(n.to_string()), "").is_ok();
    let files = (0..64).take_while(|n| in_the_way(*n)).count();
    let written = fs::write(ballast(node).join("0"), vec![0; 1 << 20]);
    anyhow::ensure!(files < 64 || written.is_err(), "the disk is not full");
    Ok(())
}

/// Removes these files.
fn empty(node: &Node) -> Result<()> {
    fs::remove_dir_all(ballast(node)).context("take the ballast away")
}
