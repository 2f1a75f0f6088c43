//! VLANs of bridge ports, and of bridges themselves.

use netlink_packet_route::link::{
    AfSpecBridge, BridgeFlag, BridgeVlanInfo, BridgeVlanInfoFlags, LinkAttribute, LinkExtentMask,
    LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use weir_gate::Permit;
use weir_grant::link::{AddVlans, BridgeVlan, DeleteVlans, LinkFacts, ListVlans};

use super::{about, link_message};
use crate::error::{Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::perform::Answer;

/// The highest VLAN id; 4095 is reserved (IEEE 802.1Q).
const LAST_ID: u16 = 4094;

/// Adds VLANs. Errors: `NotFound`, `Unsupported`, `Invalid`.
impl Answer<AddVlans> for Linux {
    fn answer(&mut self, permit: &Permit<AddVlans>) -> Result<()> {
        let AddVlans { link, vlans } = permit.operation();
        self.change_vlans(link, vlans, RouteNetlinkMessage::SetLink)
            .while_doing(format_args!("add VLANs to {link}"))
    }
}

/// Removes VLANs. Errors: `NotFound`, `Unsupported`, `Invalid`.
impl Answer<DeleteVlans> for Linux {
    fn answer(&mut self, permit: &Permit<DeleteVlans>) -> Result<()> {
        let DeleteVlans { link, vlans } = permit.operation();
        self.change_vlans(link, vlans, RouteNetlinkMessage::DelLink)
            .while_doing(format_args!("remove VLANs from {link}"))
    }
}

impl Linux {
    fn change_vlans(
        &mut self,
        link: &LinkFacts,
        vlans: &[BridgeVlan],
        request: fn(LinkMessage) -> RouteNetlinkMessage,
    ) -> Result<()> {
        vlans.iter().try_for_each(check)?;
        if vlans.is_empty() {
            return Ok(());
        }
        // `self`: the request is for the link, and not for the bridge that it is a port of.
        let itself = (link.kind == "bridge").then_some(AfSpecBridge::Flags(BridgeFlag::LowerDev));
        let entries = vlans.iter().flat_map(entries).map(AfSpecBridge::VlanInfo);
        let vlans = LinkAttribute::AfSpecBridge(itself.into_iter().chain(entries).collect());
        let mut message = about(link.index, [vlans]);
        message.header.interface_family = AddressFamily::Bridge;
        self.route(link.namespace)?.change(request(message), 0)
    }
}

/// Returns the error for a link that has no VLANs.
pub fn no_port(link: &LinkFacts) -> Error {
    Error::invalid(format!("{link} is neither a bridge nor a bridge's port"))
}

/// Checks the ids of a range of VLANs. Errors: `Invalid`.
pub fn check(vlan: &BridgeVlan) -> Result<()> {
    let BridgeVlan {
        first, last, pvid, ..
    } = vlan;
    if *first == 0 || first > last || *last > LAST_ID {
        return Err(Error::invalid(format!(
            "VLANs {first} to {last}: expected ids in 1 to {LAST_ID}, the first not above the last"
        )));
    }
    if *pvid && first != last {
        return Err(Error::invalid(format!(
            "VLANs {first} to {last} as PVID: a port has one PVID"
        )));
    }
    Ok(())
}

/// A range is two entries.
fn entries(vlan: &BridgeVlan) -> Vec<BridgeVlanInfo> {
    let mut flags = BridgeVlanInfoFlags::empty();
    flags.set(BridgeVlanInfoFlags::Pvid, vlan.pvid);
    flags.set(BridgeVlanInfoFlags::Untagged, vlan.untagged);
    let entry = |vid, flags| BridgeVlanInfo { flags, vid };
    if vlan.first == vlan.last {
        return vec![entry(vlan.first, flags)];
    }
    vec![
        entry(vlan.first, flags | BridgeVlanInfoFlags::RangeBegin),
        entry(vlan.last, flags | BridgeVlanInfoFlags::RangeEnd),
    ]
}

/// The VLANs of a bridge port, or of a bridge itself, in ascending order.
///
/// Errors: `NotFound`; `Invalid` if it is neither.
impl Answer<ListVlans, Vec<BridgeVlan>> for Linux {
    fn answer(&mut self, permit: &Permit<ListVlans>) -> Result<Vec<BridgeVlan>> {
        let link = &permit.operation().link;
        let mut question = LinkMessage::default();
        question.header.interface_family = AddressFamily::Bridge;
        let compressed = LinkAttribute::ExtMask(vec![LinkExtentMask::BrvlanCompressed]);
        question.attributes.push(compressed);
        let question = RouteNetlinkMessage::GetLink(question);
        let ports = self.route(link.namespace)?.dump(&question);
        let ports = ports.while_doing(format_args!("list the VLANs of {link}"))?;
        let mut messages = ports.into_iter().filter_map(link_message);
        let message = messages.find(|message| message.header.index == link.index);
        Ok(ranges(&message.ok_or_else(|| no_port(link))?))
    }
}

fn ranges(message: &LinkMessage) -> Vec<BridgeVlan> {
    let specifications = message.attributes.iter().filter_map(|a| match a {
        LinkAttribute::AfSpecBridge(specification) => Some(specification),
        _ => None,
    });
    let mut vlans = Vec::new();
    let mut begin = None;
    for part in specifications.flatten() {
        if let AfSpecBridge::VlanInfo(entry) = part {
            if entry.flags.contains(BridgeVlanInfoFlags::RangeBegin) {
                begin = Some(entry.vid);
                continue;
            }
            vlans.push(BridgeVlan {
                first: begin.take().unwrap_or(entry.vid),
                last: entry.vid,
                pvid: entry.flags.contains(BridgeVlanInfoFlags::Pvid),
                untagged: entry.flags.contains(BridgeVlanInfoFlags::Untagged),
            });
        }
    }
    vlans
}
