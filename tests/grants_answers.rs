//! `weir grants …` and `weir audit` answer rightly where there is no plain yes: grants that are not in force,
//! several of them, names that nothing has, documents that nobody reads.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Grant, Node, assert_contains, binary, component};

const PLUGIN: &str = "misbehaving";
const ALL_LINKS: &str = "{ link: [{ namespace: container }] }";

/// weir's command line on a node: its exit code, standard output, and standard error.
fn weir(node: &Node, words: &[&str]) -> Result<(i32, String, String)> {
    let output = node.inside(|| node.command(words))?;
    let code = output.status.code().context("it ended by itself")?;
    let errors = String::from_utf8(output.stderr)?;
    Ok((code, String::from_utf8(output.stdout)?, errors))
}

/// The same, with what it printed as JSON.
fn json_of(node: &Node, words: &[&str]) -> Result<(i32, Value)> {
    let (code, printed, errors) = weir(node, &[words, &["--output", "json"]].concat())?;
    let value = serde_json::from_str(&printed);
    Ok((code, value.with_context(|| format!("{printed}{errors}"))?))
}

/// A question about the plugin that its grants in this file allow.
fn ask(node: &Node, words: &[&str]) -> Result<(i32, Value)> {
    let get = [
        "grants",
        "explain",
        PLUGIN,
        "link.get",
        "namespace=container",
        "kind=veth",
        "name=a",
    ];
    json_of(node, &[&get[..], words].concat())
}

fn other_digest() -> String {
    format!("sha256:{}", "7".repeat(64))
}

/// A node with the plugin of this file, and the component's digest.
fn installed() -> Result<(Node, String)> {
    let node = Node::create()?;
    let digest = node.install_plugin(PLUGIN)?;
    Ok((node, digest))
}

#[test]
fn a_plugin_that_does_not_run_is_denied_everything() -> Result<()> {
    let (node, digest) = installed()?;
    let grant = Grant {
        capabilities: ALL_LINKS,
        ..Grant::nothing(PLUGIN)
    };
    let none = Grant {
        networks: "[]",
        ..grant.clone()
    };
    let without = grant
        .document(&digest)
        .replace(&format!("    digest: {digest}\n"), "");
    for (document, state) in [
        (without, json!("no-digest")),
        (grant.document(&other_digest()), json!("other-digest")),
        (none.document(&digest), Value::Null),
    ] {
        node.put_grant("a.yaml", &document)?;
        let (code, told) = ask(&node, &[])?;
        assert_eq!((code, &told["allowed"]), (3, &json!(false)), "{told:#}");
        assert_eq!(told["grant_state"], state, "{told:#}");
        assert!(told["because"].is_string(), "{told:#}");
    }
    node.put_grant("a.yaml", &grant.document(&other_digest()))?;
    let question = [
        "grants",
        "explain",
        PLUGIN,
        "link.list",
        "namespace=container",
    ];
    let text = node.stdout(&question, 3)?;
    assert!(text.contains("the plugin does not run"), "{text}");

    node.put_grant("a.yaml", &grant.document(&digest))?;
    let (code, told) = ask(&node, &[])?;
    assert_eq!(
        (code, &told["grant_state"]),
        (0, &json!("in-force")),
        "{told:#}"
    );

    // One that this node does not have.
    let absent = Grant {
        plugin: "absent",
        ..grant
    };
    node.put_grant("b.yaml", &absent.document(&digest))?;
    let question = [
        "grants",
        "explain",
        "absent",
        "link.list",
        "namespace=container",
    ];
    let (code, told) = json_of(&node, &question)?;
    assert_eq!(
        (code, &told["grant_state"]),
        (3, &json!("no-plugin")),
        "{told:#}"
    );
    Ok(())
}

#[test]
fn each_grant_in_force_is_asked() -> Result<()> {
    let (node, digest) = installed()?;
    let on = |networks: &'static str, capabilities: &'static str| Grant {
        networks,
        capabilities,
        ..Grant::nothing(PLUGIN)
    };
    node.put_grant("a.yaml", &on("[blue]", ALL_LINKS).document(&digest))?;
    node.put_grant("b.yaml", &on("[green]", "{}").document(&digest))?;
    let (code, told) = ask(&node, &[])?;
    assert_eq!(code, 3, "{told:#}");
    assert_eq!(
        [&told[0]["allowed"], &told[1]["allowed"]],
        [&json!(true), &json!(false)]
    );
    assert_eq!(
        [&told[0]["networks"], &told[1]["networks"]],
        [&json!(["blue"]), &json!(["green"])]
    );
    assert_eq!(ask(&node, &["--network", "blue"])?.0, 0);
    let (code, told) = ask(&node, &["--network", "red"])?;
    assert_eq!((code, &told["allowed"]), (3, &json!(false)), "{told:#}");
    node.put_grant("b.yaml", &on("[green]", ALL_LINKS).document(&digest))?;
    assert_eq!(ask(&node, &[])?.0, 0);
    Ok(())
}

#[test]
fn a_question_that_has_no_one_answer_is_refused() -> Result<()> {
    let node = Node::create()?;
    let why = |words: &[&str]| -> Result<String> {
        let all = [&["grants", "explain", "bridge", "link.get"], words].concat();
        let (code, printed, errors) = weir(&node, &all)?;
        assert_eq!((code, printed.as_str()), (1, ""), "{errors}");
        Ok(errors)
    };
    // By that name there may be hardware.
    let errors = why(&["namespace=host", "name=eth0"])?;
    assert!(errors.contains("`link.get` needs kind"), "{errors}");
    let errors = why(&[
        "namespace=host",
        "namespace=container",
        "kind=veth",
        "name=a",
    ])?;
    assert!(errors.contains("`namespace` is given twice"), "{errors}");
    let missing = [
        "grants",
        "explain",
        "bridge",
        "link.look-up",
        "namespace=host",
        "name=cni0",
    ];
    assert_eq!(weir(&node, &missing)?.0, 0);
    Ok(())
}

/// Records of a plugin that is gone are denied, and the others are answered.
#[test]
fn the_record_of_a_removed_plugin_is_one_denied_explanation() -> Result<()> {
    let node = Node::create()?;
    let record = |plugin: &str| {
        json!({
            "time": "2026-01-02T03:04:05.000000Z", "container_id": "c", "ifname": "eth0",
            "network": "blue", "command": "ADD", "plugin": plugin, "digest": other_digest(),
            "capability": "link", "operation": "link.get",
            "arguments": { "link": { "namespace": "host", "index": 7, "name": "cni0", "kind": "bridge" } },
            "verdict": "allowed", "rules": ["link[0]"], "answer": "ok", "duration_us": 1
        })
        .to_string()
    };
    let lines = [record("bridge"), record("gone"), record("bridge")].join("\n");
    let file = node.root().join("records.jsonl");
    fs::write(&file, lines)?;
    let mut explain = Command::new(binary());
    explain.args(["grants", "explain", "--record", "--output", "json"]);
    explain
        .env("WEIR_ROOT", node.root())
        .stdin(fs::File::open(&file)?);
    let output = explain.stderr(Stdio::piped()).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let told: Value = serde_json::from_slice(&output.stdout).context(errors.into_owned())?;
    assert_eq!(output.status.code(), Some(3), "{told:#}");
    let allowed: Vec<&Value> = (0..3).map(|at| &told[at]["allowed"]).collect();
    assert_eq!(allowed, [true, false, true], "{told:#}");
    Ok(())
}

#[test]
fn a_difference_is_given_in_functions_and_networks() -> Result<()> {
    let node = Node::create()?;
    let (one, two) = (component("host-local"), component("static"));
    let (one, two) = (one.to_str().context("text")?, two.to_str().context("text")?);
    let (code, told) = json_of(&node, &["grants", "diff", two, one])?;
    assert_eq!(code, 3);
    let more = told["more"]["store"].as_array().context("functions")?;
    assert!(!more.is_empty(), "{told:#}");
    assert!(told["first"]["digest"].is_string() && told["second"]["digest"].is_string());
    let (_, text, _) = weir(&node, &["grants", "diff", two, one])?;
    let function = more[0].as_str().context("text")?;
    assert!(text.contains(function), "{text}");

    let write = |name: &str, networks: &str| -> Result<String> {
        let grant = Grant {
            networks,
            ..Grant::nothing(PLUGIN)
        };
        let path = node.root().join(name);
        fs::write(&path, grant.document(&other_digest()))?;
        Ok(path.to_str().context("text")?.to_owned())
    };
    let (blue, all) = (write("blue.yaml", "[blue]")?, write("all.yaml", "[\"*\"]")?);
    let text = node.stdout(&["grants", "diff", &blue, &all], 3)?;
    assert_contains(
        &text,
        &["can run on\n  * every network of the node's own\n    so far: the network `blue`"],
    );
    assert!(!text.contains("They allow the same"), "{text}");

    // The shipped one, also where another has its place.
    let nothing = Grant::nothing("bridge").document(&other_digest());
    let digest = format!("    digest: {}\n", other_digest());
    node.put_grant("bridge.yaml", &nothing.replace(&digest, ""))?;
    let (code, told) = json_of(&node, &["grants", "diff", "bridge", "shipped:bridge"])?;
    assert_eq!((code, &told["impossible"]), (3, &json!([])), "{told:#}");
    assert!(!told["possible"].as_array().context("a list")?.is_empty());
    let errors = node.stderr(&["grants", "diff", "bridge", "shipped:nothing"], 1)?;
    assert_contains(&errors, &["no grant of plugin `nothing` ships with weir"]);
    // Or where a document is not valid.
    node.put_grant("bridge.yaml", "{")?;
    node.stdout(&["grants", "diff", "shipped:bridge", "shipped:bridge"], 0)?;
    Ok(())
}

/// The remarks on the document of a file of this name, as `rule weight code`.
fn remarks(checked: &Value, file: &str) -> Vec<String> {
    let all = checked.as_array().expect("a list").iter();
    let of_file = all.filter(|one| {
        one["from"]
            .as_str()
            .is_some_and(|from| from.ends_with(file))
    });
    let remarks = of_file.flat_map(|one| one["remarks"].as_array().expect("remarks"));
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    remarks
        .map(|r| [&r["rule"], &r["weight"], &r["code"]].map(word).join(" "))
        .collect()
}

#[test]
fn what_is_shipped_is_no_reason_to_warn() -> Result<()> {
    let node = Node::create()?;
    let (code, checked) = json_of(&node, &["grants", "check", "--strict"])?;
    assert_eq!(code, 0, "{checked:#}");
    let shipped = remarks(&checked, "shipped");
    assert!(
        !shipped.iter().any(|r| r.contains("no-digest")),
        "{shipped:?}"
    );
    assert!(
        !shipped.iter().any(|r| r.contains("warning")),
        "{shipped:?}"
    );
    // What keeps a plugin from running is written on purpose.
    let off = Grant {
        networks: "[]",
        ..Grant::nothing("bridge")
    };
    let digest = format!("    digest: {}\n", other_digest());
    let off = off.document(&other_digest()).replace(&digest, "");
    node.put_grant("off.yaml", &off)?;
    let (code, checked) = json_of(&node, &["grants", "check", "--strict"])?;
    assert_eq!(code, 0, "{checked:#}");
    assert!(remarks(&checked, "off.yaml").contains(&"- note no-network".to_owned()));
    let text = node.stdout(&["grants", "list", "--plugin", "bridge"], 0)?;
    let line = text.lines().find(|line| line.contains("off.yaml"));
    let line = line.context(text.clone())?;
    assert_contains(line, &["none", "no network"]);
    Ok(())
}

#[test]
fn documents_that_do_something_else_get_a_remark() -> Result<()> {
    let node = Node::create()?;
    // A document about another plugin takes the place of a shipped one.
    let digest = format!("    digest: {}\n", other_digest());
    let grant = Grant {
        plugin: "ptp",
        capabilities: "{ ipam: [host-local, nowhere, \"*\"], sysctl: [] }",
        ..Grant::nothing("ptp")
    };
    let document = grant.document(&other_digest()).replace(&digest, "");
    node.put_grant("a.yaml", &document.replacen("name: ptp", "name: bridge", 1))?;
    // And one that is called otherwise is read by nobody.
    node.put_grant("b.yml.bak", "no grant at all")?;
    let (code, checked) = json_of(&node, &["grants", "check"])?;
    assert_eq!(code, 0, "{checked:#}");
    let found = remarks(&checked, "a.yaml");
    for expected in [
        "- warning takes-grant-away",
        "ipam[1] note unknown-ipam",
        "ipam[2] warning no-effect",
        "sysctl warning no-effect",
    ] {
        assert!(
            found.contains(&expected.to_owned()),
            "{expected}: {found:?}"
        );
    }
    assert_eq!(remarks(&checked, "b.yml.bak"), ["- warning not-read"]);
    let shown = node.stdout(&["grants", "show", "ptp"], 0)?;
    let shown = Vec::from_iter(shown.split_whitespace()).join(" ");
    let (_, nothing) = shown
        .split_once("It has no access to")
        .context(shown.clone())?;
    assert!(nothing.contains("kernel parameters (sysctl)"), "{shown}");
    // A native plugin of that name that is listed is known.
    let entry = json!({ "name": "nowhere", "digest": other_digest(), "networks": [] });
    let listed = json!({ "nativePlugins": [entry] });
    node.write("etc/weir/weir.json", listed.to_string())?;
    let (_, checked) = json_of(&node, &["grants", "check"])?;
    let found = remarks(&checked, "a.yaml");
    assert!(
        !found.contains(&"ipam[1] note unknown-ipam".to_owned()),
        "{found:?}"
    );
    assert_eq!(weir(&node, &["grants", "check", "--strict"])?.0, 3);
    let (_, _, errors) = weir(&node, &["grants", "list"])?;
    assert_contains(&errors, &["b.yml.bak", "does not read it"]);
    Ok(())
}

/// JSON is what programs write, and a document as well.
#[test]
fn a_document_of_json_is_read() -> Result<()> {
    let (node, digest) = installed()?;
    let document = json!({
        "apiVersion": "weir.dev/v1alpha1", "kind": "PluginGrant", "metadata": { "name": PLUGIN },
        "spec": {
            "plugin": { "name": PLUGIN, "digest": digest },
            "networks": ["*"],
            "capabilities": { "link": [{ "namespace": "container" }] },
        },
    });
    node.put_grant("mine.json", &document.to_string())?;
    let (code, told) = ask(&node, &[])?;
    assert_eq!(code, 0, "{told:#}");
    // One that is not valid stops everything, as of YAML.
    node.put_grant("mine.json", "{")?;
    let (code, listed) = json_of(&node, &["grants", "list"])?;
    assert_eq!(code, 3, "{listed:#}");
    let states: Vec<&Value> = listed
        .as_array()
        .context("a list")?
        .iter()
        .map(|l| &l["state"])
        .collect();
    assert!(states.contains(&&json!("invalid")), "{listed:#}");
    assert!(states.contains(&&json!("stopped")), "{listed:#}");
    assert!(!states.contains(&&json!("in-force")), "{listed:#}");
    Ok(())
}

#[test]
fn mistakes_have_their_places_in_json() -> Result<()> {
    let node = Node::create()?;
    let document = Grant::nothing(PLUGIN).document(&other_digest());
    node.put_grant("bad.yaml", &document.replace("networks:", "network:"))?;
    let file = node.root().join("etc/weir/grants.d/bad.yaml");
    for words in [
        &["grants", "check"][..],
        &["grants", "check", file.to_str().context("text")?],
    ] {
        let (code, checked) = json_of(&node, words)?;
        assert_eq!(code, 1, "{checked:#}");
        let mut all = checked.as_array().context("a list")?.iter();
        let bad = all
            .find(|one| one["valid"] == json!(false))
            .context("it is not valid")?;
        let mistake = &bad["mistakes"][0];
        assert_eq!(
            (&mistake["line"], &mistake["column"]),
            (&json!(9), &json!(3)),
            "{bad:#}"
        );
        let message = mistake["message"].as_str().unwrap_or_default();
        assert_contains(message, &["unknown key `network`"]);
    }
    Ok(())
}

#[test]
fn names_that_nothing_has_are_reported() -> Result<()> {
    let node = Node::create()?;
    let (code, listed, errors) = weir(&node, &["grants", "list", "--plugin", "brigde"])?;
    assert_eq!(code, 0, "{listed}");
    assert_contains(&errors, &["no grant is for plugin `brigde`"]);
    assert!(errors.contains("did you mean `bridge`?"), "{errors}");

    let log = node.root().join("audit.jsonl");
    fs::write(&log, "")?;
    let log = log.to_str().context("text")?;
    let errors = |filter: &[&str]| -> Result<String> {
        let (code, text, errors) = weir(&node, &[&["audit", "--file", log], filter].concat())?;
        assert_eq!((code, text.as_str()), (0, ""), "{errors}");
        Ok(errors)
    };
    assert!(errors(&["--plugin", "brigde"])?.contains("did you mean `bridge`?"));
    assert!(errors(&["--operation", "link.craete"])?.contains("did you mean `link.create`?"));
    assert_eq!(
        errors(&["--plugin", "bri*", "--operation", "*.create"])?,
        ""
    );

    // A plugin that is there and has no grant, and one that is not there.
    node.install_plugin(PLUGIN)?;
    let (code, text, told) = weir(&node, &["grants", "show", PLUGIN])?;
    assert_eq!((code, text.as_str()), (3, ""), "{told}");
    assert!(
        told.contains(&format!("weir grants new {PLUGIN}")),
        "{told}"
    );
    assert_eq!(weir(&node, &["grants", "show", "nobody"])?.0, 1);
    Ok(())
}

/// Records tell nothing of limits: those of the grant in force stay.
#[test]
fn a_suggestion_keeps_the_limits() -> Result<()> {
    let (node, digest) = installed()?;
    let record = json!({
        "time": "2026-01-02T03:04:05.000000Z", "container_id": "c", "ifname": "eth0",
        "network": "blue", "command": "ADD", "plugin": PLUGIN, "digest": digest,
        "capability": "link", "operation": "link.get",
        "arguments": { "link": { "namespace": "host", "index": 7, "name": "cni0", "kind": "bridge" } },
        "verdict": "allowed", "rules": ["link[0]"], "answer": "ok", "duration_us": 1
    });
    let file = node.root().join("records.jsonl");
    fs::write(&file, format!("{record}\n"))?;
    let words = [
        "grants",
        "suggest",
        PLUGIN,
        "--records",
        file.to_str().context("text")?,
    ];
    let (code, text, errors) = weir(&node, &words)?;
    assert_eq!(code, 0, "{errors}");
    assert_contains(&text, &["# Records do not show limits: weir's defaults"]);
    let grant = Grant {
        limits: "{ memory: 7MiB }",
        ..Grant::nothing(PLUGIN)
    };
    node.put_grant("mine.yaml", &grant.document(&digest))?;
    let (_, told) = json_of(&node, &words)?;
    assert_eq!(
        told["document"]["spec"]["limits"]["memory"],
        json!("7MiB"),
        "{told:#}"
    );
    let from = told["limits_from"].as_str().unwrap_or_default();
    assert!(from.ends_with("mine.yaml"), "{from}");
    Ok(())
}

/// Every command that takes a plugin's name reports what a name that is not a component's stands for.
#[test]
fn weir_itself_and_native_plugins_are_recognised() -> Result<()> {
    let node = Node::create()?;
    let native = json!({ "nativePlugins": [
        { "name": "flannel", "digest": other_digest(), "networks": ["cbr0"] },
    ] });
    fs::create_dir_all(node.root().join("etc/weir"))?;
    fs::write(node.root().join("etc/weir/weir.json"), native.to_string())?;
    let config = node.root().join("config.json");
    let config = config.to_str().context("text")?;
    for (name, told) in [
        ("weir", "is weir itself and not a plugin"),
        (
            "flannel",
            "is a native plugin, a program outside the sandbox",
        ),
    ] {
        let network = json!({ "cniVersion": "1.1.0", "name": "n", "type": name });
        fs::write(config, network.to_string())?;
        let shipped = format!("shipped:{name}");
        let commands: [&[&str]; 8] = [
            &["grants", "suggest", name],
            &["grants", "new", name],
            &["grants", "diff", name, "bridge"],
            &["grants", "diff", "bridge", &shipped],
            &["grants", "learn", name, "--config", config],
            &["plugin", "inspect", name],
            &["plugin", "remove", name],
            &["grants", "list", "--plugin", name],
        ];
        for words in commands {
            let (code, text, errors) = weir(&node, words)?;
            let expected = i32::from(words[1] != "list");
            assert_eq!(code, expected, "{words:?}: {text}{errors}");
            assert!(errors.contains(told), "{words:?}: {errors}");
            assert!(!errors.contains("grants new"), "{words:?}: {errors}");
        }
        // What its grants would be without effect on.
        let document = Grant {
            plugin: name,
            ..Grant::nothing(PLUGIN)
        };
        node.put_grant("a.yaml", &document.document(&other_digest()))?;
        let (code, listed) = json_of(&node, &["grants", "list", "--plugin", name])?;
        assert_eq!(
            (code, &listed[0]["state"]),
            (3, &json!("no-plugin")),
            "{listed:#}"
        );
        let because = listed[0]["because"].as_str().unwrap_or_default();
        assert!(because.contains(told), "{because}");
        fs::remove_file(node.grants().join("a.yaml"))?;
        // Nothing of theirs is recorded yet, but they may be asked for.
        let (_, _, errors) = weir(&node, &["audit", "--plugin", name])?;
        assert!(!errors.contains("no such plugin"), "{errors}");
    }
    let text = node.stdout(&["grants", "show", "flannel"], 0)?;
    assert_contains(&text, &["outside the sandbox", "cbr0", &other_digest()]);
    let (_, shown) = json_of(&node, &["grants", "show", "flannel"])?;
    assert_eq!(shown, native["nativePlugins"]);
    let question = ["grants", "explain", "flannel", "link.get", "name=a"];
    let fields = ["namespace=host", "kind=veth"];
    let errors = node.stderr(&[&question[..], &fields].concat(), 1)?;
    assert_contains(&errors, &["is a native plugin"]);
    Ok(())
}

/// What is explained of weir itself is what is fixed in the binary, also on networks of definitions.
#[test]
fn what_weir_may_do_itself_is_explained() -> Result<()> {
    let node = Node::create()?;
    // A document of that name has no effect on it.
    let wide = Grant {
        plugin: "weir",
        capabilities: "{ link: [{}] }",
        ..Grant::nothing(PLUGIN)
    };
    node.put_grant("weir.yaml", &wide.document(&other_digest()))?;
    let ask = |words: &[&str]| json_of(&node, &[&["grants", "explain", "weir"], words].concat());
    let route = [
        "route.add",
        "namespace=container",
        "destination=0.0.0.0/0",
        "link=net1",
    ];
    for network in [&[][..], &["--network", "n"], &["--network", "team/n"]] {
        let own = [&route[..], &["--ifname", "net1"], network].concat();
        let (code, told) = ask(&own)?;
        assert_eq!((code, &told["allowed"]), (0, &json!(true)), "{told:#}");
        assert_eq!(told["rules"][0]["name"], "route[0]", "{told:#}");
        assert_eq!(told["from"], "fixed in the binary", "{told:#}");
        let (code, told) = ask(&[&route[..], network].concat())?;
        assert_eq!((code, &told["field"]), (3, &json!("links")), "{told:#}");
    }
    let (code, told) = ask(&["link.delete", "namespace=host", "kind=veth", "name=a"])?;
    assert_eq!((code, &told["allowed"]), (3, &json!(false)), "{told:#}");
    Ok(())
}

/// The node's list of interfaces is what `{hostInterfaces}` stands for, and a denial says how to list an interface.
#[test]
fn interfaces_of_the_host_are_those_that_the_node_lists() -> Result<()> {
    let node = Node::create()?;
    let question = |name: &str, network: &str| {
        let name = format!("name={name}");
        let words = [
            "grants",
            "explain",
            "macvlan",
            "link.get",
            "namespace=host",
            "kind=physical",
        ];
        json_of(
            &node,
            &[&words[..], &[&name, "--network", network]].concat(),
        )
    };
    let line =
        r#"to let networks use `eth1`, add `"hostInterfaces": ["eth1"]` to /etc/weir/weir.json"#;
    let (code, told) = question("eth1", "team/lan")?;
    assert_eq!((code, &told["to_list"]), (3, &json!(line)), "{told:#}");
    // A file that root wrote is the owner's word already.
    assert_eq!(question("eth1", "lan")?.0, 0);

    fs::create_dir_all(node.root().join("etc/weir"))?;
    let settings = json!({ "hostInterfaces": ["eth1", "ens*"] });
    fs::write(node.root().join("etc/weir/weir.json"), settings.to_string())?;
    for (name, expected) in [("eth1", 0), ("ens3", 0), ("eth0", 3)] {
        let (code, told) = question(name, "team/lan")?;
        assert_eq!(code, expected, "{told:#}");
    }
    let text = node.stdout(&["grants", "show", "macvlan", "--network", "team/lan"], 0)?;
    assert_contains(&text, &["`hostInterfaces`"]);
    let who = [
        "grants",
        "who",
        "link.get",
        "namespace=host",
        "name=eth1",
        "kind=physical",
    ];
    let text = node.stdout(&[&who[..], &["--network", "team/lan"]].concat(), 0)?;
    assert_contains(&text, &["macvlan", "ipvlan", "vlan", "hostInterfaces"]);
    Ok(())
}
