//! Plugins in Go: the SDK's own tests, and what of Go's standard library works inside weir.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Node, Outcome, assert_contains, component, house, weir};

use crate::{json as json_of, path, said};

/// Gives a command the Go toolchain that `tests/setup` installs, and what it has built.
pub(crate) fn in_target(command: &mut Command) {
    let target = house().join("target");
    command
        .env("GO", target.join("tools/go/bin/go"))
        .env("GOCACHE", target.join("go/cache"))
        .env("GOTOOLCHAIN", "local")
        .env("CGO_ENABLED", "0")
        .env("GOPROXY", "off");
}

#[test]
fn the_sdk_passes_its_own_tests_and_vet() -> Result<()> {
    for words in [&["vet"][..], &["test", "-vet=off"]] {
        let mut command = Command::new(house().join("target/tools/go/bin/go"));
        command.args(words).arg("./...");
        command.current_dir(house().join("sdk/go"));
        in_target(&mut command);
        let output = command.output().context("run go")?;
        assert!(output.status.success(), "{}", said(&output));
    }
    Ok(())
}

#[test]
fn the_files_of_the_sdk_are_formatted() -> Result<()> {
    let output = Command::new(house().join("target/tools/go/bin/gofmt"))
        .arg("-l")
        .args(["sdk/go", "examples", "tests", "runtime"].map(|part| house().join(part)))
        .output()
        .context("run gofmt")?;
    assert_eq!(said(&output), "");
    Ok(())
}

/// A node with the plugin `go-probe`, which does what its configuration says.
struct Probe {
    node: Node,
    container: Container,
}

impl Probe {
    fn create() -> Result<Self> {
        let node = Node::create()?;
        let container = node.container()?;
        container.ips(&["link add eth0 type veth peer name eth1", "link set eth0 up"])?;
        let digest = node.install_plugin("go-probe")?;
        let document = format!(
            r#"apiVersion: weir.dev/v1alpha1
kind: PluginGrant
metadata: {{ name: go-probe }}
spec:
  plugin: {{ name: go-probe, digest: "{digest}" }}
  networks: ["*"]
  capabilities:
    link: [{{ namespace: container, names: ["{{ifname}}"], verbs: [read] }}]
    neighbour: [{{ namespace: container }}]
    policy-rule: [{{ namespace: container }}]
    traffic: [{{ namespace: container }}]
    firewall: [{{ namespace: container }}]
    store: [{{ verbs: [read, write] }}]
  limits: {{ memory: 32MiB, time: 10s, calls: 2000 }}
"#
        );
        node.put_grant("go-probe.yaml", &document)?;
        Ok(Self { node, container })
    }

    fn run(&self, act: &str) -> Result<Outcome> {
        let config =
            json!({ "cniVersion": "1.1.0", "name": "probed", "type": "go-probe", "do": act });
        let call = weir(&self.node, "go-probe", "ADD", &self.container, &config);
        self.node.run(&call)
    }

    /// The outcome of an act.
    fn answer(&self, act: &str) -> Result<Value> {
        Ok(self.run(act)?.result()["dns"]["domain"].clone())
    }
}

#[test]
fn what_weir_has_works_and_what_it_has_not_fails_inside() -> Result<()> {
    let probe = Probe::create()?;
    for (act, answer) in [
        ("clocks", "time passed"),
        ("contract", "all as it was made"),
        ("files", "no files"),
        ("goroutines", "all looked"),
        ("memory", "kept 65536"),
        ("print", "printed"),
        ("random", "all differ"),
    ] {
        assert_eq!(probe.answer(act)?, answer, "{act}");
    }
    Ok(())
}

#[test]
fn what_ends_a_plugin_in_go_is_in_the_error() -> Result<()> {
    let probe = Probe::create()?;
    for (act, code, words) in [
        ("error", 999, &["as the configuration says"][..]),
        ("exit", 210, &["unreachable"]),
        (
            "panic",
            210,
            &["panicked at main.go:", ": as the configuration says"],
        ),
        (
            "sleep",
            210,
            &["a plugin cannot wait through WASI", "link.wait-up"],
        ),
        ("else", 7, &["do: nothing is called `else`"]),
    ] {
        probe.run(act)?.refused(code, words);
    }
    // A goroutine's stack is in the plugin's memory, and its calls are on the engine's stack too: which of them is full
    // first depends on the room that the compiler gives a call.
    let endless = probe.run("stack")?;
    match endless.code() {
        210 => endless.refused(210, &["overflowed its stack"]),
        _ => endless.refused(212, &["needed more memory than `limits.memory: 16MiB`"]),
    };
    Ok(())
}

/// A component imports nothing of WASI beside clocks, random numbers, standard error and what these need.
#[test]
fn files_and_sockets_are_not_imported() -> Result<()> {
    let probe = Probe::create()?;
    let words = ["plugin", "inspect", "go-probe", "--output", "json"];
    let shown = json_of(&probe.node, &words, 0);
    let imports = shown["wasi"].as_array().context("a list")?;
    let mut names: Vec<&str> = imports.iter().filter_map(Value::as_str).collect();
    names.retain(|name| !name.starts_with("wasi:io/"));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "wasi:cli/stderr@0.2.0",
            "wasi:clocks/monotonic-clock@0.2.0",
            "wasi:clocks/wall-clock@0.2.0",
            "wasi:random/random@0.2.0",
        ]
    );
    Ok(())
}

#[test]
fn only_a_module_of_a_plugin_becomes_a_component() -> Result<()> {
    let node = Node::create()?;
    let made = node.root().join("made.wasm");
    let file = component("go-probe");
    for (module, why) in [
        (path(&file)?, "it is a component already"),
        ("/etc/hostname", "it is not a module of WebAssembly"),
        ("/nowhere", "read `/nowhere`"),
    ] {
        let words = ["plugin", "component", module, path(&made)?];
        assert_contains(&node.exits(&words, 1)?, &[why]);
        assert!(!made.exists());
    }
    let module = house().join("target/go/go-probe.module");
    let refused = node.exits(&["plugin", "inspect", path(&module)?], 1)?;
    assert_contains(&refused, &["`weir plugin component`"]);
    Ok(())
}
