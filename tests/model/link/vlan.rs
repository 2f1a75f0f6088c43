//! VLANs of bridges and their ports.

use std::collections::BTreeMap;

use weir_gate::Permit;
use weir_grant::link::{AddVlans, BridgeVlan, DeleteVlans, Details, LinkFacts, ListVlans, NewKind};
use weir_kernel::{Answer, Result, WhileDoing as _, checks};

use super::by_index_mut;
use super::create::unsupported;
use crate::kernel::Model;
use crate::state::Device;

/// The VLANs of a new link: a bridge is in its default one.
pub(super) fn of_new(kind: &NewKind) -> Vec<BridgeVlan> {
    match kind {
        NewKind::Bridge(settings) => default(settings.default_pvid.unwrap_or(1)),
        _ => Vec::new(),
    }
}

/// The VLANs of a new port.
pub(super) fn of_port(master: Option<&Details>) -> Vec<BridgeVlan> {
    match master {
        Some(Details::Bridge { default_pvid, .. }) => default(*default_pvid),
        _ => Vec::new(),
    }
}

fn default(pvid: u16) -> Vec<BridgeVlan> {
    let vlan = BridgeVlan {
        first: pvid,
        last: pvid,
        pvid: true,
        untagged: true,
    };
    if pvid == 0 { Vec::new() } else { vec![vlan] }
}

impl Answer<AddVlans> for Model {
    fn answer(&mut self, permit: &Permit<AddVlans>) -> Result<()> {
        let AddVlans { link, vlans } = permit.operation();
        self.change_vlans(link, vlans, |single, vlan| {
            if vlan.pvid {
                single.values_mut().for_each(|flags| flags.0 = false);
            }
            for id in vlan.first..=vlan.last {
                single.insert(id, (vlan.pvid, vlan.untagged));
            }
        })
    }
}

impl Answer<DeleteVlans> for Model {
    fn answer(&mut self, permit: &Permit<DeleteVlans>) -> Result<()> {
        let DeleteVlans { link, vlans } = permit.operation();
        self.change_vlans(link, vlans, |single, vlan| {
            single.retain(|id, _| !(vlan.first..=vlan.last).contains(id));
        })
    }
}

impl Answer<ListVlans, Vec<BridgeVlan>> for Model {
    fn answer(&mut self, permit: &Permit<ListVlans>) -> Result<Vec<BridgeVlan>> {
        let link = &permit.operation().link;
        self.look(|state| {
            let device = by_index_mut(state.of(link.namespace)?, link.index)?;
            has_vlans(device)
                .then(|| device.vlans.clone())
                .ok_or_else(|| checks::no_port(link))
        })
    }
}

/// PVID and untagged, by the VLAN's id.
type Single = BTreeMap<u16, (bool, bool)>;

impl Model {
    fn change_vlans(
        &mut self,
        link: &LinkFacts,
        vlans: &[BridgeVlan],
        act: impl Fn(&mut Single, &BridgeVlan),
    ) -> Result<()> {
        vlans.iter().try_for_each(checks::vlan)?;
        let changed = self.change(|machine| {
            let device = by_index_mut(machine.state.of(link.namespace)?, link.index)?;
            if !has_vlans(device) {
                return Err(unsupported());
            }
            let mut single = single(&device.vlans);
            vlans.iter().for_each(|vlan| act(&mut single, vlan));
            device.vlans = ranges(&single);
            Ok(())
        });
        changed.while_doing(format_args!("change VLANs of {link}"))
    }
}

fn has_vlans(device: &Device) -> bool {
    device.link.port.is_some() || matches!(device.link.details, Details::Bridge { .. })
}

fn single(vlans: &[BridgeVlan]) -> Single {
    let ids = vlans
        .iter()
        .flat_map(|vlan| (vlan.first..=vlan.last).map(|id| (id, (vlan.pvid, vlan.untagged))));
    ids.collect()
}

/// Those that follow each other with the same flags, together.
fn ranges(single: &Single) -> Vec<BridgeVlan> {
    let mut ranges: Vec<BridgeVlan> = Vec::new();
    for (&id, &(pvid, untagged)) in single {
        match ranges.last_mut() {
            Some(last)
                if last.last + 1 == id
                    && (last.pvid, last.untagged) == (pvid, untagged)
                    && !pvid =>
            {
                last.last = id;
            }
            _ => ranges.push(BridgeVlan {
                first: id,
                last: id,
                pvid,
                untagged,
            }),
        }
    }
    ranges
}
