//! The projects that `weir plugin new` writes, by what a plugin is and what it is written in.

use clap::ValueEnum;

/// A file of a project and its template, in both of which placeholders are replaced.
pub type File = (&'static str, &'static str);

/// What a plugin does in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Changes what the plugins before it in the list made.
    Chained,
    /// Makes the container's interface.
    Main,
    /// Assigns addresses for the main plugin that runs it.
    Ipam,
}

/// What a plugin is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    Rust,
    C,
    Go,
}

/// The templates of a project.
pub struct Project {
    /// Its files.
    pub files: &'static [File],
    /// What the plugin does.
    pub description: &'static str,
    /// What is to be done on a node besides, a line of the README.
    pub besides: &'static str,
    /// The command that builds and tests it.
    pub test: &'static str,
}

impl Project {
    /// Returns the project of a kind in a language.
    pub fn of(kind: Kind, language: Language) -> Self {
        let (files, description) = match (language, kind) {
            (Language::Rust, Kind::Chained) => (RUST_CHAINED, CHAINED),
            (Language::C, Kind::Chained) => (C_CHAINED, CHAINED),
            (Language::Go, Kind::Chained) => (GO_CHAINED, CHAINED),
            (Language::Rust, Kind::Main) => (RUST_MAIN, MAIN),
            (Language::C, Kind::Main) => (C_MAIN, MAIN),
            (Language::Go, Kind::Main) => (GO_MAIN, MAIN),
            (Language::Rust, Kind::Ipam) => (RUST_IPAM, OF_RANGES),
            (Language::C, Kind::Ipam) => (C_IPAM, OF_SUBNETS),
            (Language::Go, Kind::Ipam) => (GO_IPAM, OF_RANGES),
        };
        let besides = match kind {
            Kind::Chained | Kind::Main => "",
            Kind::Ipam => RUN_BY,
        };
        let test = match language {
            Language::Rust => "cargo test",
            Language::C | Language::Go => "make test",
        };
        Self {
            files,
            description,
            besides,
            test,
        }
    }
}

const CHAINED: &str = "Caps the MTU of a container's interface";
const MAIN: &str = "Connects a container and the host by a veth pair";
const OF_RANGES: &str = "Assigns the first free address of each range set";
const OF_SUBNETS: &str = "Assigns the first free address of a subnet of each family";

/// The plugin that runs an IPAM plugin needs a grant that names it.
const RUN_BY: &str = "    weir grants show ptp --yaml | sed 's/ipam: \\[/ipam: [{{name}}, /' \
                      >/etc/weir/grants.d/ptp.yaml\n";

/// Files, each with the parts of its template's path.
macro_rules! files {
    ($($file:literal: $($part:literal)+),+) => {
        &[$(($file, include_str!(concat!("template/", $($part),+)))),+]
    };
}

/// The files of a project in Rust: those of all kinds, and those of the one whose directory is given.
macro_rules! rust {
    ($kind:literal) => {
        files!(
            "Cargo.toml": "Cargo.toml", ".gitignore": "gitignore", "README.md": "README.md",
            "grant.yaml": $kind "/grant.yaml", "network.conflist": $kind "/network.conflist",
            "src/lib.rs": $kind "/lib.rs", "tests/attachment.rs": "attachment.rs"
        )
    };
}

const RUST_CHAINED: &[File] = rust!("chained");
const RUST_MAIN: &[File] = rust!("main");
const RUST_IPAM: &[File] = rust!("ipam");

/// The files of a project in C, with the directory of its network.
macro_rules! c {
    ($kind:literal, $network:literal) => {
        files!(
            "Makefile": "c/Makefile", ".gitignore": "c/gitignore", "README.md": "c/README.md",
            "grant.yaml": $kind "/grant.yaml", "network.conflist": $network "/network.conflist",
            "{{file}}.c": "c/" $kind "/plugin.c"
        )
    };
}

const C_CHAINED: &[File] = c!("chained", "chained");
const C_MAIN: &[File] = c!("main", "main");
// The SDK for C does not read ranges.
const C_IPAM: &[File] = c!("ipam", "c/ipam");

/// The files of a project in Go.
macro_rules! go {
    ($kind:literal) => {
        files!(
            "go.mod": "go/go.mod", "Makefile": "go/Makefile", ".gitignore": "c/gitignore", "README.md": "go/README.md",
            "grant.yaml": $kind "/grant.yaml", "network.conflist": $kind "/network.conflist",
            "main.go": "go/" $kind "/main.go", "main_test.go": "go/" $kind "/main_test.go"
        )
    };
}

const GO_CHAINED: &[File] = go!("chained");
const GO_MAIN: &[File] = go!("main");
const GO_IPAM: &[File] = go!("ipam");
