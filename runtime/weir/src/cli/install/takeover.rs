//! Taking over the pods that Multus attached. They are recorded before Multus is set aside, and changes in between are
//! handled after it. So every DEL, by Multus or by weir, finds what it needs, and Multus' files are not read afterwards.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use weir_files::{Durability, Paths, file_trust};
use weir_pod::multus::Multus;

use super::conf_dir::untrusted;
use crate::cli::output::{complain, say, show};

/// The next pass continues one that was killed.
pub struct Takeover {
    multus: Multus,
    file: PathBuf,
    /// The directory that is `/` for weir.
    root: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Progress {
    /// The containers that weir has recorded.
    taken: BTreeSet<String>,
    /// Whether only Multus' files are left to remove.
    only_removal: bool,
}

impl Takeover {
    pub fn new(multus: Multus, paths: &Paths) -> Self {
        Self {
            multus,
            file: paths.state().join("from-multus.json"),
            root: paths.root().to_owned(),
        }
    }

    /// Records the pods of Multus, without removing its files. Errors: files that someone other than root could have written;
    /// nothing is set aside then.
    pub fn begin(&self) -> Result<()> {
        let mut progress = Progress::default();
        for container in self.multus.containers().map_err(show)? {
            self.take(container, &mut progress)?;
        }
        self.write(&progress)
    }

    /// Once Multus is set aside: takes over the pods that it has attached since, gives up those that it has detached, and
    /// removes its files. Does nothing if none has started.
    pub fn finish(&self) -> Result<()> {
        let Some(mut progress) = self.read()? else {
            return Ok(());
        };
        if !progress.only_removal {
            let there = self.multus.containers().map_err(show)?;
            for gone in progress.taken.difference(&there) {
                self.multus.give_up(gone).map_err(show)?;
            }
            progress.taken.retain(|container| there.contains(container));
            for container in there {
                if !progress.taken.contains(&container) {
                    self.take(container, &mut progress)?;
                }
            }
            progress.only_removal = true;
            self.write(&progress)?;
        }
        for container in &progress.taken {
            if let Some(aside) = self.multus.forget(container).map_err(show)? {
                let aside = aside.display();
                complain(&format!("a file that could not be read is now `{aside}`"));
            }
        }
        let file = &self.file;
        weir_files::remove(file).with_context(|| format!("remove `{}`", file.display()))
    }

    /// Whether one has started and not finished.
    pub fn is_unfinished(&self) -> bool {
        self.file.symlink_metadata().is_ok()
    }

    fn take(&self, container: String, progress: &mut Progress) -> Result<()> {
        let taken = self.multus.take(&container).map_err(show)?;
        for error in taken.damaged {
            complain(&format!("{:#}; it stays attached", show(error)));
        }
        let networks = taken.networks.iter();
        let networks: Vec<String> = networks
            .map(|(name, ifname)| format!("{name} ({ifname})"))
            .collect();
        say!("took over container {container}: {}", networks.join(", "));
        progress.taken.insert(container);
        Ok(())
    }

    fn read(&self) -> Result<Option<Progress>> {
        let path = &self.file;
        let file = match file_trust::open(path, &self.root) {
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(untrusted(path, error)),
            Ok(file) => file,
        };
        serde_json::from_reader(file).with_context(|| format!("read `{}`", path.display()))
    }

    fn write(&self, progress: &Progress) -> Result<()> {
        let file = &self.file;
        let text = serde_json::to_vec(progress)?;
        weir_files::replace(file, &text, Durability::Disk)
            .with_context(|| format!("write `{}`", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;
    use tempfile::TempDir;

    use std::fs;

    use super::*;

    /// A node on which Multus keeps pods.
    struct Node {
        root: TempDir,
        takeover: Takeover,
    }

    impl Node {
        fn with(containers: &[&str]) -> Self {
            let root = TempDir::new().expect("a directory");
            let paths = Paths::below(root.path());
            let directory = root.path().join("var/lib/cni/multus");
            fs::create_dir_all(&directory).expect("it is made");
            let node = Self {
                takeover: Takeover::new(Multus::at(directory, "weir", &paths), &paths),
                root,
            };
            for container in containers {
                node.attach(container);
            }
            node
        }

        fn file(&self, container: &str) -> PathBuf {
            self.root.path().join("var/lib/cni/multus").join(container)
        }

        /// As Multus does.
        fn attach(&self, container: &str) {
            let config = json!({ "cniVersion": "1.0.0", "name": "green", "type": "bridge" });
            let delegates =
                json!([{ "Name": "green", "Bytes": STANDARD.encode(config.to_string()) }]);
            fs::write(self.file(container), delegates.to_string()).expect("it is written");
        }

        fn detach(&self, container: &str) {
            fs::remove_file(self.file(container)).expect("it is there");
        }

        fn names(&self, directory: &str) -> BTreeSet<String> {
            let entries = fs::read_dir(self.root.path().join(directory));
            let entries = entries.into_iter().flatten().flatten();
            entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        }

        fn records(&self) -> BTreeSet<String> {
            self.names("var/lib/weir/pods/weir")
        }

        fn is_over(&self) -> bool {
            self.names("var/lib/cni/multus").is_empty() && !self.takeover.is_unfinished()
        }
    }

    fn of(containers: &[&str]) -> BTreeSet<String> {
        containers
            .iter()
            .map(|container| format!("{container}:eth0.json"))
            .collect()
    }

    /// Takes over the pods `a` and `b`, and changes the node in between: the records of these containers remain.
    fn leaves(left: &[&str], change: impl FnOnce(&Node) -> Result<()>) -> Result<()> {
        let node = Node::with(&["a", "b"]);
        node.takeover.begin()?;
        assert_eq!(node.records(), of(&["a", "b"]));
        assert!(node.file("a").exists(), "Multus still needs it");
        assert!(node.takeover.is_unfinished());
        change(&node)?;
        node.takeover.finish()?;
        assert!(node.is_over());
        assert_eq!(node.records(), of(left));
        Ok(())
    }

    #[test]
    fn pods_come_and_go_while_multus_is_set_aside() -> Result<()> {
        leaves(&["b", "c"], |node| {
            node.detach("a");
            node.attach("c");
            Ok(())
        })
    }

    /// A pod that weir deletes before Multus' files are removed does not come back.
    #[test]
    fn what_weir_has_deleted_stays_deleted() -> Result<()> {
        let record = "var/lib/weir/pods/weir/a:eth0.json";
        leaves(&["b"], |node| {
            Ok(fs::remove_file(node.root.path().join(record))?)
        })
    }

    /// If a pass is killed while it removes Multus' files, the records of the removed ones stay.
    #[test]
    fn a_pass_that_was_killed_is_carried_on() -> Result<()> {
        leaves(&["a", "b"], |node| {
            let mut progress = node.takeover.read()?.expect("it has started");
            progress.only_removal = true;
            node.takeover.write(&progress)?;
            node.detach("a");
            Ok(())
        })
    }

    #[test]
    fn nothing_is_read_once_it_is_over() -> Result<()> {
        let node = Node::with(&["a"]);
        node.takeover.begin()?;
        node.takeover.finish()?;
        node.attach("planted");
        node.takeover.finish()?;
        assert_eq!(node.records(), of(&["a"]));
        assert!(node.file("planted").exists());
        Ok(())
    }
}
