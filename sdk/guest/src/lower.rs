//! The container's interface over a lower device, its master: what the plugins `macvlan`, `ipvlan` and `vlan` share.
//!
//! ```no_run
//! # use weir_sdk::config::{DnsKeys, Ipam};
//! # use weir_sdk::link::{MacvlanMode, NewKind, NewMacvlan};
//! # use weir_sdk::lower::{self, Announcement, Master, Settings};
//! # use weir_sdk::{AddResult, Error, Request, interface};
//! # fn add(request: Request<()>, ipam: Ipam) -> Result<AddResult, Error> {
//! let master = Master::new("eth1", false);
//! let lower = master.find()?;
//! let kind = NewKind::Macvlan(NewMacvlan {
//!     lower: (&lower.link).into(),
//!     lower_namespace: lower.namespace,
//!     mode: MacvlanMode::Bridge,
//!     bc_queue_len: None,
//! });
//! let link = lower::create(&request, &lower, kind, Settings::default())?;
//! let assigned = ipam.assign(interface::CONTAINER_INTERFACE)?;
//! lower::configure(&lower, &link, &assigned, Announcement::Always)?;
//! # Ok(lower::result(&request, &link, assigned, &DnsKeys::default()))
//! # }
//! ```

use weir_cni::{Mac, validate_interface_name};

use crate::check::{self, wrong};
use crate::config::DnsKeys;
use crate::interface::CreateError;
use crate::link::{self, Link, NewKind, NewLink, OperState};
use crate::route::{self, Filter, MAIN_TABLE};
use crate::{
    AddResult, Context, Error, IpConfig, IpFamily, IpNet, LinkReference, Namespace, Outcome,
    Request, codes, interface,
};

/// Which device a configuration names as the master.
#[derive(Clone, Copy, Debug)]
pub struct Master<'a> {
    /// The key `master`; empty for the interface of the default route.
    pub name: &'a str,
    /// The key `linkInContainer`: it is in the container, not on the host.
    pub in_container: bool,
}

/// The device that the container's interface is made over.
#[derive(Clone, Debug)]
pub struct Lower {
    /// The device.
    pub link: Link,
    /// Where it is.
    pub namespace: Namespace,
}

/// What the interface is created with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Bytes; 0 for the master's.
    pub mtu: u32,
    /// The MAC; none for the kernel's choice.
    pub mac: Option<Mac>,
}

impl<'a> Master<'a> {
    /// Names a master by the values of the keys `master` and `linkInContainer`.
    pub fn new(name: &'a str, in_container: bool) -> Self {
        Master { name, in_container }
    }

    /// Checks the name. Errors: code 7, with the key.
    pub fn validate(&self) -> Result<(), Error> {
        if self.name.is_empty() {
            return Ok(());
        }
        let valid = validate_interface_name(self.name);
        valid.map_err(|error| Error::invalid_config(format!("master: {}", error.msg)))
    }

    /// Finds the master: the named one, or the interface of the default route.
    ///
    /// Errors: [`codes::NOT_FOUND`]; [`codes::DENIED`] for one that the network may not use.
    pub fn find(&self) -> Result<Lower, Error> {
        let namespace = self.namespace();
        let link = if self.name.is_empty() {
            of_default_route(namespace)?
        } else {
            self.find_named(namespace)?
        };
        Ok(Lower { link, namespace })
    }

    fn namespace(&self) -> Namespace {
        if self.in_container {
            Namespace::Container
        } else {
            Namespace::Host
        }
    }

    fn find_named(&self, namespace: Namespace) -> Result<Link, Error> {
        let name = self.name;
        let found = link::get(namespace, name).found();
        let found = found.context(format!("master: cannot use interface `{name}`"))?;
        found.ok_or_else(|| {
            let place = place(namespace);
            let msg = format!("master: no interface `{name}` {place}");
            Error::new(codes::NOT_FOUND, msg).with_details(self.advice())
        })
    }

    /// What to do about a master that is not there.
    fn advice(&self) -> String {
        let (other, key) = if self.in_container {
            (Namespace::Host, "remove `linkInContainer`")
        } else {
            (Namespace::Container, "set `linkInContainer` to true")
        };
        match link::find(other, self.name) {
            Ok(Some(_)) => format!("there is one {}: {key} to use that", place(other)),
            _ => "name an interface that exists when the container is attached".to_owned(),
        }
    }
}

/// The interface of the main table's first default route, of IPv4 before IPv6.
fn of_default_route(namespace: Namespace) -> Result<Link, Error> {
    for all in ["0.0.0.0/0", "::/0"] {
        let all: IpNet = all.parse().map_err(|_| Error::internal("not a network"))?;
        let filter = Filter {
            destination: Some(all.into()),
            table: Some(MAIN_TABLE),
            ..Filter::default()
        };
        let routes = route::list(namespace, &filter).context(DEFAULT_ROUTE)?;
        let links = routes.into_iter().flat_map(|route| {
            let hops = route.next_hops.into_iter().filter_map(|hop| hop.link);
            route.link.into_iter().chain(hops)
        });
        if let Some(link) = links.into_iter().next() {
            let doing = "master: cannot use the interface of the default route";
            return link::get(namespace, link).context(doing);
        }
    }
    let place = place(namespace);
    let msg = format!("master: missing, and there is no default route {place} that would name one");
    Err(Error::new(codes::NOT_FOUND, msg).with_details("name the interface in `master`"))
}

const DEFAULT_ROUTE: &str = "master: cannot look for the interface of the default route";

fn place(namespace: Namespace) -> &'static str {
    match namespace {
        Namespace::Host => "on the host",
        Namespace::Container => "in the container",
    }
}

impl Lower {
    /// Whether packets can come and go. A device that cannot say, such as a dummy, counts.
    fn has_carrier(&self) -> bool {
        matches!(self.link.oper_state, OperState::Up | OperState::Unknown)
    }

    /// Checks that an interface over it can have this MTU. Errors: code 7.
    pub fn check_mtu(&self, mtu: u32) -> Result<(), Error> {
        let Link {
            name, mtu: most, ..
        } = &self.link;
        if mtu <= *most {
            return Ok(());
        }
        Err(Error::invalid_config(format!(
            "mtu: expected 0 to {most}, the MTU of master `{name}`, found {mtu}"
        )))
    }
}

/// Creates the container's interface, which [`configure`] sets up. A failure leaves nothing behind.
///
/// Errors: code 7 for an MTU above the master's; those of [`interface::create_down`].
pub fn create<C>(
    request: &Request<C>,
    lower: &Lower,
    kind: NewKind,
    settings: Settings,
) -> Result<Link, CreateError> {
    lower.check_mtu(settings.mtu)?;
    let created = interface::create_down(
        request,
        NewLink {
            mtu: Some(settings.mtu).filter(|mtu| *mtu != 0),
            mac: settings.mac.map(Into::into),
            ..NewLink::new(Namespace::Container, &request.ifname, kind)
        },
    );
    created.map_err(|failed| CreateError {
        error: failed
            .error
            .with_prefix(format!("master `{}`", lower.link.name)),
        ..failed
    })
}

/// When the kernel tells the neighbours which addresses an interface has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// When ADD sets the interface up.
    Once,
    /// Whenever the interface comes up.
    Always,
}

/// Gives the interface the addresses of a result, sets it up, and gives it the routes. Waits until IPv6 addresses are
/// known to be free, if the master has a carrier.
///
/// The kernel announces IPv4 addresses that are there when the interface comes up, and an IPv6 address as soon as it is known
/// to be free.
///
/// Errors: an address that is in use; a route that the kernel refuses.
pub fn configure(
    lower: &Lower,
    link: &Link,
    result: &AddResult,
    announcement: Announcement,
) -> Result<(), Error> {
    let ips = result.ips.as_slice();
    announcement.set(link, ips, "1");
    interface::add_result_addresses(link, ips)?;
    let set_up = link::set_up(Namespace::Container, link);
    set_up.context(format!("cannot set `{}` up", link.name))?;
    if interface::has_ipv6(ips) && lower.has_carrier() {
        interface::settle(link)?;
    }
    if announcement == Announcement::Once {
        announcement.set(link, ips, "0");
    }
    interface::add_routes(link, &result.routes, ips)
}

impl Announcement {
    /// Sets whether the interface announces its addresses: those of the families that it has, or of both if it goes on.
    fn set(self, link: &Link, ips: &[IpConfig], value: &str) {
        let parameters = [
            ("ipv4.conf", "arp_notify", IpFamily::Ipv4),
            ("ipv6.conf", "ndisc_notify", IpFamily::Ipv6),
        ];
        for (table, parameter, family) in parameters {
            let is_needed =
                |ip: &IpConfig| self == Self::Always || IpFamily::of(ip.address.addr()) == family;
            if ips.iter().any(is_needed) {
                interface::set_parameter(&link.name, table, parameter, value);
            }
        }
    }
}

/// Returns a result with the interface, of what was assigned: the addresses and routes. The DNS settings are the
/// configuration's alone, as with the reference plugins.
pub fn result<C>(
    request: &Request<C>,
    link: &Link,
    assigned: AddResult,
    dns: &DnsKeys,
) -> AddResult {
    let interface = interface::of_container(link, request.sandbox.clone());
    let assigned = AddResult {
        ips: assigned.ips,
        routes: assigned.routes,
        ..AddResult::default()
    };
    interface::result(interface, assigned, dns)
}

/// CHECK: fails unless the interface is as ADD left it, and over the master, if the configuration names it. Returns it.
///
/// Errors: [`codes::NOT_AS_ATTACHED`].
pub fn check<C>(request: &Request<C>, master: Master<'_>, kind: &str) -> Result<Link, Error> {
    let link = check::attached(request, kind)?;
    if !master.name.is_empty() {
        check_master(&link, &master.find()?.link)?;
    }
    Ok(link)
}

fn check_master(link: &Link, master: &Link) -> Result<(), Error> {
    // Over a device of its own kind, the kernel puts it beside that one.
    if link.lower == Some(master.index) || link.kind == master.kind {
        return Ok(());
    }
    let (ifname, master) = (&link.name, &master.name);
    Err(wrong(format!(
        "interface `{ifname}` is not over master `{master}`"
    )))
}

impl From<&Lower> for LinkReference {
    fn from(lower: &Lower) -> Self {
        (&lower.link).into()
    }
}
