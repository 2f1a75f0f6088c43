//! The component that an argument of a command names: a file, or a plugin of this node.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bytesize::ByteSize;
use weir_sandbox::{Inspection, Sandbox};

use super::compile_cache::CompileCache;
use super::output::show;

/// What an argument names.
#[derive(Debug, PartialEq, Eq)]
pub enum ComponentArgument<'a> {
    /// A file, which may not exist.
    File(&'a Path),
    /// A plugin of this node, by its name.
    Plugin(&'a str),
}

impl<'a> ComponentArgument<'a> {
    /// Takes the name for a file's if such a file exists or the name has a directory, and otherwise for a plugin's.
    pub fn by(word: &'a Path) -> Self {
        let is_name = word.components().count() == 1 && !word.is_file();
        match word.to_str().filter(|_| is_name) {
            Some(name) => Self::Plugin(name),
            None => Self::File(word),
        }
    }
}

/// The largest size of a component, in bytes: it is inspected in memory.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a file. Errors: also if it is larger than [`MOST_BYTES`].
pub fn read(file: &Path) -> Result<Vec<u8>> {
    let opened = File::open(file).with_context(|| format!("read `{}`", file.display()))?;
    read_opened(&opened, file)
}

/// The same for a file that is open.
pub fn read_opened(opened: &File, file: &Path) -> Result<Vec<u8>> {
    let context = || format!("read `{}`", file.display());
    let mut bytes = Vec::new();
    let read = opened.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.with_context(context)?;
    if bytes.len() as u64 > MOST_BYTES {
        let most = ByteSize::b(MOST_BYTES).display().iec();
        bail!(
            "`{}` is larger than {most}, the most for a plugin",
            file.display()
        );
    }
    Ok(bytes)
}

/// Inspects the component of a file. Errors, which name the file: it is not a component.
pub fn inspect(sandbox: &Sandbox, file: &Path, component: &[u8]) -> Result<Inspection> {
    let prefix = format!("`{}`", file.display());
    let inspection = sandbox.inspect(component);
    inspection.map_err(|error| show(error.with_prefix(prefix)))
}

/// The same for a tool that installs nothing, with the code of the user's cache.
pub fn inspect_cached(sandbox: &Sandbox, file: &Path, component: &[u8]) -> Result<Inspection> {
    let Some(cache) = CompileCache::of_user() else {
        return inspect(sandbox, file, component);
    };
    let inspection = sandbox.inspect_compiled(cache.compile(component));
    inspection.map_err(|error| show(error.with_prefix(format!("`{}`", file.display()))))
}

/// Returns the name that a component gives itself if that is valid for a plugin, or else the name of the file.
pub fn name_of(inspection: &Inspection, file: &Path) -> Option<String> {
    let own = inspection.about.as_ref().ok().map(|about| &about.name);
    let own = own.filter(|name| weir_cni::validate_plugin_name(name).is_ok());
    own.cloned().or_else(|| name_of_file(file))
}

/// The name of a file without its extension. Cargo replaces hyphens with underscores.
fn name_of_file(file: &Path) -> Option<String> {
    Some(file.file_stem()?.to_str()?.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_file_or_a_plugin() {
        let argument = |word: &'static str| ComponentArgument::by(Path::new(word));
        assert_eq!(argument("bridge"), ComponentArgument::Plugin("bridge"));
        // A missing file is recognised by its path.
        assert_eq!(
            argument("target/a.wasm"),
            ComponentArgument::File(Path::new("target/a.wasm"))
        );
        // Tests run in a directory with this file.
        assert_eq!(
            argument("Cargo.toml"),
            ComponentArgument::File(Path::new("Cargo.toml"))
        );
    }

    #[test]
    fn a_file_is_called_as_its_crate_is() {
        let name = |file: &str| name_of_file(Path::new(file));
        assert_eq!(name("/x/mtu_clamp.wasm").as_deref(), Some("mtu-clamp"));
        assert_eq!(name("bridge.wasm").as_deref(), Some("bridge"));
        assert_eq!(name("/"), None);
    }
}
