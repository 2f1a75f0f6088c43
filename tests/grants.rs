//! Whether a plugin may run at all: its component, its digest, its grant.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir::sandbox::digest;
use weir_tests::{Container, Grant, Node, Outcome, State, binary, component, weir};

const PLUGIN: &str = "misbehaving";

struct Place {
    node: Node,
    container: Container,
}

impl Place {
    /// A node with the plugin installed, but no grant for it.
    fn create() -> Result<Self> {
        let node = Node::create()?;
        node.install_plugin(PLUGIN)?;
        Ok(Self {
            container: node.container()?,
            node,
        })
    }

    fn granted() -> Result<Self> {
        let place = Self::create()?;
        place.grant(&Grant::nothing(PLUGIN))?;
        place.run(PLUGIN, "ADD")?.result();
        Ok(place)
    }

    fn grant(&self, grant: &Grant<'_>) -> Result<()> {
        let digest = self.node.digest(grant.plugin)?;
        self.node
            .put_grant(format!("{}.yaml", grant.plugin), &grant.document(&digest))
    }

    fn run(&self, plugin: &str, command: &str) -> Result<Outcome> {
        let config = json!({ "cniVersion": "1.1.0", "name": "green", "type": plugin });
        self.node
            .run(&weir(&self.node, plugin, command, &self.container, &config))
    }

    /// ADD and DEL must fail with this code and say these words, without an effect.
    #[track_caller]
    fn refused(&self, plugin: &str, code: u64, words: &[&str]) {
        for command in ["ADD", "DEL"] {
            let before = State::of(&self.node).expect("the node's state");
            let outcome = self.run(plugin, command).expect("weir runs");
            let error = outcome.error();
            assert_eq!(error["code"], code, "{command}: {error:#}");
            let said = format!("{} {}", error["msg"], error["details"]);
            for word in words {
                assert!(
                    said.contains(word),
                    "{command}: `{word}` is not in {error:#}"
                );
            }
            State::of(&self.node)
                .expect("the node's state")
                .assert_same(&before);
        }
    }

    fn manifest(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(
            self.file("manifest.json"),
        )?)?)
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.node.installed(PLUGIN).join(name)
    }
}

#[test]
fn a_component_that_is_missing_or_damaged() -> Result<()> {
    let place = Place::granted()?;
    place.node.link_plugin("nobody")?;
    place.refused(
        "nobody",
        200,
        &["there is no plugin `nobody`", "weir plugin add"],
    );
    let again = "install it again with `weir plugin add";
    for name in ["component.wasm", "code.cwasm", "manifest.json"] {
        let file = place.file(name);
        let whole = fs::read(&file)?;
        fs::write(&file, &whole[..whole.len() / 2])?;
        place.refused(PLUGIN, 200, &["damaged", name, again]);
        fs::write(&file, b"")?;
        place.refused(PLUGIN, 200, &["damaged", name, again]);
        fs::remove_file(&file)?;
        let words: &[&str] = match name {
            "manifest.json" => &["there is no plugin"],
            _ => &["damaged", name, again],
        };
        place.refused(PLUGIN, 200, words);
        fs::write(&file, &whole)?;
    }
    let mut flipped = fs::read(place.file("code.cwasm"))?;
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(place.file("code.cwasm"), &flipped)?;
    place.refused(
        PLUGIN,
        200,
        &["damaged", "code.cwasm is sha256:", "was installed", again],
    );
    Ok(())
}

/// Code that is what was installed, but by a weir with another engine.
#[test]
fn code_of_another_engine() -> Result<()> {
    let place = Place::granted()?;
    let code = fs::read(place.file("code.cwasm"))?;
    let others = [
        (of_another_version(&code)?, "version"),
        (b"no code at all".to_vec(), ""),
        (fs::read(binary())?, ""),
    ];
    for (code, word) in others {
        fs::write(place.file("code.cwasm"), &code)?;
        let mut manifest = place.manifest()?;
        manifest["codeDigest"] = digest(&code).to_string().into();
        manifest["compiledBy"] = "0.0.9".into();
        fs::write(place.file("manifest.json"), manifest.to_string())?;
        let words = [
            "cannot be loaded by this weir",
            "compiled by weir 0.0.9",
            "install it again",
            word,
        ];
        place.refused(PLUGIN, 200, &words);
    }
    // Installed again, it works.
    let file = component(PLUGIN);
    let file = file.to_str().context("text")?;
    place.node.weir(&["plugin", "add", "--replace", file])?;
    place.run(PLUGIN, "ADD")?.result();
    Ok(())
}

/// The engine's version stands in the code as text, after its length.
fn of_another_version(code: &[u8]) -> Result<Vec<u8>> {
    let lock = fs::read_to_string(weir_tests::house().join("Cargo.lock"))?;
    let version = lock.split("name = \"wasmtime\"\nversion = \"").nth(1);
    let version = version
        .and_then(|rest| rest.split('"').next())
        .context("wasmtime's version")?;
    let place = code
        .windows(version.len())
        .position(|bytes| bytes == version.as_bytes());
    let place = place.or_else(|| {
        // Only the part that matters to the code.
        let major = version.split('.').next()?;
        code.windows(major.len() + 1).position(|bytes| {
            usize::from(bytes[0]) == major.len() && &bytes[1..] == major.as_bytes()
        })
    });
    let place = place.with_context(|| format!("wasmtime {version} is not in its code"))?;
    let mut other = code.to_vec();
    let digit = other[place..]
        .iter()
        .position(u8::is_ascii_digit)
        .context("a digit")?;
    other[place + digit] = if other[place + digit] == b'1' {
        b'2'
    } else {
        b'1'
    };
    ensure!(other != code);
    Ok(other)
}

#[test]
fn what_is_no_component_is_not_installed() -> Result<()> {
    let node = Node::create()?;
    let whole = fs::read(component(PLUGIN))?;
    let cases: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("text", b"#!/bin/sh\n".to_vec()),
        // A core module: `\0asm`, version 1, no layer.
        ("module", b"\0asm\x01\0\0\0".to_vec()),
        ("truncated", whole[..whole.len() - 7].to_vec()),
        ("native", fs::read(binary())?[..4096].to_vec()),
    ];
    for (name, bytes) in cases {
        let file = node.root().join(format!("{name}.wasm"));
        fs::write(&file, bytes)?;
        let shown = file.to_str().context("text")?;
        let output = node.command(&["plugin", "add", shown])?;
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("no WebAssembly component"), "{name}: {said}");
        assert!(!node.installed(name).exists(), "{name} was installed");
    }
    for name in ["bridge", "../up", "a/b", ""] {
        let file = component(PLUGIN);
        let shown = file.to_str().context("text")?;
        let output = node.command(&["plugin", "add", shown, "--name", name])?;
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
    }
    assert_eq!(entries(&node.installed("."))?, 0, "something was installed");
    Ok(())
}

fn entries(directory: &Path) -> Result<usize> {
    match directory.exists() {
        true => Ok(fs::read_dir(directory)?.count()),
        false => Ok(0),
    }
}

#[test]
fn no_grant_no_run() -> Result<()> {
    let place = Place::create()?;
    let digest = place.node.digest(PLUGIN)?;
    place.refused(
        PLUGIN,
        202,
        &[PLUGIN, &digest, "no grant", "weir grants new misbehaving"],
    );

    let other = format!("sha256:{}", "0".repeat(64));
    place
        .node
        .put_grant("g.yaml", &Grant::nothing(PLUGIN).document(&other))?;
    place.refused(PLUGIN, 202, &[&digest, &other, "g.yaml"]);

    let document = Grant::nothing(PLUGIN).document(&digest);
    let no_digest = document.replace(&format!("    digest: {digest}\n"), "");
    assert_ne!(no_digest, document);
    place.node.put_grant("g.yaml", &no_digest)?;
    place.refused(PLUGIN, 202, &["names no digest", &digest]);
    Ok(())
}

#[test]
fn a_grant_is_for_its_networks() -> Result<()> {
    let place = Place::create()?;
    let of = |networks| Grant {
        networks,
        ..Grant::nothing(PLUGIN)
    };
    for networks in [r#"["blue"]"#, r#"["gree", "green?", "Green"]"#, "[]"] {
        place.grant(&of(networks))?;
        place.refused(
            PLUGIN,
            202,
            &["covers the network `green`", "misbehaving.yaml"],
        );
    }
    place.grant(&of(r#"["blue", "g*n"]"#))?;
    place.run(PLUGIN, "ADD")?.result();
    Ok(())
}

/// A document that is not understood may be the one that narrows another: nothing runs, also no
/// plugin that is built in.
#[test]
fn documents_that_are_not_valid_stop_everything() -> Result<()> {
    let place = Place::granted()?;
    let digest = place.node.digest(PLUGIN)?;
    let valid = Grant::nothing("other").document(&digest);
    let broken = [
        (valid.replace("  networks:", "  network:"), "network"),
        (
            valid.replace("capabilities: {}", "capabilities: { links: [] }"),
            "links",
        ),
        (
            valid.replace(
                "capabilities: {}",
                "capabilities: { link: [ { verb: [read] } ] }",
            ),
            "verb",
        ),
        (
            valid.replace(
                "capabilities: {}",
                "capabilities: { traffic: [ { disciplines: [fq_codel] } ] }",
            ),
            "fq_codel",
        ),
        (
            valid.replace(
                "capabilities: {}",
                "capabilities: { conntrack: [ { ports: [9-1] } ] }",
            ),
            "9-1",
        ),
        (valid.replace("limits: {}", "limits: { time: 61s }"), "61s"),
        (
            valid.replace("limits: {}", "limits: { memory: much }"),
            "much",
        ),
        (valid.replace("v1alpha1", "v9"), "v9"),
        (valid.replace("PluginGrant", "Pod"), "Pod"),
        (valid.replace("sha256:", "md5:"), "md5:"),
        (valid.replace(r#"["*"]"#, r#"["[a"]"#), "[a"),
        ("{".to_owned(), "line"),
        (String::new(), "not valid"),
    ];
    for (document, word) in broken {
        place.node.put_grant("z-other.yaml", &document)?;
        let words = ["z-other.yaml", "not valid", word, "no plugin runs"];
        place.refused(PLUGIN, 202, &words);
        place.refused("loopback", 202, &words);
        let checked = place.node.grants().join("z-other.yaml");
        let output = place
            .node
            .command(&["grants", "check", checked.to_str().context("text")?])?;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    // Line and column lead to the mistake.
    place
        .node
        .put_grant("z-other.yaml", &valid.replace("  networks:", "  network:"))?;
    place.refused(PLUGIN, 202, &["line 9", "column 3"]);
    fs::remove_file(place.node.grants().join("z-other.yaml"))?;
    // Other files are no grants.
    place.node.put_grant("z-other.yaml.bak", "{")?;
    place.run(PLUGIN, "ADD")?.result();
    Ok(())
}

#[test]
fn an_administrators_document_replaces_the_shipped_one() -> Result<()> {
    let place = Place::create()?;
    let shipped = place.node.weir(&["grants", "show", "loopback"])?;
    assert!(shipped.starts_with("# shipped\n"), "{shipped}");
    let add = || {
        let config = json!({ "cniVersion": "1.1.0", "name": "green", "type": "loopback" });
        let mut call = weir(&place.node, "loopback", "ADD", &place.container, &config);
        call.set("CNI_IFNAME", "lo");
        place.node.run(&call)
    };
    add()?.result();
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: loopback }\n\
                  spec: { plugin: { name: loopback } }\n";
    place.node.put_grant("loopback.yaml", narrow)?;
    let error = add()?.error();
    assert_eq!(error["code"], 100, "{error:#}");
    let shown = place.node.weir(&["grants", "show", "loopback"])?;
    assert!(
        shown.contains("loopback.yaml") && !shown.contains("shipped"),
        "{shown}"
    );
    Ok(())
}

/// What `weir grants new` prints is a grant that is in force when it is saved.
#[test]
fn a_new_grant_can_be_saved_as_it_is() -> Result<()> {
    let place = Place::create()?;
    let printed = place.node.weir(&["grants", "new", PLUGIN])?;
    assert!(printed.contains(&place.node.digest(PLUGIN)?), "{printed}");
    for capability in [
        "link:",
        "address:",
        "traffic:",
        "conntrack:",
        "store:",
        "ipam:",
    ] {
        assert!(
            printed.contains(capability),
            "{capability} is not in {printed}"
        );
    }
    place.node.put_grant("new.yaml", &printed)?;
    let file = place.node.grants().join("new.yaml");
    let checked = place
        .node
        .weir(&["grants", "check", file.to_str().context("text")?])?;
    assert!(
        checked.contains("a valid grant of plugin misbehaving"),
        "{checked}"
    );
    let listed = place.node.weir(&["grants", "list"])?;
    for word in [
        "bridge",
        "host-local",
        "loopback",
        "misbehaving",
        "shipped",
        "new.yaml",
    ] {
        assert!(listed.contains(word), "{word} is not in {listed}");
    }
    place.run(PLUGIN, "ADD")?.result();
    Ok(())
}
