//! VLANs of bridges and their ports.

use std::collections::BTreeMap;

use crate::bindings::fake::Call;
use crate::bindings::fake::error::{EOPNOTSUPP, Result, invalid};
use crate::bindings::fake::state::Device;
use crate::bindings::weir::cni::link::{BridgeVlan, Details};
use crate::bindings::weir::cni::types::{LinkReference, Namespace};

/// PVID and untagged, by the VLAN's id.
type Single = BTreeMap<u16, (bool, bool)>;

pub fn add_vlans(namespace: Namespace, link: &LinkReference, vlans: &[BridgeVlan]) -> Result<()> {
    change("link.add-vlans", namespace, link, vlans, |single, vlan| {
        if vlan.pvid {
            single.values_mut().for_each(|flags| flags.0 = false);
        }
        for id in vlan.first..=vlan.last {
            single.insert(id, (vlan.pvid, vlan.untagged));
        }
    })
}

pub fn delete_vlans(
    namespace: Namespace,
    link: &LinkReference,
    vlans: &[BridgeVlan],
) -> Result<()> {
    change(
        "link.delete-vlans",
        namespace,
        link,
        vlans,
        |single, vlan| {
            single.retain(|id, _| !(vlan.first..=vlan.last).contains(id));
        },
    )
}

pub fn list_vlans(namespace: Namespace, link: &LinkReference) -> Result<Vec<BridgeVlan>> {
    Call::of("link.list-vlans")
        .on(namespace, link)
        .run(|machine| {
            let device = machine.look(namespace)?.find(link)?;
            if has_vlans(device) {
                Ok(device.vlans.clone())
            } else {
                Err(invalid("it is neither a bridge nor a bridge's port"))
            }
        })
}

fn change(
    function: &'static str,
    namespace: Namespace,
    link: &LinkReference,
    vlans: &[BridgeVlan],
    act: impl Fn(&mut Single, &BridgeVlan),
) -> Result<()> {
    let text = vlans
        .iter()
        .map(|vlan| format!("{}-{}", vlan.first, vlan.last));
    let text = text.collect::<Vec<_>>().join(" ");
    Call::of(function)
        .on(namespace, link)
        .with(text)
        .run(|machine| {
            vlans.iter().try_for_each(check)?;
            let network = machine.network(namespace)?;
            let index = network.index(link)?;
            let device = network.device_mut(index)?;
            if !has_vlans(device) {
                return Err(EOPNOTSUPP.into());
            }
            let mut single = single(&device.vlans);
            vlans.iter().for_each(|vlan| act(&mut single, vlan));
            device.vlans = ranges(&single);
            Ok(())
        })
}

fn check(vlan: &BridgeVlan) -> Result<()> {
    let (first, last) = (vlan.first, vlan.last);
    if first == 0 || first > last || last > 4094 {
        Err(invalid(format!(
            "VLANs {first} to {last}: expected ids in 1 to 4094"
        )))
    } else if vlan.pvid && first != last {
        Err(invalid(format!(
            "VLANs {first} to {last} as PVID: a port has one PVID"
        )))
    } else {
        Ok(())
    }
}

fn has_vlans(device: &Device) -> bool {
    device.link.port.is_some() || device.is_bridge()
}

/// The VLANs of a new bridge, and of a new port of it.
pub(super) fn of_bridge(details: &Details) -> Vec<BridgeVlan> {
    match details {
        Details::Bridge(bridge) if bridge.default_pvid != 0 => vec![BridgeVlan {
            first: bridge.default_pvid,
            last: bridge.default_pvid,
            pvid: true,
            untagged: true,
        }],
        _ => Vec::new(),
    }
}

fn single(vlans: &[BridgeVlan]) -> Single {
    let ids = vlans.iter().flat_map(|vlan| {
        let flags = (vlan.pvid, vlan.untagged);
        (vlan.first..=vlan.last).map(move |id| (id, flags))
    });
    ids.collect()
}

/// Joins those that follow each other with the same flags. A PVID stands alone.
fn ranges(single: &Single) -> Vec<BridgeVlan> {
    let mut ranges = Vec::<BridgeVlan>::new();
    for (&id, &(pvid, untagged)) in single {
        let last = ranges.last_mut();
        let joins = |last: &&mut BridgeVlan| {
            last.last + 1 == id && (last.pvid, last.untagged) == (false, untagged) && !pvid
        };
        match last.filter(joins) {
            Some(last) => last.last = id,
            None => ranges.push(BridgeVlan {
                first: id,
                last: id,
                pvid,
                untagged,
            }),
        }
    }
    ranges
}
