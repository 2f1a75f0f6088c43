//! The VRF and its routing table.

use std::collections::BTreeSet;

use weir_sdk::link::{self, Details, Link, NewKind, NewLink};
use weir_sdk::route::{self, Filter};
use weir_sdk::{Context, Error, Namespace, Outcome};

use crate::Config;
use crate::codes::TABLE_TAKEN;

/// The kind as the kernel reports it.
const KIND: &str = "vrf";

/// The kernel's own tables `default`, `main` and `local`.
const OF_THE_KERNEL: std::ops::RangeInclusive<u32> = 253..=255;

/// A VRF of the container.
pub(crate) struct Device {
    pub(crate) link: Link,
    pub(crate) table: u32,
}

impl TryFrom<Link> for Device {
    type Error = Error;

    fn try_from(link: Link) -> Result<Self, Error> {
        match link.details {
            Details::Vrf(table) => Ok(Self { link, table }),
            _ => Err(Error::invalid_config(format!(
                "vrfname: `{}` is a {} in the container, not a VRF: choose another name",
                link.name, link.kind
            ))),
        }
    }
}

/// Returns the VRF of this name; none where it does not exist. Errors: code 7 for a link of another kind.
pub(crate) fn find(name: &str) -> Result<Option<Device>, Error> {
    let found = link::get(Namespace::Container, name).found();
    let found = found.context(format!("cannot look up VRF `{name}`"))?;
    found.map(Device::try_from).transpose()
}

/// Returns the configured VRF, and creates it where it does not exist.
pub(crate) fn ensure(config: &Config) -> Result<Device, Error> {
    match find(&config.vrfname)? {
        Some(vrf) => {
            require_table(&vrf, config.table)?;
            Ok(vrf)
        }
        None => create(config),
    }
}

/// Fails if the configuration has another table than the VRF. Errors: [`TABLE_TAKEN`].
pub(crate) fn require_table(vrf: &Device, wanted: u32) -> Result<(), Error> {
    if wanted == 0 || wanted == vrf.table {
        return Ok(());
    }
    let (name, table) = (&vrf.link.name, vrf.table);
    let msg = format!("table: VRF `{name}` has routing table {table}, expected {wanted}");
    let details = "an interface that was attached before made the VRF: all its networks must have the same table";
    Err(Error::new(TABLE_TAKEN, msg).with_details(details))
}

fn create(config: &Config) -> Result<Device, Error> {
    let name = config.vrfname.as_str();
    let others = link::list(Namespace::Container, Some(KIND), None);
    let others = others.context("cannot list the container's VRFs")?;
    let others: Vec<Device> = others
        .into_iter()
        .map(Device::try_from)
        .collect::<Result<_, _>>()?;
    let table = match config.table {
        0 => free_table(&others)?,
        wanted => unused(wanted, &others)?,
    };
    let created = link::create(NewLink {
        up: true,
        ..NewLink::new(Namespace::Container, name, NewKind::Vrf(table))
    });
    created
        .context(format!("cannot create VRF `{name}`"))?
        .try_into()
}

/// Returns the table, which no other VRF may have. Errors: [`TABLE_TAKEN`].
fn unused(table: u32, others: &[Device]) -> Result<u32, Error> {
    match others.iter().find(|other| other.table == table) {
        None => Ok(table),
        Some(other) => {
            let msg = format!(
                "table: routing table {table} is that of VRF `{}`",
                other.link.name
            );
            let details = "choose another table, or leave the key out to have a free one chosen";
            Err(Error::new(TABLE_TAKEN, msg).with_details(details))
        }
    }
}

/// Returns the lowest table that neither a VRF nor a route of the container has.
fn free_table(others: &[Device]) -> Result<u32, Error> {
    let routes = route::list(Namespace::Container, &Filter::default());
    let routes = routes.context("cannot list the container's routes")?;
    let of_routes = routes.iter().filter_map(|route| route.table);
    let of_vrfs = others.iter().map(|other| other.table);
    let taken: BTreeSet<u32> = of_vrfs.chain(of_routes).chain(OF_THE_KERNEL).collect();
    let mut tables = 1..=u32::MAX;
    let free = tables.find(|table| !taken.contains(table));
    free.ok_or_else(|| Error::new(TABLE_TAKEN, "table: every routing table is taken"))
}

/// Deletes the VRF unless it has an interface.
pub(crate) fn delete_unused(vrf: &Device) -> Result<(), Error> {
    let (name, index) = (&vrf.link.name, vrf.link.index);
    let ports = link::list(Namespace::Container, None, Some(index));
    let ports = ports.context(format!("cannot list the interfaces of VRF `{name}`"))?;
    if ports.is_empty() {
        link::delete(Namespace::Container, &vrf.link)
            .found()
            .context(format!("cannot delete VRF `{name}`"))?;
    }
    Ok(())
}
