//! What a person names in one word, a component's file or a plugin of this node, and what a component is
//! called.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bytesize::ByteSize;
use weir_sandbox::{Inspection, Sandbox};

use super::output::show;

/// What a word on the command line stands for.
#[derive(Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// A file, which may not be there.
    File(&'a Path),
    /// A plugin of this node, by its name.
    Plugin(&'a str),
}

impl<'a> Named<'a> {
    /// A file where there is one of that name, and what has a directory in it; a plugin otherwise.
    pub fn by(word: &'a Path) -> Self {
        let is_name = word.components().count() == 1 && !word.is_file();
        match word.to_str().filter(|_| is_name) {
            Some(name) => Self::Plugin(name),
            None => Self::File(word),
        }
    }
}

/// Bytes of a component, at most: it is in memory while it is looked at.
const MOST_BYTES: u64 = 64 << 20;

/// The bytes of a file. Errors: also for one that is too large for a component.
pub fn read(file: &Path) -> Result<Vec<u8>> {
    let context = || format!("read `{}`", file.display());
    let mut bytes = Vec::new();
    let opened = File::open(file).with_context(context)?;
    let read = opened.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.with_context(context)?;
    if bytes.len() as u64 > MOST_BYTES {
        let most = ByteSize::b(MOST_BYTES).display().iec();
        bail!(
            "`{}` is larger than a plugin may be, {most}",
            file.display()
        );
    }
    Ok(bytes)
}

/// Looks at the component of a file. Errors, which name the file: it is no component.
pub fn inspect(sandbox: &Sandbox, file: &Path, component: &[u8]) -> Result<Inspection> {
    let prefix = format!("`{}`", file.display());
    let inspection = sandbox.inspect(component);
    inspection.map_err(|error| show(error.with_prefix(prefix)))
}

/// What the component of a file is called: what it says itself, or else the name of the file.
pub fn name_of(inspection: &Inspection, file: &Path) -> Option<String> {
    own_name(inspection).or_else(|| name_of_file(file))
}

/// What a component calls itself, where that can be a plugin's name.
fn own_name(inspection: &Inspection) -> Option<String> {
    let about = inspection.about.as_ref().ok()?;
    Some(about.name.clone()).filter(|name| weir_cni::validate_plugin_name(name).is_ok())
}

/// The name of a file without its extension; cargo puts underscores for hyphens.
fn name_of_file(file: &Path) -> Option<String> {
    Some(file.file_stem()?.to_str()?.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_file_or_a_plugin() {
        let named = |word: &'static str| Named::by(Path::new(word));
        assert_eq!(named("bridge"), Named::Plugin("bridge"));
        // One that is missing is told by its path.
        assert_eq!(
            named("target/a.wasm"),
            Named::File(Path::new("target/a.wasm"))
        );
        // Where tests run there is one.
        assert_eq!(named("Cargo.toml"), Named::File(Path::new("Cargo.toml")));
    }

    #[test]
    fn a_file_is_called_as_its_crate_is() {
        let name = |file: &str| name_of_file(Path::new(file));
        assert_eq!(name("/x/mtu_clamp.wasm").as_deref(), Some("mtu-clamp"));
        assert_eq!(name("bridge.wasm").as_deref(), Some("bridge"));
        assert_eq!(name("/"), None);
    }
}
