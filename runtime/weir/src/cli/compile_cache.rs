//! The code of components that an author tests again and again, in the user's cache directory: compiling takes longer than the
//! test itself.
//!
//! The code runs outside any sandbox, so a file counts only if this user or root wrote it, others cannot write to it, and it is
//! whole. The code of an installed plugin is not from here: each node compiles it.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::NamedTempFile;
use weir_files::file_trust;
use weir_grant::document::Digest;
use weir_sandbox::{Compiled, digest};

use crate::build::build;

/// How many components the cache has the code of.
const MOST_FILES: usize = 32;

/// The largest file, in bytes.
const MOST_BYTES: u64 = 32 << 20;

/// A cache directory that only this user and root can write to.
pub struct CompileCache {
    directory: PathBuf,
    /// The digest of the compiler.
    compiler: &'static str,
}

impl CompileCache {
    /// The one of this user, in `$XDG_CACHE_HOME` or `~/.cache`. None if there is neither, or others can write there, as with
    /// another user's home directory.
    pub fn of_user() -> Option<Self> {
        let absolute = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = || absolute("HOME").map(|home| home.join(".cache"));
        Self::below(
            &absolute("XDG_CACHE_HOME").or_else(home)?,
            build().compiler?,
        )
    }

    fn below(base: &Path, compiler: &'static str) -> Option<Self> {
        let directory = base.join("weir");
        let trusted = |directory: &Path| file_trust::check_directory(directory, directory).ok();
        // Nothing is left in another user's home directory.
        trusted(base.parent()?)?;
        for directory in [base, &directory] {
            match DirBuilder::new().mode(0o700).create(directory) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return None,
                _ => trusted(directory)?,
            }
        }
        Some(Self {
            directory,
            compiler,
        })
    }

    /// Returns the code of a component, compiled now or before. Errors: those of [`Compiled::of`].
    pub fn compile(&self, component: &[u8]) -> Result<Compiled, String> {
        let file = self.file(component);
        if let Ok(Some(code)) = self.read(&file) {
            // SAFETY: this build's compiler made the code of this component. Only this user and root can have written the
            // file, and it is whole.
            return Ok(unsafe { Compiled::of_cache(component, code) });
        }
        let compiled = Compiled::of(component)?;
        // The next test compiles it again.
        let _ = self.write(&file, compiled.code());
        Ok(compiled)
    }

    fn file(&self, component: &[u8]) -> PathBuf {
        let key = format!("{} {}", self.compiler, digest(component));
        self.directory.join(hexadecimal(&digest(key.as_bytes())))
    }

    /// The code in a file, after its digest. None if it was cut short or damaged.
    fn read(&self, file: &Path) -> io::Result<Option<Vec<u8>>> {
        let Ok(mut opened) = file_trust::open(file, &self.directory) else {
            return Ok(None);
        };
        let mut code = Vec::new();
        Read::by_ref(&mut opened)
            .take(MOST_BYTES + 1)
            .read_to_end(&mut code)?;
        let Some(end) = code.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let expected: Vec<u8> = code.drain(..=end).collect();
        let is_whole = expected == line_of(&code).as_bytes();
        // What was used last is removed last.
        let _ = opened.set_modified(SystemTime::now());
        Ok(is_whole.then_some(code))
    }

    fn write(&self, file: &Path, code: &[u8]) -> io::Result<()> {
        if code.len() as u64 >= MOST_BYTES {
            return Ok(());
        }
        let mut new = NamedTempFile::new_in(&self.directory)?;
        new.write_all(line_of(code).as_bytes())?;
        new.write_all(code)?;
        new.persist(file).map_err(|error| error.error)?;
        self.remove_oldest()
    }

    fn remove_oldest(&self) -> io::Result<()> {
        let modified = |file: &PathBuf| {
            fs::metadata(file)
                .and_then(|metadata| metadata.modified())
                .ok()
        };
        let entries = fs::read_dir(&self.directory)?.filter_map(Result::ok);
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort_by_cached_key(modified);
        let too_many = files.len().saturating_sub(MOST_FILES);
        files.iter().take(too_many).try_for_each(fs::remove_file)
    }
}

fn line_of(code: &[u8]) -> String {
    format!("{}\n", digest(code))
}

fn hexadecimal(digest: &Digest) -> String {
    digest.to_string().trim_start_matches("sha256:").to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    fn cache(home: &TempDir) -> CompileCache {
        below(home, "sha256:1").expect("a cache")
    }

    fn below(home: &TempDir, compiler: &'static str) -> Option<CompileCache> {
        CompileCache::below(&home.path().join("cache"), compiler)
    }

    #[test]
    fn what_was_written_whole_is_read() {
        let home = TempDir::new().expect("a directory");
        let cache = cache(&home);
        let file = cache.file(b"component");
        assert_eq!(cache.read(&file).expect("nothing"), None);
        cache.write(&file, b"code\nof it").expect("it is written");
        let code = cache.read(&file).expect("it is read");
        assert_eq!(code.as_deref(), Some(&b"code\nof it"[..]));
        let whole = fs::read(&file).expect("the file");
        for damaged in [&whole[..whole.len() - 1], &whole[1..], b"", b"code"] {
            fs::write(&file, damaged).expect("it is damaged");
            assert_eq!(cache.read(&file).expect("it is read"), None, "{damaged:?}");
        }
        // Another component, or another compiler, has another file.
        let other = below(&home, "sha256:2").expect("a cache");
        assert!(cache.file(b"other") != file && other.file(b"component") != file);
    }

    /// Hostile: another user who can write there would say what runs as this one.
    #[test]
    fn what_others_can_write_does_not_count() {
        let home = TempDir::new().expect("a directory");
        let own = cache(&home);
        let file = own.file(b"component");
        own.write(&file, b"code").expect("it is written");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode")
        };
        set(&file, 0o666);
        assert_eq!(own.read(&file).expect("it is not trusted"), None);
        set(&file, 0o600);
        assert!(own.read(&file).expect("it is read").is_some());
        for directory in [home.path(), &home.path().join("cache"), &own.directory] {
            set(directory, 0o777);
            assert!(below(&home, "").is_none());
            set(directory, 0o700);
        }
        assert!(below(&home, "").is_some());
        fs::rename(&file, home.path().join("elsewhere")).expect("moved");
        symlink(home.path().join("elsewhere"), &file).expect("a link");
        set(&home.path().join("elsewhere"), 0o622);
        assert_eq!(own.read(&file).expect("it is not trusted"), None);
    }

    #[test]
    fn it_does_not_grow_for_ever() {
        let home = TempDir::new().expect("a directory");
        let cache = cache(&home);
        let file = |number: usize| cache.file(&number.to_le_bytes());
        for number in 0..MOST_FILES + 3 {
            cache.write(&file(number), b"code").expect("it is written");
            let modified = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            let file = fs::File::open(file(number)).expect("the file");
            file.set_modified(modified).expect("its time");
        }
        assert_eq!(
            fs::read_dir(&cache.directory).expect("a list").count(),
            MOST_FILES
        );
        assert!(!file(0).exists() && file(MOST_FILES + 2).exists());
        let large = vec![0; MOST_BYTES as usize];
        cache.write(&file(0), &large).expect("nothing is written");
        assert!(!file(0).exists());
    }
}
