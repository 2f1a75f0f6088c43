//! Tests of the store, on real directories.

mod contents;
mod directories;
mod indexing;
mod kills;
mod locking;
mod overwriting;
mod transactions;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use weir_gate::Gate;
use weir_grant::store::StoreRule;
use weir_grant::{Capabilities, Operation};
use weir_kit::gate;

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
            .arg(format!("{module}::kills::{name}"))
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
