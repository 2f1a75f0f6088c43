//! The container's interface: the link where nothing on the host belongs to it, addresses, routes, announcements.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::{self, NewAddress};
use crate::config::DnsKeys;
use crate::link::{self, Link, NewLink};
use crate::owner::Owner;
use crate::{
    AddResult, AsLink, Context, Error, ErrorCode, Interface, IpConfig, Namespace, OperationError,
    Outcome, Request, Route, codes, log, neighbour, route, sysctl,
};

/// The index of the container's interface in the result of a plugin that makes no other.
pub const CONTAINER_INTERFACE: u32 = 0;

/// How long duplicate address detection may take, in milliseconds.
const SETTLE_TIMEOUT: u32 = 10_000;

/// An interface was not created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateError {
    /// What exists already; none for any other reason.
    pub existing: Option<Existing>,
    /// The error of ADD: [`codes::EXISTS`] for what exists already.
    pub error: Error,
}

/// What is in the way of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// An interface of that name in the container.
    Name,
    /// One that there can be once, such as that of a VLAN over its lower device.
    Kind,
}

impl From<Error> for CreateError {
    fn from(error: Error) -> Self {
        let existing = None;
        Self { existing, error }
    }
}

impl From<CreateError> for Error {
    fn from(failed: CreateError) -> Self {
        failed.error
    }
}

/// Creates the container's interface and sets it up.
///
/// Errors: those of [`create_down`].
pub fn create<C>(request: &Request<C>, new: NewLink) -> Result<Link, CreateError> {
    create_down(request, NewLink { up: true, ..new })
}

/// Creates the container's interface. Its alias names the attachment, so that [`delete_own`] finds it when the container
/// has renamed it.
///
/// Errors: [`codes::EXISTS`], and what the kernel refuses.
pub fn create_down<C>(request: &Request<C>, new: NewLink) -> Result<Link, CreateError> {
    let created = link::create(NewLink {
        alias: Some(Owner::of(request).mark().to_owned()),
        ..new
    });
    let ifname = request.ifname.as_str();
    created.map_err(|error| match error.code {
        ErrorCode::Exists => existing(ifname, error),
        _ => not_created(ifname, error).into(),
    })
}

fn not_created(ifname: &str, error: OperationError) -> Error {
    Error::from(error).with_prefix(format!("cannot create `{ifname}`"))
}

/// Tells which of the two it is that exists.
fn existing(ifname: &str, error: OperationError) -> CreateError {
    let (existing, error) = match refuse_existing(ifname) {
        Err(error) => (Existing::Name, error),
        Ok(()) => (Existing::Kind, not_created(ifname, error)),
    };
    let existing = Some(existing);
    CreateError { existing, error }
}

/// Fails if the container has an interface of this name already, also one that the grant does not show.
pub(crate) fn refuse_existing(ifname: &str) -> Result<(), Error> {
    match link::get(Namespace::Container, ifname).found() {
        Ok(None) => Ok(()),
        _ => {
            let msg = format!("interface `{ifname}` exists already in the container");
            Err(Error::new(codes::EXISTS, msg))
        }
    }
}

/// Deletes the container's interface where it exists. One that the grant does not let the plugin delete, because it is
/// of another kind, is not the plugin's: it made ADD fail, and stays. Returns whether it was there.
pub fn delete<C>(request: &Request<C>) -> Result<bool, Error> {
    if !request.has_container {
        return Ok(false);
    }
    let ifname = request.ifname.as_str();
    match link::delete(Namespace::Container, ifname).found() {
        Err(error) if error.code == ErrorCode::Denied => {
            let fields = [("link", ifname), ("error", error.message.as_str())];
            log::warn(
                "the container's interface is not the plugin's and was left alone",
                &fields,
            );
            Ok(true)
        }
        deleted => {
            let deleted = deleted.context(format!("cannot delete `{ifname}`"));
            deleted.map(|deleted| deleted.is_some())
        }
    }
}

/// Deletes the link that [`create`] made, of this kind, also where the container has renamed it.
pub fn delete_own<C>(request: &Request<C>, kind: &str) -> Result<(), Error> {
    if !request.has_container || delete(request)? {
        return Ok(());
    }
    let links = link::list(Namespace::Container, Some(kind), None);
    let links = links.context("cannot list the container's interfaces")?;
    let owner = Owner::of(request);
    let own = links.iter().filter(|link| owner.has(&link.alias));
    link::delete_all(Namespace::Container, own).context("cannot delete the renamed interface")
}

/// Returns the link as a result's interface in the container.
pub fn of_container(link: &Link, sandbox: String) -> Interface {
    Interface {
        sandbox: Some(sandbox),
        ..link.interface()
    }
}

/// Returns the result of a plugin that makes no other interface, with what was assigned and the configuration's DNS settings
/// in place of the IPAM plugin's.
pub fn result(interface: Interface, mut assigned: AddResult, dns: &DnsKeys) -> AddResult {
    assigned.interfaces = vec![interface];
    dns.apply(&mut assigned.dns);
    assigned
}

/// Gives the interface, which is up, the addresses and routes of a result, as [`add_result_addresses`] and
/// [`add_routes`] do.
pub fn configure(link: &Link, result: &AddResult) -> Result<(), Error> {
    add_result_addresses(link, &result.ips)?;
    add_routes(link, &result.routes, &result.ips)
}

/// Gives the interface the addresses of a result. IPv6 is enabled for them, and an IPv6 address stays when the interface
/// is set down, as when it becomes a port of a VRF.
pub fn add_result_addresses(link: &Link, ips: &[IpConfig]) -> Result<(), Error> {
    if has_ipv6(ips) {
        let ifname = link.name.as_str();
        enable_ipv6(ifname)?;
        let key = sysctl::interface_key("ipv6.conf", ifname, "keep_addr_on_down");
        sysctl::write(Namespace::Container, &key, "1")
            .context(format!("cannot keep the IPv6 addresses of `{ifname}`"))?;
    }
    add_addresses(link, ips, |address| {
        NewAddress::new(address).with_subnet_broadcast()
    })
}

/// Waits for duplicate address detection. An address that is taken is an error; one that is still being checked is used
/// all the same.
pub fn settle(link: &Link) -> Result<(), Error> {
    let ifname = link.name.as_str();
    match address::settle(Namespace::Container, link, SETTLE_TIMEOUT) {
        Err(error) if error.code == ErrorCode::TimedOut => {
            log::warn(
                "addresses are still being checked for duplicates",
                &[("link", ifname), ("error", &error.message)],
            );
            Ok(())
        }
        settled => settled.context(format!("`{ifname}`: an address is in use already")),
    }
}

/// Writes a parameter of the interface that the container can do without, such as `arp_notify` of `ipv4.conf`. A failure
/// is logged and not an error.
pub fn set_parameter(ifname: &str, table: &str, parameter: &str, value: &str) {
    let key = sysctl::interface_key(table, ifname, parameter);
    if let Err(error) = sysctl::write(Namespace::Container, &key, value).found() {
        log::warn(
            "cannot set a parameter of the container's interface",
            &[("key", &key), ("error", &error.message)],
        );
    }
}

/// Whether an address of a result is IPv6.
pub fn has_ipv6(ips: &[IpConfig]) -> bool {
    ips.iter().any(|ip| ip.address.addr().is_ipv6())
}

/// Enables IPv6 on the interface and the loopback device, in case the container came without.
pub fn enable_ipv6(ifname: &str) -> Result<(), Error> {
    for interface in ["lo", ifname] {
        let key = sysctl::interface_key("ipv6.conf", interface, "disable_ipv6");
        sysctl::ensure(Namespace::Container, &key, "0")
            .context(format!("cannot enable IPv6 on `{interface}`"))?;
    }
    Ok(())
}

/// Adds addresses to the interface, with the attributes that `new` gives them.
pub fn add_addresses(
    link: &Link,
    ips: &[IpConfig],
    new: impl Fn(IpNet) -> NewAddress,
) -> Result<(), Error> {
    for ip in ips {
        let address = ip.address;
        address::add(Namespace::Container, link, new(address))
            .context(format!("cannot add address {address} to `{}`", link.name))?;
    }
    Ok(())
}

/// Adds routes of a result with these addresses over the interface, as [`route::of_result`] makes them.
pub fn add_routes(link: impl AsLink, routes: &[Route], ips: &[IpConfig]) -> Result<(), Error> {
    let routes = route::of_result(routes, ips, link);
    let mut routes = routes.iter();
    routes.try_for_each(|route| route::ensure(Namespace::Container, route))
}

/// Announces the addresses to the neighbours. A failure is logged and not an error.
pub fn announce(link: &Link, ips: &[IpConfig]) {
    if ips.is_empty() {
        return;
    }
    let addresses = ips.iter().map(|ip| -> IpAddr { ip.address.addr() });
    if let Err(error) = neighbour::announce(Namespace::Container, link, addresses) {
        log::warn(
            "cannot announce the container's addresses",
            &[("link", &link.name), ("error", &error.message)],
        );
    }
}
