//! `weir-aot OUT FILE…`: compiles plugins ahead of time. For each it writes the component,
//! `OUT/<name>.wasm`, and its code, `OUT/<name>.cwasm`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};
use weir_compiler::Compiler;

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let Some(out) = arguments.next() else {
        bail!("usage: weir-aot OUT FILE…");
    };
    fs::create_dir_all(&out).with_context(|| format!("create `{}`", out.display()))?;
    let compiler = Compiler::new().map_err(|e| anyhow!("{e:#}"))?;
    arguments.try_for_each(|file| compile(&compiler, &file, &out))
}

fn compile(compiler: &Compiler, file: &Path, out: &Path) -> Result<()> {
    let shown = file.display();
    let component = fs::read(file).with_context(|| format!("read `{shown}`"))?;
    let code = compiler
        .compile(&component)
        .map_err(|e| anyhow!("compile `{shown}`: {e:#}"))?;
    let name = plugin_name(file).with_context(|| format!("`{shown}` has no name"))?;
    write(&out.join(&name).with_extension("wasm"), &component)?;
    write(&out.join(&name).with_extension("cwasm"), &code)
}

/// Cargo puts underscores into the names of libraries.
fn plugin_name(file: &Path) -> Option<String> {
    Some(file.file_stem()?.to_str()?.replace('_', "-"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("write `{}`", path.display()))
}
