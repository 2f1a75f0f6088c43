//! `weir version`: which weir this is, and what is built into it.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::output::{Format, print_list, say};
use crate::build::{Build, build};

#[derive(Args)]
pub struct Arguments {
    /// Also what it was built from and with, and the digest of each plugin that is built in.
    #[arg(long)]
    build: bool,
    #[command(flatten)]
    format: Format,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct Version {
    version: &'static str,
    #[serde(flatten)]
    build: Option<&'static Build>,
    plugins: Option<Vec<Plugin>>,
}

/// A plugin that is built in.
#[derive(Serialize)]
struct Plugin {
    name: &'static str,
    /// Of its component, as `weir plugin list` and the audit log show it.
    digest: &'static str,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let version = Version {
        version: env!("CARGO_PKG_VERSION"),
        build: arguments.build.then(build),
        plugins: arguments.build.then(plugins),
    };
    arguments.format.print(&version, print)
}

fn plugins() -> Vec<Plugin> {
    let plugins = weir_sandbox::built_in().iter();
    let named = plugins.map(|plugin| Plugin {
        name: plugin.name,
        digest: plugin.digest,
    });
    named.collect()
}

fn print(version: &Version) {
    say!("weir {}", version.version);
    if let Some(build) = version.build {
        print_build(build);
    }
    let plugins = version.plugins.iter().flatten();
    let lines = plugins.map(|plugin| format!("{:<16} {}", plugin.name, plugin.digest));
    print_list("plugins", lines);
}

fn print_build(build: &Build) {
    let facts = [
        ("commit", build.commit.unwrap_or("not recorded")),
        ("target", build.target),
        ("rustc", build.rustc),
        ("wasmtime", build.wasmtime),
        ("optimised", if build.optimised { "yes" } else { "no" }),
        ("profile", build.profile.unwrap_or("none")),
        ("layout", build.layout.unwrap_or("none")),
        ("compiler", build.compiler.unwrap_or("not built in")),
    ];
    for (title, fact) in facts {
        print_list(title, [fact]);
    }
}
