//! `weir plugin native`: the entry by which weir's own configuration would let a native plugin run.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use weir_files::Paths;
use weir_gate::escape;
use weir_grant::native::NativePlugin;
use weir_network::inspect_native;

use crate::cli::output::{Answer, complain, print_line, show};

#[derive(Args)]
pub struct Arguments {
    /// The program's file, such as /opt/cni/bin/flannel.
    file: PathBuf,
    /// A network that may use it: a glob, as in a grant. May be given several times.
    #[arg(long = "network", value_name = "NAME", required = true)]
    networks: Vec<String>,
}

/// Prints the entry. Nothing is listed by that: whoever reviewed the program pastes it.
pub fn run(arguments: &Arguments) -> Result<Answer> {
    let shown = arguments.file.display();
    let name = arguments.file.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("`{shown}` has no name that a plugin could have"))?;
    let digest = inspect_native(&arguments.file).map_err(show)?;
    let entry = json!({ "name": name, "digest": digest, "networks": arguments.networks });
    // What could not be read back is not printed.
    let entry: NativePlugin = serde_json::from_value(entry).with_context(|| {
        format!(
            "`{shown}` cannot be listed for {}",
            arguments.networks.join(", ")
        )
    })?;
    print_line!("{}", escape(serde_json::to_string(&entry)?));
    complain(&format!(
        "once you have reviewed it, this goes into `nativePlugins` in `{}`",
        Paths::from_environment().configuration().display()
    ));
    Ok(Answer::Yes)
}
