//! Which version of an installed plugin made an attachment: DEL and CHECK run that one, also after another was installed.
//!
//! A note is an empty file, `<plugins>/.attached/<plugin>/<digest>/<network>/<container id>:<interface>`. Without one, as after a
//! loss of power, the installed version runs.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use weir_cni::Attachment;
use weir_files::entries;
use weir_grant::document::Digest;
use weir_grant::section::in_one_part;

use super::request::Request;

/// The directory of notes. No plugin's name begins with a dot.
const NOTES: &str = ".attached";

/// The notes about one plugin.
pub(crate) struct Attached {
    directory: PathBuf,
}

impl Attached {
    /// `plugins` is the directory of installed plugins.
    pub(crate) fn of(plugins: &Path, plugin: &str) -> Self {
        Self {
            directory: plugins.join(NOTES).join(plugin),
        }
    }

    /// Notes that a version makes an attachment.
    pub(crate) fn note(&self, digest: &Digest, request: &Request) -> io::Result<()> {
        let path = self.path(digest, request);
        let mut directory = DirBuilder::new();
        directory.recursive(true).mode(0o755);
        directory.create(path.parent().unwrap_or(&self.directory))?;
        File::create(path).map(drop)
    }

    /// The version that made an attachment, if it is noted. `current` is that if there are notes of both.
    pub(crate) fn version(&self, request: &Request, current: &Digest) -> Option<Digest> {
        if self.path(current, request).exists() {
            return Some(current.clone());
        }
        let mut versions = self.versions().into_iter();
        versions.find(|digest| self.path(digest, request).exists())
    }

    /// How many attachments a version has.
    pub(crate) fn count(&self, digest: &Digest) -> usize {
        let networks = entries(&self.of_version(digest)).unwrap_or_default();
        let notes = networks.iter().filter_map(|network| entries(network).ok());
        notes.map(|notes| notes.len()).sum()
    }

    /// Removes the notes about an attachment.
    pub(crate) fn forget(&self, request: &Request) -> io::Result<()> {
        for digest in self.versions() {
            remove(&self.path(&digest, request))?;
        }
        Ok(())
    }

    /// Removes the notes about all attachments of a network but the valid ones.
    pub(crate) fn forget_others(&self, request: &Request) -> io::Result<()> {
        let is_valid = |note: &Path| {
            let name = note.file_name().unwrap_or_default().to_string_lossy();
            let mut valid = request.valid_attachments.iter();
            valid.any(|valid: &Attachment| name == note_of(&valid.container_id, &valid.ifname))
        };
        for digest in self.versions() {
            let network = self.of_version(&digest).join(network_of(request));
            for note in entries(&network)?.iter().filter(|note| !is_valid(note)) {
                remove(note)?;
            }
        }
        Ok(())
    }

    pub(crate) fn versions(&self) -> Vec<Digest> {
        let directories = entries(&self.directory).unwrap_or_default();
        let names = directories.iter().filter_map(|d| d.file_name()?.to_str());
        names
            .filter_map(|hex| format!("sha256:{hex}").parse().ok())
            .collect()
    }

    fn of_version(&self, digest: &Digest) -> PathBuf {
        let digest = digest.to_string();
        self.directory.join(digest.trim_start_matches("sha256:"))
    }

    fn path(&self, digest: &Digest, request: &Request) -> PathBuf {
        let network = self.of_version(digest).join(network_of(request));
        network.join(note_of(&request.container_id, &request.ifname))
    }
}

fn network_of(request: &Request) -> String {
    in_one_part(request.granted_as())
}

fn note_of(container_id: &str, ifname: &str) -> String {
    format!("{container_id}:{ifname}")
}

fn remove(note: &Path) -> io::Result<()> {
    match fs::remove_file(note) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
