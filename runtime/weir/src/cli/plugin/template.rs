//! The projects that `weir plugin new` writes, by what a plugin is and what it is written in.

use std::fmt;

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
}

/// As the command line has it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chained => "chained",
            Self::Main => "main",
            Self::Ipam => "ipam",
        })
    }
}

/// There is no template of a kind in C.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("--kind {0}: the SDK for C has a template for chained plugins only: use `--language rust`")]
pub struct NotInC(pub Kind);

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
    pub fn of(kind: Kind, language: Language) -> Result<Self, NotInC> {
        let (files, test) = match (language, kind) {
            (Language::Rust, Kind::Chained) => (RUST_CHAINED, "cargo test"),
            (Language::Rust, Kind::Main) => (RUST_MAIN, "cargo test"),
            (Language::Rust, Kind::Ipam) => (RUST_IPAM, "cargo test"),
            (Language::C, Kind::Chained) => (C_CHAINED, "make test"),
            (Language::C, Kind::Main | Kind::Ipam) => return Err(NotInC(kind)),
        };
        let (description, besides) = match kind {
            Kind::Chained => ("Caps the MTU of a container's interface", ""),
            Kind::Main => ("Connects a container and the host by a veth pair", ""),
            Kind::Ipam => ("Assigns the first free address of each range set", RUN_BY),
        };
        Ok(Self {
            files,
            description,
            besides,
            test,
        })
    }
}

/// The plugin that runs an IPAM plugin needs a grant that names it.
const RUN_BY: &str = "    weir grants show ptp --yaml | sed 's/ipam: \\[/ipam: [{{name}}, /' \
                      >/etc/weir/grants.d/ptp.yaml\n";

/// The files of a project in Rust: those of all kinds, and those of the one whose directory is given.
macro_rules! rust {
    ($kind:literal) => {
        &[
            ("Cargo.toml", include_str!("template/Cargo.toml")),
            (".gitignore", include_str!("template/gitignore")),
            ("README.md", include_str!("template/README.md")),
            (
                "grant.yaml",
                include_str!(concat!("template/", $kind, "/grant.yaml")),
            ),
            (
                "network.conflist",
                include_str!(concat!("template/", $kind, "/network.conflist")),
            ),
            (
                "src/lib.rs",
                include_str!(concat!("template/", $kind, "/lib.rs")),
            ),
            (
                "tests/attachment.rs",
                include_str!("template/attachment.rs"),
            ),
        ]
    };
}

const RUST_CHAINED: &[File] = rust!("chained");
const RUST_MAIN: &[File] = rust!("main");
const RUST_IPAM: &[File] = rust!("ipam");

/// The plugin does the same as that in Rust.
const C_CHAINED: &[File] = &[
    ("Makefile", include_str!("template/c/Makefile")),
    (".gitignore", include_str!("template/c/gitignore")),
    ("README.md", include_str!("template/c/README.md")),
    ("grant.yaml", include_str!("template/chained/grant.yaml")),
    (
        "network.conflist",
        include_str!("template/chained/network.conflist"),
    ),
    ("{{file}}.c", include_str!("template/c/plugin.c")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_there_in_rust_and_one_in_c() {
        for kind in Kind::value_variants() {
            assert!(Project::of(*kind, Language::Rust).is_ok(), "{kind:?}");
            let in_c = Project::of(*kind, Language::C).err();
            let missing = (*kind != Kind::Chained).then_some(NotInC(*kind));
            assert_eq!(in_c, missing);
            let value = kind.to_possible_value().map(|v| v.get_name().to_owned());
            assert_eq!(value.as_deref(), Some(&*kind.to_string()));
        }
    }
}
