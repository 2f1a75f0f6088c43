//! Containers of `ctr run --cni`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_kit::containerd::{BUSYBOX_IMAGE, Containerd};
use weir_kit::{assert_contains, binary};

const PLUGINS: [&str; 3] = ["bridge", "host-local", "loopback"];
const LEASES: &str = "/var/lib/cni/networks/pods";

/// How long the kernel may take over a namespace, and how often it is asked.
const TEARDOWN_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// A containerd whose CNI network is one of weir's.
fn containerd() -> Containerd {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let containerd = Containerd::start(work).expect("a containerd of the test's own");
    let installed = containerd.install_cni_bin(&binary(), &PLUGINS);
    installed.expect("weir in /opt/cni/bin");
    let network = json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods0",
                "isDefaultGateway": true,
                "ipMasq": true,
                "ipam": { "type": "host-local", "subnet": "10.77.0.0/24" },
            },
            { "type": "loopback" },
        ],
    });
    let written = containerd.write_cni_conf("10-pods.conflist", &network);
    written.expect("a network configuration");
    containerd
}

/// Runs a script in a container that goes with it. What it says comes through a file: `ctr` does not wait for
/// all that a container has printed.
fn run(containerd: &Containerd, id: &str, script: &str) -> String {
    let name = format!("said-by-{id}-{}", std::process::id());
    let outside = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&outside).expect("a directory");
    let source = outside.display();
    let mount = format!("type=bind,src={source},dst=/outside,options=rbind:rw");
    let script = format!("exec >/outside/said; {script}");
    let arguments = [
        "run",
        "--rm",
        "--cni",
        "--mount",
        &mount,
        BUSYBOX_IMAGE,
        id,
        "sh",
        "-euc",
        &script,
    ];
    let ran = containerd.ctr(&arguments);
    let said = fs::read_to_string(outside.join("said"));
    let removed = fs::remove_dir_all(&outside);
    ran.expect("the container's script succeeds");
    removed.expect("the directory goes");
    said.expect("what the script says")
}

/// Starts a container that stays.
fn start(containerd: &Containerd, id: &str) {
    let started = containerd.ctr(&["run", "--detach", "--cni", BUSYBOX_IMAGE, id]);
    started.expect("a container");
}

/// Runs a script in a container that is there.
fn within(containerd: &Containerd, id: &str, script: &str) -> String {
    let process = format!("{id}-script");
    let arguments = [
        "task",
        "exec",
        "--exec-id",
        &process,
        id,
        "sh",
        "-euc",
        script,
    ];
    containerd
        .ctr(&arguments)
        .expect("the script succeeds in the container")
}

/// The leases of the network: address and content.
fn leases(containerd: &Containerd) -> Vec<(String, String)> {
    let entries = fs::read_dir(containerd.path(LEASES))
        .into_iter()
        .flatten()
        .flatten();
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let content = fs::read_to_string(entry.path()).expect("a lease");
        name.parse::<std::net::IpAddr>()
            .is_ok()
            .then_some((name, content))
    };
    let mut leases: Vec<_> = entries.filter_map(read).collect();
    leases.sort();
    leases
}

fn address_of(containerd: &Containerd, id: &str) -> String {
    let leases = leases(containerd);
    // containerd prefixes its namespace to the id.
    let of_id = |content: &str| {
        content
            .lines()
            .next()
            .is_some_and(|line| line.ends_with(id))
    };
    let found = leases.iter().find(|(_, content)| of_id(content));
    found
        .unwrap_or_else(|| panic!("no lease of {id}: {leases:?}"))
        .0
        .clone()
}

/// Waits until as many ports and elements of nftables are there as there are containers. A port goes
/// with its container's namespace, which the kernel takes apart after `ctr` has ended.
fn expect_attached(containerd: &Containerd, count: usize) {
    let deadline = Instant::now() + TEARDOWN_TIMEOUT;
    loop {
        let (ports, elements) = attached(containerd);
        if (ports.len(), elements.len()) == (count, count) {
            return;
        }
        let found = format!("{count} containers have ports {ports:?} and elements {elements:?}");
        assert!(Instant::now() < deadline, "{found}");
        thread::sleep(POLL);
    }
}

/// What attachments have in the kernel: ports of the bridge, and addresses that are masqueraded.
fn attached(containerd: &Containerd) -> (Vec<String>, Vec<Value>) {
    let json = |program: &str, arguments: &[&str]| -> Value {
        let output = containerd.run(program, arguments).expect("a tool runs");
        serde_json::from_str(&output).expect("JSON")
    };
    let links = json("ip", &["-j", "link", "show"]);
    let names = links.as_array().expect("links").iter();
    let names = names.map(|link| link["ifname"].as_str().expect("a name").to_owned());
    let ruleset = json("nft", &["-j", "list", "ruleset"]);
    let objects = ruleset["nftables"].as_array().expect("objects").iter();
    let sets = objects.map(|object| &object["set"]);
    let pods = sets.filter(|set| set["name"] == "pods4");
    let elements = pods.filter_map(|set| set["elem"].as_array().cloned());
    (
        names
            .filter(|name| !matches!(name.as_str(), "lo" | "pods0"))
            .collect(),
        elements.flatten().collect(),
    )
}

/// What the Makefile leaves out where it is not run by root.
mod needs_root {
    use super::*;

    #[test]
    fn a_container_of_ctr_is_on_the_network_and_leaves_nothing() {
        let containerd = containerd();
        let script = "ip -o address show dev eth0; ip route; ip -o link show dev lo; \
                      ping -c 1 -W 10 10.77.0.1";
        let output = run(&containerd, "one", script);
        assert_contains(
            &output,
            &[
                "inet 10.77.0.2/24 brd 10.77.0.255",
                "default via 10.77.0.1 dev eth0",
                "lo: <LOOPBACK,UP,LOWER_UP>",
                "1 packets received",
            ],
        );
        assert_eq!(leases(&containerd), []);
        expect_attached(&containerd, 0);

        let records = containerd.audit().expect("the audit log");
        let word = |record: &Value, key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let told = |record| {
            ["command", "plugin", "operation"]
                .map(|key| word(record, key))
                .join(" ")
        };
        let told: BTreeSet<String> = records.iter().map(told).collect();
        for expected in [
            "ADD bridge link.create",
            "ADD bridge ipam.run",
            "ADD bridge firewall.apply",
            "ADD host-local store.claim",
            "ADD loopback link.update",
            // `ctr` calls DEL when the namespace is gone, and the container's interface with it.
            "DEL bridge firewall.apply",
            "DEL host-local store.delete",
        ] {
            assert!(
                told.contains(expected),
                "no record of `{expected}`: {told:#?}"
            );
        }
        for record in &records {
            assert_eq!(record["verdict"], "allowed", "{record}");
            assert_eq!(record["network"], "pods", "{record}");
            assert!(
                record["container_id"]
                    .as_str()
                    .is_some_and(|id| id.ends_with("one")),
                "{record}"
            );
        }
    }

    #[test]
    fn containers_of_ctr_reach_each_other() {
        let containerd = containerd();
        for id in ["one", "two"] {
            start(&containerd, id);
        }
        let addresses = ["one", "two"].map(|id| address_of(&containerd, id));
        assert_eq!(addresses, ["10.77.0.2", "10.77.0.3"]);
        for (id, other) in [("one", &addresses[1]), ("two", &addresses[0])] {
            let output = within(&containerd, id, &format!("ping -c 1 -W 10 {other}"));
            assert!(output.contains("1 packets received"), "{output}");
        }
        expect_attached(&containerd, 2);

        // A third one goes alone.
        let output = run(
            &containerd,
            "three",
            &format!("ping -c 1 -W 10 {}", addresses[0]),
        );
        assert!(output.contains("1 packets received"), "{output}");
        let left = leases(&containerd).into_iter().map(|(address, _)| address);
        assert_eq!(left.collect::<Vec<_>>(), addresses);
        expect_attached(&containerd, 2);
    }
}
