//! `weir plugin new`: the project builds and passes its test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use serde_json::Value;
use weir_kit::{Node, assert_contains, binary, house, program, target};

use crate::go::in_target;
use crate::{json, path, said, share_features};

/// A new project in Rust.
struct Project {
    /// Where its component is.
    component: PathBuf,
    directory: PathBuf,
    _node: Node,
}

impl Project {
    fn write(name: &str, kind: &[&str]) -> Result<Self> {
        let node = Node::create()?;
        let directory = node.root().join(name);
        let house = house();
        let sdk = ["--sdk", path(&house)?, "--output", "json"];
        let words = [&["plugin", "new", name, path(&directory)?], kind, &sdk].concat();
        let written = json(&node, &words, 0);
        let files = written["files"].as_array().context("a list")?;
        let is_written = |file: &Value| directory.join(file.as_str().unwrap_or_default()).is_file();
        assert!(files.iter().all(is_written), "{written:#}");

        // Most of what it needs is built already, with the house's profile `dev`.
        share_features(&directory)?;
        symlink(
            house.join("target").canonicalize()?,
            directory.join("target"),
        )?;
        // The lock file of this repository: the test needs no network.
        fs::copy(house.join("Cargo.lock"), directory.join("Cargo.lock"))?;
        let file = format!("{}.wasm", name.replace('-', "_"));
        let component = directory.join("target/wasm32-wasip2/release").join(file);
        Ok(Self {
            component,
            directory,
            _node: node,
        })
    }

    /// Runs its tests.
    fn cargo_test(&self) -> Result<String> {
        let output = Command::new("cargo")
            .args(["test", "--offline", "--target-dir", "target", "--config"])
            .arg(house().join("Cargo.toml"))
            .current_dir(&self.directory)
            .env("WEIR", binary())
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_BUILD_TARGET", target())
            .output()
            .context("run cargo")?;
        let text = said(&output);
        assert!(output.status.success(), "{text}");
        Ok(text)
    }

    /// Its tests pass, among which are these. Under a grant in which something is allowed no longer, `weir plugin test`
    /// fails and says why.
    fn proves_itself(&self, tests: &[&str], narrow: [&str; 2], why: &str) -> Result<()> {
        let text = self.cargo_test()?;
        for test in [tests, &["it_attaches_and_leaves_nothing_behind"]].concat() {
            assert_contains(&text, &[&format!("test {test} ... ok")]);
        }
        let grant = self.directory.join("grant.yaml");
        let whole = fs::read_to_string(&grant)?;
        let narrow = whole.replace(narrow[0], narrow[1]);
        assert_ne!(whole, narrow);
        fs::write(&grant, narrow)?;
        let output = Command::new(binary())
            .args(["plugin", "test"])
            .arg(&self.component)
            .arg(self.directory.join("network.conflist"))
            .output()?;
        let text = said(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert_contains(&text, &[why]);
        Ok(())
    }
}

#[test]
fn a_new_project_builds_and_passes_its_own_test() -> Result<()> {
    let tests = [
        "tests::more_than_the_configuration_allows_is_changed_and_nothing_else",
        "tests::a_link_that_cannot_be_changed_fails_add",
    ];
    let narrow = ["verbs: [read, update]", "verbs: [read]"];
    let project = Project::write("mtu-clamp", &[])?;
    project.proves_itself(&tests, narrow, "denied  link.update")
}

#[test]
fn a_new_main_plugin_builds_and_passes_its_own_test() -> Result<()> {
    let narrow = ["ipam: [host-local, static]", "ipam: []"];
    Project::write("own-pair", &["--kind", "main"])?.proves_itself(
        &["tests::the_pair_is_there_until_del"],
        narrow,
        "denied  ipam.run",
    )
}

#[test]
fn a_new_ipam_plugin_builds_and_passes_its_own_test() -> Result<()> {
    Project::write("first-free", &["--kind", "ipam"])?.proves_itself(
        &["tests::each_container_gets_the_first_free_address_of_each_family"],
        ["verbs: [read, write]", "verbs: [read]"],
        "denied  store.open",
    )
}

/// `weir plugin new` in a language with these options must fail with these words, and write nothing.
fn is_refused(language: &str, options: &[&str], why: &[&str]) -> Result<()> {
    let node = Node::create()?;
    let words = ["plugin", "new", "mine", "unused", "--language", language];
    assert_contains(&node.exits(&[&words[..], options].concat(), 1)?, why);
    assert!(!node.root().join("unused").exists());
    Ok(())
}

/// A new project in C or Go.
struct ByMake {
    directory: PathBuf,
    _node: Node,
}

impl ByMake {
    fn in_c(name: &str, kind: &str) -> Result<Self> {
        let source = format!("{}.c", name.replace('-', "_"));
        let house = house();
        let options = ["--language", "c", "--sdk", path(&house)?];
        Self::write(name, kind, &options, &source)
    }

    fn in_go(name: &str, kind: &str) -> Result<Self> {
        Self::write(name, kind, &["--language", "go"], "main.go")
    }

    fn write(name: &str, kind: &str, options: &[&str], source: &str) -> Result<Self> {
        let node = Node::create()?;
        let directory = node.root().join(name);
        let words = ["plugin", "new", name, path(&directory)?, "--kind", kind];
        let text = node.weir(&[&words[..], options].concat())?;
        assert_contains(&text, &[source, "make test"]);
        Ok(Self {
            directory,
            _node: node,
        })
    }

    /// Runs its test.
    fn make_test(&self) -> Result<Output> {
        let mut command = Command::new("make");
        command.arg("test").current_dir(&self.directory);
        command
            .env("WEIR", binary())
            .env("WEIR_C", program("weir-c"));
        in_target(&mut command);
        command.output().context("run make")
    }

    /// Its test passes and shows this. With something else in one of its files it fails and says why.
    fn proves_itself(&self, shown: &[&str], changes: &[Change]) -> Result<()> {
        let output = self.make_test()?;
        let text = said(&output);
        assert!(output.status.success(), "{text}");
        assert_contains(&text, shown);
        for (file, from, to, why) in changes {
            let file = self.directory.join(file);
            let whole = fs::read_to_string(&file)?;
            let changed = whole.replace(from, to);
            assert_ne!(whole, changed);
            fs::write(&file, changed)?;
            let output = self.make_test()?;
            assert!(!output.status.success(), "{}", said(&output));
            assert_contains(&said(&output), why);
            fs::write(&file, whole)?;
        }
        Ok(())
    }
}

/// What is different in a file of a project, and what its test then says: the file, the text in it, what takes its place, the
/// words.
type Change<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

/// A value in the network's configuration that the plugin refuses.
fn refused<'a>(from: &'a str, to: &'a str, why: &'a [&str]) -> Change<'a> {
    ("network.conflist", from, to, why)
}

/// Rules that are not in the grant.
fn narrow<'a>(from: &'a str, to: &'a str, why: &'a [&str]) -> Change<'a> {
    ("grant.yaml", from, to, why)
}

#[test]
fn a_new_project_in_c_builds_and_passes_its_own_test() -> Result<()> {
    let number = ["error 7", "mtu: expected a whole number of 0 or more"];
    let least = ["error 7", "mtu: expected 68 to 65535, found 67"];
    let denied = ["denied  link.update", "cannot set the MTU"];
    ByMake::in_c("mtu-limit", "chained")?.proves_itself(
        &["allowed link.update", "mtu=1400", "passed"],
        &[
            narrow("verbs: [read, update]", "verbs: [read]", &denied),
            refused("\"mtu\": 1400", "\"mtu\": \"1400\"", &number),
            refused("\"mtu\": 1400", "\"mtu\": 67", &least),
        ],
    )
}

/// What the test of a project shows whose container has an address of each family.
const OF_BOTH_FAMILIES: [&str; 4] = [
    "container: address 10.91.0.2/24 on eth0",
    "container: address fd91::2/64 on eth0",
    "left        nothing",
    "passed",
];

#[test]
fn a_new_main_plugin_in_c_builds_and_passes_its_own_test() -> Result<()> {
    ByMake::in_c("c-pair", "main")?.proves_itself(
        &[
            &OF_BOTH_FAMILIES[..],
            &[
                "route 0.0.0.0/0 via 10.91.0.1 over eth0",
                "route ::/0 via fd91::1 over eth0",
            ],
        ]
        .concat(),
        &[
            narrow(
                "ipam: [host-local, static]",
                "ipam: []",
                &["denied  ipam.run"],
            ),
            narrow(
                "[create, read, delete]",
                "[create, read]",
                &["denied  link.delete"],
            ),
        ],
    )
}

#[test]
fn a_new_ipam_plugin_in_c_builds_and_passes_its_own_test() -> Result<()> {
    let family = ["error 7", "ipam.subnet: expected a subnet of IPv4"];
    let small = [
        "error 7",
        "10.91.0.0/31 has no address besides the gateway's",
    ];
    let none = ["error 7", "ipam: expected `subnet`, `subnet6` or both"];
    ByMake::in_c("c-first-free", "ipam")?.proves_itself(
        &OF_BOTH_FAMILIES,
        &[
            narrow(
                "verbs: [read, write]",
                "verbs: [read]",
                &["denied  store.open"],
            ),
            refused("10.91.0.0/24", "10.91.0.0", &family),
            refused("10.91.0.0/24", "10.91.0.0/31", &small),
            refused("\"subnet", "\"unknown", &none),
        ],
    )
}

#[test]
fn the_sdk_for_c_is_used_from_a_checkout() -> Result<()> {
    let url = "https://example.org/weir.git";
    is_refused("c", &["--sdk", url], &["--language c", "`--sdk PATH`"])
}

/// Without changes, for each of which 10 MB of code would be compiled again.
fn proves_itself_in_go(name: &str, kind: &str, shown: &[&str]) -> Result<()> {
    let unit_tests = format!("ok  \texample.org/{name}");
    let shown = [shown, &[&unit_tests, "passed"]].concat();
    ByMake::in_go(name, kind)?.proves_itself(&shown, &[])
}

#[test]
fn a_new_project_in_go_builds_and_passes_its_own_test() -> Result<()> {
    proves_itself_in_go("go-limit", "chained", &["allowed link.update", "mtu=1400"])
}

#[test]
fn a_new_main_plugin_in_go_builds_and_passes_its_own_test() -> Result<()> {
    let routes = [
        "route 0.0.0.0/0 via 10.91.0.1 over eth0",
        "route ::/0 via fd91::1 over eth0",
    ];
    let shown = [&OF_BOTH_FAMILIES[..], &routes].concat();
    proves_itself_in_go("go-pair", "main", &shown)
}

#[test]
fn a_new_ipam_plugin_in_go_builds_and_passes_its_own_test() -> Result<()> {
    proves_itself_in_go("go-first-free", "ipam", &OF_BOTH_FAMILIES)
}

#[test]
fn the_sdk_for_go_is_that_of_weir() -> Result<()> {
    let why = ["--language go", "leave --sdk out"];
    is_refused("go", &["--sdk", path(&house())?], &why)
}

/// The SDK goes into the author's own repository.
#[test]
fn the_copy_of_the_sdk_for_go_has_its_licence() -> Result<()> {
    let project = ByMake::in_go("licensed", "chained")?;
    for (file, original) in [("LICENSE", "LICENSE"), ("README.md", "sdk/go/README.md")] {
        let copied = fs::read_to_string(project.directory.join("sdk").join(file))?;
        assert_eq!(
            copied,
            fs::read_to_string(house().join(original))?,
            "{file}"
        );
    }
    Ok(())
}

/// The tests' binary is no release.
#[test]
fn without_a_source_the_sdk_is_that_of_the_checkout() -> Result<()> {
    let node = Node::create()?;
    let project = node.root().join("mine");
    node.weir(&["plugin", "new", "mine", path(&project)?])?;
    let manifest = fs::read_to_string(project.join("Cargo.toml"))?;
    let sdk = house().canonicalize()?.join("sdk/guest");
    let dependency = format!("\nweir-sdk = {{ path = \"{}\" }}\n", sdk.display());
    assert_contains(&manifest, &[&dependency]);
    Ok(())
}

#[test]
fn a_project_is_written_only_where_there_is_nothing() -> Result<()> {
    let node = Node::create()?;
    node.write("taken/mine", "")?;
    let project = node.root().join("taken");
    let house = house();
    let sdk = ["--sdk", path(&house)?];
    for (name, directory, why) in [
        ("taken", path(&project)?, "is not empty"),
        ("bridge", "unused", "is built into weir"),
        ("Not_A_Crate", "unused", "lowercase letters"),
        ("config", "unused", "its type would be `Config`"),
    ] {
        let words = [&["plugin", "new", name, directory][..], &sdk].concat();
        assert_contains(&node.exits(&words, 1)?, &[why]);
    }
    let output = node.command(&["plugin", "new", "mine", "unused", "--sdk", "/nowhere"])?;
    assert!(said(&output).contains("/nowhere"), "{}", said(&output));
    Ok(())
}
