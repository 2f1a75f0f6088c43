//! Links, addresses, routes, neighbours and parameters.

use weir_gate::Permit;
use weir_grant::link::{LinkFacts, NewKind, NewMaster};
use weir_grant::{address, device, link, neighbour, policy_rule, route, sysctl};
use weir_kernel::{Answer, Changes, Perform, Result};
use weir_sdk::{self as sdk, OperationError};

use super::convert::{self, namespace, of_facts};
use super::{Fake, not_compared};

/// Performs operations by calls of the contract.
macro_rules! calls {
    ($($operation:ty $(=> $answer:ty)?: |$wanted:ident| $call:expr;)*) => {$(
        impl Perform<$operation $(, $answer)?> for Fake {
            fn perform(
                &mut self,
                permit: &Permit<$operation>,
                _: &mut Changes<'_>,
            ) -> Result<calls!(@ $($answer)?)> {
                let $wanted = permit.operation();
                let answer: Result<_, OperationError> = $call;
                answer.map_err(convert::error)
            }
        }
    )*};
    (@) => { () };
    (@ $answer:ty) => { $answer };
}
pub(super) use calls;

pub(super) fn each<T, U>(all: Vec<T>, convert: fn(T) -> U) -> Vec<U> {
    all.into_iter().map(convert).collect()
}

pub(super) fn in_of(link: &LinkFacts) -> sdk::Namespace {
    namespace(link.namespace)
}

impl Answer<link::Create, link::Link> for Fake {
    fn answer(&mut self, permit: &Permit<link::Create>) -> Result<link::Link> {
        let wanted = permit.operation();
        let kind = match &wanted.kind {
            NewKind::Veth { peer } => sdk::link::NewKind::Veth(sdk::link::NewPeer {
                namespace: namespace(peer.namespace),
                name: peer.name.clone(),
                mac: peer.mac.clone().map(|mac| mac.0),
                mtu: peer.mtu,
                up: peer.up,
            }),
            NewKind::Bridge(new) => sdk::link::NewKind::Bridge(sdk::link::NewBridge {
                vlan_filtering: new.vlan_filtering,
                default_pvid: new.default_pvid,
            }),
            NewKind::Ifb => sdk::link::NewKind::Ifb,
            other => return Err(not_compared(other.word())),
        };
        let created = sdk::link::create(sdk::link::NewLink {
            namespace: namespace(wanted.namespace),
            name: wanted.name.clone(),
            kind,
            mac: wanted.mac.clone().map(|mac| mac.0),
            mtu: wanted.mtu,
            txqlen: wanted.txqlen,
            up: wanted.up,
            master: wanted.master.as_ref().map(of_facts),
            alias: wanted.alias.clone(),
        });
        created.map(convert::link).map_err(convert::error)
    }
}

fn changes(wanted: &link::Update) -> sdk::link::Changes {
    sdk::link::Changes {
        name: wanted.name.clone(),
        up: wanted.up,
        mac: wanted.mac.clone().map(|mac| mac.0),
        mtu: wanted.mtu,
        txqlen: wanted.txqlen,
        promiscuous: wanted.promiscuous,
        all_multicast: wanted.all_multicast,
        alias: wanted.alias.clone(),
        master: wanted.master.as_ref().map(|master| match master {
            NewMaster::None => sdk::link::NewMaster::None,
            NewMaster::Link(link) => sdk::link::NewMaster::Link(of_facts(link)),
        }),
    }
}

fn peer(peer: sdk::link::Peer) -> link::Peer {
    link::Peer {
        index: peer.index,
        namespace: peer.namespace.map(convert::namespace_of),
    }
}

macro_rules! routes {
    ($($operation:ty: $function:ident;)*) => {$(
        impl Perform<$operation> for Fake {
            fn perform(&mut self, permit: &Permit<$operation>, _: &mut Changes<'_>) -> Result<()> {
                let wanted = permit.operation();
                let route = convert::route(wanted.namespace, &wanted.route)?;
                let done = sdk::route::$function(namespace(wanted.namespace), &route);
                done.map_err(convert::error)
            }
        }
    )*};
}

routes! {
    route::Add: add;
    route::Replace: replace;
    route::Delete: delete;
}

calls! {
    link::Read => link::Link: |o| sdk::link::get(in_of(&o.link), of_facts(&o.link)).map(convert::link);
    link::List => Vec<link::Link>: |o| sdk::link::list(namespace(o.namespace), o.kind.as_deref(), o.master)
        .map(|all| each(all, convert::link));
    link::Delete: |o| sdk::link::delete(in_of(&o.link), of_facts(&o.link));
    link::Update: |o| sdk::link::update(in_of(&o.link), of_facts(&o.link), changes(o));
    link::UpdatePort: |o| sdk::link::update_port(
        in_of(&o.link),
        of_facts(&o.link),
        sdk::link::PortChanges { hairpin: o.hairpin, isolated: o.isolated },
    );
    link::Move => link::Link: |o| sdk::link::move_to(
        in_of(&o.link),
        of_facts(&o.link),
        namespace(o.to),
        Some(&o.name),
    ).map(convert::link);
    link::GetPeer => link::Peer: |o| sdk::link::get_peer(in_of(&o.link), of_facts(&o.link)).map(peer);
    link::WaitUp: |o| sdk::link::wait_up(in_of(&o.link), of_facts(&o.link), o.timeout_ms);

    address::Add: |o| sdk::address::add(in_of(&o.link), of_facts(&o.link), sdk::address::NewAddress {
        address: o.address.into(),
        peer: o.peer.map(Into::into),
        broadcast: o.broadcast.map(Into::into),
        no_duplicate_detection: o.no_duplicate_detection,
        no_prefix_route: o.no_prefix_route,
    });
    address::Delete: |o| sdk::address::delete(in_of(&o.link), of_facts(&o.link), o.address);
    address::List => Vec<address::Address>: |o|
        sdk::address::list(in_of(&o.link), of_facts(&o.link), o.family.map(convert::family))
            .map(|all| each(all, convert::address));
    address::Settle: |o| sdk::address::settle(in_of(&o.link), of_facts(&o.link), o.timeout_ms);

    route::List => Vec<route::Route<u32>>: |o| sdk::route::list(
        namespace(o.namespace),
        &sdk::route::Filter {
            family: o.family.map(convert::family),
            destination: o.destination.map(Into::into),
            link: o.link.as_ref().map(of_facts),
            gateway: o.gateway.map(Into::into),
            table: o.table,
        },
    ).map(|all| each(all, convert::route_of));
    route::Get => route::Route<u32>: |o| sdk::route::get(namespace(o.namespace), o.to).map(convert::route_of);

    policy_rule::Add: |o|
        sdk::policy_rule::add(namespace(o.namespace), &convert::policy_rule(&o.rule));
    policy_rule::Delete: |o|
        sdk::policy_rule::delete(namespace(o.namespace), &convert::policy_rule(&o.rule));
    policy_rule::List => Vec<policy_rule::PolicyRule>: |o|
        sdk::policy_rule::list(namespace(o.namespace), o.family.map(convert::family))
            .map(|all| each(all, convert::policy_rule_of));

    neighbour::Add: |o| sdk::neighbour::add(in_of(&o.link), of_facts(&o.link), sdk::neighbour::Neighbour {
        address: o.address.into(),
        mac: o.mac.clone().map(|mac| mac.0),
        state: convert::neighbour_state(o.state),
        proxy: o.proxy,
    });
    neighbour::Delete: |o| sdk::neighbour::delete(in_of(&o.link), of_facts(&o.link), o.address);
    neighbour::List => Vec<neighbour::Neighbour>: |o|
        sdk::neighbour::list(in_of(&o.link), of_facts(&o.link), o.family.map(convert::family))
            .map(|all| each(all, convert::entry));
    neighbour::Announce: |o| sdk::neighbour::announce(
        in_of(&o.link),
        of_facts(&o.link),
        o.addresses.iter().copied(),
    );

    device::ByLink => device::Device: |o| sdk::device::by_link(&o.link).map(convert::device);
    device::ByPciAddress => device::Device: |o| sdk::device::by_pci_address(&o.address).map(convert::device);
    device::ByAuxiliaryName => device::Device: |o| sdk::device::by_auxiliary_name(&o.name).map(convert::device);
    device::ByKernelPath => device::Device: |o| sdk::device::by_kernel_path(&o.path).map(convert::device);

    sysctl::Read => String: |o| sdk::sysctl::read(namespace(o.namespace), &o.key);
    sysctl::Write: |o| sdk::sysctl::write(namespace(o.namespace), &o.key, &o.value);
}
