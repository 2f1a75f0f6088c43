//! `weir plugin native`: the entry of weir's configuration that lets a native plugin run.

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
    /// A network that may use it: a glob, as in a grant; may be given several times.
    #[arg(long = "network", value_name = "NAME", required = true)]
    networks: Vec<String>,
}

/// Prints the entry, which the administrator adds after a review.
pub fn run(arguments: &Arguments) -> Result<Answer> {
    let shown = arguments.file.display();
    let name = arguments.file.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("the name of `{shown}` is not valid for a plugin"))?;
    let digest = inspect_native(&arguments.file).map_err(show)?;
    let entry = json!({ "name": name, "digest": digest, "networks": arguments.networks });
    // An entry that weir could not read is not printed.
    let entry: NativePlugin = serde_json::from_value(entry)
        .with_context(|| format!("list `{shown}` for {}", arguments.networks.join(", ")))?;
    print_line!("{}", escape(serde_json::to_string(&entry)?));
    complain(&format!(
        "once you have reviewed the program, add this to `nativePlugins` in `{}`",
        Paths::from_environment().configuration().display()
    ));
    Ok(Answer::Yes)
}
