//! A grant that `suggest` makes of a node's log, which has no reads, runs; and `check` notices each read that it lacks.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Container, Grant, Node, STANDARD, house, weir, with_keys};

use super::{file, grants, json_of};

/// One plugin after the other on a container, and what the host and the container have before.
struct Chain {
    plugins: Vec<Value>,
    /// The IPAM plugins that the first runs.
    ipam: &'static [&'static str],
    host: &'static [&'static str],
    /// `CNI_ARGS`.
    args: &'static str,
}

impl Chain {
    fn of(plugins: impl IntoIterator<Item = Value>, ipam: &'static [&'static str]) -> Self {
        Self {
            plugins: plugins.into_iter().collect(),
            ipam,
            host: &[],
            args: "",
        }
    }

    fn after(self, host: &'static [&'static str]) -> Self {
        Self { host, ..self }
    }

    fn names(&self) -> Vec<&str> {
        let named = self.plugins.iter().filter_map(|one| one["type"].as_str());
        named.chain(self.ipam.iter().copied()).collect()
    }

    /// A node with what the chain finds on it, which forwards already.
    fn node(&self) -> Result<Node> {
        let node = Node::create()?;
        for words in self.host {
            node.ip(words)?;
        }
        node.inside(|| {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            Ok(fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")?)
        })?;
        let names = self.names().into_iter();
        for example in names.filter(|name| !STANDARD.contains(name)) {
            let digest = node.install_plugin(example)?;
            let grant = fs::read_to_string(house().join(format!("examples/{example}/grant.yaml")))?;
            let name = format!("    name: {example}\n");
            let with_digest = grant.replace(&name, &format!("{name}    digest: {digest}\n"));
            node.put_grant(format!("{example}.yaml"), &with_digest)?;
        }
        Ok(node)
    }

    /// ADD, CHECK and DEL. Errors: the first that fails.
    fn run(&self, node: &Node) -> Result<()> {
        let container = node.container()?;
        let mut previous = Value::Null;
        for plugin in &self.plugins {
            previous = self.call(node, "ADD", &container, plugin, &previous)?;
        }
        for plugin in &self.plugins {
            self.call(node, "CHECK", &container, plugin, &previous)?;
        }
        for plugin in self.plugins.iter().rev() {
            self.call(node, "DEL", &container, plugin, &previous)?;
        }
        Ok(())
    }

    /// Calls a plugin without reads recorded.
    fn call(
        &self,
        node: &Node,
        command: &str,
        container: &Container,
        plugin: &Value,
        previous: &Value,
    ) -> Result<Value> {
        let name = plugin["type"].as_str().unwrap_or_default();
        let keys = json!({ "cniVersion": "1.1.0", "name": "tools" });
        let mut config = with_keys(plugin.clone(), keys);
        if !previous.is_null() {
            config["prevResult"] = previous.clone();
        }
        let mut call = weir(node, name, command, container, &config);
        call.set("WEIR_AUDIT_READS", "0").set("CNI_ARGS", self.args);
        let outcome = node.run(&call)?;
        ensure!(outcome.succeeded(), "{command} of {name}: {outcome:?}");
        Ok(outcome.document())
    }

    /// Suggests a grant for each plugin from the node's log, and puts them in force. None allows what the shipped one does not.
    fn suggest(&self, node: &Node) -> Result<()> {
        let mut suggested = Vec::new();
        for plugin in self.names() {
            let (code, yaml, errors) = grants(node, &["suggest", plugin])?;
            ensure!(code == 0, "{plugin}: {errors}");
            ensure!(yaml.starts_with("# Reads were not recorded"), "{yaml}");
            let path = file(node, &format!("{plugin}.yaml"), &yaml)?;
            let (_, difference) = json_of(node, &["diff", plugin, &path])?;
            ensure!(difference["possible"] == json!([]), "{yaml}{difference:#}");
            suggested.push((plugin, yaml));
        }
        for (plugin, yaml) in suggested {
            node.put_grant(format!("{plugin}.yaml"), &yaml)?;
        }
        Ok(())
    }
}

fn dual_stack() -> Value {
    json!({
        "type": "host-local", "ranges": [[{ "subnet": "10.61.8.0/24" }], [{ "subnet": "fd61:8::/64" }]],
        "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }],
    })
}

fn addressed(keys: Value) -> Value {
    with_keys(json!({ "ipam": dual_stack() }), keys)
}

const HOST_LOCAL: &[&str] = &["host-local"];

fn ports(port: u16) -> Value {
    json!([{ "hostPort": port, "containerPort": 80, "protocol": "udp" }])
}

fn rates() -> Value {
    json!({
        "ingressRate": 1_000_000, "ingressBurst": 1_000_000,
        "egressRate": 1_000_000, "egressBurst": 1_000_000,
    })
}

fn on_a_bridge() -> Chain {
    let bridge = json!({
        "type": "bridge", "bridge": "tools0", "isGateway": true, "ipMasq": true, "macspoofchk": true,
    });
    let others = [
        json!({ "type": "tuning", "mtu": 1400, "sysctl": { "net.ipv4.conf.eth0.rp_filter": "2" } }),
        with_keys(rates(), json!({ "type": "bandwidth" })),
        json!({ "type": "firewall" }),
        json!({ "type": "portmap", "runtimeConfig": { "portMappings": ports(8061) } }),
        json!({ "type": "sbr" }),
    ];
    Chain::of([addressed(bridge)].into_iter().chain(others), HOST_LOCAL)
}

/// As the kubelet calls, which passes on what a pod requests.
fn over_a_pair() -> Chain {
    let others = [
        json!({ "type": "route-override", "addroutes": [{ "dst": "192.0.2.0/24" }] }),
        json!({ "type": "bandwidth", "runtimeConfig": { "bandwidth": rates() } }),
        json!({ "type": "portmap", "runtimeConfig": { "portMappings": ports(8062) } }),
    ];
    let ptp = addressed(json!({ "type": "ptp", "ipMasq": true }));
    Chain {
        args: "IgnoreUnknown=1;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b",
        ..Chain::of([ptp].into_iter().chain(others), HOST_LOCAL)
    }
}

fn with_a_device() -> Chain {
    let plugin = addressed(json!({ "type": "host-device", "device": "nic0" }));
    Chain::of([plugin], HOST_LOCAL)
        .after(&["link add nic0 type veth peer name nic1", "link set nic1 up"])
}

fn over_a_master() -> Chain {
    let addresses = json!([{ "address": "10.61.8.5/24", "gateway": "10.61.8.1" }, { "address": "fd61:8::5/64" }]);
    let ipam = json!({ "type": "static", "addresses": addresses });
    let plugin = json!({ "type": "macvlan", "master": "nic0", "ipam": ipam });
    Chain::of([plugin], &[]).after(&[
        "link add nic0 type veth peer name nic1",
        "link set nic1 up",
        "link set nic0 up",
    ])
}

/// What runs under the shipped grants runs again under those that are suggested of the log.
fn runs_again(chain: &Chain) -> Result<()> {
    let node = chain.node()?;
    chain.run(&node)?;
    chain.suggest(&node)?;
    let before = node.audit().len();
    chain.run(&node)?;
    let audit = node.audit();
    let mut again = audit[before..].iter();
    let denied = again.find(|record| record["verdict"] == "denied");
    ensure!(denied.is_none(), "{denied:#?}");
    lacking_reads_are_noticed(chain, &node)
}

/// `check` warns of each read that is taken out of a grant in force, unless the plugins run without it.
fn lacking_reads_are_noticed(chain: &Chain, node: &Node) -> Result<()> {
    let (mut whole, mut less) = (Vec::new(), Vec::new());
    for plugin in chain.names() {
        let (_, shown) = json_of(node, &["show", plugin])?;
        let document = &shown[0]["document"];
        whole.push(file(
            node,
            &format!("{plugin}.json"),
            &document.to_string(),
        )?);
        for (number, document) in without_a_read(document).iter().enumerate() {
            let name = format!("{plugin}.{number}.json");
            less.push(file(node, &name, &document.to_string())?);
        }
    }
    for checked in check(node, &whole)? {
        ensure!(!warns_of_reads(&checked), "{checked:#}");
    }
    for checked in check(node, &less)? {
        if !warns_of_reads(&checked) {
            let plugin = checked["plugin"].as_str().context("a plugin")?;
            let in_force = node.grants().join(format!("{plugin}.yaml"));
            let whole = fs::read(&in_force)?;
            fs::copy(checked["from"].as_str().context("a file")?, &in_force)?;
            let ran = chain.run(node);
            ran.with_context(|| format!("{checked:#}"))?;
            fs::write(&in_force, whole)?;
        }
    }
    Ok(())
}

/// `weir grants check` of these files.
fn check(node: &Node, files: &[String]) -> Result<Vec<Value>> {
    let files = files.iter().map(String::as_str);
    let words: Vec<&str> = ["check"].into_iter().chain(files).collect();
    let (_, checked) = json_of(node, &words)?;
    checked.as_array().cloned().context("a list")
}

fn warns_of_reads(checked: &Value) -> bool {
    let mut remarks = checked["remarks"].as_array().into_iter().flatten();
    remarks.any(|remark| {
        let is_of_reads = remark["code"] == "no-read" || remark["code"] == "no-rule";
        is_of_reads && remark["weight"] == "warning"
    })
}

/// The grant without each of its reads in turn.
fn without_a_read(whole: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let capabilities = whole["spec"]["capabilities"].as_object();
    for (capability, rules) in capabilities.into_iter().flatten() {
        for (at, rule) in rules.as_array().into_iter().flatten().enumerate() {
            let mut verbs = rule["verbs"].as_array().cloned().unwrap_or_default();
            if !verbs.contains(&json!("read")) {
                continue;
            }
            verbs.retain(|verb| verb != "read");
            let mut less = whole.clone();
            let rules = &mut less["spec"]["capabilities"][capability];
            if !verbs.is_empty() {
                rules[at]["verbs"] = verbs.into();
            } else if let Some(rules) = rules.as_array_mut() {
                rules.remove(at);
            }
            all.push(less);
        }
    }
    all
}

/// A test of each chain: it runs again under what is suggested.
macro_rules! run_again {
    ($($name:ident: $chain:expr,)*) => {$(
        #[test]
        fn $name() -> Result<()> {
            runs_again(&$chain)
        }
    )*};
}

run_again! {
    plugins_on_a_bridge_run_again: on_a_bridge(),
    plugins_over_a_pair_run_again: over_a_pair(),
    a_plugin_with_a_device_runs_again: with_a_device(),
    a_plugin_over_a_master_runs_again: over_a_master(),
    loopback_runs_again: Chain::of([json!({ "type": "loopback" })], &[]),
}

/// As in a log whose older files are gone: the bridge is there, and the grant in force lets the plugin create it again.
#[test]
fn what_existed_before_the_first_record_is_named() -> Result<()> {
    let bridge = addressed(json!({ "type": "bridge", "bridge": "tools7", "isGateway": true }));
    let chain = Chain::of([bridge], HOST_LOCAL);
    let node = chain.node()?;
    let named = "create interfaces of kind bridge, on the host";
    for is_named in [false, true] {
        chain.run(&node)?;
        let (_, yaml, errors) = grants(&node, &["suggest", "bridge"])?;
        let comments: Vec<&str> = yaml.lines().filter(|line| line.starts_with('#')).collect();
        let is_there = comments.iter().any(|line| line.contains(named));
        ensure!(is_there == is_named, "{yaml}{errors}");
        fs::write(node.audit_log(), "")?;
    }
    Ok(())
}

/// What is suggested for `loopback` from such records begins with these words.
fn begins(node: &Node, records: &str, words: &str) -> Result<()> {
    let records = file(node, "records.jsonl", records)?;
    let (_, yaml, errors) = grants(node, &["suggest", "loopback", "--records", &records])?;
    let comments = yaml.replace("\n# ", " ");
    ensure!(comments.starts_with(words), "{words}: {yaml}{errors}");
    Ok(())
}

#[test]
fn what_is_not_known_to_run_says_so_first() -> Result<()> {
    let chain = Chain::of([json!({ "type": "loopback" })], &[]);
    let node = chain.node()?;
    chain.run(&node)?;
    let log = fs::read_to_string(node.audit_log())?;
    begins(
        &node,
        &log,
        "# Reads were not recorded: those that the grant in force (shipped)",
    )?;
    let unknown =
        |why: &str| format!("# It is not known whether the plugin runs with this grant: {why}");
    let only_add = log.replace(r#""command":"DEL""#, r#""command":"CHECK""#);
    begins(&node, &only_add, &unknown("no DEL of it was recorded."))?;
    let without_add = log.replace(r#""command":"ADD""#, r#""command":"CHECK""#);
    begins(&node, &without_add, &unknown("no ADD of it was recorded."))?;
    let (_, digest) = log.split_once("sha256:").context("a digest")?;
    let another = log.replace(&digest[..64], &"1".repeat(64));
    let why = "the plugin on this node is another component than the recorded one.";
    begins(&node, &another, &unknown(why))?;

    let narrower = |networks: &str, verbs: &str| {
        let rule = format!("{{ link: [{{ namespace: container, verbs: [{verbs}] }}] }}");
        let grant = Grant {
            networks,
            capabilities: &rule,
            ..Grant::nothing("loopback")
        };
        node.put_grant(
            "loopback.yaml",
            &grant.document(&format!("sha256:{}", &digest[..64])),
        )
    };
    narrower("[other]", "read, update")?;
    begins(
        &node,
        &log,
        &unknown("it has no grant in force on network `tools`."),
    )?;
    // As the shell leaves the file before the command begins.
    node.put_grant("loopback.yaml", "")?;
    let unreadable = unknown("no grant of this node is in force (");
    begins(&node, &log, &unreadable)?;
    narrower("[tools]", "read")?;
    let changed = unknown("the grant in force (");
    begins(&node, &log, &changed)?;
    narrower("[tools]", "read, update")?;
    begins(
        &node,
        &log,
        "# Reads were not recorded: those that the grant in force (/",
    )
}

/// Who may open `/dev/net/tun` is the machine's to say.
mod needs_root {
    use super::*;

    #[test]
    fn tap_runs_again() -> Result<()> {
        runs_again(&Chain::of(
            [addressed(json!({ "type": "tap" }))],
            HOST_LOCAL,
        ))
    }
}
