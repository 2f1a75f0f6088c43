//! The reference plugin `dhcp` under the component `bridge`: with its daemon, and a DHCP server on the bridge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::plugin::REFERENCE;
use weir_kit::{Container, Outcome, assert_contains, reference, wait_for, weir};

use crate::world::{BRIDGE, NETWORK, World};

/// The name of the plugin.
const DHCP: &str = "dhcp";

/// The MAC by which the server knows a client again.
const MAC: &str = "0a:00:00:00:73:01";

/// A program that is killed with the test.
struct Running(Child);

impl Running {
    fn start(world: &World, program: &Path, words: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = world.node.inside(|| Ok(command.spawn()?));
        Ok(Self(child.with_context(|| format!("run {program:?}"))?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct NodeWithDhcp {
    world: World,
    socket: PathBuf,
    _daemon: Running,
    server: Option<Running>,
}

impl NodeWithDhcp {
    /// With a server that has this many addresses, from 10.73.0.10 on.
    fn with_addresses(count: u8) -> Result<Self> {
        let world = World::create()?;
        world.put(&Path::new(REFERENCE).join(DHCP), DHCP)?;
        world.list(DHCP, json!({}))?;
        world.node.let_run_ipam("bridge", DHCP)?;
        for words in ["add BRIDGE type bridge", "set BRIDGE up"] {
            world
                .node
                .ip(&format!("link {}", words.replace("BRIDGE", BRIDGE)))?;
        }
        world
            .node
            .ip(&format!("addr add 10.73.0.1/24 dev {BRIDGE}"))?;
        let socket = world.file("dhcp.sock");
        let text = socket.to_str().context("a path")?;
        let words = [
            "daemon",
            "-socketpath",
            text,
            "-timeout",
            "2s",
            "-resendmax",
            "5s",
        ];
        let daemon = Running::start(&world, &Path::new(REFERENCE).join(DHCP), &words)?;
        wait_for("the socket of the daemon", || {
            Ok(socket.exists().then_some(()))
        })?;
        let mut fixture = Self {
            world,
            socket,
            _daemon: daemon,
            server: None,
        };
        fixture.server = Some(fixture.serve(count)?);
        fixture
            .world
            .write("etc/cni/net.d/net.conflist", &fixture.list().to_string())?;
        Ok(fixture)
    }

    fn serve(&self, count: u8) -> Result<Running> {
        let [leases, process] = ["leases", "udhcpd.pid"].map(|name| self.world.file(name));
        fs::write(&leases, "")?;
        let config = format!(
            "start 10.73.0.10\nend 10.73.0.{}\ninterface {BRIDGE}\nlease_file {}\npidfile {}\n\
             opt subnet 255.255.255.0\nopt router 10.73.0.1\nopt dns 192.0.2.53\nopt domain example.org\n\
             opt lease 600\nopt staticroutes 198.51.100.0/24 10.73.0.254\n",
            9 + count,
            leases.display(),
            process.display()
        );
        let file = self.world.file("udhcpd.conf");
        fs::write(&file, config)?;
        let file = file.to_str().context("a path")?;
        let words = ["udhcpd", "-f", "-a", "1", file];
        let server = Running::start(&self.world, Path::new("busybox"), &words)?;
        // It listens once it has written its number.
        wait_for("the DHCP server", || {
            Ok(fs::read_to_string(&process)
                .is_ok_and(|text| !text.is_empty())
                .then_some(()))
        })?;
        Ok(server)
    }

    fn plugin(&self) -> Value {
        json!({
            "type": "bridge", "bridge": BRIDGE, "capabilities": { "mac": true },
            "ipam": { "type": DHCP, "daemonSocketPath": self.socket },
        })
    }

    fn list(&self) -> Value {
        json!({ "cniVersion": "1.0.0", "name": NETWORK, "plugins": [self.plugin()] })
    }

    /// A container whose runtime calls the component or the reference's `bridge`, and asks for this MAC.
    fn client(&self, is_ours: bool, mac: &str) -> Result<Client<'_>> {
        Ok(Client {
            fixture: self,
            container: self.world.node.container()?,
            plugin: self.plugin(),
            is_ours,
            mac: mac.to_owned(),
        })
    }

    /// Gives the host an interface with a way to the server's bridge, for a `macvlan`, which does not reach its own master.
    fn add_master(&self, name: &str) -> Result<()> {
        let node = &self.world.node;
        node.ip(&format!("link add {name} type veth peer name wire0"))?;
        node.ip(&format!("link set wire0 master {BRIDGE} up"))?;
        node.ip(&format!("link set {name} up"))?;
        node.let_run_ipam("macvlan", DHCP)
    }
}

struct Client<'a> {
    fixture: &'a NodeWithDhcp,
    container: Container,
    plugin: Value,
    is_ours: bool,
    mac: String,
}

impl Client<'_> {
    /// With this result, for all but ADD.
    fn run(&self, command: &str, previous: &Value) -> Result<Outcome> {
        let mut config = self.plugin.clone();
        config["cniVersion"] = json!("1.0.0");
        config["name"] = json!(NETWORK);
        config["runtimeConfig"] = json!({ "mac": self.mac });
        if !previous.is_null() {
            config["prevResult"] = previous.clone();
        }
        let World { node, .. } = &self.fixture.world;
        let plugin = self.plugin["type"].as_str().context("a type")?;
        let call = if self.is_ours {
            let mut call = weir(node, plugin, command, &self.container, &config);
            call.set("CNI_PATH", self.fixture.world.native());
            call
        } else {
            reference(plugin, command, &self.container, &config)
        };
        node.run(&call)
    }
}

/// Without what differs between two attachments: the name of the host's end, the MACs of the host, the namespace.
fn alike(result: &Value) -> Value {
    let mut result = result.clone();
    // Before 1.1.0 the reference writes an empty one.
    if result["dns"] == json!({}) {
        result.as_object_mut().map(|keys| keys.remove("dns"));
    }
    for interface in result["interfaces"].as_array_mut().into_iter().flatten() {
        let (key, value) = if interface.get("sandbox").is_some() {
            ("sandbox", "sandbox")
        } else {
            ("mac", "mac")
        };
        interface[key] = json!(value);
        if interface["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("veth"))
        {
            interface["name"] = json!("veth");
        }
    }
    result
}

/// Addresses and routes of the container.
fn configured(container: &Container) -> Result<Value> {
    let mut addresses = container.ip_json("-4 addr show eth0")?;
    let keys = ["local", "prefixlen", "scope"];
    let own = addresses[0]["addr_info"][0].take();
    let address: Vec<Value> = keys.map(|key| own[key].clone()).into();
    let routes = container.ip_json("-4 route show")?;
    let keys = ["dst", "gateway", "dev", "scope", "prefsrc"];
    let routes = routes.as_array().into_iter().flatten();
    let mut routes: Vec<String> = routes
        .map(|route| json!(keys.map(|key| route[key].clone())).to_string())
        .collect();
    routes.sort();
    Ok(json!({ "address": address, "routes": routes }))
}

#[test]
fn the_result_and_the_container_are_those_of_the_reference() -> Result<()> {
    let fixture = NodeWithDhcp::with_addresses(10)?;
    let ours = fixture.client(true, MAC)?;
    let result = ours.run("ADD", &Value::Null)?.result();
    assert_eq!(result["ips"][0]["gateway"], "10.73.0.1", "{result:#}");
    let state = configured(&ours.container)?;
    ours.run("CHECK", &result)?.result();
    assert!(ours.run("DEL", &result)?.succeeded());
    assert_eq!(ours.container.links()?, ["lo"]);
    assert!(ours.run("DEL", &result)?.succeeded(), "once more");

    let theirs = fixture.client(false, MAC)?;
    let expected = theirs.run("ADD", &Value::Null)?.result();
    assert_eq!(alike(&result), alike(&expected));
    assert_eq!(state, configured(&theirs.container)?);
    theirs.run("DEL", &expected)?;
    Ok(())
}

/// The server has one address: the next container gets it only after it was released. The reference plugins remove the
/// interface first, over which nothing can be released then.
fn releases_the_lease(fixture: &NodeWithDhcp, plugin: &Value) -> Result<()> {
    for nth in 0..2 {
        let mut client = fixture.client(true, &format!("0a:00:00:00:74:{nth:02x}"))?;
        client.plugin = plugin.clone();
        let result = client.run("ADD", &Value::Null)?.result();
        assert_eq!(result["ips"][0]["address"], "10.73.0.10/24", "{nth}");
        let deleted = client.run("DEL", &result)?;
        assert!(deleted.succeeded(), "{deleted:?}");
        assert_eq!(client.container.links()?, ["lo"]);
    }
    Ok(())
}

#[test]
fn del_releases_the_lease() -> Result<()> {
    let fixture = NodeWithDhcp::with_addresses(1)?;
    releases_the_lease(&fixture, &fixture.plugin())
}

#[test]
fn del_releases_the_lease_of_an_interface_over_a_master() -> Result<()> {
    let fixture = NodeWithDhcp::with_addresses(1)?;
    fixture.add_master("eth1")?;
    let mut plugin = fixture.plugin();
    plugin["type"] = json!("macvlan");
    plugin["master"] = json!("eth1");
    releases_the_lease(&fixture, &plugin)
}

/// By the list, and with what weir remembers.
#[test]
fn a_network_of_the_node_is_added_checked_and_deleted() -> Result<()> {
    let fixture = NodeWithDhcp::with_addresses(10)?;
    let result = fixture.world.add()?;
    assert_eq!(result["ips"][0]["interface"], 2, "{result:#}");
    fixture.world.succeeds("check")?;
    fixture.world.succeeds("del")?;
    let records = fixture.world.records();
    let commands: Vec<&str> = records.iter().map(|(command, ..)| &**command).collect();
    assert_eq!(commands, ["ADD", "CHECK", "DEL"]);
    Ok(())
}

/// It would try longer than the listing lets it.
#[test]
fn a_server_or_a_daemon_that_is_not_there_is_reported() -> Result<()> {
    let mut fixture = NodeWithDhcp::with_addresses(1)?;
    let world = &fixture.world;
    world.list(DHCP, json!({ "limits": { "time": "2s" } }))?;
    fixture.server = None;
    let said = world.fails("add")?;
    let expected = "network `net`: plugin `bridge`: native plugin `dhcp`: it did not end within 2s and was killed";
    assert_contains(&said, &[expected]);
    assert_eq!(world.container.links()?, ["lo"]);
    let mut list = fixture.list();
    list["plugins"][0]["ipam"]["daemonSocketPath"] = json!("/nowhere/dhcp.sock");
    world.write("etc/cni/net.d/net.conflist", &list.to_string())?;
    world.fails_saying("add", &["native plugin `dhcp`: ", "/nowhere/dhcp.sock"])?;
    Ok(())
}
