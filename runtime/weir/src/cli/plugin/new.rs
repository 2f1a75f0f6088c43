//! `weir plugin new`: writes the project of a new plugin, which builds and passes its test.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use semver::{Version, VersionReq};
use serde::Serialize;
use weir_grant::internal_grant;
use weir_sandbox::Catalogue;

use super::template::{Kind, Language, Project};
use crate::cli::output::{Answer, Format, print_line, show};

/// What this weir was built as. `WEIR_RELEASE` is set where a release is built, and `build.rs` checks that it is the sources'
/// version. Only a weir that is not released names the directory that it was built in.
const BUILT: Built = match option_env!("WEIR_RELEASE") {
    Some(version) if !version.is_empty() => Built::Release(version),
    _ => Built::Checkout(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")),
};

/// What a weir was built as, by which its SDK is found.
enum Built {
    /// A release of this version, whose SDK is published under the same one.
    Release(&'static str),
    /// Anything else, in this checkout.
    Checkout(&'static str),
}

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
    /// The source of the SDK: a version in the registry, a checkout of weir, or the URL of its repository; for C, a checkout
    /// [default: the version of this weir if it is released, otherwise the checkout that it was built in]. Not for Go: a
    /// copy of the SDK is written into the project.
    #[arg(long, value_name = "VERSION|PATH|URL")]
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
    let source = || match &arguments.sdk {
        Some(given) => Source::named(given),
        None => Source::of(&BUILT),
    };
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
#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// Versions in cargo's registry, as cargo writes a requirement.
    Registry(String),
    /// The URL of a repository.
    Repository(String),
    /// The directory `sdk/guest` of a checkout.
    Crate(PathBuf),
}

impl Source {
    /// The source for who names none.
    fn of(built: &Built) -> Result<Self> {
        match built {
            Built::Release(version) => Ok(Self::Registry(compatible(version)?)),
            Built::Checkout(path) => Self::checked_out(path).with_context(|| {
                "this weir is not a release, and the checkout that it was built in is not there: name the source of the SDK as \
                 `--sdk VERSION`, `--sdk PATH` or `--sdk URL`"
            }),
        }
    }

    fn named(given: &str) -> Result<Self> {
        if given.contains("://") {
            return Ok(Self::Repository(given.to_owned()));
        }
        if given.starts_with(|c: char| c.is_ascii_digit()) && VersionReq::parse(given).is_ok() {
            return Ok(Self::Registry(given.to_owned()));
        }
        Self::checked_out(given).with_context(|| format!("--sdk {given}"))
    }

    fn checked_out(place: &str) -> Result<Self> {
        let path = fs::canonicalize(place).with_context(|| format!("find `{place}`"))?;
        let crates = [path.join("sdk/guest"), path];
        let found = crates
            .into_iter()
            .find(|path| path.join("src/plugin.rs").exists());
        let found = found.with_context(|| {
            format!("`{place}` is not a checkout of weir, which has a directory `sdk/guest`")
        })?;
        Ok(Self::Crate(found))
    }

    /// The source as a dependency in `Cargo.toml`. JSON and TOML escape text in the same way.
    fn of_dependency(&self) -> Result<String> {
        Ok(match self {
            Self::Registry(versions) => serde_json::to_string(versions)?,
            Self::Repository(url) => format!("{{ git = {} }}", serde_json::to_string(url)?),
            Self::Crate(path) => format!("{{ path = {} }}", serde_json::to_string(path)?),
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

/// The versions of the SDK that go with a version of weir: `0.1` for `0.1.3`. Cargo takes the newest of them.
fn compatible(version: &str) -> Result<String> {
    let parsed = Version::parse(version).with_context(|| format!("version `{version}`"))?;
    // Another than this one may be far from it.
    if !parsed.pre.is_empty() {
        return Ok(format!("={version}"));
    }
    Ok(format!("{}.{}", parsed.major, parsed.minor))
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
                let text = fill(&both, "mtu-clamp", &project, "\"0.1\"");
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

    /// As a dependency in the project's `Cargo.toml`.
    fn dependency(built: &Built) -> Result<String> {
        Source::of(built)?.of_dependency()
    }

    #[test]
    fn a_release_names_a_version_and_a_checkout_its_path() -> Result<()> {
        for (version, written) in [
            ("0.1.0", "\"0.1\""),
            ("0.12.3", "\"0.12\""),
            ("1.4.2", "\"1.4\""),
            ("0.2.0-rc.1", "\"=0.2.0-rc.1\""),
        ] {
            assert_eq!(dependency(&Built::Release(version))?, written);
        }
        let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let sdk = fs::canonicalize(checkout)?.join("sdk/guest");
        let path = format!("{{ path = \"{}\" }}", sdk.display());
        assert_eq!(dependency(&Built::Checkout(checkout))?, path);

        // It was built elsewhere, or what is there now is something else.
        for (elsewhere, why) in [("/nowhere", "/nowhere"), ("/", "not a checkout of weir")] {
            let error = dependency(&Built::Checkout(elsewhere)).expect_err(elsewhere);
            let error = format!("{error:#}");
            assert!(
                error.contains("--sdk VERSION") && error.contains(why),
                "{error}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_source_that_is_named_is_a_version_a_url_or_a_checkout() -> Result<()> {
        let registry = |text: &str| Source::Registry(text.to_owned());
        for version in ["0.1", "0.1.3", "1"] {
            assert_eq!(Source::named(version)?, registry(version));
        }
        let url = "https://git.example/weir.git";
        assert_eq!(Source::named(url)?, Source::Repository(url.to_owned()));
        for neither in ["0.1.x.y", "*", "", "latest"] {
            let error = Source::named(neither).expect_err(neither).to_string();
            assert!(error.starts_with(&format!("--sdk {neither}")), "{error}");
        }
        Ok(())
    }
}
