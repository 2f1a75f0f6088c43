//! `weir-go DIRECTORY`: writes the contract's types and functions in Go, the files `contract.go`, into the SDK's directory, `sdk/go` of a
//! checkout. A project that `weir plugin new` writes has them already.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [sdk] = arguments.as_slice() else {
        bail!("usage: weir-go DIRECTORY");
    };
    for (name, text) in weir_go::CONTRACT {
        let path = sdk.join(name);
        if fs::read_to_string(&path).is_ok_and(|written| written == *text) {
            continue;
        }
        let written = fs::create_dir_all(path.parent().unwrap_or(sdk));
        let written = written.and_then(|()| fs::write(&path, text));
        written.with_context(|| format!("write `{}`", path.display()))?;
    }
    Ok(())
}
