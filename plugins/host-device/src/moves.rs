//! The way of the device into the container and back.

use weir_sdk::link::{self, Changes, Link};
use weir_sdk::{
    Context, Error, ErrorCode, Namespace, OperationError, Outcome, Request, codes, log,
};

use crate::config::Config;
use crate::record::{self, Former};

/// Moves a link of the host into the container, under the interface's name, and sets it up. Its alias there is its name on
/// the host, by which DEL, also the reference plugin's, finds it.
///
/// Errors: [`codes::EXISTS`] for an interface of that name in the container.
pub fn move_in(request: &Request<Config>, device: &Link) -> Result<Link, Error> {
    record::save(request, &Former::of(device))?;
    let (name, ifname) = (device.name.as_str(), request.ifname.as_str());
    let moved = link::move_to(
        Namespace::Host,
        device.index,
        Namespace::Container,
        Some(ifname),
    );
    match moved {
        Err(error) if error.code == ErrorCode::Exists => {
            let msg = format!("interface `{ifname}` exists already in the container");
            return Err(Error::new(codes::EXISTS, msg));
        }
        moved => moved.context(format!("cannot move `{name}` into the container"))?,
    };
    let changes = Changes {
        up: Some(true),
        alias: Some(name.to_owned()),
        ..Changes::default()
    };
    let updated = link::update(Namespace::Container, ifname, changes);
    updated.context(format!("cannot set up `{ifname}`"))?;
    let there = link::get(Namespace::Container, ifname);
    there.context(format!("cannot read `{ifname}`"))
}

/// Moves the device back to the host, under its old name, down, with its old MTU and alias. Succeeds where it is not in the
/// container any more.
///
/// Errors: [`codes::EXISTS`] for an interface of the old name on the host.
pub fn move_out(request: &Request<Config>) -> Result<(), Error> {
    let former = record::load(request)?;
    if request.has_container
        && let Some(device) = in_container(request, former.as_ref())?
    {
        let former = former.unwrap_or_else(|| Former {
            name: device.alias.clone(),
            ..Former::default()
        });
        restore(&device, &former)?;
    } else if let Some(former) = &former {
        rename_returned(former);
    }
    record::remove(request)
}

/// The device in the container: the interface, or what it was renamed to. Without a record, the reference plugin has moved
/// it, as the previous result must show, or nobody has.
fn in_container(request: &Request<Config>, former: Option<&Former>) -> Result<Option<Link>, Error> {
    let Some(former) = former else {
        let interface = request.find_container_interface()?;
        return Ok(interface.filter(|link| is_name(&link.alias) && is_of_result(request, link)));
    };
    let links = link::list(Namespace::Container, None, None).found();
    let links = links.context("cannot list the container's interfaces")?;
    Ok(links
        .unwrap_or_default()
        .into_iter()
        .find(|link| is_it(link, former)))
}

/// Whether a link is the device: the alias or the MAC may have been changed, but hardly both.
fn is_it(link: &Link, former: &Former) -> bool {
    let has_mac = !former.mac.is_empty() && link.mac_text().as_deref() == Some(&*former.mac);
    link.kind == former.kind && (has_mac || link.alias == former.name)
}

/// Whether the previous result has the interface with this MAC.
fn is_of_result(request: &Request<Config>, link: &Link) -> bool {
    let interfaces = request
        .previous
        .iter()
        .flat_map(|previous| &previous.interfaces);
    let mut own = interfaces.filter(|interface| interface.name == request.ifname);
    own.any(|interface| interface.mac.is_some() && interface.mac == link.mac_text())
}

fn is_name(alias: &str) -> bool {
    !alias.is_empty() && weir_sdk::cni::validate_interface_name(alias).is_ok()
}

fn restore(device: &Link, former: &Former) -> Result<(), Error> {
    let name = former.name.as_str();
    let changes = Changes {
        up: Some(false),
        mtu: former.mtu.filter(|mtu| *mtu != device.mtu),
        alias: Some(former.alias.clone()),
        ..Changes::default()
    };
    let updated = link::update(Namespace::Container, device.index, changes);
    updated.context(format!("cannot restore `{}`", device.name))?;
    let moved = link::move_to(
        Namespace::Container,
        device.index,
        Namespace::Host,
        Some(name),
    );
    let Err(error) = moved else {
        return Ok(());
    };
    // It stays in the container, and the next DEL finds it by its alias.
    let alias = Some(name.to_owned());
    let changes = Changes {
        alias,
        ..Changes::default()
    };
    link::update(Namespace::Container, device.index, changes).found()?;
    Err(not_moved(&error, name))
}

fn not_moved(error: &OperationError, name: &str) -> Error {
    if error.code != ErrorCode::Exists {
        return Error::from(error.clone())
            .with_prefix(format!("cannot move `{name}` back to the host"));
    }
    let msg = format!("cannot move `{name}` back to the host: another interface has that name");
    let details = format!("rename that interface; the next DEL moves `{name}` back");
    Error::new(codes::EXISTS, msg).with_details(details)
}

/// Gives a device its name back that the kernel has returned with the namespace: one of hardware comes back to the host's
/// namespace under whichever name it had or is free. What cannot be done is logged, since nothing would make it possible.
fn rename_returned(former: &Former) {
    let links = link::list(Namespace::Host, None, None).unwrap_or_default();
    let found = links
        .iter()
        .find(|link| link.kind == former.kind && link.alias == former.name);
    let Some(device) = found.filter(|link| link.name != former.name) else {
        return;
    };
    let changes = Changes {
        name: Some(former.name.clone()),
        up: Some(false),
        mtu: former.mtu.filter(|mtu| *mtu != device.mtu),
        ..Changes::default()
    };
    if let Err(error) = link::update(Namespace::Host, device.index, changes) {
        let fields = [
            ("link", &*device.name),
            ("name", &former.name),
            ("error", &error.message),
        ];
        log::warn(
            "cannot rename a device that came back with its container's namespace",
            &fields,
        );
    }
}
