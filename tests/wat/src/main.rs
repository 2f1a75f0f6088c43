//! `weir-wat WIT`: reads a core module in WebAssembly's text format from standard input, and writes it
//! as a component of the world `plugin` in the directory WIT to standard output.
//!
//! A program of its own, built apart: what it needs would have the whole engine built once more.

use std::env;
use std::io::{Read, Write, stdin, stdout};

use anyhow::{Context, Result};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

fn main() -> Result<()> {
    let wit = env::args_os()
        .nth(1)
        .context("usage: weir-wat WIT < TEXT")?;
    let mut text = Vec::new();
    stdin().read_to_end(&mut text)?;
    let mut module = wat::parse_bytes(&text)?.into_owned();
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(&wit)?;
    let world = resolve.select_world(&[package], Some("plugin"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    let component = ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .encode()?;
    Ok(stdout().write_all(&component)?)
}
