//! The SDK for plugins in Go: its files, which `weir plugin new` writes beside a plugin, and what makes a component of the module
//! that Go builds.

mod component;

pub use component::component;

/// A file of the SDK: its path below the SDK's directory, and its text.
pub type File = (&'static str, &'static str);

/// The files that are made of `wit/`: the contract's types and functions.
pub const CONTRACT: &[File] = include!(concat!(env!("OUT_DIR"), "/contract.rs"));

/// The other files of the SDK, a Go module.
pub const OWN: &[File] = include!(concat!(env!("OUT_DIR"), "/own.rs"));

/// Returns all files of the SDK.
pub fn files() -> impl Iterator<Item = &'static File> {
    OWN.iter().chain(CONTRACT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn add_files(directory: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let ends = [".go", "go.mod", "LICENSE", "README.md"];
            let is_kept = ends.iter().any(|end| name.ends_with(end));
            if path.is_dir() {
                add_files(&path, found);
            } else if is_kept && !name.ends_with("_test.go") && name != "contract.go" {
                let house = Path::new(env!("CARGO_MANIFEST_DIR"));
                let below = path.strip_prefix(house).unwrap();
                found.insert(below.to_str().unwrap().to_owned());
            }
        }
    }

    /// The build script does not notice a new file by itself.
    #[test]
    fn every_file_of_the_sdk_is_in_it() {
        let mut found = BTreeSet::new();
        add_files(Path::new(env!("CARGO_MANIFEST_DIR")), &mut found);
        let listed = OWN.iter().map(|(name, _)| (*name).to_owned());
        assert_eq!(
            listed.collect::<BTreeSet<_>>(),
            found,
            "touch sdk/go/build.rs"
        );
    }

    #[test]
    fn every_capability_is_a_package() {
        for package in ["internal/contract", "link", "policyrule", "log"] {
            let file = format!("{package}/contract.go");
            let text = CONTRACT.iter().find(|(name, _)| *name == file);
            let (_, text) = text.unwrap_or_else(|| panic!("no {file}"));
            assert!(text.contains("DO NOT EDIT"), "{text}");
        }
    }
}
