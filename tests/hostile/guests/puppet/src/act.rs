//! The functions of the contract by their names.

use std::iter;

use weir_sdk::OperationError;
use weir_sdk::bindings::weir::cni::cni::Failure;
use weir_sdk::bindings::weir::cni::store::{Access, Location, Transaction};
use weir_sdk::bindings::weir::cni::traffic::{
    Action, Class, Discipline, Filter as Pick, Qdisc, TokenBucket,
};
use weir_sdk::bindings::weir::cni::types::{ErrorCode, IpFamily, LinkReference};
use weir_sdk::bindings::weir::cni::{
    address, conntrack, device, firewall, firewalld, ipam, link, neighbour, packet, policy_rule,
    route, store, sysctl, traffic,
};

use crate::order::{Order, ip};

/// Where filters of what comes in belong to, and where disciplines of what goes out stand.
const INGRESS: u32 = 0xffff_fff1;
const ROOT: u32 = 0xffff_ffff;

/// Why a function failed, in the contract's word or the number of a CNI error.
pub struct Fault {
    pub code: String,
    pub message: String,
}

/// What it holds on to.
#[derive(Default)]
pub struct Hand {
    stores: Vec<Transaction>,
}

type Answer = Result<String, Fault>;

impl Hand {
    /// Calls the function that the order names. Returns something of what it answered.
    pub fn act(&mut self, order: &Order) -> Answer {
        let (capability, function) = order.function.split_once('.').unwrap_or_default();
        match capability {
            "link" => of_link(function, order),
            "address" => of_address(function, order),
            "route" => of_route(function, order),
            "policy-rule" => of_policy_rule(function, order),
            "neighbour" => of_neighbour(function, order),
            "traffic" => of_traffic(function, order),
            "firewall" => of_firewall(function, order),
            "firewalld" => of_firewalld(function, order),
            "conntrack" => done(conntrack::delete(order.namespace(), connections(order))),
            "sysctl" => of_sysctl(function, order),
            "store" => self.of_store(function, order),
            "device" => of_device(function, order),
            "packet" => of_packet(function, order),
            "ipam" => of_ipam(function),
            _ => unknown(order),
        }
    }

    fn of_store(&mut self, function: &str, order: &Order) -> Answer {
        match function {
            "open" => {
                let opened = store::open(&location(order), access(order))?;
                self.stores.push(opened);
                Ok(String::new())
            }
            "read-file" => text(store::read_file(&order.path)?),
            "close" => {
                self.stores.clear();
                Ok(String::new())
            }
            _ => match self.stores.last() {
                Some(store) => in_store(store, function, order),
                None => Err(fault("nothing", "no store is open")),
            },
        }
    }
}

fn in_store(store: &Transaction, function: &str, order: &Order) -> Answer {
    let value = order.text().into_bytes();
    match function {
        "transaction.get" => text(store.get(&order.key)?),
        "transaction.put" => done(store.put(&order.key, &value)),
        "transaction.claim" => {
            let keys = std::slice::from_ref(&order.key);
            Ok(store.claim(keys, &value)?.unwrap_or_default())
        }
        "transaction.delete" => done(store.delete(&order.key)),
        "transaction.keys" => Ok(store.keys()?.join(" ")),
        "transaction.find" => Ok(store.find(&value)?.join(" ")),
        "transaction.commit" => done(store.commit()),
        "transaction.put-many" => put_many(store, order, &value),
        _ => unknown(order),
    }
}

/// Each under a key of its own, until one fails.
fn put_many(store: &Transaction, order: &Order, value: &[u8]) -> Answer {
    (0..order.many).try_for_each(|n| store.put(&format!("{}{n}", order.key), value))?;
    Ok(String::new())
}

fn location(order: &Order) -> Location {
    match (order.path.as_str(), order.shared) {
        ("", _) => Location::Private,
        (path, true) => Location::SharedDirectory(path.to_owned()),
        (path, false) => Location::Directory(path.to_owned()),
    }
}

fn access(order: &Order) -> Access {
    if order.write {
        Access::Write
    } else {
        Access::Read
    }
}

fn of_link(function: &str, order: &Order) -> Answer {
    let (there, link) = (order.namespace(), order.reference());
    match function {
        "create" => Ok(link::create(&new_link(order))?.index.to_string()),
        "get" => Ok(link::get(there, &link)?.name),
        "list" => {
            let links = link::list(there, None, None)?;
            Ok(links
                .into_iter()
                .map(|l| l.name)
                .collect::<Vec<_>>()
                .join(" "))
        }
        "delete" => done(link::delete(there, &link)),
        "delete-all" => done(link::delete_all(there, &links(order))),
        "update" => done(link::update(there, &link, &changes(order))),
        "update-port" => {
            let changes = link::PortChanges {
                hairpin: Some(true),
                isolated: None,
            };
            done(link::update_port(there, &link, changes))
        }
        "update-bridge" => {
            let changes = link::BridgeChanges {
                vlan_filtering: Some(true),
                default_pvid: None,
            };
            done(link::update_bridge(there, &link, changes))
        }
        "add-vlans" => done(link::add_vlans(there, &link, &vlans(order))),
        "delete-vlans" => done(link::delete_vlans(there, &link, &vlans(order))),
        "list-vlans" => done(link::list_vlans(there, &link)),
        "move" => {
            let (to, name) = (order.other_namespace(), order.new_name.as_deref());
            Ok(link::move_(there, &link, to, name)?.name)
        }
        "get-peer" => Ok(link::get_peer(there, &link)?.index.to_string()),
        "wait-up" => done(link::wait_up(there, &link, 10)),
        _ => unknown(order),
    }
}

/// The link that is named and the other one, so many times.
fn links(order: &Order) -> Vec<LinkReference> {
    let mut links = vec![order.reference()];
    if !order.other.is_empty() {
        links.push(LinkReference::Name(order.other.clone()));
    }
    iter::repeat_n(links, order.many.max(1)).flatten().collect()
}

fn new_link(order: &Order) -> link::NewLink {
    link::NewLink {
        namespace: order.namespace(),
        name: order.name.clone(),
        kind: new_kind(order),
        mac: order.mac.then(|| vec![2, 0, 0, 0, 0, 7]),
        mtu: None,
        txqlen: None,
        up: false,
        master: order.master.clone().map(LinkReference::Name),
        alias: order.alias.clone(),
    }
}

fn new_kind(order: &Order) -> link::NewKind {
    let lower = LinkReference::Name(order.other.clone());
    let lower_namespace = order.other_namespace();
    match order.kind.as_str() {
        "bridge" => link::NewKind::Bridge(link::NewBridge {
            vlan_filtering: None,
            default_pvid: None,
        }),
        "macvlan" => link::NewKind::Macvlan(link::NewMacvlan {
            lower,
            lower_namespace,
            mode: if order.value == "passthru" {
                link::MacvlanMode::Passthru
            } else {
                link::MacvlanMode::Bridge
            },
            bc_queue_len: None,
        }),
        "ipvlan" => link::NewKind::Ipvlan(link::NewIpvlan {
            lower,
            lower_namespace,
            mode: link::IpvlanMode::L2,
        }),
        "vlan" => link::NewKind::Vlan(link::NewVlan {
            lower,
            lower_namespace,
            id: 7,
            protocol: link::VlanProtocol::Ieee8021q,
        }),
        "dummy" => link::NewKind::Dummy,
        "tun" => link::NewKind::Tap(link::NewTap {
            owner: None,
            group: None,
            multi_queue: false,
            selinux_context: None,
        }),
        "vrf" => link::NewKind::Vrf(7),
        "ifb" => link::NewKind::Ifb,
        _ => link::NewKind::Veth(link::NewPeer {
            namespace: order.other_namespace(),
            name: order.other.clone(),
            mac: None,
            mtu: None,
            up: false,
        }),
    }
}

fn changes(order: &Order) -> link::Changes {
    let master = order.master.clone();
    link::Changes {
        name: order.new_name.clone(),
        up: None,
        mac: None,
        mtu: (order.size > 0).then_some(order.size as u32),
        txqlen: None,
        promiscuous: order.promiscuous.then_some(true),
        all_multicast: None,
        alias: order.alias.clone(),
        master: master.map(|name| link::NewMaster::Link(LinkReference::Name(name))),
    }
}

fn vlans(order: &Order) -> Vec<link::BridgeVlan> {
    let vlan = link::BridgeVlan {
        first: 7,
        last: 7,
        pvid: false,
        untagged: false,
    };
    vec![vlan; order.many.max(1)]
}

fn of_address(function: &str, order: &Order) -> Answer {
    let (there, link) = (order.namespace(), order.reference());
    match function {
        "add" => {
            let new = address::NewAddress {
                address: order.network(),
                peer: order.peer.as_deref().map(ip),
                broadcast: order.broadcast.as_deref().map(ip),
                no_duplicate_detection: true,
                no_prefix_route: false,
            };
            done(address::add(there, &link, new))
        }
        "delete" => done(address::delete(there, &link, order.network())),
        "list" => done(address::list(there, &link, None)),
        "settle" => done(address::settle(there, &link, 10)),
        _ => unknown(order),
    }
}

fn of_route(function: &str, order: &Order) -> Answer {
    let there = order.namespace();
    match function {
        "add" => done(route::add(there, &new_route(order))),
        "replace" => done(route::replace(there, &new_route(order))),
        "delete" => done(route::delete(there, &new_route(order))),
        "list" => {
            let filter = route::Filter {
                family: None,
                destination: None,
                link: None,
                gateway: None,
                table: order.table,
            };
            done(route::list(there, &filter))
        }
        "get" => done(route::get(there, order.ip())),
        _ => unknown(order),
    }
}

fn new_route(order: &Order) -> route::Route {
    let link = Some(order.reference()).filter(|_| !order.link.is_empty() || order.index.is_some());
    let hop = route::NextHop {
        gateway: order.gateway.as_deref().map(ip),
        link: link.clone(),
        weight: 1,
        on_link: false,
    };
    let single = order.many == 0;
    route::Route {
        destination: order.network(),
        gateway: hop.gateway.filter(|_| single),
        link: link.filter(|_| single),
        source: None,
        table: order.table,
        scope: None,
        priority: None,
        mtu: None,
        advmss: None,
        protocol: None,
        kind: match order.kind.as_str() {
            "blackhole" => route::RouteKind::Blackhole,
            "local" => route::RouteKind::Local,
            _ => route::RouteKind::Unicast,
        },
        on_link: false,
        next_hops: vec![hop; order.many],
    }
}

fn of_policy_rule(function: &str, order: &Order) -> Answer {
    let new = policy_rule::Rule {
        family: IpFamily::of(order.ip().into()),
        priority: order.index,
        source: (!order.address.is_empty()).then(|| order.network()),
        destination: None,
        input_link: None,
        output_link: None,
        mark: None,
        mark_mask: None,
        table: order.table.unwrap_or(7),
    };
    match function {
        "add" => done(policy_rule::add(order.namespace(), &new)),
        "delete" => done(policy_rule::delete(order.namespace(), &new)),
        "list" => done(policy_rule::list(order.namespace(), None)),
        _ => unknown(order),
    }
}

fn of_neighbour(function: &str, order: &Order) -> Answer {
    let (there, link) = (order.namespace(), order.reference());
    match function {
        "add" => {
            let entry = neighbour::Neighbour {
                address: order.ip(),
                mac: (!order.proxy).then(|| vec![2, 0, 0, 0, 0, 7]),
                state: neighbour::State::Permanent,
                proxy: order.proxy,
            };
            done(neighbour::add(there, &link, &entry))
        }
        "delete" => done(neighbour::delete(there, &link, order.ip())),
        "list" => done(neighbour::list(there, &link, None)),
        "announce" => {
            let addresses = vec![order.ip(); order.many.max(1)];
            done(neighbour::announce(there, &link, &addresses))
        }
        _ => unknown(order),
    }
}

fn of_traffic(function: &str, order: &Order) -> Answer {
    let (there, link) = (order.namespace(), order.reference());
    match function {
        "add-qdisc" => {
            let trickle = TokenBucket {
                rate: 1,
                burst: 1,
                latency: 1,
            };
            let new = Qdisc {
                handle: 0,
                parent: ROOT,
                discipline: Discipline::Tbf(trickle),
            };
            done(traffic::add_qdisc(there, &link, &new))
        }
        "delete-qdisc" => done(traffic::delete_qdisc(there, &link, ROOT)),
        "list-qdiscs" => done(traffic::list_qdiscs(there, &link)),
        "add-class" => {
            let class = Class {
                handle: 0x1_0001,
                parent: 0x1_0000,
                rate: 1,
                ceil: 1,
                burst: 1,
                cburst: 1,
            };
            done(traffic::add_class(there, &link, class))
        }
        "list-classes" => done(traffic::list_classes(there, &link)),
        "add-filter" => {
            let away = Pick {
                parent: INGRESS,
                priority: 0,
                source: None,
                destination: None,
                action: Action::Redirect(LinkReference::Name(order.other.clone())),
            };
            done(traffic::add_filter(there, &link, &away))
        }
        "list-filters" => done(traffic::list_filters(there, &link, INGRESS)),
        _ => unknown(order),
    }
}

fn of_firewall(function: &str, order: &Order) -> Answer {
    let (there, family) = (order.namespace(), firewall::Family::Inet);
    match function {
        "apply" => done(firewall::apply(there, family, &commands(order)?)),
        "list-chains" => done(firewall::list_chains(there, family)),
        "list-rules" => done(firewall::list_rules(there, family, &order.chain)),
        "list-sets" => done(firewall::list_sets(there, family)),
        "get-element" => {
            let key = [firewall::Value::Number(7)];
            done(firewall::get_element(there, family, &order.name, &key))
        }
        "list-elements" => done(firewall::list_elements(there, family, &order.name)),
        "remove-reference-rules" => done(firewall::remove_reference_rules()),
        _ => unknown(order),
    }
}

fn commands(order: &Order) -> Result<Vec<firewall::Command>, Fault> {
    let chain = firewall::Chain {
        name: order.chain.clone(),
        base: base_chain(order)?,
    };
    let mut commands = vec![firewall::Command::AddChain(chain)];
    if let Some(statement) = statement(order)? {
        let rule = firewall::Rule {
            chain: order.chain.clone(),
            conditions: Vec::new(),
            statements: vec![statement],
            comment: order.alias.clone(),
            handle: None,
        };
        commands.extend(vec![firewall::Command::AppendRule(rule); order.many.max(1)]);
    }
    Ok(commands)
}

fn base_chain(order: &Order) -> Result<Option<firewall::BaseChain>, Fault> {
    let hook = match order.hook.as_str() {
        "" => return Ok(None),
        "prerouting" => firewall::Hook::Prerouting,
        "input" => firewall::Hook::Input,
        "forward" => firewall::Hook::Forward,
        "output" => firewall::Hook::Output,
        "postrouting" => firewall::Hook::Postrouting,
        "ingress" => firewall::Hook::Ingress,
        other => return Err(fault("puppet", other)),
    };
    Ok(Some(firewall::BaseChain {
        chain_type: firewall::ChainType::Filter,
        hook,
        priority: -300,
        policy: if order.drops {
            firewall::Policy::Drop
        } else {
            firewall::Policy::Accept
        },
        device: order.device.clone(),
    }))
}

fn statement(order: &Order) -> Result<Option<firewall::Statement>, Fault> {
    let to = || order.name.clone();
    Ok(Some(match order.statement.as_str() {
        "" => return Ok(None),
        "accept" => firewall::Statement::Accept,
        "drop" => firewall::Statement::Drop,
        "counter" => firewall::Statement::Counter,
        "notrack" => firewall::Statement::Notrack,
        "jump" => firewall::Statement::Jump(to()),
        "goto" => firewall::Statement::Goto(to()),
        other => return Err(fault("puppet", other)),
    }))
}

fn of_firewalld(function: &str, order: &Order) -> Answer {
    match function {
        "is-running" => done(firewalld::is_running()),
        "zone-of-source" => done(firewalld::zone_of_source(order.ip())),
        "add-source" => done(firewalld::add_source(&order.zone, order.ip())),
        "remove-source" => done(firewalld::remove_source(&order.zone, order.ip())),
        _ => unknown(order),
    }
}

fn connections(order: &Order) -> conntrack::Filter {
    conntrack::Filter {
        family: IpFamily::Ipv4,
        protocol: 6,
        destination: Some(order.ip()),
        port: None,
        reply_source: None,
    }
}

fn of_sysctl(function: &str, order: &Order) -> Answer {
    match function {
        "read" => Ok(sysctl::read(order.namespace(), &order.key)?),
        "write" => done(sysctl::write(order.namespace(), &order.key, &order.text())),
        _ => unknown(order),
    }
}

fn of_device(function: &str, order: &Order) -> Answer {
    match function {
        "by-link" => done(device::by_link(&order.link)),
        "by-pci-address" => done(device::by_pci_address(&order.name)),
        "by-auxiliary-name" => done(device::by_auxiliary_name(&order.name)),
        "by-kernel-path" => done(device::by_kernel_path(&order.path)),
        _ => unknown(order),
    }
}

fn of_packet(function: &str, order: &Order) -> Answer {
    match function {
        "open-udp" => done(packet::open_udp(&order.link, 68, true)),
        "open-raw" => done(packet::open_raw(&order.link, 0x0800)),
        _ => unknown(order),
    }
}

fn of_ipam(function: &str) -> Answer {
    match function {
        "add" => done(ipam::add()),
        "del" => done(ipam::del()),
        "check" => done(ipam::check()),
        "status" => done(ipam::status()),
        "gc" => done(ipam::gc()),
        other => Err(fault("puppet", other)),
    }
}

fn done<T, E: Into<Fault>>(outcome: Result<T, E>) -> Answer {
    outcome.map(|_| String::new()).map_err(Into::into)
}

fn text(bytes: Vec<u8>) -> Answer {
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unknown(order: &Order) -> Answer {
    Err(fault("puppet", &order.function))
}

fn fault(code: &str, message: &str) -> Fault {
    Fault {
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

impl From<OperationError> for Fault {
    fn from(error: OperationError) -> Self {
        let code = match error.code {
            ErrorCode::Denied => "denied",
            ErrorCode::NotFound => "not-found",
            ErrorCode::Exists => "exists",
            ErrorCode::Invalid => "invalid",
            ErrorCode::Busy => "busy",
            ErrorCode::Unsupported => "unsupported",
            ErrorCode::Exhausted => "exhausted",
            ErrorCode::NoNamespace => "no-namespace",
            ErrorCode::TimedOut => "timed-out",
            ErrorCode::Failed => "failed",
        };
        fault(code, &error.message)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code.to_string(),
            message: failure.msg,
        }
    }
}
