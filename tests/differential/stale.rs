//! A node that changes from the reference to weir with containers running whose ports are mapped, whose packets are
//! masqueraded and let through by rules of iptables: weir's DEL removes them, and nothing of anybody else.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::probe::{Origin, Probe, Protocol, Server};
use crate::side::{Side, Whose, with_previous};

use Whose::{Reference, Weir};

/// The reference's container that stays, the one that goes, the one that has its port afterwards, and what is outside.
pub const STAYS: usize = 0;
pub const GOES: usize = 1;
pub const COMES: usize = 2;
pub const OUTSIDE: usize = 3;

pub const CONTAINER_PORT: u16 = 80;
pub const PORT: u16 = 8500;
pub const OTHER_PORT: u16 = 8501;

/// A list of the plugins that leave rules.
fn list(main: Value, port: u16) -> Value {
    let mut main = main;
    main["ipMasq"] = json!(true);
    main["ipam"] = json!({
        "type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    });
    json!({"cniVersion": "1.0.0", "name": "net", "plugins": [
        main,
        {"type": "portmap", "runtimeConfig": {"portMappings": [
            {"hostPort": port, "containerPort": CONTAINER_PORT, "protocol": "tcp"},
            {"hostPort": port, "containerPort": CONTAINER_PORT, "protocol": "udp"},
        ]}},
        {"type": "firewall"},
    ]})
}

pub fn bridged(port: u16) -> Value {
    list(
        json!({"type": "bridge", "bridge": "br", "isGateway": true}),
        port,
    )
}

pub fn routed(port: u16) -> Value {
    list(json!({"type": "ptp"}), port)
}

pub fn attach(side: &Side, whose: Whose, container: usize, config: &Value) -> Result<Value> {
    let result = side.call_as(whose, "ADD", container, config)?.result();
    Ok(with_previous(config, Some(&result)))
}

/// Which iptables the node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Nftables,
    Legacy,
}

pub const VARIANTS: [Variant; 2] = [Variant::Nftables, Variant::Legacy];

impl Variant {
    /// Has the reference plugins find this one's programs first.
    pub fn choose(self, side: &mut Side) -> Result<()> {
        let directory = side.node.root().join("iptables");
        fs::create_dir_all(&directory)?;
        for name in ["iptables", "ip6tables"] {
            let program = format!("/usr/sbin/{}", self.named(name));
            symlink(program, directory.join(name))?;
        }
        side.first_in_path = Some(directory);
        Ok(())
    }

    fn named(self, tool: &str) -> String {
        match self {
            Self::Nftables => format!("{tool}-nft"),
            Self::Legacy => format!("{tool}-legacy"),
        }
    }

    /// All rules, of both families, without counters.
    pub fn rules(self, side: &Side) -> Result<Vec<String>> {
        let mut rules = Vec::new();
        for family in ["iptables", "ip6tables"] {
            let saved = side
                .node
                .tool(&format!("{}-save", self.named(family)), "-t nat")?;
            let filter = side
                .node
                .tool(&format!("{}-save", self.named(family)), "-t filter")?;
            let lines = saved.lines().chain(filter.lines());
            let rest = lines.filter(|line| !line.starts_with('#'));
            let plain = |line: &str| line.split(" [").next().unwrap_or_default().to_owned();
            rules.extend(rest.map(|line| format!("{family} {}", plain(line))));
        }
        Ok(rules)
    }

    /// What kube-proxy and an administrator have in the same tables.
    fn put_rules_of_others(self, side: &Side) -> Result<()> {
        for line in [
            "-t nat -N KUBE-SERVICES",
            "-t nat -N KUBE-SEP-1",
            "-t nat -A PREROUTING -m comment --comment kubernetes -j KUBE-SERVICES",
            "-t nat -A KUBE-SERVICES -d 10.1.0.3/32 -p tcp --dport 8500 -j KUBE-SEP-1",
            "-t nat -A KUBE-SEP-1 -p tcp -j DNAT --to-destination 10.1.0.3:80",
            "-t nat -A POSTROUTING -s 10.1.0.3/32 -o other -j MASQUERADE",
            "-A FORWARD -s 10.1.0.3/32 -j ACCEPT",
            "-N CNI-FORWARD",
            "-A CNI-FORWARD -s 10.1.0.3/32 -p tcp -j ACCEPT",
            "-A CNI-FORWARD -s 10.1.0.0/28 -j ACCEPT",
            "-A CNI-FORWARD -s 10.1.0.3/32 -j DROP",
            "-A CNI-FORWARD -d 10.1.0.3/32 -j ACCEPT",
        ] {
            side.node.tool(&self.named("iptables"), line)?;
        }
        Ok(())
    }
}

/// As whom the container that has the port sees the client from outside.
pub fn reached(side: &Side, port: u16) -> Result<Option<String>> {
    Probe::new(Origin::Container(OUTSIDE), Protocol::Tcp, "192.0.2.1", port).answer(side)
}

fn change_over(variant: Variant, config: fn(u16) -> Value) -> Result<()> {
    let mut side = Side::create(Weir, 4)?;
    variant.choose(&mut side)?;
    side.connect_outside()?;
    variant.put_rules_of_others(&side)?;
    attach(&side, Reference, STAYS, &config(OTHER_PORT))?;
    let before = variant.rules(&side)?;
    let goes = attach(&side, Reference, GOES, &config(PORT))?;
    ensure!(
        variant.rules(&side)? != before,
        "the reference has made no rules"
    );
    {
        let _server = Server::start(&side.containers[GOES], CONTAINER_PORT)?;
        reached(&side, PORT)?.context("what the reference mapped is not reached")?;
    }
    for _ in 0..2 {
        let deleted = side.call_as(Weir, "DEL", GOES, &goes)?;
        ensure!(deleted.succeeded(), "DEL: {deleted:?}");
        let after = variant.rules(&side)?;
        ensure!(before == after, "before:\n{before:#?}\nafter:\n{after:#?}");
    }
    // The same port is another's now, and the reference's that stayed keeps its own.
    let comes = attach(&side, Weir, COMES, &config(PORT))?;
    let comers = Server::start(&side.containers[COMES], CONTAINER_PORT)?;
    reached(&side, PORT)?.context("the port does not lead to the container that has it now")?;
    let _server = Server::start(&side.containers[STAYS], CONTAINER_PORT)?;
    reached(&side, OTHER_PORT)?.context("the reference's container is not reached any more")?;
    ensure!(
        variant.rules(&side)? == before,
        "weir's ADD changed rules of iptables"
    );
    let deleted = side.call_as(Weir, "DEL", COMES, &comes)?;
    ensure!(deleted.succeeded(), "DEL: {deleted:?}");
    drop(comers);
    ensure!(
        reached(&side, PORT)?.is_none(),
        "the port still leads somewhere"
    );
    ensure!(
        variant.rules(&side)? == before,
        "weir's DEL changed rules of others"
    );
    Ok(())
}

#[test]
fn what_the_reference_made_for_a_bridge_is_removed() -> Result<()> {
    VARIANTS.into_iter().try_for_each(|variant| {
        change_over(variant, bridged).with_context(|| format!("{variant:?}"))
    })
}

#[test]
fn what_the_reference_made_for_ptp_is_removed() -> Result<()> {
    VARIANTS.into_iter().try_for_each(|variant| {
        change_over(variant, routed).with_context(|| format!("{variant:?}"))
    })
}

/// In the reference's newer versions, `"backend": "nftables"` and `"ipMasqBackend": "nftables"` have tables of their own.
#[test]
fn what_the_reference_made_in_tables_of_its_own_is_removed() -> Result<()> {
    let side = Side::create(Weir, 2)?;
    let config = bridged(PORT);
    let known = attach(&side, Reference, 0, &config)?;
    // As the versions 1.8 and 1.9 write them. The last four are the container's: `net`, `eth0`, `differential-1`.
    for line in [
        "add table ip cni_hostport",
        "add chain ip cni_hostport hostports",
        "add chain ip cni_hostport hostip_hostports",
        "add chain ip cni_hostport masquerading { type nat hook postrouting priority srcnat ; }",
        "add rule ip cni_hostport hostports tcp dport 8501 dnat to 10.1.0.9:80 comment \"differential-11\"",
        "add rule ip cni_hostport masquerading ip saddr 10.1.0.9 ip daddr 10.1.0.9 masquerade comment \"another\"",
        "add table inet cni_plugins_masquerade",
        "add chain inet cni_plugins_masquerade masq_checks",
        "add rule inet cni_plugins_masquerade masq_checks ip saddr 10.1.0.9 masquerade comment \"a4861f4ae9f7d238-1111111111111111, net: net\"",
    ] {
        side.node.tool("nft", line)?;
    }
    let own = || -> Result<String> {
        let hostport = side
            .node
            .tool("nft", "--stateless list table ip cni_hostport")?;
        Ok(hostport
            + &side
                .node
                .tool("nft", "--stateless list table inet cni_plugins_masquerade")?)
    };
    let before = own()?;
    let masquerade = format!(
        "\"{}, net: net, if: eth0, id: differential-1\"",
        instance()?
    );
    for line in [
        "add rule ip cni_hostport hostports tcp dport 8500 dnat to 10.1.0.2:80 comment \"differential-1\"",
        "add rule ip cni_hostport hostip_hostports tcp dport 8500 dnat to 10.1.0.2:80 comment \"differential-1\"",
        "add rule ip cni_hostport masquerading ip saddr 127.0.0.1 ip daddr 10.1.0.2 masquerade comment \"differential-1\"",
        &format!(
            "add rule inet cni_plugins_masquerade masq_checks ip saddr 10.1.0.2 masquerade comment {masquerade}"
        ),
    ] {
        side.node.tool("nft", line)?;
    }
    ensure!(own()? != before);
    let deleted = side.call_as(Weir, "DEL", 0, &known)?;
    ensure!(deleted.succeeded(), "DEL: {deleted:?}");
    ensure!(own()? == before, "before:\n{before}\nafter:\n{}", own()?);
    Ok(())
}

/// What the reference writes before a comment of `ipMasq`.
fn instance() -> Result<String> {
    let digest = |text: &str| -> Result<String> {
        let output = std::process::Command::new("sh")
            .args(["-c", "printf %s \"$0\" | sha512sum", text])
            .output()?;
        Ok(String::from_utf8(output.stdout)?[..16].to_owned())
    };
    Ok(format!(
        "{}-{}",
        digest("net")?,
        digest("eth0:differential-1")?
    ))
}

/// Hostile: a container that weir attached has another's address, as one may ask for with the IPAM plugin `static`. What
/// the reference accepts from that address is not its own.
#[test]
fn an_address_alone_removes_nothing() -> Result<()> {
    let side = Side::create(Weir, 3)?;
    let victim = attach(&side, Reference, 0, &bridged(PORT))?;
    let address = victim["prevResult"]["ips"][0]["address"]
        .as_str()
        .context("an address")?;
    let before = Variant::Nftables.rules(&side)?;
    let mut forged = bridged(OTHER_PORT);
    forged["plugins"][0]["ipam"] = json!({"type": "static", "addresses": [{"address": address}]});
    forged["plugins"][0]["bridge"] = json!("other");
    forged["plugins"][0]["isGateway"] = json!(false);
    let first = attach(&side, Weir, 1, &forged)?;
    // The second takes the first one's elements, so that the first has none when it is deleted.
    let second = attach(&side, Weir, 2, &forged)?;
    for (container, known) in [(1, first), (2, second)] {
        let deleted = side.call_as(Weir, "DEL", container, &known)?;
        ensure!(deleted.succeeded(), "DEL: {deleted:?}");
        let after = Variant::Nftables.rules(&side)?;
        ensure!(before == after, "before:\n{before:#?}\nafter:\n{after:#?}");
    }
    Ok(())
}

/// Hostile: names that lie in one another.
#[test]
fn chains_of_other_containers_stay() -> Result<()> {
    for variant in VARIANTS {
        let mut side = Side::create(Weir, 3)?;
        variant.choose(&mut side)?;
        attach(&side, Reference, 0, &bridged(OTHER_PORT))?;
        let before = variant.rules(&side)?;
        for (id, name) in [
            ("differential-1x", "net"),
            ("differential-", "net"),
            ("differential-1", "other"),
        ] {
            side.containers[1].id = id.to_owned();
            let mut config = bridged(PORT);
            config["name"] = json!(name);
            let deleted = side.call_as(Weir, "DEL", 1, &config)?;
            ensure!(deleted.succeeded(), "DEL: {deleted:?}");
            let after = variant.rules(&side)?;
            ensure!(
                before == after,
                "{id}: before:\n{before:#?}\nafter:\n{after:#?}"
            );
        }
    }
    Ok(())
}
