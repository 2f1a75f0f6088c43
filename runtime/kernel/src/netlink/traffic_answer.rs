//! Parses only kind and options of a discipline, class or filter, and keeps the options as bytes: statistics and options
//! of unknown kinds must not make an answer unreadable.

use netlink_packet_core::{DecodeError, DefaultNla, NlaBuffer, NlasIterator, parse_string};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHeader, TcMessage};
use nix::libc;

/// The bytes of `struct tcmsg`.
const HEADER_LENGTH: usize = 20;

/// `TCA_KIND`, `TCA_OPTIONS`.
const KIND: u16 = 1;
pub(crate) const OPTIONS: u16 = 2;

/// Reads the payload of a message of that type, if it is about traffic control. The options are an
/// attribute that is not looked into (`TcAttribute::Other`).
pub(super) fn parse(kind: u16, payload: &[u8]) -> Option<Result<RouteNetlinkMessage, DecodeError>> {
    let object = match kind {
        libc::RTM_NEWQDISC => RouteNetlinkMessage::NewQueueDiscipline,
        libc::RTM_DELQDISC => RouteNetlinkMessage::DelQueueDiscipline,
        libc::RTM_NEWTCLASS => RouteNetlinkMessage::NewTrafficClass,
        libc::RTM_DELTCLASS => RouteNetlinkMessage::DelTrafficClass,
        libc::RTM_NEWTFILTER => RouteNetlinkMessage::NewTrafficFilter,
        libc::RTM_DELTFILTER => RouteNetlinkMessage::DelTrafficFilter,
        _ => return None,
    };
    Some(parse_message(payload).map(object))
}

fn parse_message(payload: &[u8]) -> Result<TcMessage, DecodeError> {
    let header = TcHeader::parse(payload)?;
    let mut attributes = Vec::with_capacity(2);
    for attribute in NlasIterator::new(payload.get(HEADER_LENGTH..).unwrap_or_default()) {
        attributes.extend(parse_attribute(&attribute?)?);
    }
    Ok(TcMessage::from_parts(header, attributes))
}

fn parse_attribute(attribute: &NlaBuffer<&[u8]>) -> Result<Option<TcAttribute>, DecodeError> {
    let value = attribute.value();
    Ok(match attribute.kind() {
        KIND => Some(TcAttribute::Kind(parse_string(value)?)),
        OPTIONS => Some(TcAttribute::Other(DefaultNla::new(OPTIONS, value.to_vec()))),
        _ => None,
    })
}
