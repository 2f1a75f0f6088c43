//! `weir-wat WIT [INSIDE]`: reads a core module in WebAssembly's text format from standard input, and writes it
//! as a component of the world `plugin` in the directory WIT to standard output. The component whose text is in the
//! file INSIDE is put into it, and instantiated with it.
//!
//! A program of its own, built apart: what it needs would have the whole engine built once more.

use std::env;
use std::io::{Read, Write, stdin, stdout};

use anyhow::{Context, Result};
use wasm_encoder::{
    ComponentExportKind, ComponentInstanceSection, ComponentSection, ComponentSectionId, Encode,
};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

fn main() -> Result<()> {
    let wit = env::args_os()
        .nth(1)
        .context("usage: weir-wat WIT [INSIDE] < TEXT")?;
    let mut text = Vec::new();
    stdin().read_to_end(&mut text)?;
    let mut module = wat::parse_bytes(&text)?.into_owned();
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(&wit)?;
    let world = resolve.select_world(&[package], Some("plugin"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    let mut component = ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .encode()?;
    if let Some(inside) = env::args_os().nth(2) {
        put_inside(&mut component, &wat::parse_file(inside)?)?;
    }
    Ok(stdout().write_all(&component)?)
}

/// Appends two sections to a component: another one, and an instance of that.
fn put_inside(component: &mut Vec<u8>, inside: &[u8]) -> Result<()> {
    let mut depth = 0;
    let mut components = 0;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ComponentSection { .. } => {
                components += u32::from(depth == 0);
                depth += 1;
            }
            Payload::ModuleSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            _ => {}
        }
    }
    let mut instances = ComponentInstanceSection::new();
    let nothing: [(&str, ComponentExportKind, u32); 0] = [];
    instances.instantiate(components, nothing);
    component.push(ComponentSectionId::Component.into());
    inside.encode(component);
    instances.append_to_component(component);
    Ok(())
}
