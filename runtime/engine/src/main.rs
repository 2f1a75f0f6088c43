//! `weir-aot OUT COMPONENT…`: compiles components ahead of time, `OUT/<name>.cwasm` for each.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let Some(out) = arguments.next() else {
        bail!("usage: weir-aot OUT COMPONENT…");
    };
    fs::create_dir_all(&out).with_context(|| format!("create `{}`", out.display()))?;
    arguments.try_for_each(|component| compile(&component, &out))
}

fn compile(component: &Path, out: &Path) -> Result<()> {
    let shown = component.display();
    let bytes = fs::read(component).with_context(|| format!("read `{shown}`"))?;
    let code = weir_engine::compile(&bytes).map_err(|e| anyhow!("compile `{shown}`: {e:#}"))?;
    let name = component
        .file_stem()
        .with_context(|| format!("`{shown}` has no name"))?;
    let target = out.join(name).with_extension("cwasm");
    fs::write(&target, code).with_context(|| format!("write `{}`", target.display()))
}
