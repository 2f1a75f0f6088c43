//! Image layouts that lead elsewhere, swell, or are not what they say.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

use super::*;

fn tagged() -> Reference {
    "registry.example/plugins/labels:1.0"
        .parse()
        .expect("valid")
}

fn temporary() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// An honest layout.
fn saved(place: &TempDir, name: &str) -> PathBuf {
    let path = place.path().join(name);
    save(&artifact(), &tagged(), &path).expect("saved");
    path
}

fn names(place: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(place.path()).expect("it is there");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// An honest archive, after what a test puts before it.
fn archive_after(place: &TempDir, before: impl FnOnce(&mut Builder<File>)) -> PathBuf {
    let directory = saved(place, "honest");
    let path = place.path().join("layout.tar");
    let mut archive = Builder::new(File::create(&path).expect("a file"));
    before(&mut archive);
    archive.append_dir_all(".", directory).expect("appended");
    archive.finish().expect("written");
    path
}

fn append(archive: &mut Builder<File>, name: &str, kind: EntryType, content: &[u8]) {
    let mut header = Header::new_old();
    header.set_size(content.len() as u64);
    header.set_entry_type(kind);
    // As it is: the library would refuse a name that leads elsewhere.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    if matches!(kind, EntryType::Symlink | EntryType::Link) {
        header.set_link_name_literal("/etc/passwd").expect("short");
    }
    header.set_cksum();
    archive.append(&header, content).expect("appended");
}

#[track_caller]
fn why(path: &Path) -> String {
    load(path).expect_err("this must not be loaded").to_string()
}

#[test]
fn what_is_saved_is_loaded() {
    let place = temporary();
    for name in ["layout", "layout.tar"] {
        let loaded = load(&saved(&place, name)).expect("it is honest");
        assert_eq!(loaded.component, COMPONENT);
        assert_eq!(loaded.digest(), artifact().digest());
    }
    assert_eq!(names(&place), ["layout", "layout.tar"]);
    // As other programs pack it: directories, and names with `./`.
    let packed = archive_after(&temporary(), |_| {});
    assert!(!packed.exists(), "its directory is gone");
    let place = temporary();
    let packed = archive_after(&place, |archive| {
        append(archive, "manifest.json", EntryType::Regular, b"[]");
    });
    assert_eq!(load(&packed).expect("honest").component, COMPONENT);
}

#[test]
fn the_same_artifact_makes_the_same_archive() {
    let place = temporary();
    let read = |path: PathBuf| fs::read(path).expect("it is there");
    assert_eq!(read(saved(&place, "a.tar")), read(saved(&place, "b.tar")));
}

#[test]
fn nothing_is_replaced_and_nothing_is_left() {
    let place = temporary();
    fs::write(place.path().join("file.tar"), "mine").expect("a file");
    fs::write(place.path().join("file"), "mine").expect("a file");
    fs::create_dir(place.path().join("full")).expect("a directory");
    fs::write(place.path().join("full/x"), "mine").expect("a file");
    fs::create_dir(place.path().join("empty")).expect("a directory");
    for name in ["file.tar", "file", "full"] {
        let error = save(&artifact(), &tagged(), &place.path().join(name));
        assert_contains(
            &error.expect_err(name).to_string(),
            &[name, "cannot be written"],
        );
    }
    save(&artifact(), &tagged(), &place.path().join("empty")).expect("nothing is lost");
    assert_eq!(names(&place), ["empty", "file", "file.tar", "full"]);
    assert_eq!(
        fs::read(place.path().join("file.tar")).expect("there"),
        b"mine"
    );
    let missing = save(&artifact(), &tagged(), &place.path().join("no/such.tar"));
    assert_contains(&missing.expect_err("no").to_string(), &["no/such.tar"]);
}

#[test]
fn a_name_that_leads_out_of_the_archive_is_refused() {
    for name in ["../evil", "blobs/../../evil", "/etc/cron.d/evil"] {
        let place = temporary();
        let path = archive_after(&place, |archive| {
            append(archive, name, EntryType::Regular, b"evil");
        });
        assert_contains(&why(&path), &[name, "leads out of the archive"]);
        assert!(!place.path().join("evil").exists());
        assert!(!Path::new("/etc/cron.d/evil").exists());
    }
}

#[test]
fn only_files_and_directories_are_read() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Fifo,
        EntryType::Char,
        EntryType::GNUSparse,
    ] {
        let place = temporary();
        let path = archive_after(&place, |archive| {
            append(archive, "index.json", kind, b"");
        });
        let error = why(&path);
        assert_contains(&error, &["layout.tar"]);
        let is_typed = error.contains("is of type");
        assert!(is_typed || kind == EntryType::GNUSparse, "{error}");
    }
}

#[test]
fn a_file_of_an_archive_is_there_once() {
    let place = temporary();
    let path = archive_after(&place, |archive| {
        append(archive, "index.json", EntryType::Regular, b"{}");
    });
    assert_contains(&why(&path), &["`index.json` twice"]);
}

#[test]
fn what_is_compressed_is_not_unpacked() {
    let refused = |kind: &str, start: &[u8]| {
        let place = temporary();
        let path = place.path().join("layout.tar.gz");
        fs::write(&path, start).expect("a file");
        assert_contains(&why(&path), &[kind, "unpack it first"]);
    };
    refused("gzip", b"\x1f\x8b\x08\x00");
    refused("zstd", b"\x28\xb5\x2f\xfd");
    refused("bzip2", b"BZh9");
    refused("xz", b"\xfd7zXZ\0");
    refused("zip", b"PK\x03\x04");
}

#[test]
fn an_archive_larger_than_a_plugin_is_not_read() {
    let place = temporary();
    let path = place.path().join("layout.tar");
    let file = File::create(&path).expect("a file");
    file.set_len(1 << 40).expect("it takes no space");
    assert_contains(&why(&path), &["1099511627776 bytes", "more than"]);
}

/// An entry that says it is a tebibyte, in an archive of a few bytes.
#[test]
fn an_entry_that_lies_about_its_size_is_refused() {
    for kind in [
        EntryType::Regular,
        EntryType::GNULongName,
        EntryType::XHeader,
    ] {
        let place = temporary();
        let path = place.path().join("layout.tar");
        let mut header = Header::new_gnu();
        header.set_path("index.json").expect("short");
        header.set_entry_type(kind);
        header.set_size(1 << 40);
        header.set_cksum();
        fs::write(&path, [header.as_bytes(), &[b'x'; 512][..]].concat()).expect("a file");
        assert_contains(&why(&path), &["layout.tar"]);
    }
}

#[test]
fn what_is_no_archive_is_refused() {
    let place = temporary();
    let path = place.path().join("layout.tar");
    for content in [&b""[..], b"hello", &[0xff; 2000]] {
        fs::write(&path, content).expect("a file");
        assert_contains(&why(&path), &["layout.tar", "not an image layout"]);
    }
    assert_contains(
        &why(&place.path().join("missing.tar")),
        &["missing.tar", "No such file"],
    );
    let pipe = place.path().join("pipe.tar");
    mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
    for other in [Path::new("/dev/zero"), &pipe] {
        assert_contains(&why(other), &["neither a file nor a directory"]);
    }
}

/// Changes a file of an honest layout, and says why it is not loaded.
fn with_file(name: &str, change: impl FnOnce(&Path)) -> String {
    let place = temporary();
    let layout = saved(&place, "layout");
    change(&layout.join(name));
    why(&layout)
}

fn blob_of(digest: &Digest) -> String {
    digest.to_string().replace("sha256:", "blobs/sha256/")
}

#[test]
fn a_link_or_a_pipe_of_a_directory_leads_nowhere() {
    let blob = blob_of(&digest(COMPONENT));
    let place = temporary();
    let outside = place.path().join("component");
    fs::write(&outside, COMPONENT).expect("a file");
    let error = with_file(&blob, |path| {
        fs::remove_file(path).expect("it is there");
        symlink(&outside, path).expect("a link");
    });
    assert_contains(&error, &["not an image layout", &blob]);
    let error = with_file(&blob, |path| {
        fs::remove_file(path).expect("it is there");
        mkfifo(path, Mode::S_IRWXU).expect("a pipe");
    });
    assert_contains(&error, &["is not a file"]);
    let error = with_file("index.json", |path| {
        fs::remove_file(path).expect("it is there");
        symlink("/dev/zero", path).expect("a link");
    });
    assert_contains(&error, &["index.json"]);
}

#[test]
fn what_was_changed_is_refused() {
    let manifest = blob_of(&artifact().digest());
    let error = with_file(&manifest, |path| {
        let text = fs::read_to_string(path).expect("text");
        fs::write(path, text.replace("\"c\"", "\"d\"")).expect("written");
    });
    assert_contains(&error, &["the manifest has digest"]);
    let component = blob_of(&digest(COMPONENT));
    let error = with_file(&component, |path| {
        fs::write(path, COMPONENT.to_ascii_uppercase()).expect("written");
    });
    assert_contains(&error, &["the component has digest"]);
    let error = with_file(&component, |path| {
        fs::write(path, b"short").expect("written");
    });
    assert_contains(&error, &["the component has 5 bytes instead of the 48"]);
    let error = with_file(&component, |path| {
        fs::write(path, vec![0; 1 << 20]).expect("written");
    });
    assert_contains(&error, &["more than 48 bytes"]);
    let error = with_file(&component, |path| fs::remove_file(path).expect("there"));
    assert_contains(&error, &["No such file"]);
}

#[test]
fn an_index_of_several_or_of_indices_is_refused() {
    let edit = |change: fn(&mut Value)| {
        with_file("index.json", |path| {
            let text = fs::read(path).expect("there");
            fs::write(path, changed(&text, change)).expect("written");
        })
    };
    let error = edit(|index| {
        let one = index["manifests"][0].clone();
        index["manifests"] = serde_json::json!([one, one]);
    });
    assert_contains(&error, &["names 2 artifacts instead of one"]);
    let error = edit(|index| index["manifests"] = serde_json::json!([]));
    assert_contains(&error, &["names 0 artifacts"]);
    let error = edit(|index| {
        index["manifests"][0]["mediaType"] = "application/vnd.oci.image.index.v1+json".into();
    });
    assert_contains(&error, &["an index within it is not followed"]);
    let error = edit(|index| {
        index["manifests"][0]["digest"] = "sha256:../../../etc/passwd".into();
    });
    assert_contains(&error, &["is not a digest"]);
    let error = with_file("oci-layout", |path| {
        fs::write(path, r#"{"imageLayoutVersion":"2.0.0"}"#).expect("written");
    });
    assert_contains(&error, &["version `2.0.0`"]);
    let error = with_file("oci-layout", |path| fs::remove_file(path).expect("there"));
    assert_contains(&error, &["oci-layout"]);
}
