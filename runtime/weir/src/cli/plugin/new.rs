//! `weir plugin new`: writes the project of a new plugin, which builds and passes its test.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use weir_grant::internal_grant;
use weir_sandbox::Catalogue;

use crate::cli::output::{Answer, Format, print_line, show};

/// The default source of the SDK: the repository of this weir, if its `Cargo.toml` names one.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The project's files. `{{name}}`, `{{file}}`, `{{type}}` and `{{sdk}}` are replaced.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("template/Cargo.toml")),
    (".gitignore", include_str!("template/gitignore")),
    ("README.md", include_str!("template/README.md")),
    ("grant.yaml", include_str!("template/grant.yaml")),
    (
        "network.conflist",
        include_str!("template/network.conflist"),
    ),
    ("src/lib.rs", include_str!("template/lib.rs")),
    (
        "tests/attachment.rs",
        include_str!("template/attachment.rs"),
    ),
];

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name: small letters, digits and hyphens.
    name: String,
    /// Where to write the project [default: a new directory of that name].
    directory: Option<PathBuf>,
    /// The source of the SDK: a checkout of weir, or the URL of its repository.
    #[arg(long, value_name = "PATH|URL")]
    sdk: Option<String>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Written {
    directory: PathBuf,
    files: Vec<&'static str>,
}

pub fn run(arguments: &Arguments) -> Result<Answer> {
    check_name(&arguments.name)?;
    let sdk = sdk(arguments.sdk.as_deref())?;
    let directory = arguments.directory.clone();
    let directory = directory.unwrap_or_else(|| PathBuf::from(&arguments.name));
    make(&directory)?;
    for (file, template) in FILES {
        write(
            &directory.join(file),
            &fill(template, &arguments.name, &sdk),
        )?;
    }
    let written = Written {
        files: FILES.map(|(file, _)| file).to_vec(),
        directory,
    };
    arguments.format.print(&written, print)?;
    Ok(Answer::Yes)
}

/// Checks that a name is valid for cargo and for CNI.
fn check_name(name: &str) -> Result<()> {
    weir_cni::validate_plugin_name(name).map_err(show)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    ensure!(
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_plain),
        "`{name}` is not a valid crate name: expected small letters, digits and hyphens, beginning with a letter"
    );
    ensure!(
        !Catalogue::is_built_in(name),
        "plugin `{name}` is built into weir: choose another name"
    );
    ensure!(
        name != internal_grant::NAME,
        "`{name}` is the name of weir itself: choose another"
    );
    Ok(())
}

/// The source of the dependency, as in `Cargo.toml`.
fn sdk(given: Option<&str>) -> Result<String> {
    let place = match given {
        Some(place) => place,
        None if REPOSITORY.is_empty() => bail!(
            "the source of the SDK is unknown: give a checkout of weir, `--sdk PATH`, or the URL of its repository, \
             `--sdk URL`"
        ),
        None => REPOSITORY,
    };
    if place.contains("://") {
        return Ok(format!("git = {}", serde_json::to_string(place)?));
    }
    let path = fs::canonicalize(place).with_context(|| format!("--sdk {place}"))?;
    let crates = [path.join("sdk/guest"), path];
    let found = crates
        .iter()
        .find(|path| path.join("src/plugin.rs").exists());
    let found = found.with_context(|| {
        format!("--sdk {place}: expected a checkout of weir, which has a directory `sdk/guest`")
    })?;
    // JSON and TOML escape text in the same way.
    Ok(format!("path = {}", serde_json::to_string(found)?))
}

fn make(directory: &Path) -> Result<()> {
    let shown = directory.display();
    match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        entries => {
            let mut entries = entries.with_context(|| format!("list `{shown}`"))?;
            ensure!(entries.next().is_none(), "`{shown}` is not empty");
        }
    }
    for below in ["src", "tests"] {
        fs::create_dir_all(directory.join(below)).with_context(|| format!("create `{shown}`"))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let written = fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("write `{}`", path.display()))
}

fn fill(template: &str, name: &str, sdk: &str) -> String {
    template
        .replace("{{name}}", name)
        .replace("{{file}}", &name.replace('-', "_"))
        .replace("{{type}}", &type_name(name))
        .replace("{{sdk}}", sdk)
}

/// `MtuClamp` for `mtu-clamp`.
fn type_name(name: &str) -> String {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    name.split('-').map(capital).collect()
}

fn print(written: &Written) {
    let directory = written.directory.display();
    print_line!("wrote {directory}: {}", written.files.join(", "));
    print_line!("next: cd {directory} && cargo test");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::static_inside::put_static_inside;

    #[test]
    fn a_name_is_a_crates_and_a_plugins() {
        put_static_inside();
        for name in ["mtu", "mtu-clamp", "vlan2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "Mtu", "2vlan", "a_b", "a/b", "../up", "static", "-x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn every_placeholder_is_replaced() {
        for (file, template) in FILES {
            let text = fill(template, "mtu-clamp", "path = \"/sdk\"");
            for word in ["name", "file", "type", "sdk"] {
                assert!(!text.contains(&format!("{{{{{word}}}}}")), "{file}: {text}");
            }
        }
        assert_eq!(type_name("mtu-clamp"), "MtuClamp");
    }
}
