//! `weir-native-probe`: a native CNI plugin that does what the key `probe` of its configuration says, or of `ipam` as an
//! IPAM plugin, and writes down how it was called.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, thread};

use anyhow::{Context, Result};
use serde_json::{Value, json};

fn main() -> Result<ExitCode> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let config: Value = serde_json::from_str(&text)?;
    let probe = match &config["probe"] {
        Value::Null => &config["ipam"]["probe"],
        probe => probe,
    };
    let command = env::var("CNI_COMMAND").context("CNI_COMMAND")?;
    if let Some(file) = probe["calls"].as_str() {
        write_down(Path::new(file), &command, &config)?;
    }
    if let Some(file) = probe["remove"].as_str().filter(|_| command == "ADD") {
        fs::remove_file(file)?;
    }
    if let Some(said) = probe["say"].as_str() {
        eprint!("{said}");
    }
    // Of another command it does nothing.
    let of = probe["of"].as_str().unwrap_or("ADD");
    let is_meant = of == command || of == "all";
    match probe["act"].as_str().filter(|_| is_meant) {
        Some("hang") => hang(probe)?,
        Some("flood") => flood()?,
        Some("abort") => std::process::abort(),
        Some("leave") => leave(probe)?,
        _ => {}
    }
    let answer = probe["answer"].as_str().filter(|_| is_meant);
    match answer {
        Some(answer) => print!("{answer}"),
        None if command == "ADD" => print!("{}", result(&config)),
        None => {}
    }
    let status = probe["status"].as_u64().filter(|_| is_meant);
    Ok(u8::try_from(status.unwrap_or(0))?.into())
}

/// The previous plugin's result, or one address.
fn result(config: &Value) -> Value {
    let own = json!({ "cniVersion": config["cniVersion"], "ips": [{ "address": "192.0.2.7/24" }] });
    match &config["prevResult"] {
        Value::Null => own,
        previous => previous.clone(),
    }
}

/// One line of JSON for each call.
fn write_down(file: &Path, command: &str, config: &Value) -> Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    let call = json!({
        "command": command,
        "arguments": env::args().collect::<Vec<_>>(),
        "environment": env::vars().collect::<BTreeMap<_, _>>(),
        "config": config,
        "directory": env::current_dir()?,
        "descriptors": descriptors()?,
        "umask": field("Umask:"),
        "blocked": field("SigBlk:"),
        "ignored": field("SigIgn:"),
        "session": is_leader()?,
    });
    let mut calls = OpenOptions::new().append(true).create(true).open(file)?;
    writeln!(calls, "{call}")?;
    Ok(())
}

/// Those that were open before this was asked.
fn descriptors() -> Result<Vec<String>> {
    let mut open = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let target = fs::read_link(entry.path()).unwrap_or_default();
        // The directory that is being read.
        if !target.ends_with("fd") {
            open.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    open.sort();
    Ok(open)
}

/// Whether it leads a session and a process group of its own.
fn is_leader() -> Result<bool> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(") ").context("/proc/self/stat")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let own = std::process::id().to_string();
    Ok(fields[2] == own && fields[3] == own)
}

/// Starts another program, writes down its number, and waits for nothing.
fn hang(probe: &Value) -> Result<()> {
    leave(probe)?;
    loop {
        thread::park();
    }
}

/// Starts another program, which keeps the standard output open.
fn leave(probe: &Value) -> Result<()> {
    let child = Command::new("sleep").arg("600").spawn()?;
    let file = probe["child"].as_str().context("probe.child")?;
    fs::write(file, child.id().to_string())?;
    Ok(())
}

fn flood() -> Result<()> {
    let piece = [b' '; 64 << 10];
    loop {
        std::io::stdout().write_all(&piece)?;
    }
}
