//! Checks who may change a file. weir trusts files that only its own user and root can change.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::geteuid;

use crate::paths;

/// Write permission for group and others.
const OTHERS_WRITE: u32 = 0o022;

/// In a directory with this bit, users can remove and rename only their own entries.
const STICKY: u32 = 0o1000;

/// The most symbolic links on a path, as in the kernel.
const MOST_LINKS: usize = 40;

/// Who may own a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user that weir runs as.
    User,
    /// That user, or root.
    UserOrRoot,
}

/// Why someone else could change a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It belongs to `owner`, and weir runs as `user`.
    Owner { owner: u32, user: u32 },
    /// Others may write to it: its permissions.
    Mode(u32),
}

/// Checks the owner of a file or a directory, and that only the owner may write to it. The metadata must come from the
/// open descriptor that is used afterwards. Errors: why someone else could change it.
pub fn check(metadata: &Metadata, expected: Owner) -> Result<(), Foreign> {
    check_owner(metadata, expected)?;
    match metadata.mode() & 0o7777 {
        mode if mode & OTHERS_WRITE != 0 => Err(Foreign::Mode(mode)),
        _ => Ok(()),
    }
}

fn check_owner(metadata: &Metadata, expected: Owner) -> Result<(), Foreign> {
    let (owner, user) = (metadata.uid(), geteuid().as_raw());
    if owner != user && (expected == Owner::User || owner != 0) {
        Err(Foreign::Owner { owner, user })
    } else {
        Ok(())
    }
}

/// Why a file is not used.
#[derive(Debug)]
pub enum Untrusted {
    /// It cannot be read.
    Unreadable(io::Error),
    /// Someone other than weir's user and root could have changed or replaced it.
    Exposed(Exposed),
}

/// What someone else could change: the file itself, or a directory or a symbolic link on the way to it.
#[derive(Debug)]
pub struct Exposed {
    path: PathBuf,
    foreign: Foreign,
}

impl Untrusted {
    /// Makes the error for a path.
    fn exposed(path: &Path, foreign: Foreign) -> Self {
        Self::Exposed(Exposed::new(path, foreign))
    }

    /// Whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable(error) if error.kind() == ErrorKind::NotFound)
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Exposed(exposed) => write!(f, "{exposed}: {}", exposed.remedy()),
        }
    }
}

impl std::error::Error for Untrusted {}

impl Exposed {
    /// Describes what is at a path.
    pub fn new(path: &Path, foreign: Foreign) -> Self {
        let path = path.to_owned();
        Self { path, foreign }
    }

    /// Returns what an administrator can do about it.
    pub fn remedy(&self) -> String {
        let shown = self.path.display();
        let command = match self.foreign {
            Foreign::Owner { user, .. } => format!("chown {user} {shown}"),
            Foreign::Mode(_) => format!("chmod go-w {shown}"),
        };
        format!("check who changed it, then run `{command}`")
    }
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.path.display();
        match self.foreign {
            Foreign::Owner { owner, user: 0 } => {
                write!(f, "`{shown}` belongs to user {owner}, not to root")
            }
            Foreign::Owner { owner, user } => write!(
                f,
                "`{shown}` belongs to user {owner}, not to root or to user {user}, which weir runs as"
            ),
            Foreign::Mode(mode) => write!(
                f,
                "`{shown}` has mode {mode:04o}, but only its owner may have permission to write to it"
            ),
        }
    }
}

impl From<io::Error> for Untrusted {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Opens a regular file that only root and weir's user can have written or put there: they own the file, every directory
/// above it up to `root`, and every symbolic link on the way, and only they may write to them. A directory with the
/// sticky bit, such as `/tmp`, may be writable for all.
///
/// If the file does not exist, its directories are not checked. A symbolic link on the way that leads nowhere is an error, and not
/// a file that does not exist: what it said would not count.
pub fn open(path: &Path, root: &Path) -> Result<File, Untrusted> {
    find(path)?;
    open_entry(&walk(path, root)?)
}

/// Checks that something is there. A link that leads nowhere is another error than a missing file.
fn find(path: &Path) -> io::Result<Metadata> {
    let mut places = path.ancestors();
    let nearest = places.find_map(|place| match place.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => Some((place, found)),
    });
    let missing = || io::Error::from(Errno::ENOENT);
    let (place, found) = nearest.ok_or_else(missing)?;
    let found = match found? {
        metadata if metadata.is_symlink() => follow(place)?,
        metadata => metadata,
    };
    if place == path {
        Ok(found)
    } else {
        Err(missing())
    }
}

/// What a symbolic link leads to.
fn follow(link: &Path) -> io::Result<Metadata> {
    link.metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let what = format!("the symbolic link `{}` leads nowhere", link.display());
            io::Error::new(ErrorKind::InvalidInput, what)
        }
        _ => error,
    })
}

/// Opens a regular file of a directory that [`check_directory`] has checked. It must be no symbolic link, and only root and
/// weir's user may write to it.
pub fn open_entry(place: &Path) -> Result<File, Untrusted> {
    // A pipe must not make weir wait.
    let mut options = File::options();
    options.read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK);
    let file = options.open(place)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        let error = io::Error::new(ErrorKind::InvalidInput, "not a regular file");
        return Err(error.into());
    }
    check(&metadata, Owner::UserOrRoot).map_err(|foreign| Untrusted::exposed(place, foreign))?;
    Ok(file)
}

/// Opens a log of weir for reading and appending, and creates it with this mode, and its directory, if it does not exist.
/// It must be a regular file that only weir can write to, and no symbolic link.
pub fn open_log(path: &Path, mode: u32) -> Result<File, Untrusted> {
    open_regular(path, File::options().append(true).mode(mode))
}

/// Opens a file of weir's own in the same way, for reading and writing.
pub fn open_own(path: &Path, mode: u32) -> Result<File, Untrusted> {
    open_regular(path, File::options().write(true).mode(mode))
}

fn open_regular(path: &Path, options: &mut OpenOptions) -> Result<File, Untrusted> {
    // A pipe must not make weir wait.
    options.custom_flags(O_NOFOLLOW | O_NONBLOCK);
    let not_regular = |what| io::Error::new(ErrorKind::InvalidInput, what);
    let opened = paths::open(options.read(true).create(true), path);
    let file = opened.map_err(|e| match e.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ELOOP) => not_regular("a symbolic link, not a regular file"),
        Some(Errno::ENXIO) => not_regular("not a regular file"),
        _ => e,
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular("not a regular file").into());
    }
    check(&metadata, Owner::UserOrRoot).map_err(|foreign| Untrusted::exposed(path, foreign))?;
    Ok(file)
}

/// Follows the path to a socket that only root and weir's user can have put there, as [`open`] does for a file. All may
/// write to it. Returns the path without symbolic links.
pub fn find_socket(path: &Path, root: &Path) -> Result<PathBuf, Untrusted> {
    find(path)?;
    let place = walk(path, root)?;
    let metadata = fs::symlink_metadata(&place)?;
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a socket").into());
    }
    let owner = check_owner(&metadata, Owner::UserOrRoot);
    owner.map_err(|foreign| Untrusted::exposed(&place, foreign))?;
    Ok(place)
}

/// Checks a directory as [`open`] checks a file. Its entries are then safe to list.
pub fn check_directory(path: &Path, root: &Path) -> Result<(), Untrusted> {
    let metadata = find(path)?;
    let place = walk(path, root)?;
    check(&metadata, Owner::UserOrRoot).map_err(|foreign| Untrusted::exposed(&place, foreign))
}

/// Follows a path from the root, and checks every directory and every symbolic link on it. Returns the path without
/// symbolic links. Since all of it is trusted, it cannot change meanwhile.
///
/// A path that is not below `root` is followed from `/`.
fn walk(path: &Path, root: &Path) -> Result<PathBuf, Untrusted> {
    let (root, below) = match path.strip_prefix(root) {
        Ok(below) => (root, below),
        Err(_) => (Path::new("/"), path),
    };
    let mut place = root.to_owned();
    let mut ahead = names(below);
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            place.pop();
            continue;
        }
        let next = place.join(&name);
        let metadata = fs::symlink_metadata(&next)?;
        let trusted = if metadata.is_symlink() {
            check_owner(&metadata, Owner::UserOrRoot)
        } else if ahead.is_empty() {
            Ok(())
        } else {
            check_passage(&metadata)
        };
        trusted.map_err(|foreign| Untrusted::exposed(&next, foreign))?;
        if !metadata.is_symlink() {
            place = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::from(Errno::ELOOP).into());
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        for name in names(&target).into_iter().rev() {
            ahead.push_front(name);
        }
    }
    Ok(place)
}

/// Checks a directory on the way to a file.
fn check_passage(metadata: &Metadata) -> Result<(), Foreign> {
    match check(metadata, Owner::UserOrRoot) {
        Err(Foreign::Mode(mode)) if mode & STICKY != 0 => Ok(()),
        checked => checked,
    }
}

/// The names on a path, and `..`.
fn names(path: &Path) -> VecDeque<OsString> {
    let leading = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(leading).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use tempfile::TempDir;

    use super::*;

    /// A root with the file `a/b/file`.
    fn root() -> TempDir {
        let root = TempDir::new().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::write(root.path().join("a/b/file"), "content").unwrap();
        for path in ["a", "a/b"] {
            allow(&root, path, 0o755);
        }
        allow(&root, "a/b/file", 0o644);
        root
    }

    fn allow(root: &TempDir, path: &str, mode: u32) {
        fs::set_permissions(root.path().join(path), Permissions::from_mode(mode)).unwrap();
    }

    fn opened(root: &TempDir, path: &str) -> Result<String, Untrusted> {
        let file = open(&root.path().join(path), root.path())?;
        Ok(io::read_to_string(file)?)
    }

    fn refused(root: &TempDir, path: &str) -> (PathBuf, Foreign) {
        match opened(root, path) {
            Err(Untrusted::Exposed(Exposed { path, foreign })) => {
                (path.strip_prefix(root.path()).unwrap().to_owned(), foreign)
            }
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn a_file_of_ones_own_is_read() {
        assert_eq!(opened(&root(), "a/b/file").unwrap(), "content");
        assert!(opened(&root(), "a/b/other").unwrap_err().is_missing());
    }

    /// Hostile: who can take away what a link leads to would take away what the file says.
    #[test]
    fn a_link_that_leads_nowhere_is_not_a_missing_file() {
        let root = root();
        symlink("nowhere", root.path().join("a/link")).unwrap();
        for path in ["a/link", "a/link/below"] {
            let error = opened(&root, path).unwrap_err();
            assert!(!error.is_missing(), "{path}");
            assert!(error.to_string().contains("leads nowhere"), "{error}");
            let error = check_directory(&root.path().join(path), root.path()).unwrap_err();
            assert!(!error.is_missing(), "{path}");
        }
        symlink("b", root.path().join("a/whole")).unwrap();
        assert!(opened(&root, "a/whole/other").unwrap_err().is_missing());
    }

    #[test]
    fn nobody_else_may_write_in_the_file_or_a_directory_above_it() {
        for (path, mode) in [
            ("a/b/file", 0o664),
            ("a/b/file", 0o602),
            ("a/b", 0o777),
            ("a", 0o775),
        ] {
            let root = root();
            allow(&root, path, mode);
            let expected = (PathBuf::from(path), Foreign::Mode(mode));
            assert_eq!(refused(&root, "a/b/file"), expected);
        }
    }

    #[test]
    fn where_nobody_can_touch_anothers_files_all_may_have_some() {
        let root = root();
        allow(&root, "a", 0o1777);
        assert_eq!(opened(&root, "a/b/file").unwrap(), "content");
        // But what is there must be weir's own.
        allow(&root, "a/b", 0o1777);
        let listed = check_directory(&root.path().join("a/b"), root.path());
        assert!(matches!(listed, Err(Untrusted::Exposed(_))), "{listed:?}");
    }

    #[test]
    fn what_is_not_below_the_root_is_followed_from_the_top() {
        let (root, elsewhere) = (root(), root());
        let file = elsewhere.path().join("a/b/file");
        let opened = open(&file, root.path());
        // In a user namespace the owner of `/` may be an unmapped user.
        let is_nobodys = |error: &Untrusted| matches!(error, Untrusted::Exposed(_));
        assert!(
            opened.is_ok() || opened.as_ref().is_err_and(is_nobodys),
            "{opened:?}"
        );
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(
            open(&file, root.path()),
            Err(Untrusted::Exposed(_))
        ));
    }

    #[test]
    fn what_a_symbolic_link_goes_through_counts() {
        let root = root();
        fs::create_dir(root.path().join("open")).unwrap();
        allow(&root, "open", 0o777);
        symlink("../a/b/file", root.path().join("open/link")).unwrap();
        assert_eq!(refused(&root, "open/link").0, Path::new("open"));
        symlink("../../open/../a/b/file", root.path().join("a/b/through")).unwrap();
        assert_eq!(refused(&root, "a/b/through").0, Path::new("open"));
        symlink(
            root.path().join("a/b/file"),
            root.path().join("a/b/absolute"),
        )
        .unwrap();
        assert_eq!(opened(&root, "a/b/absolute").unwrap(), "content");
        symlink("circle", root.path().join("a/b/circle")).unwrap();
        assert!(matches!(
            opened(&root, "a/b/circle"),
            Err(Untrusted::Unreadable(_))
        ));
    }

    #[test]
    fn anybody_elses_file_directory_or_link_is_refused() {
        if !geteuid().is_root() {
            return;
        }
        for path in ["a", "a/b", "a/b/file"] {
            let root = root();
            if chown(root.path().join(path), Some(1000), None).is_err() {
                // A user namespace that has no other user.
                return;
            }
            let foreign = Foreign::Owner {
                owner: 1000,
                user: 0,
            };
            assert_eq!(refused(&root, "a/b/file"), (PathBuf::from(path), foreign));
        }
        let root = root();
        symlink("file", root.path().join("a/b/link")).unwrap();
        std::os::unix::fs::lchown(root.path().join("a/b/link"), Some(1000), None).unwrap();
        assert_eq!(refused(&root, "a/b/link").0, Path::new("a/b/link"));
    }

    #[test]
    fn what_is_not_a_regular_file_does_not_make_weir_wait() {
        let root = root();
        mkfifo(
            &root.path().join("a/b/fifo"),
            Mode::from_bits_truncate(0o644),
        )
        .unwrap();
        for path in ["a/b/fifo", "a/b"] {
            let error = opened(&root, path).unwrap_err();
            assert!(
                format!("{error:?}").contains("not a regular file"),
                "{path}: {error:?}"
            );
        }
    }
}
