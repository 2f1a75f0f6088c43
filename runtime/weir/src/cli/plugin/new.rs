//! `weir plugin new`: writes the project of a new plugin, which builds and passes its test.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use weir_grant::internal_grant;
use weir_sandbox::Catalogue;

use super::template::{Kind, Language, Project};
use crate::cli::output::{Answer, Format, print_line, show};

/// The default source of the SDK: the repository of this weir, if its `Cargo.toml` names one.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Where a project in Go has its copy of the SDK, as its `go.mod` says.
const COPY_OF_SDK: &str = "sdk";

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name: lowercase letters, digits and hyphens.
    name: String,
    /// Where to write the project [default: a new directory of that name].
    directory: Option<PathBuf>,
    /// What the plugin does in a network.
    #[arg(long, value_enum, default_value_t = Kind::Chained)]
    kind: Kind,
    /// What to write it in. C needs clang and a Rust toolchain, Go its own toolchain.
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    language: Language,
    /// The source of the SDK: a checkout of weir, or the URL of its repository. For C, a checkout. Not for Go:
    /// a copy of the SDK is written into the project.
    #[arg(long, value_name = "PATH|URL")]
    sdk: Option<String>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Written {
    directory: PathBuf,
    files: Vec<String>,
    /// What builds and tests it, in that directory.
    #[serde(skip)]
    test: &'static str,
}

pub fn run(arguments: &Arguments) -> Result<Answer> {
    let Arguments { name, language, .. } = arguments;
    check_name(name)?;
    let project = Project::of(arguments.kind, *language);
    check_type(name, &project)?;
    let source = || Source::find(arguments.sdk.as_deref());
    let sdk = match language {
        Language::Rust => source()?.of_dependency()?,
        Language::C => source()?.checkout()?,
        Language::Go => {
            let given = &arguments.sdk;
            ensure!(
                given.is_none(),
                "--language go: weir writes a copy of its SDK for Go into the project: leave --sdk out"
            );
            String::new()
        }
    };
    let directory = arguments.directory.clone();
    let directory = directory.unwrap_or_else(|| PathBuf::from(name));
    make(&directory)?;
    let mut files = Vec::new();
    for (file, template) in project.files {
        let file = fill(file, name, &project, &sdk);
        write(
            &directory.join(&file),
            &fill(template, name, &project, &sdk),
        )?;
        files.push(file);
    }
    if matches!(language, Language::Go) {
        let copy = directory.join(COPY_OF_SDK);
        for (file, text) in weir_go::files() {
            write(&copy.join(file), text)?;
        }
        files.push(format!("{COPY_OF_SDK}/"));
    }
    let written = Written {
        files,
        directory,
        test: project.test,
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
        "`{name}` is not a valid crate name: expected lowercase letters, digits and hyphens, beginning with a letter"
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

/// Checks that the plugin's type has the name of nothing else in the project's code.
fn check_type(name: &str, project: &Project) -> Result<()> {
    let own = type_name(name);
    let in_rust = project
        .files
        .iter()
        .filter(|(file, _)| file.ends_with(".rs"));
    let is_taken = in_rust
        .flat_map(|(_, text)| words(text))
        .any(|word| word == own || own == "Self");
    ensure!(
        !is_taken,
        "`{name}`: its type would be `{own}`, which means something else in the project's code: choose another name"
    );
    Ok(())
}

/// The words of a text in Rust, without its comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
}

/// Where the SDK comes from.
enum Source {
    /// The URL of a repository.
    Repository(String),
    /// The directory `sdk/guest` of a checkout.
    Crate(PathBuf),
}

impl Source {
    fn find(given: Option<&str>) -> Result<Self> {
        let place = match given {
            Some(place) => place,
            None if REPOSITORY.is_empty() => bail!(
                "the source of the SDK is unknown: give a checkout of weir, `--sdk PATH`, or the URL of its repository, \
                 `--sdk URL`"
            ),
            None => REPOSITORY,
        };
        if place.contains("://") {
            return Ok(Self::Repository(place.to_owned()));
        }
        let path = fs::canonicalize(place).with_context(|| format!("--sdk {place}"))?;
        let crates = [path.join("sdk/guest"), path];
        let found = crates
            .into_iter()
            .find(|path| path.join("src/plugin.rs").exists());
        let found = found.with_context(|| {
            format!("--sdk {place}: expected a checkout of weir, which has a directory `sdk/guest`")
        })?;
        Ok(Self::Crate(found))
    }

    /// The source as a dependency in `Cargo.toml`. JSON and TOML escape text in the same way.
    fn of_dependency(&self) -> Result<String> {
        Ok(match self {
            Self::Repository(url) => format!("git = {}", serde_json::to_string(url)?),
            Self::Crate(path) => format!("path = {}", serde_json::to_string(path)?),
        })
    }

    /// The checkout, as a value in a Makefile.
    fn checkout(&self) -> Result<String> {
        let Self::Crate(path) = self else {
            bail!(
                "--language c: the SDK for C is used from a checkout of weir: give it as `--sdk PATH`"
            );
        };
        let checkout = path.ancestors().nth(2).unwrap_or(path);
        ensure!(
            checkout.join("sdk/c/build").is_file(),
            "--sdk {}: it has no SDK for C, `sdk/c/build`",
            checkout.display()
        );
        let text = checkout.to_str();
        let text = text.filter(|text| !text.contains(['"', '#', '$', '`', '\\', '\n']));
        let text = text.with_context(|| {
            let checkout = checkout.display();
            format!("--sdk {checkout}: a Makefile cannot name this path")
        })?;
        Ok(text.to_owned())
    }
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
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        let shown = directory.display();
        fs::create_dir_all(directory).with_context(|| format!("create `{shown}`"))?;
    }
    let written = fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("write `{}`", path.display()))
}

fn fill(template: &str, name: &str, project: &Project, sdk: &str) -> String {
    template
        .replace("{{description}}", project.description)
        .replace("{{besides}}", project.besides)
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
    print_line!("next: cd {directory} && {}", written.test);
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

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

    /// Every project there is.
    fn projects() -> impl Iterator<Item = Project> {
        let languages = [Language::Rust, Language::C, Language::Go];
        let kinds = Kind::value_variants().iter();
        kinds.flat_map(move |kind| languages.map(|language| Project::of(*kind, language)))
    }

    #[test]
    fn every_placeholder_is_replaced() {
        for project in projects() {
            for (file, template) in project.files {
                let both = format!("{file} {template}");
                let text = fill(&both, "mtu-clamp", &project, "path = \"/sdk\"");
                for word in ["name", "file", "type", "sdk", "description", "besides"] {
                    assert!(!text.contains(&format!("{{{{{word}}}}}")), "{file}: {text}");
                }
            }
        }
        assert_eq!(type_name("mtu-clamp"), "MtuClamp");
    }

    #[test]
    fn a_type_of_the_projects_code_is_not_the_plugins() {
        for project in projects().filter(|project| project.test == "cargo test") {
            assert!(check_type("mtu-clamp", &project).is_ok());
            // These are words of comments.
            assert!(check_type("the", &project).is_ok());
            // The trait that a project of this kind implements.
            let is_main = project
                .files
                .iter()
                .any(|(_, text)| text.contains("impl MainPlugin"));
            let kind = if is_main { "main-plugin" } else { "plugin" };
            for name in ["self", "config", "request", "result", kind, "error"] {
                let error = check_type(name, &project).map_err(|error| error.to_string());
                assert!(
                    error.is_err_and(|error| error.contains("choose another")),
                    "{name}"
                );
            }
        }
    }
}
