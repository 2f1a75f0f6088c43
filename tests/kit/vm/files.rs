//! A caller's files in the guest: programs with the libraries that they need, and symbolic links.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::archive::{Archive, Node};

/// What a user's `PATH` may lack is in it.
const TOOLS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// A file of the guest, by its path there.
#[derive(Debug, Clone)]
pub(super) struct GuestFile {
    guest_path: String,
    content: Content,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Host {
        path: PathBuf,
        mode: u32,
    },
    /// A program in this machine's directories of programs.
    Tool {
        name: String,
    },
    Symlink {
        target: String,
    },
}

impl GuestFile {
    pub(super) fn new(guest_path: &str, content: Content) -> Self {
        Self {
            guest_path: guest_path.to_owned(),
            content,
        }
    }

    pub(super) fn pack(&self, archive: &mut Archive) -> Result<()> {
        let path = &self.guest_path;
        self.pack_as(path, archive)
            .with_context(|| format!("putting {path} into the guest"))
    }

    fn pack_as(&self, path: &str, archive: &mut Archive) -> Result<()> {
        ensure!(
            path.starts_with('/') && !path.ends_with('/'),
            "the path in the guest must be absolute and name a file"
        );
        ensure!(
            !["/proc/", "/sys/", "/dev/"]
                .iter()
                .any(|mount| path.starts_with(mount)),
            "the guest mounts a file system of its own there; choose a path outside /proc, /sys and /dev"
        );
        match &self.content {
            Content::Host { path: host, mode } => pack_host_file(path, host, *mode, archive)?,
            Content::Tool { name } => pack_host_file(path, &tool(name)?, 0o755, archive)?,
            Content::Symlink { target } => archive.add(path, Node::Symlink(target.clone())),
        }
        Ok(())
    }
}

/// Packs a file of the host, and what it needs if it is an executable.
fn pack_host_file(guest: &str, host: &Path, mode: u32, archive: &mut Archive) -> Result<()> {
    archive.file(guest, host, mode)?;
    if mode & 0o111 == 0 {
        return Ok(());
    }
    let mut libraries = shared_libraries(host)?.into_iter();
    libraries.try_for_each(|library| archive.file(&library, Path::new(&library), 0o755))
}

/// Where the host has a tool.
fn tool(name: &str) -> Result<PathBuf> {
    let mut paths = TOOLS.iter().map(|place| Path::new(place).join(name));
    paths.find(|path| path.exists()).with_context(|| {
        format!(
            "the program {name} is missing; install the Debian packages iproute2, iptables and nftables"
        )
    })
}

/// The absolute paths of the libraries and the loader that an executable needs; none for a static
/// executable or a script.
fn shared_libraries(executable: &Path) -> Result<Vec<String>> {
    let output = Command::new("ldd")
        .arg(executable)
        .output()
        .context("running ldd of the Debian package libc-bin")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(missing) = text.lines().find(|line| line.contains("not found")) {
        bail!(
            "{} needs a library: {}",
            executable.display(),
            missing.trim()
        );
    }
    let words = text.lines().flat_map(str::split_whitespace);
    Ok(words
        .filter(|word| word.starts_with('/') && !word.ends_with(':'))
        .map(str::to_owned)
        .collect())
}
