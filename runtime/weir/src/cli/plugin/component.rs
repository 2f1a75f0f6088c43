//! `weir plugin component`: makes a component of what Go builds.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::staged::{settle, stage};
use crate::cli::component::read;
use crate::cli::output::{Answer, Format, print_line};

#[derive(Args)]
pub struct Arguments {
    /// The module of a plugin in Go, built with `GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared`.
    module: PathBuf,
    /// Where to write the component. A file that exists is replaced.
    component: PathBuf,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct WrittenComponent {
    component: PathBuf,
    /// In bytes.
    size: usize,
}

pub fn run(arguments: &Arguments) -> Result<Answer> {
    let Arguments {
        module, component, ..
    } = arguments;
    let bytes = weir_go::component(&read(module)?);
    let bytes = bytes.with_context(|| format!("make a component of `{}`", module.display()))?;
    settle(stage(component, &bytes)?, component, true)?;
    let written = WrittenComponent {
        component: component.clone(),
        size: bytes.len(),
    };
    arguments.format.print(&written, |written| {
        print_line!(
            "wrote {}, {} bytes",
            written.component.display(),
            written.size
        );
    })?;
    Ok(Answer::Yes)
}
