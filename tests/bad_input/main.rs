//! What bad input gets: a clear CNI error with the right code, exit status 1, one JSON document on
//! standard output, and a node on which nothing has changed and no address is lost.

mod addresses;
mod bandwidth;
mod chained;
mod tuning;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, anyhow};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use serde_json::{Value, json};
use weir_tests::{Call, Container, Node, State, weir};

fn config() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": "bad",
        "type": "bridge",
        "bridge": "bad0",
        "isGateway": true,
        "ipMasq": true,
        "macspoofchk": true,
        "ipam": {
            "type": "host-local",
            "ranges": [[{ "subnet": "10.20.0.0/24" }], [{ "subnet": "fd00:20::/64" }]],
        },
    })
}

/// The configuration with another `ipam`.
fn with_ipam(ipam: Value) -> Value {
    let mut config = config();
    config["ipam"] = ipam;
    config["ipam"]["type"] = json!("host-local");
    config
}

fn with(key: &str, value: Value) -> Value {
    let mut config = config();
    config[key] = value;
    config
}

/// A node on which one container is attached, so that there is something to spoil.
struct Place {
    node: Node,
    attached: Container,
    container: Container,
}

impl Place {
    fn create() -> Result<Self> {
        let node = Node::create()?;
        let place = Self {
            attached: node.container()?,
            container: node.container()?,
            node,
        };
        let add = weir(&place.node, "bridge", "ADD", &place.attached, &config());
        place.node.run(&add)?.result();
        Ok(place)
    }

    fn add(&self, config: &Value) -> Call {
        weir(&self.node, "bridge", "ADD", &self.container, config)
    }

    fn del(&self, config: &Value) -> Call {
        weir(&self.node, "bridge", "DEL", &self.container, config)
    }

    /// Runs a call that must fail with this code and say these words, and change nothing.
    #[track_caller]
    fn refused(&self, call: &Call, code: u64, words: &[&str]) {
        refused(&self.node, &self.container, call, code, words);
    }
}

#[track_caller]
fn refused(node: &Node, container: &Container, call: &Call, code: u64, words: &[&str]) {
    let before = State::of(node).expect("the node's state");
    let inside = addresses(container);
    let outcome = node.run(call).expect("the plugin runs");
    let error = outcome.error();
    assert_eq!(error["code"], code, "{error:#}");
    assert!(error["cniVersion"].is_string(), "{error:#}");
    let said = format!("{} {}", error["msg"], error["details"]);
    for word in words {
        assert!(said.contains(word), "`{word}` is not in {error:#}");
    }
    State::of(node)
        .expect("the node's state")
        .assert_same(&before);
    assert_eq!(
        addresses(container),
        inside,
        "the container is not as it was"
    );
}

/// Whether the kernel still looks for duplicates of an address is not for a plugin to change, and ends when
/// it ends.
fn addresses(container: &Container) -> String {
    let addresses = container.ip("-o address");
    let addresses = addresses.expect("the container's addresses");
    addresses.replace(" tentative", "")
}

#[test]
fn standard_input() -> Result<()> {
    let place = Place::create()?;
    let refused = |input: &[u8], code: u64, words: &[&str]| {
        place.refused(place.add(&config()).input(input), code, words);
    };
    refused(b"", 6, &["standard input is empty"]);
    refused(b" \n", 6, &["standard input is empty"]);
    refused(b"{\"cniVersion\": \"1.1.0\", ", 6, &["line 1"]);
    refused(b"not JSON", 6, &["line 1"]);
    refused(b"\xff\xfe{}", 6, &["UTF-8"]);
    refused(&vec![b' '; (4 << 20) + 1], 5, &["more than 4194304 bytes"]);
    let mut deep = b"{\"cniVersion\": \"1.1.0\", \"x\": ".to_vec();
    deep.extend(std::iter::repeat_n(b'[', 100_000));
    refused(&deep, 6, &["recursion"]);
    Ok(())
}

#[test]
fn json_of_the_wrong_type() -> Result<()> {
    let place = Place::create()?;
    for input in ["null", "[]", "42", "\"text\"", "true"] {
        let call = place.add(&config()).input(input).clone();
        place.refused(&call, 7, &["expected an object"]);
    }
    let wrong_types = [
        ("cniVersion", json!(1)),
        ("name", json!(["bad"])),
        ("type", json!({})),
        ("ipam", json!("host-local")),
        ("runtimeConfig", json!([])),
        ("prevResult", json!("yes")),
    ];
    for (key, value) in wrong_types {
        place.refused(&place.add(&with(key, value)), 7, &[key]);
    }
    place.refused(&place.add(&with("bridge", json!(5))), 7, &["bridge"]);
    place.refused(
        &place.add(&with("isGateway", json!("yes"))),
        7,
        &["isGateway"],
    );
    place.refused(&place.add(&with("mtu", json!(-1))), 7, &["mtu"]);
    place.refused(&place.add(&with("vlan", json!(5000))), 7, &["vlan"]);
    Ok(())
}

#[test]
fn unknown_keys_and_names() -> Result<()> {
    let place = Place::create()?;
    place.refused(&place.add(&with("isGatewy", json!(true))), 7, &["isGatewy"]);
    let misspelt = with_ipam(json!({ "subnet": "10.20.0.0/24", "rangeBegin": "10.20.0.9" }));
    place.refused(&place.add(&misspelt), 7, &["rangeBegin"]);
    place.refused(
        &place.add(&with("name", json!("../../etc"))),
        7,
        &["../../etc"],
    );
    place.refused(&place.add(&with("name", json!(""))), 7, &["name"]);
    place.refused(&place.add(&with("bridge", json!("a/b"))), 7, &["a/b"]);
    place.refused(
        &place.add(&with("bridge", json!("much-too-long-a-name"))),
        7,
        &["bridge"],
    );
    let mut nameless = config();
    nameless
        .as_object_mut()
        .context("an object")?
        .remove("name");
    place.refused(&place.add(&nameless), 7, &["name"]);
    Ok(())
}

#[test]
fn versions() -> Result<()> {
    let place = Place::create()?;
    let supported = [
        "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
    ];
    for version in ["9.9.9", "1.2.0", "one"] {
        let mut words = supported.to_vec();
        words.push(version);
        place.refused(&place.add(&with("cniVersion", json!(version))), 1, &words);
    }
    for (command, version) in [("CHECK", "0.3.1"), ("STATUS", "1.0.0"), ("GC", "0.4.0")] {
        let config = with("cniVersion", json!(version));
        let call = weir(&place.node, "bridge", command, &place.container, &config);
        place.refused(&call, 1, &[command]);
    }
    Ok(())
}

#[test]
fn variables() -> Result<()> {
    let place = Place::create()?;
    for name in ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"] {
        place.refused(place.add(&config()).unset(name), 4, &[name]);
        place.refused(place.add(&config()).set(name, ""), 4, &[name]);
    }
    let mut none = place.add(&config());
    none.unset("CNI_CONTAINERID")
        .unset("CNI_NETNS")
        .unset("CNI_IFNAME");
    place.refused(&none, 4, &["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"]);

    let invalid = [
        ("CNI_COMMAND", "ATTACH"),
        ("CNI_COMMAND", ""),
        ("CNI_CONTAINERID", "../../escape"),
        ("CNI_CONTAINERID", "-dash"),
        ("CNI_CONTAINERID", "new\nline"),
        ("CNI_IFNAME", "a/b"),
        ("CNI_IFNAME", "sixteen-bytes-xx"),
        ("CNI_IFNAME", ".."),
        ("CNI_IFNAME", "two words"),
        ("CNI_ARGS", "no-equals-sign"),
        ("CNI_ARGS", "MAC=nonsense"),
        ("CNI_ARGS", "IP=nonsense"),
        ("CNI_ARGS", "UNKNOWN=1"),
    ];
    for (name, value) in invalid {
        let word = match value.split_once('=') {
            Some((key, _)) => key,
            None => name,
        };
        place.refused(place.add(&config()).set(name, value), 4, &[word]);
    }
    let mut two = place.add(&config());
    two.set("CNI_CONTAINERID", "-dash").set("CNI_IFNAME", "a/b");
    place.refused(&two, 4, &["CNI_CONTAINERID", "CNI_IFNAME"]);
    Ok(())
}

#[test]
fn namespaces() -> Result<()> {
    let place = Place::create()?;
    let file = place.node.root().join("a-file");
    fs::write(&file, "")?;
    let paths = [
        PathBuf::from("/does/not/exist"),
        file.clone(),
        place.node.root().to_owned(),
        PathBuf::from("/dev/null"),
        PathBuf::from("/proc/self/ns/mnt"),
        // The host's own: that of the plugin's process.
        PathBuf::from("/proc/self/ns/net"),
    ];
    for path in &paths {
        let shown = path.to_str().context("text")?;
        place.refused(
            place.add(&config()).set("CNI_NETNS", path),
            8,
            &["CNI_NETNS", shown],
        );
    }
    // DEL goes on without one, but never on the host's own.
    for path in &paths[..2] {
        let deleted = place
            .node
            .run(place.del(&config()).set("CNI_NETNS", path))?;
        assert!(deleted.succeeded(), "{}: {deleted:?}", path.display());
    }
    let own = "/proc/self/ns/net";
    place.refused(
        place.del(&config()).set("CNI_NETNS", own),
        8,
        &["host's own"],
    );
    Ok(())
}

#[test]
fn interfaces_and_links_that_exist() -> Result<()> {
    let place = Place::create()?;
    let again = weir(&place.node, "bridge", "ADD", &place.attached, &config());
    place.refused(&again, 102, &["eth0", "exists"]);
    let addresses = place.attached.ip("-o -4 address show dev eth0")?;
    assert!(addresses.contains("10.20.0.2/24"), "{addresses}");

    place
        .container
        .ip("link add eth0 type veth peer name other")?;
    place.refused(&place.add(&config()), 102, &["eth0", "exists"]);
    let lo = place.add(&config()).set("CNI_IFNAME", "lo").clone();
    place.refused(&lo, 102, &["lo", "exists"]);

    place
        .node
        .ip("link add taken0 type veth peer name taken1")?;
    for name in ["taken0", "lo"] {
        place.refused(
            &place.add(&with("bridge", json!(name))),
            7,
            &["bridge", name],
        );
    }
    // No MTU that the kernel does not take, and no MAC that no interface can have.
    let fresh = place.node.container()?;
    let mut mtu = with("bridge", json!("fresh0"));
    mtu["mtu"] = json!(10);
    let call = weir(&place.node, "bridge", "ADD", &fresh, &mtu);
    refused(&place.node, &fresh, &call, 103, &["fresh0"]);
    let mut call = weir(&place.node, "bridge", "ADD", &fresh, &config());
    call.set("CNI_ARGS", "MAC=ff:ff:ff:ff:ff:ff");
    refused(&place.node, &fresh, &call, 103, &["eth0", "MAC"]);
    Ok(())
}

#[test]
fn ranges() -> Result<()> {
    let place = Place::create()?;
    let cases = [
        (json!({ "subnet": "10.21.0.0/31" }), "too small"),
        (json!({ "subnet": "10.21.0.0/32" }), "too small"),
        (json!({ "subnet": "fd00:21::/127" }), "too small"),
        (json!({ "subnet": "10.21.0.5/24" }), "host bits"),
        (json!({ "subnet": "10.21.0.0/33" }), "subnet"),
        (json!({ "subnet": "nonsense" }), "subnet"),
        (json!({}), "ranges"),
        (
            json!({ "subnet": "10.21.0.0/24", "gateway": "10.22.0.1" }),
            "gateway",
        ),
        (
            json!({ "subnet": "10.21.0.0/24", "rangeStart": "10.22.0.1" }),
            "rangeStart",
        ),
        (
            json!({ "subnet": "10.21.0.0/24", "rangeEnd": "10.22.0.1" }),
            "rangeEnd",
        ),
        (
            json!({ "subnet": "10.21.0.0/24", "rangeStart": "10.21.0.9", "rangeEnd": "10.21.0.8" }),
            "before",
        ),
        (
            json!({ "ranges": [[{ "subnet": "10.21.0.0/24" }], [{ "subnet": "10.21.0.128/25" }]] }),
            "overlaps",
        ),
        (
            json!({ "ranges": [[{ "subnet": "10.21.0.0/24" }, { "subnet": "10.21.0.0/25" }]] }),
            "overlap",
        ),
        (
            json!({ "ranges": [[{ "subnet": "10.21.0.0/24" }, { "subnet": "fd00::/64" }]] }),
            "",
        ),
        (json!({ "ranges": [[]] }), "range"),
    ];
    for (ipam, word) in cases {
        place.refused(&place.add(&with_ipam(ipam)), 7, &[word]);
    }
    Ok(())
}

#[test]
fn an_exhausted_range() -> Result<()> {
    let node = Node::create()?;
    let (first, second) = (node.container()?, node.container()?);
    let mut small = with_ipam(json!({ "subnet": "10.23.0.0/30" }));
    small["bridge"] = json!("small0");
    node.run(&weir(&node, "bridge", "ADD", &first, &small))?
        .result();
    let add = weir(&node, "bridge", "ADD", &second, &small);
    refused(
        &node,
        &second,
        &add,
        110,
        &["no IP addresses available", "10.23.0.1-10.23.0.2"],
    );
    let status = weir(&node, "bridge", "STATUS", &second, &small);
    refused(&node, &second, &status, 50, &["no IP addresses available"]);
    // A second set that is full gives the first set's address back.
    let mut two = small.clone();
    two["ipam"] = json!({
        "type": "host-local",
        "ranges": [[{ "subnet": "10.24.0.0/24" }], [{ "subnet": "10.23.0.0/30" }]],
    });
    refused(
        &node,
        &second,
        &weir(&node, "bridge", "ADD", &second, &two),
        110,
        &["range set 1"],
    );
    node.run(&weir(&node, "bridge", "DEL", &first, &small))?
        .result();
    node.run(&add)?.result();
    Ok(())
}

#[test]
fn directories_that_cannot_be_trusted() -> Result<()> {
    let place = Place::create()?;
    let networks = place.node.root().join("var/lib/cni/networks");
    let own = networks.join("other");
    let other = with("name", json!("other"));

    let elsewhere = place.node.root().join("elsewhere");
    fs::create_dir(&elsewhere)?;
    symlink(&elsewhere, &own)?;
    place.refused(
        &place.add(&other),
        103,
        &["symbolic link", "networks/other"],
    );
    assert_eq!(
        fs::read_dir(&elsewhere)?.count(),
        0,
        "something was written through the link"
    );
    fs::remove_file(&own)?;

    fs::create_dir(&own)?;
    fs::set_permissions(&own, PermissionsExt::from_mode(0o777))?;
    place.refused(&place.add(&other), 103, &["mode 0777", "networks/other"]);
    assert_eq!(fs::read_dir(&own)?.count(), 0);
    fs::remove_dir(&own)?;

    fs::write(&own, "a file")?;
    place.refused(
        &place.add(&other),
        103,
        &["not a directory", "networks/other"],
    );
    fs::remove_file(&own)?;

    // The grant decides where leases may be.
    for directory in ["/etc", "/var/lib/cni/../../../etc", "relative"] {
        let ipam = json!({ "subnet": "10.20.0.0/24", "dataDir": directory });
        let outcome = place.node.run(&place.add(&with_ipam(ipam.clone())))?;
        assert!(
            [100, 103].contains(&outcome.code()),
            "{directory}: {outcome:?}"
        );
        place.refused(
            &place.add(&with_ipam(ipam)),
            outcome.code(),
            &["dataDir", directory],
        );
    }

    fs::create_dir(&own)?;
    symlink("/dev/null", own.join("lock"))?;
    place.refused(&place.add(&other), 103, &["lock", "not a regular file"]);
    Ok(())
}

#[test]
fn damaged_leases() -> Result<()> {
    let node = Node::create()?;
    let container = node.container()?;
    let leases = node.leases("bad");
    fs::create_dir_all(&leases)?;
    // Each stands for an address that is taken, by whomever.
    fs::write(leases.join("10.20.0.2"), "")?;
    fs::write(leases.join("10.20.0.3"), "half-a-contai")?;
    fs::write(leases.join("10.20.0.4"), b"\xff\x00\xfe\r\n\r\n\r\n")?;
    fs::write(leases.join("10.20.0.5"), vec![b'x'; 100_000])?;
    fs::create_dir(leases.join("10.20.0.6"))?;
    symlink("/etc/passwd", leases.join("10.20.0.7"))?;
    fs::write(leases.join("last_reserved_ip.0"), "garbage")?;
    fs::write(leases.join("last_reserved_ip.1"), "")?;
    fs::write(leases.join("not a key"), "")?;
    let before = node.taken("bad");

    let result = node
        .run(&weir(&node, "bridge", "ADD", &container, &config()))?
        .result();
    assert_eq!(result["ips"][0]["address"], "10.20.0.8/24");
    let mut checked = config();
    checked["prevResult"] = result;
    node.run(&weir(&node, "bridge", "CHECK", &container, &checked))?
        .result();
    node.run(&weir(&node, "bridge", "STATUS", &container, &config()))?
        .result();
    node.run(&weir(&node, "bridge", "DEL", &container, &checked))?
        .result();
    assert_eq!(
        node.taken("bad"),
        before,
        "damaged leases stay for a person to look at"
    );
    Ok(())
}

/// Runs `test` in a thread with a mount namespace of its own, in which a file system of so many
/// bytes and inodes stands at `path`.
fn on_small_disk(
    path: PathBuf,
    size: &str,
    test: impl FnOnce() -> Result<()> + Send,
) -> Result<()> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).context("a mount namespace")?;
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
            fs::create_dir_all(&path)?;
            mount(
                Some("weir"),
                &path,
                Some("tmpfs"),
                MsFlags::empty(),
                Some(size),
            )?;
            let outcome = test();
            umount2(&path, MntFlags::MNT_DETACH)?;
            outcome
        });
        thread
            .join()
            .map_err(|_| anyhow!("the test panicked, see above"))?
    })
}

#[test]
fn a_full_disk() -> Result<()> {
    for size in ["size=16k,mode=755", "nr_inodes=32,mode=755"] {
        let node = Node::create()?;
        let container = node.container()?;
        on_small_disk(node.root().join("var/lib"), size, || {
            let small = node.root().join("var/lib/cni/networks/bad");
            fs::create_dir_all(&small)?;
            fill(&node)?;
            let add = weir(&node, "bridge", "ADD", &container, &config());
            refused(
                &node,
                &container,
                &add,
                105,
                &["No space left", "free some space"],
            );
            let taken = node.taken("bad");
            assert!(taken.is_empty(), "{taken:?}");
            let del = weir(&node, "bridge", "DEL", &container, &config());
            let deleted = node.run(&del)?;
            assert!([Some(0), Some(1)].contains(&deleted.status), "{deleted:?}");

            empty(&node)?;
            node.run(&add)?.result();
            fill(&node)?;
            // What frees space works on a full disk.
            node.run(&del)?.result();
            assert!(node.taken("bad").is_empty());
            Ok(())
        })
        .with_context(|| size.to_owned())?;
    }
    Ok(())
}

/// Where what fills the disk is.
fn ballast(node: &Node) -> PathBuf {
    node.root().join("var/lib/ballast")
}

/// Fills the disk below `var/lib`: with empty files until it has no more inodes, and with one that
/// takes all space.
fn fill(node: &Node) -> Result<()> {
    fs::create_dir_all(ballast(node))?;
    let in_the_way = |n: usize| fs::write(ballast(node).join(n.to_string()), "").is_ok();
    let files = (0..64).take_while(|n| in_the_way(*n)).count();
    let written = fs::write(ballast(node).join("0"), vec![0; 1 << 20]);
    anyhow::ensure!(files < 64 || written.is_err(), "the disk is not full");
    Ok(())
}

/// Takes the ballast away again.
fn empty(node: &Node) -> Result<()> {
    fs::remove_dir_all(ballast(node)).context("take the ballast away")
}

#[test]
fn an_audit_log_that_cannot_be_written() -> Result<()> {
    let place = Place::create()?;
    let log = place.node.root().join("var/log/weir/audit.jsonl");
    fs::rename(&log, log.with_extension("old"))?;
    fs::create_dir(&log)?;
    place.refused(&place.add(&config()), 5, &["audit log", "audit.jsonl"]);
    // DEL gives back what was taken all the same.
    let del = weir(&place.node, "bridge", "DEL", &place.attached, &config());
    place.node.run(&del)?.result();
    assert!(place.node.taken("bad").is_empty());
    fs::remove_dir(&log)?;

    on_small_disk(
        place.node.root().join("var/log/weir"),
        "size=4k,mode=755",
        || {
            fs::write(
                place.node.root().join("var/log/weir/ballast"),
                vec![0; 4096],
            )?;
            place.refused(&place.add(&config()), 5, &["audit log", "No space left"]);
            Ok(())
        },
    )
}

#[test]
fn an_add_that_fails_at_any_step_leaves_nothing() -> Result<()> {
    // The first ADD of a node, so that the bridge and the chains are its own, too.
    let first = |config: &Value, code: u64, words: &[&str]| -> Result<()> {
        let node = Node::create()?;
        let container = node.container()?;
        let add = weir(&node, "bridge", "ADD", &container, config);
        refused(&node, &container, &add, code, words);
        Ok(())
    };
    let route = |dst: &str, gw: &str| {
        let mut config = config();
        config["ipam"]["routes"] = json!([{ "dst": "0.0.0.0/0" }, { "dst": dst, "gw": gw }]);
        config
    };
    first(
        &with_ipam(json!({ "subnet": "10.0.0.0/31" })),
        7,
        &["too small"],
    )?;
    first(
        &with("ipam", json!({ "type": "nobody" })),
        220,
        &["ipam", "nobody"],
    )?;
    let unreachable = route("192.0.2.0/24", "203.0.113.9");
    let outcome = {
        let node = Node::create()?;
        let container = node.container()?;
        node.run(&weir(&node, "bridge", "ADD", &container, &unreachable))?
    };
    first(
        &unreachable,
        outcome.code(),
        &["192.0.2.0/24", "203.0.113.9"],
    )?;
    first(
        &route("2001:db8::/32", "fd00:99::1"),
        outcome.code(),
        &["2001:db8::/32"],
    )?;

    // A gateway's address that is somebody else's.
    let node = Node::create()?;
    let container = node.container()?;
    node.ip("link add bad0 type bridge")?;
    node.ip("address add 10.99.0.1/24 dev bad0")?;
    node.ip("link set bad0 up")?;
    let add = weir(&node, "bridge", "ADD", &container, &config());
    refused(
        &node,
        &container,
        &add,
        110,
        &["10.99.0.1/24", "forceAddress"],
    );

    // Chains and sets of weir's own that somebody has changed.
    let occupied = [
        ("inet", "pods4 { type ether_addr; }"),
        ("bridge", "macs { type ipv4_addr; }"),
    ];
    for (family, set) in occupied {
        let node = Node::create()?;
        let container = node.container()?;
        node.tool("nft", &format!("add table {family} weir_bridge"))?;
        node.tool("nft", &format!("add set {family} weir_bridge {set}"))?;
        let add = weir(&node, "bridge", "ADD", &container, &config());
        let code = node.run(&add)?.code();
        let before = State::of(&node)?;
        refused(&node, &container, &add, code, &[]);
        assert_eq!(before.links, ["lo"]);
        assert!(before.files.is_empty(), "{:?}", before.files);
    }
    Ok(())
}

#[test]
fn del_is_idempotent() -> Result<()> {
    let place = Place::create()?;
    let before = State::of(&place.node)?;
    // Nothing was ever attached.
    place.node.run(&place.del(&config()))?.result();
    State::of(&place.node)?.assert_same(&before);

    let result = place.node.run(&place.add(&config()))?.result();
    let with_result = with("prevResult", result.clone());
    for _ in 0..3 {
        place.node.run(&place.del(&with_result))?.result();
        State::of(&place.node)?.assert_same(&before);
    }

    // Without the namespace: its veth pair went with it.
    let result = place.node.run(&place.add(&config()))?.result();
    place.container.ip("link delete eth0")?;
    let with_result = with("prevResult", result);
    place
        .node
        .run(place.del(&with_result).unset("CNI_NETNS"))?
        .result();
    State::of(&place.node)?.assert_same(&before);

    // Without the lease, and without the interface.
    let result = place.node.run(&place.add(&config()))?.result();
    let lease = result["ips"][0]["address"]
        .as_str()
        .and_then(|a| a.split('/').next());
    fs::remove_file(place.node.leases("bad").join(lease.context("an address")?))?;
    place
        .node
        .run(&place.del(&with("prevResult", result)))?
        .result();
    State::of(&place.node)?.assert_same(&before);
    Ok(())
}

#[test]
fn del_with_a_result_that_does_not_match() -> Result<()> {
    let place = Place::create()?;
    let before = State::of(&place.node)?;
    let of_other = {
        let addresses = place.attached.ip_json("address show dev eth0")?;
        json!({
            "cniVersion": "1.1.0",
            "interfaces": [
                { "name": "bad0" },
                { "name": "vethffffffff" },
                { "name": "eth0", "mac": addresses[0]["address"], "sandbox": "/elsewhere" },
            ],
            // The other container's.
            "ips": [{ "interface": 2, "address": "10.20.0.2/24" }],
        })
    };
    let results = [
        of_other,
        json!({ "cniVersion": "1.1.0", "interfaces": [], "ips": [] }),
        json!({ "cniVersion": "0.2.0", "ip4": { "ip": "10.20.0.2/24" } }),
        json!({ "cniVersion": "7.7.7" }),
        json!({ "nonsense": [1, 2] }),
        json!({ "ips": [{ "interface": 99, "address": "10.20.0.2/24" }] }),
        Value::Null,
    ];
    for result in results {
        place.node.run(&place.add(&config()))?.result();
        let deleted = place
            .node
            .run(&place.del(&with("prevResult", result.clone())))?;
        assert!(deleted.succeeded(), "{result}: {deleted:?}");
        State::of(&place.node)?.assert_same(&before);
    }
    // Nor does a configuration stand in its way that ADD would refuse.
    place.node.run(&place.add(&config()))?.result();
    let mut later = with("surprise", json!(true));
    later["ipMasqBackend"] = json!("unheard-of");
    place.node.run(&place.del(&later))?.result();
    State::of(&place.node)?.assert_same(&before);
    Ok(())
}

#[test]
fn check_without_a_previous_result() -> Result<()> {
    let place = Place::create()?;
    let check = weir(&place.node, "bridge", "CHECK", &place.attached, &config());
    place.refused(&check, 7, &["prevResult"]);
    let nonsense = with("prevResult", json!("nonsense"));
    let check = weir(&place.node, "bridge", "CHECK", &place.attached, &nonsense);
    place.refused(&check, 7, &["prevResult"]);
    Ok(())
}
