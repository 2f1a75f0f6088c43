//! The key `default-route` of a pod's selection: which default routes a container has when they are
//! settled, what the results say of them, and what is in the audit log.

use std::fs;
use std::io::Write;
use std::process;

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use weir_cni::{AddResult, Command, Error};
use weir_files::Paths;
use weir_kit::{Container, Node, assert_contains, binary, component_file};
use weir_network::{Attachment, Cache};
use weir_pod::codes;
use weir_pod::default_route::{Attached, settle};
use weir_sandbox::{Sandbox, digest};

/// The cluster-wide default network, and two others: bridges with both families.
const NETWORKS: [(&str, &str, u8); 3] = [
    ("pods", "eth0", 1),
    ("blue", "net1", 2),
    ("green", "net2", 3),
];

/// A container that is attached to all networks.
struct Pod {
    node: Node,
    container: Container,
    made: Vec<Attached>,
}

impl Pod {
    fn attached() -> Result<Self> {
        let (node, container) = Node::with_container()?;
        let mut pod = Self {
            node,
            container,
            made: Vec::new(),
        };
        for (network, ifname, number) in NETWORKS {
            pod.write_network(network, number)?;
            let result = pod.net(&["net", "add", network], ifname)?;
            pod.made.push(Attached {
                network: network.to_owned(),
                ifname: ifname.to_owned(),
                wanted: None,
                result: serde_json::from_str::<AddResult>(&result)?,
            });
        }
        // What the plugins made.
        assert_eq!(pod.defaults(4)?, IPV4);
        assert_eq!(pod.defaults(6)?, IPV6);
        Ok(pod)
    }

    /// The first gives default routes, and so does the last, with other metrics.
    fn write_network(&self, name: &str, number: u8) -> Result<()> {
        let routes = match name {
            "pods" => json!([{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }]),
            "green" => json!([
                { "dst": "0.0.0.0/0", "priority": 200 },
                { "dst": "::/0", "priority": 2000 },
            ]),
            _ => json!([]),
        };
        let list = json!({
            "cniVersion": "1.1.0", "name": name,
            "plugins": [{
                "type": "bridge", "bridge": format!("dr{number}"), "isGateway": true,
                "ipam": {
                    "type": "host-local",
                    "ranges": [
                        [{ "subnet": format!("10.130.{number}.0/24") }],
                        [{ "subnet": format!("fd00:130:{number}::/64") }],
                    ],
                    "routes": routes,
                },
            }],
        });
        let directory = self.node.root().join("etc/cni/net.d");
        fs::create_dir_all(&directory)?;
        Ok(fs::write(
            directory.join(format!("{name}.conflist")),
            list.to_string(),
        )?)
    }

    fn net(&self, words: &[&str], ifname: &str) -> Result<String> {
        let netns = self.container.netns();
        let netns = netns.to_str().context("a path of text")?;
        let options = ["--ifname", ifname, "--container-id", &self.container.id];
        self.node.weir(&[words, &[netns], &options].concat())
    }

    /// Settles with these gateways for each attachment.
    fn settle(&mut self, wanted: [Option<&[&str]>; 3]) -> Result<Result<bool, Error>> {
        for (made, wanted) in self.made.iter_mut().zip(wanted) {
            let parse = |list: &[&str]| list.iter().map(|gateway| gateway.parse()).collect();
            made.wanted = wanted.map(parse).transpose()?;
        }
        let made = &mut self.made;
        let (node, container) = (&self.node, &self.container);
        node.inside(|| {
            let sandbox = Sandbox::new(Paths::below(node.root()), false).map_err(shown)?;
            Ok(settle(&sandbox, &attachment(container, "eth0")?, made))
        })
    }

    /// The default routes of one family, each in words, with all that is not the kernel's default.
    fn defaults(&self, family: u8) -> Result<Vec<String>> {
        let routes = self
            .container
            .ip(&format!("-{family} route show default"))?;
        // A route with several next hops has a line for each.
        let routes = routes.trim_end().replace("\n\t", " ");
        let words = |line: &str| {
            let line = line.strip_prefix("default").unwrap_or(line);
            let line = line.replace(" proto boot", "").replace(" pref medium", "");
            line.replace(" metric 1024", "")
                .replace(" linkdown", "")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mut all: Vec<String> = routes.lines().map(words).collect();
        all.sort();
        Ok(all)
    }

    /// Which interfaces take default routes from router advertisements.
    #[track_caller]
    fn accepts<const N: usize>(&self, expected: [(&str, bool); N]) -> Result<()> {
        for (ifname, accepts) in expected {
            assert_eq!(self.accepts_advertised(ifname)?, accepts, "{ifname}");
        }
        Ok(())
    }

    fn accepts_advertised(&self, ifname: &str) -> Result<bool> {
        let key = format!("/proc/sys/net/ipv6/conf/{ifname}/accept_ra_defrtr");
        let value = self.container.inside(|| Ok(fs::read_to_string(key)?))?;
        Ok(value.trim() == "1")
    }

    /// All that could be other than before.
    fn state(&self) -> Result<Value> {
        let advertised: Vec<bool> = NETWORKS
            .iter()
            .map(|(_, ifname, _)| self.accepts_advertised(ifname))
            .collect::<Result<_>>()?;
        let results: Vec<Value> = self
            .made
            .iter()
            .map(|made| serde_json::to_value(&made.result))
            .collect::<Result<_, _>>()?;
        Ok(json!([
            self.defaults(4)?,
            self.defaults(6)?,
            advertised,
            results
        ]))
    }

    /// The destinations and gateways of an attachment's result.
    fn routes(&self, place: usize) -> Vec<String> {
        let routes = self.made[place].result.routes.iter();
        let words = routes.map(|route| match route.gw {
            Some(gateway) => format!("{} via {gateway}", route.dst),
            None => route.dst.to_string(),
        });
        words.collect()
    }

    /// What was done on weir's own behalf: interface, network and operation of each record.
    fn own_records(&self) -> Vec<String> {
        let records = self.node.audit().into_iter();
        let own = records.filter(|record| record["plugin"] == "weir");
        own.map(|record| {
            let field = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            let words = ["verdict", "ifname", "network", "operation", "answer"].map(field);
            words.join(" ")
        })
        .collect()
    }

    /// Puts the results into libcni's cache, from where CHECK has them.
    fn keep_results(&self) -> Result<()> {
        let cache = Cache::new(&Paths::below(self.node.root()));
        for made in &self.made {
            let attachment = self
                .node
                .inside(|| attachment(&self.container, &made.ifname))?;
            let cached = cache.get(&made.network, &attachment).map_err(shown)?;
            let mut cached = cached.context("it is attached")?;
            cached.result = Some(serde_json::to_value(&made.result)?);
            cache.put(&attachment, &cached).map_err(shown)?;
        }
        Ok(())
    }

    /// CHECK of each attachment. Errors: the first that is not as its result says.
    fn check(&self) -> Result<()> {
        for (network, ifname, _) in NETWORKS {
            self.net(&["net", "check", network], ifname)?;
        }
        Ok(())
    }
}

const IPV4: [&str; 2] = [
    "via 10.130.1.1 dev eth0",
    "via 10.130.3.1 dev net2 metric 200",
];
const IPV6: [&str; 2] = [
    "via fd00:130:1::1 dev eth0",
    "via fd00:130:3::1 dev net2 metric 2000",
];
const NOTHING: [&str; 0] = [];

fn attachment(container: &Container, ifname: &str) -> Result<Attachment> {
    let netns = container.netns().to_string_lossy().into_owned();
    let (id, ifname) = (container.id.clone(), ifname.to_owned());
    Attachment::open(Command::Add, id, ifname, netns, Default::default()).map_err(shown)
}

fn shown(error: Error) -> anyhow::Error {
    anyhow!("{error}: {}", error.details)
}

fn settled(outcome: Result<bool, Error>) -> Result<bool> {
    outcome.map_err(shown)
}

#[test]
fn the_attachment_named_gets_the_default_route_and_the_others_lose_theirs() -> Result<()> {
    let mut pod = Pod::attached()?;
    let wanted = ["10.130.2.1", "fd00:130:2::1"];
    assert!(settled(pod.settle([None, Some(&wanted), None])?)?);
    assert_eq!(pod.defaults(4)?, ["via 10.130.2.1 dev net1"]);
    assert_eq!(pod.defaults(6)?, ["via fd00:130:2::1 dev net1"]);
    // The results tell the same.
    assert_eq!(pod.routes(0), NOTHING);
    assert_eq!(
        pod.routes(1),
        ["0.0.0.0/0 via 10.130.2.1", "::/0 via fd00:130:2::1"]
    );
    assert_eq!(pod.routes(2), NOTHING);
    pod.keep_results()?;
    pod.check()
}

/// As with the reference plugins: what comes later is first, and IPv6 has both.
#[test]
fn two_attachments_may_both_give_default_routes() -> Result<()> {
    let mut pod = Pod::attached()?;
    pod.net(&["net", "del", "green"], "net2")?;
    let file = pod.node.root().join("etc/cni/net.d/green.conflist");
    let list = fs::read_to_string(&file)?;
    let list = list.replace(r#","priority":2000"#, "");
    fs::write(file, list.replace(r#","priority":200"#, ""))?;
    let result = pod.net(&["net", "add", "green"], "net2")?;
    pod.made[2].result = serde_json::from_str(&result)?;
    let first = "via 10.130.3.1 dev net2";
    let shown = pod.container.ip("-4 route show default")?;
    assert!(shown.starts_with(&format!("default {first}")), "{shown}");
    assert_eq!(pod.defaults(4)?, ["via 10.130.1.1 dev eth0", first]);
    assert_eq!(
        pod.defaults(6)?,
        ["nexthop via fd00:130:1::1 dev eth0 weight 1 nexthop via fd00:130:3::1 dev net2 weight 1"]
    );
    // And one that is asked for is the only one.
    let wanted = ["10.130.1.1", "fd00:130:1::1"];
    assert!(settled(pod.settle([Some(&wanted), None, None])?)?);
    assert_eq!(pod.defaults(4)?, ["via 10.130.1.1 dev eth0"]);
    assert_eq!(pod.defaults(6)?, ["via fd00:130:1::1 dev eth0"]);
    pod.keep_results()?;
    pod.check()
}

#[test]
fn ipv4_moves_while_ipv6_stays() -> Result<()> {
    let mut pod = Pod::attached()?;
    assert!(settled(pod.settle([None, Some(&["10.130.2.1"]), None])?)?);
    assert_eq!(pod.defaults(4)?, ["via 10.130.2.1 dev net1"]);
    assert_eq!(pod.defaults(6)?, IPV6);
    assert_eq!(pod.routes(0), ["::/0"]);
    assert_eq!(pod.routes(1), ["0.0.0.0/0 via 10.130.2.1"]);
    assert_eq!(pod.routes(2), ["::/0"]);
    for (_, ifname, _) in NETWORKS {
        assert!(pod.accepts_advertised(ifname)?, "{ifname}");
    }
    pod.keep_results()?;
    pod.check()
}

#[test]
fn ipv6_moves_while_ipv4_stays() -> Result<()> {
    let mut pod = Pod::attached()?;
    assert!(settled(pod.settle([
        None,
        None,
        Some(&["fd00:130:3::9"])
    ])?)?);
    assert_eq!(pod.defaults(4)?, IPV4);
    assert_eq!(pod.defaults(6)?, ["via fd00:130:3::9 dev net2"]);
    pod.accepts([("eth0", false), ("net1", false), ("net2", true)])?;
    Ok(())
}

#[test]
fn each_family_may_lead_through_another_attachment() -> Result<()> {
    let mut pod = Pod::attached()?;
    let wanted = [
        None,
        Some(&["10.130.2.1"][..]),
        Some(&["fd00:130:3::1"][..]),
    ];
    assert!(settled(pod.settle(wanted)?)?);
    assert_eq!(pod.defaults(4)?, ["via 10.130.2.1 dev net1"]);
    assert_eq!(pod.defaults(6)?, ["via fd00:130:3::1 dev net2"]);
    Ok(())
}

#[test]
fn the_default_network_may_keep_the_default_route() -> Result<()> {
    let mut pod = Pod::attached()?;
    assert!(settled(pod.settle([Some(&["10.130.1.1"]), None, None])?)?);
    assert_eq!(pod.defaults(4)?, ["via 10.130.1.1 dev eth0"]);
    // What was there already stayed as it was: one route was deleted, the last network's.
    assert_eq!(pod.own_records(), ["allowed net2 green route.delete ok"]);
    // And again there is nothing to do.
    assert!(!settled(pod.settle([
        Some(&["10.130.1.1"]),
        None,
        None
    ])?)?);
    assert_eq!(pod.own_records().len(), 1);
    Ok(())
}

#[test]
fn an_empty_list_takes_the_default_routes_of_all() -> Result<()> {
    let mut pod = Pod::attached()?;
    let gateways: [Option<&[&str]>; 3] = [None, Some(&[]), None];
    let before = pod.made.clone();
    assert!(settled(pod.settle(gateways)?)?);
    assert_eq!(pod.defaults(4)?, NOTHING);
    assert_eq!(pod.defaults(6)?, NOTHING);
    for (place, (_, ifname, _)) in NETWORKS.into_iter().enumerate() {
        assert_eq!(pod.routes(place), NOTHING, "{ifname}");
        assert!(!pod.accepts_advertised(ifname)?, "{ifname}");
    }
    // CHECK finds by the amended results that all is well, and with those of ADD that it is not.
    pod.keep_results()?;
    pod.check()?;
    pod.made = before;
    pod.keep_results()?;
    let error = pod.check().expect_err("the default route is gone");
    assert!(format!("{error:#}").contains("0.0.0.0/0"), "{error:#}");
    Ok(())
}

#[test]
fn all_default_routes_of_the_others_go() -> Result<()> {
    let mut pod = Pod::attached()?;
    for route in [
        // Of another metric, of the same, of several next hops, and over two of the interfaces.
        "-4 route add default via 10.130.1.22 dev eth0 metric 50",
        "-4 route append default via 10.130.3.4 dev net2",
        "-4 route add default metric 60 nexthop via 10.130.1.3 dev eth0 nexthop via 10.130.1.4 dev eth0",
        "-4 route add default metric 70 nexthop via 10.130.1.3 dev eth0 nexthop via 10.130.2.4 dev net1",
        "-4 route add default dev net2 metric 80",
        "-6 route add default via fd00:130:1::22 dev eth0 metric 50",
        "-6 route append default via fd00:130:3::22 dev net2",
        "-6 route add default metric 60 nexthop via fd00:130:1::3 dev eth0 nexthop via fd00:130:2::3 dev net1",
        // These are none of the pod's default routes.
        "-4 route add default via 10.130.1.22 dev eth0 table 100",
        "-4 route add 10.131.0.0/16 via 10.130.1.22 dev eth0",
        "-6 route add default via fd00:130:1::22 dev eth0 table 100",
    ] {
        pod.container.ip(route)?;
    }
    assert_eq!(pod.defaults(4)?.len(), 7);
    assert_eq!(pod.defaults(6)?.len(), 4);
    let wanted = ["10.130.2.1", "fd00:130:2::1"];
    assert!(settled(pod.settle([None, Some(&wanted), None])?)?);
    assert_eq!(pod.defaults(4)?, ["via 10.130.2.1 dev net1"]);
    assert_eq!(pod.defaults(6)?, ["via fd00:130:2::1 dev net1"]);
    for (words, left) in [
        (
            "-4 route show table 100",
            "default via 10.130.1.22 dev eth0",
        ),
        (
            "-6 route show table 100",
            "default via fd00:130:1::22 dev eth0",
        ),
        (
            "-4 route show 10.131.0.0/16",
            "10.131.0.0/16 via 10.130.1.22",
        ),
    ] {
        let shown = pod.container.ip(words)?;
        assert!(shown.starts_with(left), "{words}: {shown}");
    }
    Ok(())
}

#[test]
fn advertised_default_routes_of_the_others_go_and_come_no_more() -> Result<()> {
    let mut pod = Pod::attached()?;
    for (ifname, router) in [("eth0", "fe80::1"), ("net1", "fe80::2")] {
        let route =
            format!("-6 route append default via {router} dev {ifname} proto ra expires 600");
        pod.container.ip(&route)?;
    }
    assert!(settled(pod.settle([None, Some(&["fe80::9"]), None])?)?);
    assert_eq!(pod.defaults(6)?, ["via fe80::9 dev net1"]);
    pod.accepts([("eth0", false), ("net1", true)])?;
    Ok(())
}

#[test]
fn a_gateway_that_is_not_on_the_link_leaves_all_as_it_was() -> Result<()> {
    let mut pod = Pod::attached()?;
    let before = pod.state()?;
    for (gateway, why) in [
        ("10.130.1.1", "is not reachable on the link"),
        ("fd00:130:1::1", "is not reachable on the link"),
        ("10.130.2.2", "is the interface's own address"),
        ("0.0.0.0", "is not the address of a router"),
    ] {
        // The other gateway would do.
        let good = if gateway.contains(':') {
            "10.130.2.1"
        } else {
            "fd00:130:2::1"
        };
        let error = pod.settle([None, Some(&[good, gateway]), None])?;
        let error = error.expect_err(gateway);
        assert_eq!(error.code, codes::DEFAULT_ROUTE, "{gateway}");
        let start = format!("network `blue`: default-route: gateway {gateway} {why}: `net1` has ");
        assert!(error.msg.starts_with(&start), "{error:?}");
        for address in ["10.130.2.2/24", "fd00:130:2::2/64"] {
            assert!(error.msg.contains(address), "{error:?}");
        }
        assert_eq!(pod.state()?, before, "{gateway}");
    }
    assert_eq!(pod.own_records(), NOTHING);
    Ok(())
}

#[test]
fn what_the_kernel_refuses_half_way_is_undone() -> Result<()> {
    let mut pod = Pod::attached()?;
    // Two of one metric, whose order counts.
    pod.container
        .ip("-4 route append default via 10.130.1.9 dev eth0")?;
    // IPv4 is done when the kernel refuses IPv6, and that other routers' advertisements are refused.
    pod.container.inside(|| {
        let key = "/proc/sys/net/ipv6/conf/net1/disable_ipv6";
        Ok(fs::write(key, "1")?)
    })?;
    let raw = pod.container.ip("-4 route show default")?;
    let before = pod.state()?;
    let error = pod.settle([None, Some(&["10.130.2.1", "fe80::1"]), None])?;
    let error = error.expect_err("IPv6 is off");
    assert_eq!(error.code, codes::DEFAULT_ROUTE);
    let start = "network `blue`: default-route: by fe80::1: cannot add route ::/0";
    assert!(error.msg.starts_with(start), "{error:?}");
    assert!(!error.details.contains("not undone"), "{error:?}");
    assert_eq!(pod.state()?, before);
    assert_eq!(pod.container.ip("-4 route show default")?, raw);
    // All of it is in the log.
    let records = pod.own_records();
    let count = |start: &str| records.iter().filter(|r| r.starts_with(start)).count();
    assert_eq!(count("allowed"), 3 + 1 + 2 + 2 + 1, "{records:#?}");
    assert_eq!(count("undo"), 3 + 1 + 2 + 2, "{records:#?}");
    Ok(())
}

#[test]
fn what_cannot_be_recorded_is_undone() -> Result<()> {
    let mut pod = Pod::attached()?;
    let log = pod.node.root().join("var/log/weir/audit.jsonl");
    fs::remove_file(&log)?;
    fs::create_dir(&log)?;
    let before = pod.state()?;
    let error = pod.settle([None, Some(&["10.130.2.1", "fd00:130:2::1"]), None])?;
    let error = error.expect_err("nothing can be written");
    assert_eq!(error.code, weir_cni::Code::IO_FAILURE);
    assert!(error.msg.contains("audit log"), "{error:?}");
    assert_eq!(pod.state()?, before);
    Ok(())
}

#[test]
fn an_attachment_without_an_interface_wins_nothing() -> Result<()> {
    let mut pod = Pod::attached()?;
    pod.made[1].ifname = "net9".to_owned();
    pod.made[1].result = AddResult::default();
    let before = pod.state()?;
    let error = pod.settle([None, Some(&["10.130.2.1"]), None])?;
    let error = error.expect_err("there is no net9");
    assert_eq!(error.code, codes::DEFAULT_ROUTE);
    assert_eq!(
        error.msg,
        "network `blue`: default-route: interface `net9` does not exist"
    );
    assert_eq!(pod.state()?, before);
    // Beside another one it does not matter.
    assert!(settled(pod.settle([None, None, Some(&["10.130.3.1"])])?)?);
    assert_eq!(pod.defaults(4)?, ["via 10.130.3.1 dev net2"]);
    Ok(())
}

#[test]
fn without_the_key_nothing_is_done() -> Result<()> {
    let mut pod = Pod::attached()?;
    let before = pod.state()?;
    assert!(!settled(pod.settle([None, None, None])?)?);
    assert_eq!(pod.state()?, before);
    assert_eq!(pod.own_records(), NOTHING);
    Ok(())
}

/// The exit code of `weir grants explain weir --record` with these records, and what it prints.
fn explain(node: &Node, records: &str) -> Result<(Option<i32>, String)> {
    let mut explain = process::Command::new(binary());
    explain.args(["grants", "explain", "weir", "--record"]);
    explain.env("WEIR_ROOT", node.root());
    let mut child = explain
        .stdin(process::Stdio::piped())
        .stdout(process::Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("standard input")?;
    stdin.write_all(records.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?))
}

#[test]
fn what_weir_does_itself_is_in_the_audit_log() -> Result<()> {
    let mut pod = Pod::attached()?;
    settled(pod.settle([None, Some(&["10.130.2.1", "fd00:130:2::1"]), None])?)?;
    // In the order of each interface: a change in the container waits for the interface's next record.
    let mut records = pod.own_records();
    records.sort_by_key(|record| record.split(' ').nth(1).map(str::to_owned));
    assert_eq!(
        records,
        [
            "allowed eth0 pods route.delete ok",
            "allowed eth0 pods sysctl.write ok",
            "allowed eth0 pods route.delete ok",
            "allowed net1 blue route.add ok",
            "allowed net1 blue route.add ok",
            "allowed net2 green route.delete ok",
            "allowed net2 green sysctl.write ok",
            "allowed net2 green route.delete ok",
        ]
    );
    let audit = pod.node.audit();
    let own: Vec<&Value> = audit.iter().filter(|r| r["plugin"] == "weir").collect();
    // Who has done it is the program that has: here the test.
    let program = fs::read(std::env::current_exe()?)?;
    for record in own {
        assert_eq!(record["digest"], digest(&program).to_string());
        assert_eq!(record["command"], "ADD");
        assert_eq!(record["container_id"], pod.container.id.as_str());
        let rule = format!("{}[0]", record["capability"].as_str().unwrap_or_default());
        assert_eq!(record["rules"], json!([rule]));
    }
    // The tools show it as anybody else's.
    let shown = pod
        .node
        .weir(&["audit", "--plugin", "weir", "--ifname", "net1"])?;
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains("0.0.0.0/0"), "{shown}");
    let summary = pod.node.weir(&["audit", "--summary"])?;
    assert!(summary.lines().any(|line| line == "weir"), "{summary}");
    let page = pod.node.root().join("page.html");
    let file = page.to_str().context("a path of text")?;
    pod.node.weir(&["audit", "--html", file])?;
    let page = fs::read_to_string(&page)?;
    assert!(page.contains("This is weir itself"), "{page}");
    // The name is taken.
    let file = &component_file("labels");
    let words: [&[&str]; 3] = [
        &["plugin", "add", file, "--name", "weir"],
        &["plugin", "new", "weir", "unused", "--sdk", "/nowhere"],
        &["grants", "suggest", "weir"],
    ];
    for words in words {
        let output = pod.node.command(words)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("weir itself"), "{words:?}: {said}");
    }
    // As the gate has decided it.
    let log = fs::read_to_string(pod.node.root().join("var/log/weir/audit.jsonl"))?;
    let (code, told) = explain(&pod.node, &log)?;
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told.matches("allowed: ").count(), 8, "{told}");
    assert!(told.contains("by what weir itself may do"), "{told}");
    // And what weir may do.
    let grant = pod.node.weir(&["grants", "show", "weir"])?;
    assert_contains(
        &grant,
        &["fixed in the binary", "accept_ra_defrtr", "default-route"],
    );
    Ok(())
}
