//! Tests of the directory of plugins, with files that do not belong to a plugin.

use std::os::unix::fs::{MetadataExt, chown};
use std::thread;

use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};
use tempfile::TempDir;
use weir_files::Paths;

use super::super::Catalogue;
use super::super::installed::digest;
use super::*;

const NAME: &str = "mine";

/// A node's file system in a temporary directory, which goes with it.
struct Node {
    root: TempDir,
    paths: Paths,
}

impl Node {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let paths = Paths::below(root.path());
        Self { root, paths }
    }

    fn plugin_store(&self) -> PluginStore {
        PluginStore::open(&self.paths.plugins()).unwrap()
    }

    /// Writes a plugin beside the others.
    fn written(&self, component: &[u8]) -> PluginStore {
        let plugin_store = self.plugin_store();
        let manifest = Manifest {
            name: NAME.to_owned(),
            digest: digest(component),
            seal: String::new(),
            compiled_by: "somebody".to_owned(),
            provenance: Box::default(),
        };
        plugin_store.write(&manifest, component, b"code").unwrap();
        plugin_store
    }

    fn install(&self, component: &[u8]) -> io::Result<()> {
        self.written(component).replace(NAME)
    }

    fn place(&self) -> PathBuf {
        self.paths.plugins().join(NAME)
    }

    /// The plugin must not be found, for a reason with these words.
    #[track_caller]
    fn assert_not_found(&self, words: &[String]) {
        let why = self.found().unwrap_err();
        for words in words {
            assert!(why.contains(words), "{words}: {why}");
        }
    }

    /// The component of the plugin that is found, or why none is.
    fn found(&self) -> Result<Vec<u8>, String> {
        let found = Catalogue::new(&self.paths).find(NAME);
        let component = found.and_then(|plugin| plugin.component());
        component.map_err(|e| format!("{} {}", e.msg, e.details))
    }

    /// What is in the directory of plugins, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.paths.plugins()).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn one_takes_the_place_of_another() {
    let node = Node::new();
    for component in [b"one", b"two"] {
        node.install(component).unwrap();
        assert_eq!(node.found().unwrap(), component);
        assert_eq!(node.names(), [NAME]);
    }
    let taken = node.written(b"three").take(NAME).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    assert_eq!(node.found().unwrap(), b"two");
    node.plugin_store().remove(NAME).unwrap();
    assert!(node.names().is_empty());
}

/// A file in a plugin's place goes as one, and the next one finds the directory in order.
#[test]
fn a_file_in_a_plugins_place_is_removed() {
    let node = Node::new();
    let plugins = node.paths.plugins();
    fs::create_dir_all(&plugins).unwrap();
    fs::write(node.place(), "").unwrap();
    node.plugin_store().remove(NAME).unwrap();
    assert!(node.names().is_empty());

    fs::write(node.place(), "").unwrap();
    node.install(b"one").unwrap();
    assert_eq!(node.names(), [NAME]);

    for left in [NEW, OLD] {
        fs::write(plugins.join(left), "").unwrap();
        node.plugin_store();
        assert_eq!(node.names(), [NAME]);
    }
}

/// Runs `act` where renames cannot exchange names, as on some file systems.
fn without_exchange<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let exchange = SeccompCondition::new(
        4,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        libc::RENAME_EXCHANGE.into(),
    );
    let rule = SeccompRule::new(vec![exchange.unwrap()]).unwrap();
    let filter = SeccompFilter::new(
        [(libc::SYS_renameat2, vec![rule])].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EINVAL as u32),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    in_thread(|| {
        apply_filter(&filter).expect("a filter of system calls");
        act()
    })
}

fn in_thread<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| match scope.spawn(act).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Nothing is lost where there is no single step from one to the other, and the error names another way.
#[test]
fn nothing_is_replaced_in_two_steps() {
    let node = Node::new();
    without_exchange(|| {
        // A free place needs no exchange.
        node.written(b"one").take(NAME).unwrap();
        let refused = node.install(b"two").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        for words in ["cannot exchange", "weir plugin remove mine"] {
            assert!(refused.to_string().contains(words), "{refused}");
        }
        assert_eq!(node.found().unwrap(), b"one");
        node.plugin_store().remove(NAME).unwrap();
        node.written(b"two").take(NAME).unwrap();
    });
    assert_eq!(node.found().unwrap(), b"two");
    assert_eq!(node.names(), [NAME]);
}

/// The files of a plugin, and its directory.
fn files(node: &Node) -> [PathBuf; 4] {
    [
        node.place(),
        node.place().join(COMPONENT),
        node.place().join(CODE),
        node.place().join(MANIFEST),
    ]
}

#[test]
fn what_is_installed_is_nobody_elses_whatever_the_umask() {
    for mask in [0o000, 0o002, 0o077] {
        let node = Node::new();
        // A umask of its own for this thread.
        in_thread(|| {
            unshare(CloneFlags::CLONE_FS).unwrap();
            umask(Mode::from_bits_truncate(mask));
            node.install(b"one").unwrap();
        });
        let modes = files(&node).map(|path| fs::metadata(path).unwrap().mode() & 0o7777);
        assert_eq!(modes, [0o755, 0o644, 0o644, 0o644], "{mask:o}");
        assert_eq!(node.found().unwrap(), b"one");
    }
}

#[test]
fn what_others_can_write_is_not_run() {
    let node = Node::new();
    node.install(b"one").unwrap();
    for path in files(&node) {
        let before = fs::metadata(&path).unwrap().permissions();
        for added in [0o020, 0o002] {
            let mode = before.mode() & 0o777 | added;
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let shown = path.display();
            node.assert_not_found(&[
                format!("`{shown}` has mode 0{mode:o}"),
                format!("chmod go-w {shown}"),
            ]);
        }
        fs::set_permissions(&path, before).unwrap();
    }
    assert_eq!(node.found().unwrap(), b"one");
    // Another one in its place is.
    fs::set_permissions(node.place(), Permissions::from_mode(0o777)).unwrap();
    node.install(b"two").unwrap();
    assert_eq!(node.found().unwrap(), b"two");
}

#[test]
fn what_belongs_to_somebody_else_is_not_run() {
    let node = Node::new();
    node.install(b"one").unwrap();
    let (user, other) = (geteuid().as_raw(), 65534);
    if chown(node.place(), Some(other), None).is_ok() {
        chown(node.place(), Some(user), None).unwrap();
        for path in files(&node) {
            chown(&path, Some(other), None).unwrap();
            let shown = path.display();
            node.assert_not_found(&[
                format!("`{shown}` belongs to user {other}"),
                format!("chown {user} {shown}"),
            ]);
            chown(&path, Some(user), None).unwrap();
        }
        assert_eq!(node.found().unwrap(), b"one");
    } else {
        // Where nothing can be given away, `/usr` is another user's already, unless weir runs as root
        // outside a user namespace.
        fs::rename(node.place(), node.root.path().join("away")).unwrap();
        std::os::unix::fs::symlink("/usr", node.place()).unwrap();
        let why = node.found().unwrap_err();
        assert!(why.contains("belongs to user"), "{why}");
    }
}
