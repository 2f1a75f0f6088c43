//! Every operation by its name, and back from its record.

use serde_json::json;

use super::super::Capabilities;
use super::super::invocation::Invocation;
use super::super::operation::Decision;
use super::*;

/// Every operation with fields that are enough, and what it then requires.
const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "link.create",
        "namespace=container kind=veth name=eth0 peer.namespace=host peer.name=veth1 \
         master.namespace=host master.kind=bridge master.name=cni0",
        "create veth `eth0` in container, create veth `veth1` in host, update ports of bridge `cni0` in \
         host",
    ),
    (
        "link.create",
        "namespace=host kind=bridge name=cni0",
        "create bridge `cni0` in host",
    ),
    (
        "link.create",
        "namespace=container kind=macvlan name=eth0 lower.namespace=host lower.kind=physical \
         lower.name=ens3",
        "create macvlan `eth0` in container, update ports of physical `ens3` in host",
    ),
    (
        "link.get",
        "namespace=host kind=bridge name=cni0",
        "read bridge `cni0` in host",
    ),
    (
        "link.look-up",
        "namespace=host name=cni0",
        "read link `cni0` in host",
    ),
    ("link.list", "namespace=host", ""),
    (
        "link.delete",
        "namespace=host kind=veth name=veth1",
        "delete veth `veth1` in host",
    ),
    (
        "link.update",
        "namespace=host kind=veth name=veth1 new-name=veth2 up=true mtu=1400",
        "update name, up and mtu of veth `veth1` in host, update name, up and mtu of veth `veth2` in host",
    ),
    (
        "link.update-port",
        "namespace=host kind=veth name=veth1 hairpin=true",
        "update port of veth `veth1` in host",
    ),
    (
        "link.update-bridge",
        "namespace=host kind=bridge name=cni0",
        "update bridge of bridge `cni0` in host",
    ),
    (
        "link.add-vlans",
        "namespace=host kind=veth name=veth1",
        "update vlans of veth `veth1` in host",
    ),
    (
        "link.delete-vlans",
        "namespace=host kind=veth name=veth1",
        "update vlans of veth `veth1` in host",
    ),
    (
        "link.list-vlans",
        "namespace=host kind=veth name=veth1",
        "read veth `veth1` in host",
    ),
    (
        "link.move",
        "namespace=host kind=physical name=ens3 to=container new-name=eth0",
        "update namespace of physical `ens3` in host, create physical `eth0` in container",
    ),
    (
        "link.get-peer",
        "namespace=container kind=veth name=eth0",
        "read veth `eth0` in container",
    ),
    (
        "link.wait-up",
        "namespace=container kind=veth name=eth0 timeout=5",
        "read veth `eth0` in container",
    ),
    (
        "address.add",
        "namespace=container kind=veth link=eth0 address=10.1.0.2/24",
        "create address 10.1.0.2/24 of veth `eth0` in container",
    ),
    (
        "address.delete",
        "namespace=host kind=bridge link=cni0 address=10.1.0.1/24",
        "delete address 10.1.0.1/24 of bridge `cni0` in host",
    ),
    (
        "address.list",
        "namespace=host kind=bridge link=cni0 family=ipv6",
        "read the addresses of bridge `cni0` in host",
    ),
    (
        "address.settle",
        "namespace=container kind=veth link=eth0",
        "read the addresses of veth `eth0` in container",
    ),
    (
        "route.add",
        "namespace=container destination=0.0.0.0/0 link=eth0",
        "create route 0.0.0.0/0 over `eth0`, table 254 in container",
    ),
    (
        "route.replace",
        "namespace=host destination=10.1.0.2/32 link=veth1 table=100",
        "update route 10.1.0.2/32 over `veth1`, table 100 in host",
    ),
    (
        "route.delete",
        "namespace=host destination=10.1.0.2/32",
        "delete route 10.1.0.2/32, table 254 in host",
    ),
    ("route.list", "namespace=host", "read routes in host"),
    (
        "route.get",
        "namespace=host to=10.1.0.2",
        "read route 10.1.0.2/32 in host",
    ),
    (
        "policy-rule.add",
        "namespace=container family=ipv4 source=10.1.0.2/32 table=100 priority=7",
        "create policy rule from 10.1.0.2/32 to table 100, priority 7 in container",
    ),
    (
        "policy-rule.delete",
        "namespace=container family=ipv4 source=10.1.0.2/32 table=100",
        "delete policy rule from 10.1.0.2/32 to table 100 in container",
    ),
    (
        "policy-rule.list",
        "namespace=container",
        "read the policy rules in container",
    ),
    (
        "neighbour.add",
        "namespace=container link=eth0 address=10.1.0.1 mac=02:00:00:00:00:01",
        "create neighbour 10.1.0.1 on link `eth0` in container",
    ),
    (
        "neighbour.delete",
        "namespace=container link=eth0 address=10.1.0.1",
        "delete neighbour 10.1.0.1 on link `eth0` in container",
    ),
    (
        "neighbour.list",
        "namespace=container link=eth0",
        "read the neighbours on link `eth0` in container",
    ),
    (
        "neighbour.announce",
        "namespace=container link=eth0 addresses=10.1.0.2,fd00::2",
        "announce neighbour 10.1.0.2 on link `eth0` in container, announce neighbour fd00::2 on link \
         `eth0` in container",
    ),
    (
        "traffic.add-qdisc",
        "namespace=host kind=veth link=veth1 discipline=tbf",
        "create `tbf` on veth `veth1` in host",
    ),
    (
        "traffic.add-qdisc",
        "namespace=host kind=veth link=veth1 discipline=fq_codel",
        "create `fq_codel` on veth `veth1` in host",
    ),
    (
        "traffic.delete-qdisc",
        "namespace=host kind=veth link=veth1 discipline=tbf",
        "delete `tbf` on veth `veth1` in host",
    ),
    (
        "traffic.list-qdiscs",
        "namespace=host kind=veth link=veth1",
        "read the disciplines of veth `veth1` in host",
    ),
    (
        "traffic.add-class",
        "namespace=host kind=veth link=veth1",
        "create `htb` on veth `veth1` in host",
    ),
    (
        "traffic.delete-class",
        "namespace=host kind=veth link=veth1",
        "delete `htb` on veth `veth1` in host",
    ),
    (
        "traffic.list-classes",
        "namespace=host kind=veth link=veth1",
        "read `htb` on veth `veth1` in host",
    ),
    (
        "traffic.add-filter",
        "namespace=host kind=veth link=veth1 target.namespace=host target.kind=ifb \
         target.name=bwp1",
        "create `mirred` on veth `veth1` in host, create `mirred` on ifb `bwp1` in host",
    ),
    (
        "traffic.delete-filter",
        "namespace=host kind=veth link=veth1",
        "delete `htb` on veth `veth1` in host",
    ),
    (
        "traffic.list-filters",
        "namespace=host kind=veth link=veth1",
        "read the disciplines of veth `veth1` in host",
    ),
    (
        "firewall.apply",
        "namespace=host family=inet hooks=postrouting statements=masquerade,return",
        "write nftables table `inet weir_plugin` in host, write a chain on hook postrouting to \
         nftables table `inet weir_plugin` in host, write `masquerade` on hook postrouting to nftables \
         table `inet weir_plugin` in host, write `return` on hook postrouting to nftables table `inet \
         weir_plugin` in host",
    ),
    (
        "firewall.apply",
        "namespace=host family=inet statements=drop",
        "write nftables table `inet weir_plugin` in host, write `drop` to nftables table `inet \
         weir_plugin` in host",
    ),
    (
        "firewall.list-chains",
        "namespace=host family=inet",
        "read nftables table `inet weir_plugin` in host",
    ),
    (
        "firewall.list-sets",
        "namespace=host family=inet",
        "read nftables table `inet weir_plugin` in host",
    ),
    (
        "firewall.list-rules",
        "namespace=host family=inet chain=c",
        "read nftables table `inet weir_plugin` in host",
    ),
    (
        "firewall.get-element",
        "namespace=host family=inet set=s",
        "read nftables table `inet weir_plugin` in host",
    ),
    (
        "firewall.list-elements",
        "namespace=host family=bridge set=s",
        "read nftables table `bridge weir_plugin` in host",
    ),
    (
        "firewall.remove-reference-rules",
        "plugin=portmap",
        "delete the reference plugin's rules for this attachment from tables of family ip in host, delete the reference \
         plugin's rules for this attachment from tables of family ip6 in host",
    ),
    ("firewalld.is-running", "", "read whether firewalld runs"),
    (
        "firewalld.zone-of-source",
        "source=10.1.0.2",
        "read the zone of 10.1.0.2",
    ),
    (
        "firewalld.add-source",
        "zone=trusted source=10.1.0.2",
        "create source 10.1.0.2 of zone `trusted`",
    ),
    (
        "firewalld.remove-source",
        "zone=trusted source=10.1.0.2",
        "delete source 10.1.0.2 of zone `trusted`",
    ),
    (
        "conntrack.delete",
        "namespace=host protocol=udp port=53",
        "delete connections to udp port 53 in host",
    ),
    (
        "sysctl.read",
        "namespace=host key=net.ipv4.ip_forward",
        "read net.ipv4.ip_forward in host",
    ),
    (
        "sysctl.write",
        "namespace=host key=net.ipv4.ip_forward value=1",
        "write net.ipv4.ip_forward = 1 in host",
    ),
    (
        "store.open",
        "access=read directory=/var/lib/cni",
        "read the store in `/var/lib/cni`",
    ),
    ("store.open", "access=write", "write the plugin's own store"),
    ("store.get", "key=a", "read the plugin's own store"),
    ("store.put", "key=a", "write the plugin's own store"),
    (
        "store.claim",
        "keys=a,b shared-directory=/run/cni",
        "write the store in `/run/cni`",
    ),
    ("store.delete", "key=a", "write the plugin's own store"),
    ("store.keys", "", "read the plugin's own store"),
    ("store.find", "", "read the plugin's own store"),
    ("store.revert", "", "write the plugin's own store"),
    (
        "store.read-file",
        "path=/etc/resolv.conf",
        "read the file `/etc/resolv.conf`",
    ),
    (
        "device.by-link",
        "link=ens3",
        "read the device behind link `ens3`",
    ),
    (
        "device.by-pci-address",
        "address=0000:03:00.1",
        "read the device at PCI address `0000:03:00.1`",
    ),
    (
        "device.by-auxiliary-name",
        "name=mlx5_core.sf.4",
        "read the auxiliary device `mlx5_core.sf.4`",
    ),
    (
        "device.by-kernel-path",
        "path=/sys/devices/x",
        "read the device at `/sys/devices/x`",
    ),
    (
        "packet.open-udp",
        "link=eth0 local-port=68",
        "open a socket for udp port 68 on `eth0` in container",
    ),
    (
        "packet.open-raw",
        "link=eth0 ether-type=2048",
        "open a socket for EtherType 0x0800 on `eth0` in container",
    ),
    (
        "ipam.run",
        "plugin=host-local",
        "run IPAM plugin `host-local`",
    ),
];

fn fields(text: &str) -> Vec<(String, String)> {
    let pairs = text.split_whitespace().filter_map(|f| f.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn needs(operation: &dyn Query) -> String {
    let needs: Vec<String> = operation.needs().iter().map(|n| n.to_string()).collect();
    needs.join(", ")
}

#[test]
fn every_operation_can_be_named() {
    for (name, given, expected) in EXAMPLES {
        let operation = by_name(name, &fields(given)).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(needs(&*operation), *expected, "{name} {given}");
    }
    let mut shown: Vec<&str> = EXAMPLES.iter().map(|(name, ..)| *name).collect();
    shown.dedup();
    assert_eq!(shown, names());
}

/// A record has the operation's arguments: what is read from it is the same operation.
#[test]
fn a_record_is_the_operation_that_was_recorded() {
    for (name, given, expected) in EXAMPLES {
        let operation = by_name(name, &fields(given)).unwrap_or_else(|why| panic!("{why}"));
        let arguments = operation.arguments();
        let read = recorded(operation.name(), &arguments).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(needs(&*read), *expected, "{arguments}");
        assert_eq!(read.arguments(), arguments, "{name}");
        assert_eq!(read.is_read(), operation.is_read(), "{name}");
    }
}

/// What weir does itself is recorded, and nobody is asked about it: no grant has a rule for it.
#[test]
fn a_native_plugin_is_in_records_alone() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    let arguments = json!({ "plugin": "flannel", "digest": digest, "command": "ADD" });
    let operation = recorded("native.execute", &arguments).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        needs(&*operation),
        format!("run native plugin `flannel` ({digest})")
    );
    assert_eq!(operation.arguments(), arguments);
    let given = fields(&format!("plugin=flannel digest={digest}"));
    assert!(by_name("native.execute", &given).is_err());
    assert!(!names().contains(&"native.execute"));
    assert!(recorded_names().contains(&"native.execute"));
}

#[test]
fn the_matcher_is_the_gates() {
    let grant = r#"{"link": [{"namespace": "host", "kinds": ["bridge"], "names": ["cni*"]}]}"#;
    let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
    let decide = |given: &str| {
        let operation = by_name("link.create", &fields(given)).expect("an operation");
        operation.decide(&capabilities, &Invocation::default())
    };
    let rules = vec!["link[0]".to_owned()];
    assert_eq!(
        decide("namespace=host kind=bridge name=cni0"),
        Decision::Allowed { rules }
    );
    let denied = Decision::Denied {
        requirement: "create bridge `br0` in host".to_owned(),
        closest: Some("link[0]: names".into()),
    };
    assert_eq!(decide("namespace=host kind=bridge name=br0"), denied);
}

#[test]
fn mistakes_name_what_there_is() {
    let why = |name: &str, given: &str| match by_name(name, &fields(given)) {
        Err(why) => why,
        Ok(operation) => panic!("{}", operation.arguments()),
    };
    let link = why("link.make", "");
    assert!(
        link.starts_with(
            "no operation `link.make`; expected `link.create`, `link.get`, `link.look-up`,"
        ),
        "{link}"
    );
    assert!(!link.contains("address.add"), "{link}");
    assert!(why("nothing", "").contains("address.add"));
    // What a socket sends is in no record: none is opened.
    let packet = why("packet.send-udp", "");
    assert!(
        packet.contains("expected `packet.open-udp` or `packet.open-raw`"),
        "{packet}"
    );
    assert!(why("log.write", "").contains("has none to allow"));
    assert_eq!(
        why("link.delete", "namespace=host kind=veth nam=x"),
        "`link.delete` has no field `nam`; its fields are namespace, kind, name, [owner]"
    );
    // What a link is decides: there is no answer for one of any kind.
    assert_eq!(
        why("link.get", "namespace=host name=eth0"),
        "`link.get` needs kind; its fields are namespace, kind, name, [owner]"
    );
    assert_eq!(
        why(
            "link.get",
            "namespace=host kind=veth name=a namespace=container"
        ),
        "`namespace` is given twice, as `host` and as `container`; give it once"
    );
    let near = why("link.craete", "");
    assert!(near.ends_with("did you mean `link.create`?"), "{near}");
    assert_eq!(
        why("ipam.add", ""),
        "no operation `ipam.add`; did you mean `ipam.run`?"
    );
    assert_eq!(
        why("link.create", "namespace=host kind=veth name=a"),
        "`link.create`: a veth needs `peer.namespace`, and `peer.name` if you choose it"
    );
    assert_eq!(
        why(
            "link.create",
            "namespace=host kind=macvlan name=a lower.name=ens3"
        ),
        "`link.create`: a macvlan needs `lower.namespace`, `lower.kind`"
    );
    assert_eq!(
        why(
            "link.update",
            "namespace=host kind=veth name=a master.name=cni0"
        ),
        "`link.update`: a master needs `master.namespace`, `master.kind`"
    );
    assert_eq!(
        why("firewalld.is-running", "x=1"),
        "`firewalld.is-running` has no field `x`; it has none"
    );
    assert_eq!(
        why("link.delete", "namespace=hots kind=veth name=x"),
        "`namespace=hots` is out of place; expected `host` or `container`; did you mean `host`?"
    );
    for (name, given, expected) in [
        (
            "address.add",
            "namespace=host kind=veth link=a address=10.0.0.1/33",
            "`address=10.0.0.1/33` is out of place; expected a prefix length from 0 to 32 after the address",
        ),
        (
            "address.add",
            "namespace=host kind=veth link=a address=10.0.0.1",
            "`address=10.0.0.1` is out of place; expected a prefix length after the address, such as `10.0.0.1/32`",
        ),
        (
            "route.get",
            "namespace=host to=10.0.0.300",
            "`to=10.0.0.300` is not an IP address, such as `10.1.0.2`",
        ),
        (
            "firewalld.add-source",
            "zone=a source=10.0.0.0/8",
            "`source=10.0.0.0/8` is not an IP address, such as `10.1.0.2`",
        ),
    ] {
        assert_eq!(why(name, given), expected);
    }
    let number = why("conntrack.delete", "namespace=host protocol=udp port=http");
    assert_eq!(number, "`port=http` is not a number");
    let kind = why("link.create", "namespace=host kind=physical name=x");
    assert!(kind.contains("expected `veth`, `bridge`"), "{kind}");
    let record = recorded("link.delete", &json!({ "link": { "name": "x" } }));
    let record = record.err().expect("no record");
    assert!(
        record.starts_with("the arguments of `link.delete`: missing field"),
        "{record}"
    );
}

#[test]
fn a_record_with_a_former_name_is_read() {
    let arguments = json!({ "namespace": "container" });
    let operation = recorded("rule.list", &arguments).expect("an operation");
    assert_eq!(operation.name(), "policy-rule.list");
    let why = recorded("rule.flush", &arguments).err();
    assert_eq!(why.as_deref(), Some("no operation `policy-rule.flush`"));
}
