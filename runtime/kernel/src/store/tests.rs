//! Tests of the store, on real directories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hint;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::geteuid;
use tempfile::TempDir;
use weir_files::rename;
use weir_gate::Gate;
use weir_grant::store::StoreRule;
use weir_grant::{Capabilities, Operation};
use weir_kit::gate;

use super::key::{MOST_VALUE, is_key};
use super::table::{HEADER, LEAST_ROOM, SUM};
use super::transaction::RevertStore;
use super::*;
use crate::perform::{Changes, Perform, perform};
use crate::{Namespaces, Undo, UndoLog};

const NETWORK: &str = "pods";
/// Names a node's root for a test that runs as a process of its own.
const ROOT: &str = "STORE_TEST_ROOT";

/// A node's file system in a temporary directory, which goes with it.
struct Node {
    paths: Paths,
    root: PathBuf,
    _owned: Option<TempDir>,
}

impl Node {
    /// An open store in which these keys are committed.
    fn open_with(&self, keys: &[&str]) -> Open {
        let mut store = self.open();
        for key in keys {
            store.put(key, b"1").unwrap();
        }
        store.commit();
        store
    }

    /// Claims a key for a container, where no index can be written: it must be found all the same.
    #[track_caller]
    fn claim_without_index(&self, key: &str, container: &str) {
        let mut store = self.open();
        assert!(store.find(&lease(container)).is_empty());
        store.claim(&[key], &lease(container)).unwrap();
        assert_eq!(store.find(&lease(container)), [key]);
        store.commit();
        drop(store);
        assert_eq!(self.open().find(&lease(container)), [key]);
    }

    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let mut node = Self::at(root.path().to_owned());
        node._owned = Some(root);
        node
    }

    fn at(root: PathBuf) -> Self {
        Self {
            paths: Paths::below(&root),
            root,
            _owned: None,
        }
    }

    /// The node of the test that started this process.
    fn inherited() -> Self {
        Self::at(
            std::env::var_os(ROOT)
                .expect("started by another test")
                .into(),
        )
    }

    fn linux(&self, deadline: Instant) -> Linux {
        self.linux_of("host-local", NETWORK, deadline)
    }

    fn linux_of(&self, plugin: &str, network: &str, deadline: Instant) -> Linux {
        let linux = Linux::new(Namespaces::new(None), self.paths.clone(), deadline);
        linux.with_stores_of(StoreOwner {
            plugin: plugin.to_owned(),
            network: network.to_owned(),
            former: None,
        })
    }

    fn directory(&self) -> PathBuf {
        self.root.join("data").join(NETWORK)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// The files in the store's directory, without the lock and the spare.
    fn files(&self) -> BTreeSet<String> {
        names(&self.directory())
            .into_iter()
            .filter(|n| n != "lock" && n != spare::NAME)
            .collect()
    }

    fn open(&self) -> Open {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<Open, Error> {
        self.open_until(Instant::now() + Duration::from_secs(60))
    }

    fn open_until(&self, deadline: Instant) -> Result<Open, Error> {
        Open::new(
            &mut self.linux(deadline),
            OpenWrite { location: data() },
            data(),
        )
    }

    fn open_to_read(&self) -> Open {
        let deadline = Instant::now() + Duration::from_secs(60);
        let operation = OpenRead { location: data() };
        Open::new(&mut self.linux(deadline), operation, data()).unwrap()
    }

    fn revert(&self, changes: Vec<Change>) -> Result<(), Error> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let location = data();
        let mut undo = Undo {
            gate: &mut gate(),
            kernel: &mut self.linux(deadline),
            earlier: &mut UndoLog::default(),
        };
        undo.perform(Revert { location, changes })
    }

    /// Whether every file can be found by its value, and what is found has that value.
    fn assert_findable(&self) {
        let mut expected: BTreeMap<Vec<u8>, BTreeSet<String>> = BTreeMap::new();
        for name in self.files() {
            let value = index::trim(&fs::read(self.file(&name)).unwrap()).to_vec();
            expected.entry(value).or_default().insert(name);
        }
        let mut store = self.open();
        for (value, keys) in expected {
            let found: BTreeSet<String> = store.find(&value).into_iter().collect();
            assert_eq!(found, keys);
        }
    }

    fn has_usable_index(&self) -> bool {
        let Ok(Some(directory)) = Directory::open(&self.root.join("data"), NETWORK, Missing::Leave)
        else {
            return false;
        };
        let mut index = Index::new(self.paths.indexes());
        index.before_change(&directory);
        index.is_usable()
    }

    /// The one index that was made.
    fn index(&self) -> PathBuf {
        let all = names(&self.paths.indexes());
        assert_eq!(all.len(), 1, "{all:?}");
        self.paths.indexes().join(all.first().unwrap())
    }

    /// This test binary, to run the ignored test `name` on this node.
    fn process(&self, wrapper: &[&str], name: &str) -> Command {
        let (_, module) = module_path!().split_once("::").unwrap();
        let own = std::env::current_exe().unwrap();
        let mut command = match wrapper {
            [] => Command::new(own),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(own);
                command
            }
        };
        command
            .args(["--ignored", "--exact", "--nocapture"])
            .arg(format!("{module}::{name}"))
            .env(ROOT, &self.root);
        command
    }
}

fn names(directory: &Path) -> BTreeSet<String> {
    fs::read_dir(directory)
        .map(|entries| {
            entries
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect()
        })
        .unwrap_or_default()
}

fn gate() -> Gate {
    let granted = PathBuf::from("/data").try_into().unwrap();
    let capabilities = Capabilities {
        store: vec![
            StoreRule {
                directories: Some(vec![granted]),
                ..StoreRule::default()
            },
            StoreRule::default(),
        ],
        ..Capabilities::default()
    };
    gate::granting(capabilities)
}

fn data() -> Location {
    Location::Directory("/data".into())
}

/// A store and the gate in front of it.
struct Open {
    gate: Gate,
    store: Box<DynTransaction>,
    location: Location,
    log: UndoLog,
}

impl Open {
    fn new<O>(linux: &mut Linux, operation: O, location: Location) -> Result<Self, Error>
    where
        O: Operation,
        Linux: Perform<O, Box<DynTransaction>>,
    {
        let (mut gate, mut log) = (gate(), UndoLog::default());
        let store = perform(&mut gate, linux, &mut log, operation)?;
        Ok(Self {
            gate,
            store,
            location,
            log,
        })
    }

    fn perform<O, A>(&mut self, operation: O) -> Result<A, Error>
    where
        O: Operation,
        DynTransaction: Perform<O, A>,
    {
        perform(&mut self.gate, &mut *self.store, &mut self.log, operation)
    }

    fn get(&mut self, key: &str) -> Result<Vec<u8>, Error> {
        let location = self.location.clone();
        let key = key.into();
        self.perform(Get { location, key })
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.perform(Put {
            location: self.location.clone(),
            key: key.into(),
            value: value.into(),
        })
    }

    fn claim(&mut self, keys: &[&str], value: &[u8]) -> Result<Option<String>, Error> {
        self.perform(Claim {
            location: self.location.clone(),
            keys: keys.iter().map(|k| (*k).to_owned()).collect(),
            value: value.into(),
        })
    }

    fn delete(&mut self, key: &str) -> Result<(), Error> {
        let location = self.location.clone();
        let key = key.into();
        self.perform(Delete { location, key })
    }

    fn keys(&mut self) -> BTreeSet<String> {
        let location = self.location.clone();
        let keys = self.perform(Keys { location });
        keys.unwrap().into_iter().collect()
    }

    fn find(&mut self, value: &[u8]) -> Vec<String> {
        let location = self.location.clone();
        let value = value.into();
        self.perform(Find { location, value }).unwrap()
    }

    fn commit(&mut self) -> Vec<Change> {
        self.store.commit(&mut Changes::new(&mut self.log)).unwrap();
        let mut reverts = self.log.take::<RevertStore>();
        reverts
            .pop()
            .map_or_else(Vec::new, |revert| revert.0.changes)
    }
}

fn lease(container: &str) -> Vec<u8> {
    format!("{container}\r\neth0").into_bytes()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// What the test process's umask leaves of a mode.
fn masked(node: &Node, mode: u32) -> u32 {
    let probe = node.root.join("probe");
    fs::write(&probe, "").unwrap();
    fs::create_dir(node.root.join("probe.d")).unwrap();
    // A new file shows the mask of the lower six bits, a new directory that of execution.
    let seen = (self::mode(&probe) | 0o111) & self::mode(&node.root.join("probe.d"));
    mode & seen
}

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

/// Opening must fail as `invalid` with these words, for reading and for writing.
fn assert_refused(node: &Node, words: &[&str]) {
    let open = OpenRead { location: data() };
    let read = Open::new(&mut node.linux(Instant::now()), open, data());
    for error in [read.err().unwrap(), node.try_open().err().unwrap()] {
        assert_eq!(error.code, Code::Invalid, "{error}");
        for word in words {
            assert!(error.message.contains(word), "{word}: {error}");
        }
    }
}

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

/// A node with two leases and an index that knows them.
fn indexed() -> Node {
    let node = Node::new();
    let mut store = node.open();
    assert!(store.find(b"").is_empty());
    store.claim(&["a"], &lease("c1")).unwrap();
    store.claim(&["b"], &lease("c2")).unwrap();
    store.commit();
    drop(store);
    assert!(node.has_usable_index());
    node
}

#[test]
fn other_programs_changes_are_seen_within_the_same_tick() {
    let node = indexed();
    for n in 0..200 {
        // At once after weir's transaction: the directory's times may be of the same tick.
        let container = format!("other{n}");
        fs::write(node.file("x"), lease(&container)).unwrap();
        let mut store = node.open();
        assert_eq!(store.find(&lease(&container)), ["x"], "{n}");
        store.delete("x").unwrap();
        store.commit();
        drop(store);
        assert!(node.has_usable_index());
    }
}

/// What makes a mark unmistakable, on the kernel and the file system of this machine.
#[test]
fn the_directorys_times_tell_weirs_mark_from_a_change() {
    let node = indexed();
    let times = || {
        let metadata = fs::metadata(node.directory()).unwrap();
        [
            (metadata.mtime(), metadata.mtime_nsec()),
            (metadata.ctime(), metadata.ctime_nsec()),
        ]
    };
    let [modified, changed] = times();
    assert_ne!(modified, changed);
    let changes: [fn(&Path); 4] = [
        |directory| fs::write(directory.join("x"), "v").unwrap(),
        |directory| fs::rename(directory.join("x"), directory.join("y")).unwrap(),
        |directory| rename::exchange(&fs::File::open(directory).unwrap(), "y", "a").unwrap(),
        |directory| fs::remove_file(directory.join("y")).unwrap(),
    ];
    for change in changes {
        let directory = fs::File::open(node.directory()).unwrap();
        directory.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        change(&node.directory());
        let [modified, changed] = times();
        assert_eq!(modified, changed);
    }
}

#[test]
fn two_indexes_of_one_directory_do_not_mistake_each_other() {
    let node = indexed();
    // The same store for two nodes with indexes of their own, as two containers may see it.
    let other = Node::new();
    for n in 0..200 {
        let writer = if n % 2 == 0 { &other } else { &node };
        let parent = node.root.join("data");
        let directory = Directory::open(&parent, NETWORK, Missing::Leave)
            .unwrap()
            .unwrap();
        let mut index = Index::new(writer.paths.indexes());
        let value = lease(&format!("n{n}"));
        assert!(index.find(&directory, &value).unwrap().is_empty());
        let key = format!("k{n}");
        index.before_change(&directory);
        fs::write(node.file(&key), &value).unwrap();
        index.note(&key, None, Some(&value));
        index.settle(&directory);
        if n > 0 {
            let previous = lease(&format!("n{}", n - 1));
            let found = Index::new(writer.paths.indexes()).find(&directory, &previous);
            assert_eq!(found.unwrap(), [format!("k{}", n - 1)]);
        }
    }
}

#[test]
fn an_index_may_be_lost_or_damaged() {
    type Damage = fn(&Path);
    let damages: [Damage; 8] = [
        |index| fs::remove_file(index).unwrap(),
        |index| fs::write(index, "").unwrap(),
        |index| fs::write(index, "{}").unwrap(),
        |index| symlink_in_place(index),
        |index| change(index, |bytes| bytes[..HEADER].fill(0)),
        |index| change(index, |bytes| bytes.truncate(HEADER)),
        |index| change(index, |bytes| bytes[HEADER..].fill(0)),
        |index| {
            change(index, |bytes| {
                for bucket in bytes[HEADER..].chunks_mut(LEAST_ROOM as usize) {
                    bucket[0] ^= 1;
                }
            });
        },
    ];
    for (n, damage) in damages.iter().enumerate() {
        let node = indexed();
        damage(&node.index());
        let mut store = node.open();
        assert_eq!(store.find(&lease("c1")), ["a"], "damage {n}");
        drop(store);
        damage(&node.index());
        // A change that does not look anything up first.
        let mut store = node.open();
        store.delete("a").unwrap();
        store.claim(&["c"], &lease("c3")).unwrap();
        store.commit();
        drop(store);
        node.assert_findable();
        node.assert_findable();
        assert!(node.has_usable_index(), "damage {n}");
    }
}

/// Changes an index's file.
fn change(index: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(index).unwrap();
    change(&mut bytes);
    fs::write(index, bytes).unwrap();
}

fn symlink_in_place(index: &Path) {
    let elsewhere = index.with_extension("moved");
    fs::rename(index, &elsewhere).unwrap();
    symlink(&elsewhere, index).unwrap();
    fs::remove_file(elsewhere).unwrap();
}

/// Every damaged byte that can change an answer is noticed.
#[test]
fn no_byte_of_a_header_can_change_unnoticed() {
    let node = indexed();
    let sound = fs::read(node.index()).unwrap();
    for n in 0..HEADER {
        let mut bytes = sound.clone();
        bytes[n] ^= 1;
        fs::write(node.index(), bytes).unwrap();
        assert!(!node.has_usable_index(), "byte {n}");
    }
    fs::write(node.index(), sound).unwrap();
    assert!(node.has_usable_index());
}

/// What a disk that fails to write leaves: a bucket that was sound, but some time ago.
#[test]
fn a_bucket_of_another_time_does_not_count() {
    let node = indexed();
    let earlier = fs::read(node.index()).unwrap();
    let mut store = node.open();
    // The same value as of `a`, thus the same bucket.
    store.claim(&["z"], &lease("c1")).unwrap();
    store.commit();
    drop(store);
    change(&node.index(), |bytes| {
        bytes.truncate(HEADER);
        bytes.extend(&earlier[HEADER..]);
    });
    assert!(node.has_usable_index(), "the header is sound");
    node.assert_findable();
}

#[test]
fn an_index_of_another_boot_does_not_count() {
    let node = indexed();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let boot = boot.trim().as_bytes();
    let seal = |bytes: &mut Vec<u8>| {
        let sum = table::hash(&bytes[SUM..HEADER]);
        bytes[..SUM].copy_from_slice(&sum.to_le_bytes());
    };
    change(&node.index(), seal);
    assert!(node.has_usable_index(), "sealed as weir seals it");
    change(&node.index(), |bytes| {
        let place = bytes.windows(boot.len()).position(|w| w == boot).unwrap();
        bytes[place..place + boot.len()].fill(b'0');
        seal(bytes);
    });
    assert!(!node.has_usable_index());
}

#[test]
fn a_bucket_grows_with_its_entries() {
    let node = indexed();
    let index = fs::File::open(node.index()).unwrap();
    // Keys with one value are all in one bucket.
    for n in 0..200 {
        let mut store = node.open();
        let key = format!("10.0.0.{n}");
        store.claim(&[&key], &lease("c1")).unwrap();
        store.commit();
        drop(store);
        assert!(node.has_usable_index(), "{n}");
    }
    assert_eq!(node.open().find(&lease("c1")).len(), 201);
    node.assert_findable();
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
    for n in 0..200 {
        let mut store = node.open();
        store.delete(&format!("10.0.0.{n}")).unwrap();
        store.commit();
    }
    assert!(node.has_usable_index());
    assert_eq!(node.open().find(&lease("c1")), ["a"]);
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
}

/// Overwritten keys are indexed in the header, as many as it has room for.
#[test]
fn overwritten_keys_are_found() {
    let node = indexed();
    let index = fs::File::open(node.index()).unwrap();
    for round in 0..4 {
        for n in 0..100 {
            let mut store = node.open();
            let key = format!("last_reserved_ip.{n}");
            let value = format!("10.{round}.0.{}", n % 50);
            store.put(&key, value.as_bytes()).unwrap();
            store.commit();
        }
        assert!(node.has_usable_index());
        node.assert_findable();
        assert_eq!(
            node.open().find(format!("10.{round}.0.7").as_bytes()).len(),
            2
        );
        assert!(node.open().find(b"10.9.0.7").is_empty());
    }
    for n in 0..100 {
        let mut store = node.open();
        store.delete(&format!("last_reserved_ip.{n}")).unwrap();
        store.commit();
    }
    assert!(node.has_usable_index());
    assert_eq!(node.files(), set(&["a", "b"]));
    assert!(node.open().find(b"10.3.0.7").is_empty());
    node.assert_findable();
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
}

#[test]
fn an_index_that_cannot_be_written_is_no_failure() {
    let node = Node::new();
    // A file where the directory should be stops root, too.
    fs::create_dir_all(node.paths.indexes().parent().unwrap()).unwrap();
    fs::write(node.paths.indexes(), "").unwrap();
    node.claim_without_index("a", "c1");
}

#[test]
fn a_store_that_takes_anothers_place_does_not_get_its_index() {
    let node = indexed();
    fs::rename(node.directory(), node.root.join("old")).unwrap();
    let mut store = node.open();
    assert!(store.find(&lease("c1")).is_empty());
    store.claim(&["z"], &lease("c9")).unwrap();
    store.commit();
    drop(store);
    fs::remove_dir_all(node.directory()).unwrap();
    fs::rename(node.root.join("old"), node.directory()).unwrap();
    assert_eq!(node.open().find(&lease("c1")), ["a"]);
    node.assert_findable();
}

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

/// Whoever looks without the lock, or after a crash at any point, sees a whole value or none.
#[test]
fn values_appear_whole() {
    let node = Node::new();
    let values = [lease("c1"), lease("c2")];
    let mut store = node.open();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let mut seen = 0_u32;
            while !done.load(Ordering::Relaxed) {
                if let Ok(value) = fs::read(node.file("k")) {
                    assert!(values.contains(&value), "{value:?}");
                    seen += 1;
                }
            }
            seen
        });
        for _ in 0..500 {
            store.claim(&["k"], &values[0]).unwrap().unwrap();
            store.put("k", &values[1]).unwrap();
            store.delete("k").unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(observer.join().unwrap() > 0);
    });
}

#[test]
fn overwriting_makes_and_frees_no_file() {
    let node = indexed();
    let inode = |name: &str| fs::metadata(node.file(name)).unwrap().ino();
    for n in 0..3 {
        let mut store = node.open();
        store
            .put("last_reserved_ip.0", format!("10.0.0.{n}").as_bytes())
            .unwrap();
        store.commit();
    }
    let index = fs::File::open(node.index()).unwrap();
    let files = [inode("last_reserved_ip.0"), inode(spare::NAME)];
    for n in 3..20 {
        let mut store = node.open();
        let value = format!("10.0.0.{n}");
        store.put("last_reserved_ip.0", value.as_bytes()).unwrap();
        assert_eq!(store.get("last_reserved_ip.0").unwrap(), value.as_bytes());
        store.commit();
        drop(store);
        let mut now = [inode("last_reserved_ip.0"), inode(spare::NAME)];
        if n % 2 == 1 {
            now.reverse();
        }
        assert_eq!(now, files, "{n}");
        assert_eq!(mode(&node.file("last_reserved_ip.0")), masked_file(&node));
    }
    assert_eq!(index.metadata().unwrap().nlink(), 1, "made anew");
    assert_eq!(names(&node.directory()).len(), node.files().len() + 2);
    node.assert_findable();
}

/// The mode of a new file.
fn masked_file(node: &Node) -> u32 {
    mode(&node.file("a"))
}

#[test]
fn an_open_file_keeps_its_value_however_often_the_key_is_overwritten() {
    let node = indexed();
    let mut store = node.open();
    store.put("k", b"0").unwrap();
    let mut readers = Vec::new();
    for n in 1..8_u8 {
        readers.push((n - 1, fs::File::open(node.file("k")).unwrap()));
        store.put("k", &[b'0' + n]).unwrap();
    }
    for (n, mut reader) in readers {
        let mut value = Vec::new();
        reader.read_to_end(&mut value).unwrap();
        assert_eq!(value, [b'0' + n]);
    }
}

#[test]
fn no_value_is_written_into_a_file_that_can_be_executed() {
    let node = indexed();
    let mut store = node.open();
    for value in [b"1", b"2"] {
        store.put("hint", value).unwrap();
    }
    for names in [&["hint"][..], &["hint", spare::NAME]] {
        for name in names {
            let executable = PermissionsExt::from_mode(0o755);
            fs::set_permissions(node.file(name), executable).unwrap();
        }
        store.put("hint", b"#!/bin/sh").unwrap();
        assert_eq!(mode(&node.file("hint")) & 0o111, 0, "{names:?}");
    }
}

#[test]
fn a_spare_that_is_no_longer_weirs_alone_is_not_written() {
    type Spoil = fn(&Node);
    let spoils: [Spoil; 5] = [
        |node| fs::hard_link(node.file(spare::NAME), node.root.join("kept")).unwrap(),
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            fs::remove_file(node.file(spare::NAME)).unwrap();
            symlink(node.root.join("kept"), node.file(spare::NAME)).unwrap();
        },
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            let mode = PermissionsExt::from_mode(0o600);
            fs::set_permissions(node.file(spare::NAME), mode).unwrap();
        },
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            fs::remove_file(node.file(spare::NAME)).unwrap();
            fs::create_dir(node.file(spare::NAME)).unwrap();
        },
        |node| {
            fs::write(node.root.join("kept"), "1").unwrap();
            fs::remove_file(node.file(spare::NAME)).unwrap();
            nix::unistd::mkfifo(&node.file(spare::NAME), nix::sys::stat::Mode::S_IRWXU).unwrap();
        },
    ];
    for (n, spoil) in spoils.iter().enumerate() {
        let node = indexed();
        let mut store = node.open();
        store.put("k", b"1").unwrap();
        store.put("k", b"2").unwrap();
        spoil(&node);
        for value in [b"3", b"4", b"5"] {
            store.put("k", value).unwrap();
            assert_eq!(fs::read(node.file("k")).unwrap(), value, "{n}");
            assert!(!node.file(".weir~new").exists(), "{n}");
            assert_eq!(mode(&node.file("k")), masked_file(&node), "{n}");
        }
        assert_eq!(fs::read(node.root.join("kept")).unwrap(), b"1", "{n}");
    }
}

#[test]
fn values_of_every_length_replace_one_another() {
    let node = indexed();
    let mut store = node.open();
    store.put("k", b"first").unwrap();
    let lengths = [
        5,
        3,
        0,
        7,
        spare::MOST,
        1,
        spare::MOST + 1,
        2,
        0,
        0,
        MOST_VALUE,
        9,
    ];
    for (n, length) in lengths.into_iter().enumerate() {
        let value = vec![b'a' + u8::try_from(n).unwrap(); length];
        store.put("k", &value).unwrap();
        assert_eq!(fs::read(node.file("k")).unwrap(), value);
        let spare = fs::metadata(node.file(spare::NAME)).map_or(0, |m| m.len());
        assert!(spare <= spare::MOST as u64, "{spare} bytes after {length}");
    }
    store.commit();
    drop(store);
    node.assert_findable();
}

/// The lease on the spare holds up whoever opens it, and tells this process by a signal that must
/// not end it.
#[test]
fn the_spare_may_be_opened_at_any_moment() {
    let node = indexed();
    let mut store = node.open();
    store.put("k", b"1").unwrap();
    store.put("k", b"2").unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let mut seen = 0_u32;
            while !done.load(Ordering::Relaxed) {
                if let Ok(value) = fs::read(node.file(spare::NAME)) {
                    assert_eq!(value.len(), 1);
                    seen += 1;
                }
            }
            seen
        });
        for n in 0..2000_u32 {
            let value = n.to_le_bytes()[0].to_string().into_bytes();
            store.put("k", &value[..1]).unwrap();
            assert_eq!(store.get("k").unwrap(), &value[..1]);
        }
        done.store(true, Ordering::Relaxed);
        assert!(observer.join().unwrap() > 0);
    });
    store.commit();
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

/// Calls of read(2) of this thread so far.
fn reads() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let reads = counters.lines().find_map(|l| l.strip_prefix("syscr: "));
    reads.unwrap().parse().unwrap()
}

/// What an ADD and a DEL of the same container do, and how often they read.
fn add_and_delete(node: &Node) -> u64 {
    let start = reads();
    let mut store = node.open();
    assert!(store.find(&lease("new")).is_empty());
    store
        .claim(&["10.255.0.1"], &lease("new"))
        .unwrap()
        .unwrap();
    store.put("last_reserved_ip.0", b"10.255.0.1").unwrap();
    store.commit();
    drop(store);
    let mut store = node.open();
    assert_eq!(store.find(&lease("new")), ["10.255.0.1"]);
    store.delete("10.255.0.1").unwrap();
    store.commit();
    drop(store);
    reads() - start
}

#[test]
fn the_work_does_not_grow_with_the_number_of_keys() {
    let empty = Node::new();
    add_and_delete(&empty);
    let with_none = add_and_delete(&empty);

    let full = Node::new();
    drop(full.open());
    for n in 0..60_000_u32 {
        let key = format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255);
        fs::write(full.file(&key), lease(&format!("c{n}"))).unwrap();
    }
    let first = add_and_delete(&full);
    assert!(
        first > 60_000,
        "{first}: the first look-up reads every file"
    );
    let with_many = add_and_delete(&full);
    assert!(
        with_many <= with_none * 3 / 2,
        "{with_many} reads with 60,000 keys, {with_none} with none"
    );
    assert_eq!(full.open().find(&lease("c4711")), ["10.0.18.103"]);
}
