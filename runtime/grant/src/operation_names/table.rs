//! The operations of the audit log, and the fields of each.

use super::super::operation::Operation;
use super::super::word::Word;
use super::super::{
    address, conntrack, device, firewall, firewalld, ipam, link, native, neighbour, packet,
    policy_rule, route, store, sysctl, traffic,
};
use super::field::{Field, Kind};
use super::{Known, complete};

/// A link that exists, as the kernel reports it.
macro_rules! link {
    ($name:literal) => {
        link!($name, "/link")
    };
    ($name:literal, $place:literal) => {
        [
            Field::text("namespace", concat!($place, "/namespace")).of(NAMESPACES),
            Field::text("kind", concat!($place, "/kind")),
            Field::text($name, concat!($place, "/name")),
            Field::text("owner", concat!($place, "/owner")).optional().open(),
        ]
    };
    ($name:literal, and $($field:expr),+) => {{
        let [namespace, kind, name, owner] = link!($name);
        [namespace, kind, name, owner, $($field),+]
    }};
}

/// A link by its name alone: rules about routes and neighbours have no kinds.
macro_rules! neighbour_link {
    (and $($field:expr),+) => {
        [
            Field::text("namespace", "/link/namespace").of(NAMESPACES),
            Field::text("link", "/link/name"),
            Field::text("owner", "/link/owner").optional().open(),
            $($field),+
        ]
    };
}

/// `type, fields, defaults, completion` of each operation.
macro_rules! operations {
    ($($operation:ty $(, query name $query_name:literal)? $(, only with $member:literal = $value:literal)?; $fields:expr; $defaults:literal; $complete:expr;)*) => {
        &[$(Known {
            name: <$operation as Operation>::NAME,
            query_name: operations!(@query_name $operation $(, $query_name)?),
            verb: <$operation as Operation>::VERB,
            fields: {
                const FIELDS: &[Field] = &$fields;
                FIELDS
            },
            defaults: $defaults,
            complete: $complete,
            read: |value| Ok(Box::new(serde_json::from_value::<$operation>(value)?)),
            only_with: operations!(@only $($member = $value)?),
        },)*]
    };
    (@query_name $operation:ty) => { <$operation as Operation>::NAME };
    (@query_name $operation:ty, $query_name:literal) => { $query_name };
    (@only) => { None };
    (@only $member:literal = $value:literal) => { Some(($member, $value)) };
}

/// As the contract calls kinds of new links.
const NEW_KINDS: Kind = Kind::OneOf(&[
    "veth", "bridge", "macvlan", "ipvlan", "vlan", "dummy", "tap", "vrf", "ifb",
]);
const WITH_LOWER: &[&str] = &["macvlan", "ipvlan", "vlan"];
const NAMESPACES: Kind = Kind::OneOf(&["host", "container"]);
const ACCESS: Kind = Kind::OneOf(&["read", "write"]);
const FAMILIES: Kind = Kind::OneOf(&["ipv4", "ipv6"]);
const TABLE_FAMILIES: Kind = Kind::OneOf(&["ip", "ip6", "inet", "arp", "bridge", "netdev"]);

const NAMESPACE: Field = Field::text("namespace", "/namespace").of(NAMESPACES);
/// Of an nftables table.
const FAMILY: Field = Field::text("family", "/family").of(TABLE_FAMILIES);
/// Of addresses.
const OPTIONAL_FAMILY: Field = Field::text("family", "/family").of(FAMILIES).optional();
const ADDRESS: Field = Field::text("address", "/address").of(Kind::Address);
/// An address of a link, with its network.
const LINK_ADDRESS: Field = Field::text("address", "/address").of(Kind::Network);
const SOURCE: Field = Field::text("source", "/source").of(Kind::Address);
const TIMEOUT: Field = Field::text("timeout", "/timeout_ms")
    .of(Kind::Number)
    .optional();
const TABLE: Field = Field::text("table", "/table").optional();
const NEW_NAME: Field = Field::text("new-name", "/name");

/// The fields of a route to add or replace.
const ROUTE: [Field; 5] = [
    NAMESPACE,
    Field::text("destination", "/route/destination").of(Kind::Network),
    Field::text("link", "/route/link/name").optional().open(),
    Field::text("owner", "/route/link/owner").optional().open(),
    Field::text("table", "/route/table")
        .of(Kind::Number)
        .optional()
        .open(),
];

/// The fields of a policy routing rule.
const POLICY_RULE: [Field; 5] = [
    NAMESPACE,
    Field::text("family", "/rule/family").of(FAMILIES),
    Field::text("source", "/rule/source")
        .of(Kind::Network)
        .optional()
        .open(),
    Field::text("table", "/rule/table").of(Kind::Number),
    Field::text("priority", "/rule/priority")
        .of(Kind::Number)
        .optional(),
];

/// The fields of a filter; one without a target puts packets into a class.
const FILTER: [Field; 7] = link!("link", and
    Field::text("target.namespace", "/target/namespace").of(NAMESPACES).optional(),
    Field::text("target.kind", "/target/kind").optional(),
    Field::text("target.name", "/target/name").optional());

/// The location of a store; without a field, the plugin's own.
macro_rules! store {
    ($($field:expr),*) => {
        [
            Field::text("directory", "/location/directory").optional(),
            Field::text("shared-directory", "/location/shared-directory").optional(),
            $($field),*
        ]
    };
}

const KEY: Field = Field::text("key", "/key").optional();

/// In the order of the contract: what plugins ask for, and what weir does to undo that and no
/// plugin can ask for (`traffic.delete-class`, `traffic.delete-filter`, `store.revert`).
pub(super) static OPERATIONS: &[Known] = operations! {
    link::Create; [
        NAMESPACE,
        Field::text("kind", "/kind").of(NEW_KINDS),
        Field::text("name", "/name").optional().open(),
        Field::text("peer.namespace", "/peer/namespace").of(NAMESPACES).optional().of_kinds(&["veth"]),
        Field::text("peer.name", "/peer/name").optional().of_kinds(&["veth"]),
        Field::text("master.namespace", "/master/namespace").of(NAMESPACES).optional(),
        Field::text("master.kind", "/master/kind").optional(),
        Field::text("master.name", "/master/name").optional(),
        Field::text("lower.namespace", "/lower/namespace").of(NAMESPACES).optional().of_kinds(WITH_LOWER),
        Field::text("lower.kind", "/lower/kind").optional().of_kinds(WITH_LOWER),
        Field::text("lower.name", "/lower/name").optional().of_kinds(WITH_LOWER)
    ]; r#"{"name": "", "up": false}"#; complete::new_link;
    link::Read; link!("name"); "{}"; complete::nothing;
    link::Read, query name "link.look-up"; [
        Field::text("namespace", "/link/namespace").of(NAMESPACES),
        Field::text("name", "/link/name")
    ]; r#"{"link": {"kind": ""}}"#; complete::nothing;
    link::List; [NAMESPACE, Field::text("kind", "/kind").optional()]; "{}"; complete::nothing;
    link::Delete; link!("name"); "{}"; complete::nothing;
    link::Update; link!("name", and
        Field::text("new-name", "/name").optional(),
        Field::text("up", "/up").of(Kind::Flag).optional(),
        Field::text("mtu", "/mtu").of(Kind::Number).optional(),
        Field::text("mac", "/mac").optional(),
        Field::text("master.namespace", "/master/link/namespace").of(NAMESPACES).optional(),
        Field::text("master.kind", "/master/link/kind").optional(),
        Field::text("master.name", "/master/link/name").optional()
    ); "{}"; complete::changed_link;
    link::UpdatePort; link!("name", and
        Field::text("hairpin", "/hairpin").of(Kind::Flag).optional(),
        Field::text("isolated", "/isolated").of(Kind::Flag).optional()
    ); "{}"; complete::nothing;
    link::UpdateBridge; link!("name"); "{}"; complete::nothing;
    link::AddVlans; link!("name"); r#"{"vlans": []}"#; complete::nothing;
    link::DeleteVlans; link!("name"); r#"{"vlans": []}"#; complete::nothing;
    link::ListVlans; link!("name"); "{}"; complete::nothing;
    link::Move; link!("name", and Field::text("to", "/to").of(NAMESPACES), NEW_NAME); "{}"; complete::nothing;
    link::GetPeer; link!("name"); "{}"; complete::nothing;
    link::WaitUp; link!("name", and TIMEOUT); r#"{"timeout_ms": 0}"#; complete::nothing;

    address::Add; link!("link", and LINK_ADDRESS);
        r#"{"no_duplicate_detection": false, "no_prefix_route": false}"#; complete::nothing;
    address::Delete; link!("link", and LINK_ADDRESS); "{}"; complete::nothing;
    address::List; link!("link", and OPTIONAL_FAMILY); "{}"; complete::nothing;
    address::Settle; link!("link", and TIMEOUT); r#"{"timeout_ms": 0}"#; complete::nothing;

    route::Add; ROUTE; r#"{"route": {"table": 254, "kind": "unicast", "on_link": false}}"#; complete::route;
    route::Replace; ROUTE; r#"{"route": {"table": 254, "kind": "unicast", "on_link": false}}"#; complete::route;
    route::Delete; ROUTE; r#"{"route": {"table": 254, "kind": "unicast", "on_link": false}}"#; complete::route;
    route::List; [
        NAMESPACE,
        OPTIONAL_FAMILY,
        Field::text("destination", "/destination").of(Kind::Network).optional(),
        Field::text("link", "/link/name").optional(),
        Field::text("table", "/table").of(Kind::Number).optional()
    ]; "{}"; complete::link;
    route::Get; [NAMESPACE, Field::text("to", "/to").of(Kind::Address)]; "{}"; complete::nothing;

    policy_rule::Add; POLICY_RULE; r#"{"rule": {}}"#; complete::nothing;
    policy_rule::Delete; POLICY_RULE; r#"{"rule": {}}"#; complete::nothing;
    policy_rule::List; [NAMESPACE, OPTIONAL_FAMILY]; "{}"; complete::nothing;

    neighbour::Add; neighbour_link!(and ADDRESS, Field::text("mac", "/mac").optional());
        r#"{"state": "permanent", "proxy": false}"#; complete::link;
    neighbour::Delete; neighbour_link!(and ADDRESS); "{}"; complete::link;
    neighbour::List; neighbour_link!(and OPTIONAL_FAMILY); "{}"; complete::link;
    neighbour::Announce; neighbour_link!(and Field::text("addresses", "/addresses").of(Kind::Addresses));
        "{}"; complete::link;

    traffic::AddQdisc; link!("link", and Field::text("discipline", "/discipline"));
        r#"{"handle": "0:", "parent": "root"}"#; complete::discipline;
    traffic::DeleteQdisc; link!("link", and Field::text("discipline", "/discipline").optional().open());
        r#"{"handle": "1:", "parent": "root"}"#; complete::nothing;
    traffic::ListQdiscs; link!("link"); "{}"; complete::nothing;
    traffic::AddClass; link!("link");
        r#"{"handle": "1:1", "parent": "1:", "rate": 0, "ceil": 0, "burst": 0, "cburst": 0}"#; complete::nothing;
    traffic::DeleteClass; link!("link"); r#"{"handle": "1:1"}"#; complete::nothing;
    traffic::ListClasses; link!("link"); "{}"; complete::nothing;
    traffic::AddFilter; FILTER; r#"{"parent": "1:", "priority": 0}"#; complete::filter;
    traffic::DeleteFilter; FILTER; r#"{"parent": "1:", "priority": 0, "protocol": 3}"#; complete::filter;
    traffic::ListFilters; link!("link"); r#"{"parent": "1:"}"#; complete::nothing;

    firewall::Apply; [
        NAMESPACE,
        FAMILY,
        TABLE,
        Field::text("hooks", "/hooks").of(Kind::ListOf(firewall::Hook::WORDS)).optional(),
        Field::text("statements", "/statements").of(Kind::ListOf(firewall::StatementKind::WORDS)).optional()
    ]; r#"{"table": "weir_plugin"}"#; complete::commands;
    firewall::ListChains; [NAMESPACE, FAMILY, TABLE]; r#"{"table": "weir_plugin"}"#; complete::nothing;
    firewall::ListSets; [NAMESPACE, FAMILY, TABLE]; r#"{"table": "weir_plugin"}"#; complete::nothing;
    firewall::ListRules; [NAMESPACE, FAMILY, TABLE, Field::text("chain", "/chain").optional()];
        r#"{"table": "weir_plugin", "chain": ""}"#; complete::nothing;
    firewall::GetElement; [NAMESPACE, FAMILY, TABLE, Field::text("set", "/set").optional()];
        r#"{"table": "weir_plugin", "set": "", "key": []}"#; complete::nothing;
    firewall::ListElements; [NAMESPACE, FAMILY, TABLE, Field::text("set", "/set").optional()];
        r#"{"table": "weir_plugin", "set": ""}"#; complete::nothing;
    firewall::RemoveReference; [
        Field::text("plugin", "/plugin"),
        Field::text("container-id", "/container_id").optional()
    ]; r#"{"network": "", "container_id": "", "ifname": ""}"#; complete::nothing;

    firewalld::IsRunning; []; "{}"; complete::nothing;
    firewalld::ZoneOfSource; [SOURCE]; "{}"; complete::nothing;
    firewalld::AddSource; [Field::text("zone", "/zone"), SOURCE]; "{}"; complete::nothing;
    firewalld::RemoveSource; [Field::text("zone", "/zone"), SOURCE]; "{}"; complete::nothing;

    conntrack::Delete; [
        NAMESPACE,
        Field::text("protocol", "/protocol").of(Kind::OneOf(conntrack::Protocol::WORDS)),
        Field::text("port", "/port").of(Kind::Number).optional(),
        OPTIONAL_FAMILY,
        Field::text("destination", "/destination").of(Kind::Address).optional(),
        Field::text("reply-source", "/reply-source").of(Kind::Address).optional()
    ]; r#"{"family": "ipv4"}"#; complete::nothing;

    sysctl::Read; [NAMESPACE, Field::text("key", "/key")]; "{}"; complete::nothing;
    sysctl::Write; [
        NAMESPACE,
        Field::text("key", "/key"),
        Field::text("value", "/value"),
        Field::text("owner", "/owner").optional().open()
    ]; "{}"; complete::nothing;

    store::OpenRead, only with "access" = "read"; store!(Field::text("access", "/access").of(ACCESS)); "{}"; complete::store;
    store::OpenWrite, only with "access" = "write"; store!(Field::text("access", "/access").of(ACCESS)); "{}"; complete::store;
    store::Get; store!(KEY); r#"{"key": ""}"#; complete::store;
    store::Put; store!(KEY); r#"{"key": ""}"#; complete::store;
    store::Claim; store!(Field::text("keys", "/keys").of(Kind::List).optional()); r#"{"keys": []}"#; complete::store;
    store::Delete; store!(KEY); r#"{"key": ""}"#; complete::store;
    store::Keys; store!(); "{}"; complete::store;
    store::Find; store!(); "{}"; complete::store;
    store::Revert; store!(); "{}"; complete::store;
    store::ReadFile; [Field::text("path", "/path")]; "{}"; complete::nothing;

    device::ByLink; [Field::text("link", "/link")]; "{}"; complete::nothing;
    device::ByPciAddress; [Field::text("address", "/address")]; "{}"; complete::nothing;
    device::ByAuxiliaryName; [Field::text("name", "/name")]; "{}"; complete::nothing;
    device::ByKernelPath; [Field::text("path", "/path")]; "{}"; complete::nothing;

    packet::OpenUdp; [
        Field::text("link", "/link"),
        Field::text("local-port", "/local_port").of(Kind::Number)
    ]; r#"{"broadcast": false}"#; complete::nothing;
    packet::OpenRaw; [
        Field::text("link", "/link"),
        Field::text("ether-type", "/ether_type").of(Kind::Number)
    ]; "{}"; complete::nothing;

    ipam::Run; [Field::text("plugin", "/plugin"), Field::text("command", "/command").optional()];
        r#"{"command": "ADD"}"#; complete::nothing;

    native::Execute; [Field::text("plugin", "/plugin"), Field::text("digest", "/digest"), Field::text("command", "/command").optional()];
        r#"{"command": "ADD"}"#; complete::nothing;
};
