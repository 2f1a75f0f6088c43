//! The image that the DaemonSets run, as far as it can be checked without a build: `make test-image` builds it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use glob::{MatchOptions, Pattern};
use serde_json::json;
use weir_kit::{house, toolchain};

use super::daemons::{FILES, containers, pod_spec};

/// What was built here, and the history, are not sources.
const NO_SOURCES: [&str; 3] = [".git", "target", "fuzz/target"];

fn read(file: &str) -> Result<String> {
    fs::read_to_string(house().join(file)).with_context(|| file.to_owned())
}

/// What is behind a word at the start of a line of the Dockerfile, line by line.
fn lines(instruction: &str) -> Result<Vec<String>> {
    let dockerfile = read("Dockerfile")?;
    let rest = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    Ok(rest.map(str::to_owned).collect())
}

/// What the builder gets to see: of the patterns that match a file or a directory above it, the last counts.
struct Sent(Vec<(Pattern, bool)>);

impl Sent {
    fn read() -> Result<Self> {
        let text = read(".dockerignore")?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let patterns = lines.map(|line| {
            let kept = line.strip_prefix('!');
            Ok((Pattern::new(kept.unwrap_or(line))?, kept.is_some()))
        });
        Ok(Self(patterns.collect::<Result<_>>()?))
    }

    fn has(&self, path: &Path) -> bool {
        let options = MatchOptions {
            require_literal_separator: true,
            ..MatchOptions::new()
        };
        let matches = |pattern: &Pattern| {
            path.ancestors()
                .any(|part| pattern.matches_path_with(part, options))
        };
        let last = self.0.iter().rfind(|(pattern, _)| matches(pattern));
        last.is_none_or(|(_, kept)| *kept)
    }
}

/// All source files of the repository, by their paths in it.
fn sources() -> Result<Vec<PathBuf>> {
    let (mut files, mut directories) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(house().join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if NO_SOURCES
                .iter()
                .any(|no_source| path == Path::new(no_source))
            {
                continue;
            }
            if entry.file_type()?.is_dir() {
                directories.push(path)
            } else {
                files.push(path)
            }
        }
    }
    Ok(files)
}

#[test]
fn it_is_built_with_the_toolchain_of_the_house() -> Result<()> {
    let version = toolchain()?;
    let base = format!("BASE=docker.io/library/rust:{version}-slim-bookworm");
    assert_eq!(lines("ARG")?, [base]);
    assert_eq!(lines("FROM")?, ["${BASE} AS build", "scratch"]);
    Ok(())
}

#[test]
fn the_builder_gets_every_source_and_what_is_copied() -> Result<()> {
    let context = Sent::read()?;
    let sources = sources()?;
    assert!(sources.len() > 1000, "{}", sources.len());
    let missing: Vec<_> = sources.iter().filter(|path| !context.has(path)).collect();
    assert!(missing.is_empty(), "the builder does not get {missing:?}");
    let mut copied = Vec::new();
    for line in lines("COPY")? {
        let mut words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        if !line.starts_with("--from=") {
            words.pop().context("where it is copied to")?;
            copied.extend(words);
        }
    }
    assert!(copied.contains(&".".to_owned()), "{copied:?}");
    for path in copied {
        assert!(house().join(&path).exists(), "there is no {path}");
    }
    Ok(())
}

#[test]
fn of_what_was_built_the_builder_gets_the_profile_and_the_layout_alone() -> Result<()> {
    let makefile = read("Makefile")?;
    assert!(makefile.contains("PROFILE  ?= target/$(ARCH).profdata\n"));
    assert!(makefile.contains("LAYOUT := $(PROFILE:.profdata=.ld)\n"));
    let context = Sent::read()?;
    for arch in ["x86_64", "aarch64"] {
        for kind in ["profdata", "ld"] {
            assert!(context.has(Path::new(&format!("target/{arch}.{kind}"))));
        }
    }
    for built in [
        "target/x86_64-unknown-linux-musl/release/weir",
        "target/plugins/x86_64/release/bridge.cwasm",
        "target/profile/x86_64.profdata",
        "target/setup.log",
        "fuzz/target/release/audit",
        ".git",
        ".git/config",
    ] {
        assert!(!context.has(Path::new(built)), "the builder gets {built}");
    }
    Ok(())
}

#[test]
fn its_entry_point_is_what_the_daemon_sets_run() -> Result<()> {
    assert_eq!(lines("ENTRYPOINT")?, [r#"["/weir"]"#]);
    assert_eq!(
        lines("COPY")?.last().context("the last stage copies")?,
        "--from=build /image/weir /weir"
    );
    for file in FILES {
        let spec = pod_spec(file)?;
        let mut own = containers(&spec);
        own.retain(|container| {
            container["image"]
                .as_str()
                .is_some_and(|i| i.starts_with("weir:"))
        });
        assert_eq!(own.len(), 1, "{file}");
        assert_eq!(own[0]["command"], json!(["/weir"]), "{file}");
    }
    Ok(())
}
