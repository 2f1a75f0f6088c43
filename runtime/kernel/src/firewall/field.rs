//! The fields of a packet: where each is found, in what form, and what must be known before.

use netlink_bindings::nftables::{CtKeys, FibFlags, MetaKeys, PayloadBase};
use weir_grant::firewall::{Family, Field};

use super::expression::{Expressions, Register};
use super::value::Format;
use crate::error::{Error, Result};

/// `NFPROTO_IPV4`, `NFPROTO_IPV6`.
pub(super) const IPV4: u8 = 2;
pub(super) const IPV6: u8 = 10;

/// `ETH_P_IP`, `ETH_P_IPV6`.
const ETHERNET_IPV4: u16 = 0x0800;
const ETHERNET_IPV6: u16 = 0x86dd;

/// `ARPHRD_ETHER`.
const ETHERNET_DEVICE: u16 = 1;

/// Where a field is found.
enum Source {
    Meta(MetaKeys),
    Connection(CtKeys),
    /// A field of the connection, in the direction of its first packet.
    OriginalConnection(CtKeys),
    Payload(PayloadBase, u32),
    AddressType(FibFlags),
}

/// Where a field is found, and in what form it lies in a register.
fn source(field: Field) -> (Source, Format) {
    use Source::{AddressType, Connection, Meta, OriginalConnection, Payload};
    let link = PayloadBase::LinkLayerHeader;
    let network = PayloadBase::NetworkHeader;
    let transport = PayloadBase::TransportHeader;
    match field {
        Field::InputLinkName => (Meta(MetaKeys::Iifname), Format::LinkName),
        Field::OutputLinkName => (Meta(MetaKeys::Oifname), Format::LinkName),
        Field::Mark => (Meta(MetaKeys::Mark), Format::Word),
        Field::NetworkProtocol => (Meta(MetaKeys::Nfproto), Format::Byte),
        Field::TransportProtocol => (Meta(MetaKeys::L4Proto), Format::Byte),
        Field::Ipv4Source => (Payload(network, 12), Format::Ipv4),
        Field::Ipv4Destination => (Payload(network, 16), Format::Ipv4),
        Field::Ipv6Source => (Payload(network, 8), Format::Ipv6),
        Field::Ipv6Destination => (Payload(network, 24), Format::Ipv6),
        Field::SourcePort => (Payload(transport, 0), Format::Short),
        Field::DestinationPort => (Payload(transport, 2), Format::Short),
        Field::MacDestination => (Payload(link, 0), Format::Mac),
        Field::MacSource => (Payload(link, 6), Format::Mac),
        Field::EtherType => (Payload(link, 12), Format::Short),
        Field::ConnectionState => (Connection(CtKeys::State), Format::Word),
        Field::ConnectionStatus => (Connection(CtKeys::Status), Format::Word),
        Field::ConnectionMark => (Connection(CtKeys::Mark), Format::Word),
        Field::ConnectionOriginalDestinationPort => {
            (OriginalConnection(CtKeys::ProtoDst), Format::Short)
        }
        Field::DestinationAddressType => (AddressType(FibFlags::Daddr), Format::Word),
        Field::SourceAddressType => (AddressType(FibFlags::Saddr), Format::Word),
    }
}

/// How a field lies in a register.
pub(super) fn format(field: Field) -> Format {
    source(field).1
}

/// Loads a field into registers.
pub(super) fn load(expressions: &mut Expressions, field: Field, to: Register) {
    let (source, format) = source(field);
    match source {
        Source::Meta(key) => expressions.load_meta(key, to),
        Source::Connection(key) => expressions.load_connection(key, to),
        Source::OriginalConnection(key) => expressions.load_original_connection(key, to),
        Source::AddressType(of) => expressions.load_address_type(of, to),
        Source::Payload(base, offset) => {
            expressions.load_payload(base, offset, format.length() as u32, to);
        }
    }
}

/// What the previous conditions of a rule imply about the packet. A field means something only in packets with its header,
/// and most tables also see others.
#[derive(Default)]
pub(super) struct Known {
    network: Option<u8>,
    ethernet: bool,
}

impl Known {
    /// The rule itself compares the network protocol.
    pub(super) fn note_network(&mut self, protocol: u8) {
        self.network = Some(protocol);
    }

    /// Adds the conditions that a field needs. Errors: `Invalid` for a field of a header that no
    /// packet of the family, or of the rule, has.
    pub(super) fn require(
        &mut self,
        expressions: &mut Expressions,
        family: Family,
        field: Field,
    ) -> Result<()> {
        match field {
            Field::Ipv4Source | Field::Ipv4Destination => self.network(expressions, family, IPV4),
            Field::Ipv6Source | Field::Ipv6Destination => self.network(expressions, family, IPV6),
            Field::MacSource | Field::MacDestination | Field::EtherType => {
                self.ethernet(expressions, family);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn network(
        &mut self,
        expressions: &mut Expressions,
        family: Family,
        protocol: u8,
    ) -> Result<()> {
        let version = if protocol == IPV4 { 4 } else { 6 };
        match (family, self.network) {
            (Family::Ip, _) if protocol == IPV4 => return Ok(()),
            (Family::Ip6, _) if protocol == IPV6 => return Ok(()),
            (Family::Ip | Family::Ip6 | Family::Arp, _) => {
                return Err(Error::invalid(format!(
                    "no packet in a table of family {family} has an IPv{version} header"
                )));
            }
            (_, Some(known)) if known == protocol => return Ok(()),
            (_, Some(_)) => {
                return Err(Error::invalid(
                    "no packet has both an IPv4 and an IPv6 header: this rule can never match",
                ));
            }
            (Family::Inet, None) => {
                expressions.load_meta(MetaKeys::Nfproto, Register::FIRST);
                expressions.compare(Register::FIRST, false, &[protocol]);
            }
            (Family::Bridge | Family::Netdev, None) => {
                let kind = if protocol == IPV4 {
                    ETHERNET_IPV4
                } else {
                    ETHERNET_IPV6
                };
                expressions.load_meta(MetaKeys::Protocol, Register::FIRST);
                expressions.compare(Register::FIRST, false, &kind.to_be_bytes());
            }
        }
        self.network = Some(protocol);
        Ok(())
    }

    fn ethernet(&mut self, expressions: &mut Expressions, family: Family) {
        if family == Family::Bridge || self.ethernet {
            return;
        }
        expressions.load_meta(MetaKeys::Iftype, Register::FIRST);
        expressions.compare(Register::FIRST, false, &ETHERNET_DEVICE.to_ne_bytes());
        self.ethernet = true;
    }
}
