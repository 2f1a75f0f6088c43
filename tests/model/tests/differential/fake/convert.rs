//! Between the types of operations and those of the contract.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_grant as grant;
use weir_grant::link::LinkFacts;
use weir_kernel::{Code, Error};
use weir_sdk::{ErrorCode, IpFamily, Namespace, OperationError};
use weir_sdk::{address, link as sdk, neighbour, policy_rule as sdk_rule, route};

/// Converts between enums whose variants have the same names.
macro_rules! same_names {
    ($($function:ident: $from:ty => $to:ty { $($variant:ident)* })*) => {$(
        pub(super) fn $function(from: $from) -> $to {
            match from {
                $(<$from>::$variant => <$to>::$variant,)*
            }
        }
    )*};
}

same_names! {
    namespace: grant::Namespace => Namespace { Host Container }
    namespace_of: Namespace => grant::Namespace { Host Container }
    family: grant::address::Family => IpFamily { Ipv4 Ipv6 }
    family_of: IpFamily => grant::address::Family { Ipv4 Ipv6 }
    code: ErrorCode => Code {
        Denied NotFound Exists Invalid Busy Unsupported Exhausted NoNamespace TimedOut Failed
    }
    oper_state: sdk::OperState => grant::link::OperState {
        Unknown NotPresent Down LowerLayerDown Testing Dormant Up
    }
    route_kind: grant::route::RouteKind => route::RouteKind {
        Unicast Local Blackhole Unreachable Prohibit Throw
    }
    route_kind_of: route::RouteKind => grant::route::RouteKind {
        Unicast Local Blackhole Unreachable Prohibit Throw
    }
    neighbour_state: grant::neighbour::State => neighbour::State {
        Incomplete Reachable Stale Delay Probe Failed Noarp Permanent
    }
    neighbour_state_of: neighbour::State => grant::neighbour::State {
        Incomplete Reachable Stale Delay Probe Failed Noarp Permanent
    }
}

pub(super) fn error(error: OperationError) -> Error {
    Error::new(code(error.code), error.message)
}

/// The link of an operation: by its index, as the kernel names it.
pub(super) fn of_facts(link: &LinkFacts) -> weir_sdk::LinkReference {
    weir_sdk::LinkReference::Index(link.index)
}

pub(super) fn link(link: sdk::Link) -> grant::link::Link {
    grant::link::Link {
        index: link.index,
        name: link.name,
        alternative_names: link.alternative_names,
        kind: link.kind,
        mac: grant::link::Mac(link.mac),
        mtu: link.mtu,
        txqlen: link.txqlen,
        up: link.up,
        oper_state: oper_state(link.oper_state),
        promiscuous: link.promiscuous,
        all_multicast: link.all_multicast,
        master: link.master,
        lower: link.lower,
        alias: link.alias,
        details: grant::link::Details::None,
        port: link.port.map(|port| grant::link::Port {
            hairpin: port.hairpin,
            isolated: port.isolated,
        }),
    }
}

pub(super) fn address(address: address::Address) -> grant::address::Address {
    grant::address::Address {
        address: IpNet::from(address.address),
        peer: address.peer.map(IpAddr::from),
        broadcast: address.broadcast.map(IpAddr::from),
        tentative: address.tentative,
        duplicate: address.duplicate,
    }
}

pub(super) fn entry(entry: neighbour::Neighbour) -> grant::neighbour::Neighbour {
    grant::neighbour::Neighbour {
        address: entry.address.into(),
        mac: entry.mac.map(grant::link::Mac),
        state: neighbour_state_of(entry.state),
        proxy: entry.proxy,
    }
}

/// Errors: `Invalid` for a link of the other namespace, which the contract cannot name.
pub(super) fn route(
    namespace: grant::Namespace,
    of: &grant::route::Route,
) -> Result<route::Route, Error> {
    let hops = of.next_hops.iter().filter_map(|hop| hop.link.as_ref());
    let mut links = of.link.iter().chain(hops);
    if links.any(|link| link.namespace != namespace) {
        return Err(Error::invalid("a link of the other namespace"));
    }
    Ok(route_to(of))
}

fn route_to(of: &grant::route::Route) -> route::Route {
    let hops = of.next_hops.iter().map(|hop| route::NextHop {
        gateway: hop.gateway.map(Into::into),
        link: hop.link.as_ref().map(of_facts),
        weight: hop.weight,
        on_link: hop.on_link,
    });
    route::Route {
        destination: of.destination.into(),
        gateway: of.gateway.map(Into::into),
        link: of.link.as_ref().map(of_facts),
        source: of.source.map(Into::into),
        table: Some(of.table),
        scope: of.scope,
        priority: of.priority,
        mtu: of.mtu,
        advmss: of.advmss,
        protocol: of.protocol,
        kind: route_kind(of.kind),
        on_link: of.on_link,
        next_hops: hops.collect(),
    }
}

pub(super) fn route_of(told: route::Route) -> grant::route::Route<u32> {
    let hops = told.next_hops.into_iter().map(|hop| grant::route::NextHop {
        gateway: hop.gateway.map(Into::into),
        link: hop.link.map(index),
        weight: hop.weight,
        on_link: hop.on_link,
    });
    grant::route::Route {
        destination: told.destination.into(),
        gateway: told.gateway.map(Into::into),
        link: told.link.map(index),
        source: told.source.map(Into::into),
        table: told.table.unwrap_or_default(),
        scope: told.scope,
        priority: told.priority,
        mtu: told.mtu,
        advmss: told.advmss,
        protocol: told.protocol,
        kind: route_kind_of(told.kind),
        on_link: told.on_link,
        next_hops: hops.collect(),
    }
}

pub(super) fn index(link: weir_sdk::LinkReference) -> u32 {
    match link {
        weir_sdk::LinkReference::Index(index) => index,
        weir_sdk::LinkReference::Name(name) => panic!("an answer names link `{name}`"),
    }
}

pub(super) fn policy_rule(rule: &grant::policy_rule::PolicyRule) -> sdk_rule::Rule {
    sdk_rule::Rule {
        family: family(rule.family),
        priority: rule.priority,
        source: rule.source.map(Into::into),
        destination: rule.destination.map(Into::into),
        input_link: rule.input_link.clone(),
        output_link: rule.output_link.clone(),
        mark: rule.mark,
        mark_mask: rule.mark_mask,
        table: rule.table,
    }
}

pub(super) fn policy_rule_of(told: sdk_rule::Rule) -> grant::policy_rule::PolicyRule {
    grant::policy_rule::PolicyRule {
        family: family_of(told.family),
        priority: told.priority,
        source: told.source.map(IpNet::from),
        destination: told.destination.map(IpNet::from),
        input_link: told.input_link,
        output_link: told.output_link,
        mark: told.mark,
        mark_mask: told.mark_mask,
        table: told.table,
    }
}

pub(super) fn device(told: weir_sdk::device::Device) -> grant::device::Device {
    grant::device::Device {
        link: told.link,
        pci_address: told.pci_address,
        auxiliary_name: told.auxiliary_name,
        driver: told.driver,
        virtio: told.virtio,
        siblings: told.siblings,
    }
}
