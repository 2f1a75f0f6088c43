//! Links that move to the other namespace.

use super::delete::forget;
use super::{check_free, settle};
use crate::bindings::fake::error::{EINVAL, Result, invalid, refuse};
use crate::bindings::fake::state::{BOTH, Device, Machine, Traffic, check_name, word};
use crate::bindings::fake::{Call, sysctl};
use crate::bindings::weir::cni::link::Link;
use crate::bindings::weir::cni::types::{LinkReference, Namespace};

pub fn move_(
    namespace: Namespace,
    link: &LinkReference,
    to: Namespace,
    new_name: Option<&str>,
) -> Result<Link> {
    let name = new_name.unwrap_or_default();
    let text = format!("to {} {name}", word(to));
    let call = Call::of("link.move").on(namespace, link);
    call.with(text.trim_end())
        .run(|machine| carry_out(machine, (namespace, link), to, new_name))
}

fn carry_out(
    machine: &mut Machine,
    (namespace, link): (Namespace, &LinkReference),
    to: Namespace,
    new_name: Option<&str>,
) -> Result<Link> {
    let device = machine.network(namespace)?.find(link)?.clone();
    let name = new_name.unwrap_or(&device.link.name).to_owned();
    check_name(&name)?;
    if namespace == to {
        return Err(invalid("it is there already"));
    }
    check_free(machine.network(to)?, &name)?;
    if matches!(&*device.link.kind, "loopback" | "bridge" | "vrf") {
        return refuse(EINVAL);
    }
    let (index, former) = (device.link.index, device.link.name.clone());
    forget(machine.network(namespace)?, index, &former);
    let there = machine.network(to)?;
    sysctl::add_link(there, &name);
    there.links.push(arrived(device, name));
    follow(machine, (namespace, index), to);
    settle::all(machine);
    Ok(machine.look(to)?.device(index)?.link.clone())
}

/// The link as it is there: down, no port, and not shaped.
fn arrived(mut device: Device, name: String) -> Device {
    let link = &mut device.link;
    link.name = name;
    link.up = false;
    link.master = None;
    link.port = None;
    device.vlans.clear();
    device.traffic = Traffic::default();
    device
}

/// Has the upper devices of a link, or its peer, know where it is.
fn follow(machine: &mut Machine, from: (Namespace, u32), to: Namespace) {
    for namespace in BOTH {
        let network = machine.network(namespace);
        let links = network.into_iter().flat_map(|network| &mut network.links);
        let places = links.flat_map(|device| [&mut device.peer, &mut device.lower]);
        for place in places.flatten().filter(|place| **place == from) {
            place.0 = to;
        }
    }
}
