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
struct Made {
    component: PathBuf,
    /// In bytes.
    size: usize,
}

pub fn run(arguments: &Arguments) -> Result<Answer> {
    let Arguments {
        module, component, ..
    } = arguments;
    let made = weir_go::component(&read(module)?);
    let made = made.with_context(|| format!("make a component of `{}`", module.display()))?;
    settle(stage(component, &made)?, component, true)?;
    let made = Made {
        component: component.clone(),
        size: made.len(),
    };
    arguments.format.print(&made, |made| {
        print_line!("wrote {}, {} bytes", made.component.display(), made.size);
    })?;
    Ok(Answer::Yes)
}
