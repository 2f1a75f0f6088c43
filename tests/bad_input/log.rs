//! An audit log that cannot be written, or that others could write: nothing is done that is not recorded, and DEL continues.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;
use weir_kit::disk::on_small_disk;
use weir_kit::{State, weir};

use super::{AttachedNode, config};

/// Runs ADD, which must fail before it has done anything, and DEL, which must succeed, and whose records the next call
/// writes.
fn assert_stops_add(fixture: &AttachedNode, words: &[&str]) -> Result<()> {
    let began = Instant::now();
    fixture.refused(&fixture.add(&config()), 5, words);
    let del = weir(&fixture.node, "bridge", "DEL", &fixture.attached, &config());
    let deleted = fixture.node.run(&del)?;
    assert!(deleted.succeeded(), "{deleted:?}");
    for word in words
        .iter()
        .chain(&["records are kept in", "run/weir/audit.jsonl"])
    {
        assert!(
            deleted.stderr.contains(word),
            "`{word}` is not in {}",
            deleted.stderr
        );
    }
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert!(fixture.node.taken("bad").is_empty());
    Ok(())
}

/// The next call writes the kept records, once.
fn assert_comes_later(fixture: &AttachedNode) -> Result<()> {
    let kept = fixture.node.root().join("run/weir/audit.jsonl");
    assert!(fs::metadata(&kept)?.len() > 0);
    fixture.node.run(&fixture.add(&config()))?.result();
    assert_eq!(fs::metadata(&kept)?.len(), 0);
    let records = fixture.node.audit();
    let is_deleted = |r: &&Value| {
        r["command"] == "DEL" && r["operation"] == "link.delete" && r["answer"] == "ok"
    };
    assert_eq!(records.iter().filter(is_deleted).count(), 1, "{records:#?}");
    fixture.node.weir(&["audit", "verify"])?;
    fixture.node.run(&fixture.del(&config()))?.result();
    Ok(())
}

/// The log of a node, with something else in its place.
fn replaced(put: impl FnOnce(&Path) -> Result<()>, words: &[&str]) -> Result<()> {
    let fixture = AttachedNode::create()?;
    let log = fixture.node.audit_log();
    let old = log.with_extension("old");
    fs::rename(&log, &old)?;
    put(&log)?;
    assert_stops_add(&fixture, words)?;
    if log.is_dir() {
        fs::remove_dir(&log)?
    } else {
        fs::remove_file(&log)?
    }
    fs::rename(&old, &log)?;
    assert_comes_later(&fixture)
}

#[test]
fn a_pipe_in_its_place() -> Result<()> {
    let make = |log: &Path| Ok(mkfifo(log, Mode::from_bits_truncate(0o640))?);
    replaced(make, &["audit log", "not a regular file"])?;
    // Also while somebody reads from it.
    let make_and_read = |log: &Path| {
        mkfifo(log, Mode::from_bits_truncate(0o640))?;
        let name = CString::new(log.as_os_str().as_encoded_bytes())?;
        let flags = nix::fcntl::OFlag::O_RDONLY | nix::fcntl::OFlag::O_NONBLOCK;
        let reader = nix::fcntl::open(name.as_c_str(), flags, Mode::empty())?;
        std::mem::forget(reader);
        Ok(())
    };
    replaced(make_and_read, &["audit log", "not a regular file"])
}

/// A pipe in the place of weir's own log does not make it wait either.
#[test]
fn a_pipe_in_the_place_of_the_other_log() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let log = fixture.node.root().join("var/log/weir/weir.log");
    if log.exists() {
        fs::remove_file(&log)?;
    }
    mkfifo(&log, Mode::from_bits_truncate(0o640))?;
    let began = Instant::now();
    let mut told = config();
    told["ipam"]["surprise"] = serde_json::json!(1);
    fixture.node.run(&fixture.add(&told))?.result();
    fixture.node.run(&fixture.del(&told))?.result();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    Ok(())
}

#[test]
fn a_symbolic_link_in_its_place() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let target = fixture.node.root().join("target");
    fs::write(&target, "")?;
    replaced(
        |log| Ok(symlink(&target, log)?),
        &["audit log", "symbolic link"],
    )?;
    assert_eq!(fs::read(&target)?, b"");
    Ok(())
}

#[test]
fn a_file_that_others_can_write() -> Result<()> {
    let writable = |log: &Path| {
        fs::write(log, "")?;
        Ok(fs::set_permissions(log, Permissions::from_mode(0o666))?)
    };
    replaced(writable, &["audit log", "mode 0666", "chmod go-w"])
}

#[test]
fn a_directory_that_others_can_write() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let directory = fixture.node.root().join("var/log/weir");
    fs::set_permissions(&directory, Permissions::from_mode(0o777))?;
    assert_stops_add(&fixture, &["audit log", "mode 0777", "chmod go-w"])?;
    fs::set_permissions(&directory, Permissions::from_mode(0o755))?;
    assert_comes_later(&fixture)
}

#[test]
fn a_file_of_anothers() -> Result<()> {
    let of_another = |log: &Path| {
        fs::write(log, "")?;
        Ok(chown(log, Some(1000), None)?)
    };
    let fixture = AttachedNode::create()?;
    let probe = fixture.node.root().join("probe");
    if of_another(&probe).is_err() {
        // A user namespace with no other user.
        return Ok(());
    }
    replaced(
        of_another,
        &["audit log", "belongs to user 1000", "chown 0"],
    )
}

/// Without the head of its chain nothing can be added to the log.
#[test]
fn a_head_that_others_can_write() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let head = fixture.node.root().join("var/log/weir/audit.head");
    fs::set_permissions(&head, Permissions::from_mode(0o666))?;
    assert_stops_add(
        &fixture,
        &["audit log", "audit.head", "mode 0666", "chmod go-w"],
    )?;
    fs::set_permissions(&head, Permissions::from_mode(0o600))?;
    assert_comes_later(&fixture)
}

/// Property: on a full disk nothing is done that is not recorded, except removals, whose records come later.
#[test]
fn a_full_disk() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let directory = fixture.node.root().join("var/log/weir");
    on_small_disk(directory.clone(), "size=64k,mode=755", || {
        let ballast = directory.join("ballast");
        // The log exists, but there is no room for a record.
        let other = fixture.node.container()?;
        let add = weir(&fixture.node, "bridge", "ADD", &other, &config());
        fixture.node.run(&add)?.result();
        let _ = fs::write(&ballast, vec![0; 1 << 20]);
        fill(&fixture.node.audit_log())?;
        let before = State::of(&fixture.node)?;
        fixture.refused(&fixture.add(&config()), 5, &["audit log", "No space left"]);
        State::of(&fixture.node)?.assert_same(&before);
        let del = weir(&fixture.node, "bridge", "DEL", &other, &config());
        let deleted = fixture.node.run(&del)?;
        assert!(deleted.succeeded(), "{deleted:?}");
        assert!(deleted.stderr.contains("No space left"), "{deleted:?}");
        let taken = fixture.node.taken("bad");
        // The leases of the attached container, one of each family.
        assert_eq!(taken.len(), 2, "{taken:?}: {deleted:?}");
        fs::remove_file(&ballast)?;
        assert_comes_later(&fixture)
    })
}

/// Fills the last page of the log with a line that is not a record, so that no byte of a record fits there.
fn fill(log: &Path) -> Result<()> {
    use std::io::Write as _;
    let mut file = fs::File::options().append(true).open(log)?;
    let length = usize::try_from(file.metadata()?.len())?;
    let rest = length.next_multiple_of(4096) - length;
    Ok(file.write_all("\n".repeat(rest).as_bytes())?)
}
