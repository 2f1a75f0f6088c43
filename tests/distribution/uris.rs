//! Networks of the node that name a plugin by a URI: fetched by a command, and then as any other.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::guest::granted;
use weir_kit::{Container, Grant, Node, State, Web, assert_contains, component, weir};

use crate::registry::Registry;
use crate::text;

/// The network of the tests.
const NETWORK: &str = "named";

/// A node, and a web server on it.
pub(crate) struct UriFixture {
    pub node: Node,
    pub web: Web,
}

impl UriFixture {
    pub fn create() -> Result<Self> {
        let node = Node::create()?;
        Ok(Self {
            web: Web::on(&node)?,
            node,
        })
    }

    /// The same with `pinned-gateway` on the server, and a network that names it by its URL, which is returned.
    pub fn with_plugin() -> Result<(Self, String)> {
        let fixture = Self::create()?;
        let uri = fixture.publish("pinned-gateway")?;
        fixture.put_network(&uri)?;
        Ok((fixture, uri))
    }

    /// The same, with what the first fetch of it says.
    pub fn fetched() -> Result<(Self, String, Value)> {
        let (fixture, uri) = Self::with_plugin()?;
        let first = fixture.fetch(&[])?;
        fixture.web.requested_paths();
        Ok((fixture, uri, first))
    }

    /// Puts a version of `pinned-gateway` on the server: all do what the first does, and each has another digest.
    pub fn publish_version(&self, number: usize) -> Result<()> {
        let first = fs::read(component("pinned-gateway"))?;
        let version = (1..number).fold(first, |bytes, _| other(&bytes));
        self.web.put("/pinned-gateway.wasm", &version);
        Ok(())
    }

    /// Puts a component on the server. Returns its URL.
    pub fn publish(&self, plugin: &str) -> Result<String> {
        let path = format!("/{plugin}.wasm");
        self.web.put(&path, &fs::read(component(plugin))?);
        Ok(self.web.url(&path))
    }

    /// A network of `ptp` and of the plugin of a URI.
    pub fn put_network(&self, uri: &str) -> Result<()> {
        self.node.put_network("50-named.conflist", &list(uri))?;
        Ok(())
    }

    /// What `weir net fetch` prints of the network's plugin.
    pub fn fetch(&self, words: &[&str]) -> Result<Value> {
        let all = self
            .node
            .json(&[&["net", "fetch", NETWORK], words].concat(), 0)?;
        all.get(0).cloned().context("one plugin")
    }

    /// What an update to a version of `pinned-gateway` prints.
    pub fn update_to(&self, number: usize) -> Result<Value> {
        self.publish_version(number)?;
        self.fetch(&["--update"])
    }

    /// What it complains about.
    pub fn refused(&self, words: &[&str]) -> Result<String> {
        self.node
            .stderr(&[&["net", "fetch", NETWORK], words].concat(), 1)
    }

    /// The names of the installed plugins.
    pub fn installed(&self) -> Result<Vec<String>> {
        let listed = self.node.json(&["plugin", "list"], 0)?;
        let lines = listed.as_array().context("a list")?.iter();
        let own = lines.filter(|line| line["built_in"] == false);
        Ok(own
            .filter_map(|line| Some(line["name"].as_str()?.to_owned()))
            .collect())
    }

    fn grant(&self, fetched: &Value) -> Result<()> {
        let digest = fetched["digest"].as_str().context("a digest")?;
        self.node
            .put_grant("pinned-gateway.yaml", &granted("pinned-gateway", digest)?)
    }

    fn attach(&self, command: &str, container: &Container, status: i32) -> Result<String> {
        let netns = container.netns();
        let words = ["net", command, NETWORK, text(&netns)?];
        self.node.exits(&words, status)
    }
}

fn ptp() -> Value {
    let ipam = json!({ "type": "host-local", "subnet": "10.98.0.0/24" });
    json!({ "type": "ptp", "ipam": ipam })
}

pub(crate) fn list(uri: &str) -> Value {
    json!({ "cniVersion": "1.1.0", "name": NETWORK, "plugins": [ptp(), { "type": uri }] })
}

/// A component that does the same and has another digest.
pub(crate) fn other(component: &[u8]) -> Vec<u8> {
    // A custom section, which nobody reads.
    [component, &[0, 5, 4], b"more"].concat()
}

/// A third party that may change the host is listed with where it is from.
fn check_origin(node: &Node, fetched: &Value, uri: &str) -> Result<()> {
    let capabilities = "{ link: [{ namespace: host, kinds: [dummy], verbs: [update] }] }";
    let grant = Grant {
        capabilities,
        ..Grant::nothing("pinned-gateway")
    };
    let digest = fetched["digest"].as_str().context("a digest")?;
    node.put_grant("pinned-gateway.yaml", &grant.document(digest))?;
    let listed = node.json(&["grants", "list", "--host"], 0)?;
    let mut changers = listed.as_array().context("a list")?.iter();
    let own = changers.find(|one| one["plugin"] == "pinned-gateway");
    let origin = own.context("the plugin")?["origin"].as_str();
    let origin = origin.context("where it is from")?;
    // Of an artifact, its digest is known as well.
    let address = uri.rsplit("://").next().unwrap_or(uri);
    let address = address.trim_end_matches(":1.2.0");
    assert!(origin.contains(address), "{origin} is not {uri}");
    Ok(())
}

#[test]
fn a_plugin_is_fetched_by_each_kind_of_uri_and_then_one_as_any_other() -> Result<()> {
    let fixture = UriFixture::create()?;
    let bytes = fs::read(component("pinned-gateway"))?;
    fixture.web.put("/pinned-gateway.wasm", &bytes);
    fixture
        .node
        .write("usr/lib/weir/pinned-gateway.wasm", &bytes)?;
    let registry = fixture.node.inside(Registry::start)?;
    let reference = registry.reference("plugins/pinned-gateway:1.2.0");
    let file = component("pinned-gateway");
    fixture
        .node
        .weir(&["plugin", "push", text(&file)?, &reference])?;

    for uri in [
        "file:///usr/lib/weir/pinned-gateway.wasm".to_owned(),
        fixture.web.url("/pinned-gateway.wasm"),
        format!("oci://{reference}"),
        format!("docker://{reference}"),
    ] {
        fixture.put_network(&uri)?;
        let container = fixture.node.container()?;
        let said = fixture.attach("add", &container, 1)?;
        assert_contains(
            &said,
            &["network `named`", &uri, "`weir net fetch named`", "204"],
        );
        assert_eq!(container.links()?, ["lo"], "nothing was attached before");
        // A runtime cleans up after the failed ADD, and is not kept from it.
        fixture.attach("del", &container, 0)?;
        fixture.node.exits(&["net", "gc", NETWORK], 0)?;
        fixture.node.exits(&["net", "status", NETWORK], 1)?;
        let fetched = fixture.fetch(&[])?;
        assert_eq!(fetched["name"], "pinned-gateway", "{fetched:#}");
        assert_eq!(fetched["state"], "fetched");
        let asked = fixture.web.requested_paths().len() + usize::from(!uri.starts_with("http:"));
        assert!(asked > 0);

        // Default deny.
        let said = fixture.attach("add", &container, 1)?;
        assert_contains(&said, &["202", "pinned-gateway"]);
        fixture.grant(&fetched)?;
        // What the first network of a node makes is there.
        fixture.attach("add", &container, 0)?;
        fixture.attach("del", &container, 0)?;
        let before = State::of(&fixture.node)?;
        fixture.attach("add", &container, 0)?;
        fixture.attach("check", &container, 0)?;
        fixture.node.exits(&["net", "status", NETWORK], 0)?;
        // With the configuration of the ADD, whatever is in its file now.
        fixture.put_network("ftp://gone.example/x")?;
        fixture.attach("check", &container, 0)?;
        fixture.attach("del", &container, 0)?;
        State::of(&fixture.node)?.assert_same(&before);

        fixture.put_network(&uri)?;
        fixture.attach("add", &container, 0)?;
        fixture.node.exits(&["net", "gc", NETWORK], 0)?;
        State::of(&fixture.node)?.assert_same(&before);
        fixture.attach("del", &container, 0)?;
        assert!(
            fixture.web.requested_paths().is_empty(),
            "no command of CNI asks a server"
        );

        let listed = fixture.node.exits(&["plugin", "list"], 0)?;
        assert_contains(&listed, &[&uri]);
        check_origin(&fixture.node, &fetched, &uri)?;
        fixture.node.weir(&["plugin", "remove", "pinned-gateway"])?;
        fs::remove_file(fixture.node.grants().join("pinned-gateway.yaml"))?;
    }
    Ok(())
}

/// `ipam.type`, for which a container runtime looks in no directory: the main plugin runs it.
#[test]
fn an_ipam_plugin_is_fetched_as_well() -> Result<()> {
    let fixture = UriFixture::create()?;
    let uri = fixture.publish("stable-addresses")?;
    let ipam = json!({ "type": uri, "subnet": "10.99.0.0/24" });
    let config = json!({ "cniVersion": "1.1.0", "name": NETWORK, "type": "ptp", "ipam": ipam });
    fixture.node.put_network("50-named.conf", &config)?;
    let container = fixture.node.container()?;
    // As a container runtime calls it.
    let call = |command| weir(&fixture.node, "ptp", command, &container, &config);
    let refused = fixture.node.run(&call("ADD"))?;
    refused.refused(204, &[&uri, "`weir net fetch named`"]);
    let deleted = fixture.node.run(&call("DEL"))?;
    assert!(deleted.succeeded(), "{deleted:?}");
    // What was attached, as before the plugin was removed, is not forgotten.
    let mut attached = config.clone();
    attached["prevResult"] =
        json!({ "cniVersion": "1.1.0", "ips": [{ "address": "10.99.0.2/24" }] });
    let deleted = weir(&fixture.node, "ptp", "DEL", &container, &attached);
    fixture.node.run(&deleted)?.refused(204, &[&uri]);
    let fetched = fixture.fetch(&[])?;
    assert_eq!(fetched["name"], "stable-addresses");
    let said = fixture.node.run(&call("ADD"))?.said();
    assert_contains(&said, &["stable-addresses"]);
    assert!(!said.contains("not fetched"), "{said}");
    assert_eq!(fixture.web.requested_paths().len(), 2);
    Ok(())
}

/// Kurma's key for it.
#[test]
fn a_network_of_weirs_configuration_names_it_by_aci() -> Result<()> {
    let fixture = UriFixture::create()?;
    let uri = fixture.publish("pinned-gateway")?;
    let networks = json!([{ "name": "kurma", "aci": uri, "containerInterface": "eth{n}" }]);
    let settings = json!({ "podNetworks": networks }).to_string();
    fixture.node.write("etc/weir/weir.json", settings)?;
    let container = fixture.node.container()?;
    let netns = container.netns();
    let add = ["net", "add", "--networks", "kurma", text(&netns)?];
    let said = fixture.node.stderr(&add, 1)?;
    assert_contains(&said, &[&uri, "`weir net fetch kurma`"]);
    let fetched = fixture.node.json(&["net", "fetch", "kurma"], 0)?;
    assert_eq!(fetched[0]["name"], "pinned-gateway");
    let said = fixture.node.stderr(&add, 1)?;
    assert_contains(&said, &["202", "`pinned-gateway`"]);
    Ok(())
}

#[test]
fn what_was_fetched_stays_until_it_is_updated() -> Result<()> {
    let (fixture, uri, first) = UriFixture::fetched()?;
    fixture.publish_version(2)?;

    // Nothing is asked for.
    let kept = fixture.fetch(&[])?;
    assert_eq!(
        (&kept["state"], &kept["digest"]),
        (&json!("kept"), &first["digest"])
    );
    assert!(fixture.web.requested_paths().is_empty());

    let updated = fixture.fetch(&["--update"])?;
    assert_eq!(updated["state"], "updated");
    assert_ne!(updated["digest"], first["digest"]);
    assert_eq!(updated["uri"], uri);
    // Under another digest it has no grant.
    assert_eq!(fixture.fetch(&["--update"])?["state"], "kept");

    // What is away, or no plugin any more, leaves the one that is there.
    fixture.web.put("/pinned-gateway.wasm", b"<html>");
    let said = fixture.refused(&["--update"])?;
    assert_contains(
        &said,
        &[
            "network `named`",
            &uri,
            "stays as it is",
            "not a WebAssembly component",
        ],
    );
    fixture.web.remove("/pinned-gateway.wasm");
    let said = fixture.refused(&["--update"])?;
    assert_contains(&said, &["stays as it is", "not there"]);
    assert_eq!(fixture.fetch(&[])?["digest"], updated["digest"]);
    Ok(())
}

/// The component is asked for again only if it is not whole, and must be the same.
#[test]
fn what_is_damaged_is_repaired_with_the_same_component() -> Result<()> {
    let (fixture, _, first) = UriFixture::fetched()?;
    let damage = |file: &str| -> Result<()> {
        let file = fixture.node.installed("pinned-gateway").join(file);
        let mut bytes = fs::read(&file)?;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        Ok(fs::write(file, bytes)?)
    };
    damage("code.cwasm")?;
    let repaired = fixture.fetch(&[])?;
    assert_eq!(repaired["state"], "repaired");
    assert_eq!(repaired["digest"], first["digest"]);
    assert!(
        fixture.web.requested_paths().is_empty(),
        "the component was whole"
    );

    damage("component.wasm")?;
    fixture.publish_version(2)?;
    let said = fixture.refused(&[])?;
    let pinned = first["digest"].as_str().context("a digest")?;
    assert_contains(&said, &["stays as it is", pinned, "--update"]);
    fixture.publish_version(1)?;
    assert_eq!(fixture.fetch(&[])?["state"], "repaired");
    fixture.node.exits(&["plugin", "list"], 0)?;
    Ok(())
}

/// The networks of one node, some of whose plugins are away.
#[test]
fn one_that_fails_does_not_hold_up_the_others() -> Result<()> {
    let (fixture, uri) = UriFixture::with_plugin()?;
    let missing = fixture.web.url("/missing.wasm");
    let delegate = json!({ "type": "weir", "name": "pods", "delegates": [{ "type": missing }] });
    fixture.node.put_network("00-weir.conf", &delegate)?;
    let output = fixture
        .node
        .inside(|| fixture.node.command(&["net", "fetch", "--output", "json"]))?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr)?;
    assert_contains(&said, &["network `pods`", &missing, "not there", "1 of 2"]);
    let fetched: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(fetched[0]["uri"], uri);
    assert_eq!(fixture.installed()?, ["pinned-gateway"]);
    Ok(())
}
