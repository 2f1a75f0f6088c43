//! Capability `traffic`: queueing disciplines, classes and filters of links.
//!
//! The kernel lists the disciplines of all links at once, and nothing less. One link's are looked up
//! by their places instead, so that the cost does not grow with the number of links.

pub(crate) mod class;
pub(crate) mod filter;
pub(crate) mod qdisc;
mod rate;
mod selector;

use netlink_packet_core::{DefaultNla, Nla};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcMessage, TcOption};
use weir_grant::link::LinkFacts;
use weir_grant::traffic::Handle;

use super::error::Result;
use super::netlink::{OPTIONS, RouteSocket};

/// A message about a place of a link and a handle, which is 0 for none.
fn about(link: &LinkFacts, parent: Handle, handle: u32) -> TcMessage {
    // The kernel's indexes are positive `int`s.
    let mut message = TcMessage::with_index(i32::try_from(link.index).unwrap_or_default());
    message.header.parent = parent.0.into();
    message.header.handle = handle.into();
    message
}

/// A message that makes something of a kind.
fn new(
    link: &LinkFacts,
    parent: Handle,
    handle: u32,
    kind: &str,
    options: Vec<TcOption>,
) -> TcMessage {
    let mut message = about(link, parent, handle);
    message.attributes.push(TcAttribute::Kind(kind.to_owned()));
    if !options.is_empty() {
        message.attributes.push(TcAttribute::Options(options));
    }
    message
}

/// An option that netlink-packet-route does not know.
fn option(kind: u16, value: impl Into<Vec<u8>>) -> TcOption {
    TcOption::Other(DefaultNla::new(kind, value.into()))
}

/// A discipline, class or filter as the kernel describes it.
pub(crate) struct Object {
    pub link: i32,
    pub handle: u32,
    pub parent: Handle,
    info: u32,
    pub kind: String,
    /// Attributes, still in bytes.
    options: Vec<u8>,
}

impl Object {
    /// None for messages about something that is gone, or not about traffic control.
    pub(crate) fn read(message: RouteNetlinkMessage) -> Option<Self> {
        use RouteNetlinkMessage::{NewQueueDiscipline, NewTrafficClass, NewTrafficFilter};
        let (NewQueueDiscipline(message) | NewTrafficClass(message) | NewTrafficFilter(message)) =
            message
        else {
            return None;
        };
        let mut object = Self {
            link: message.header.index,
            handle: message.header.handle.into(),
            parent: Handle(message.header.parent.into()),
            info: message.header.info,
            kind: String::new(),
            options: Vec::new(),
        };
        for attribute in message.attributes {
            match attribute {
                TcAttribute::Kind(kind) => object.kind = kind,
                TcAttribute::Other(value) if value.kind() == OPTIONS => {
                    object.options.resize(value.value_len(), 0);
                    value.emit_value(&mut object.options);
                }
                _ => {}
            }
        }
        Some(object)
    }
}

/// Carries a request out and returns the object that the kernel reports.
fn echo(
    socket: &mut RouteSocket,
    message: RouteNetlinkMessage,
    flags: u16,
) -> Result<Option<Object>> {
    let echoes = socket.echo(message, flags)?;
    Ok(echoes.into_iter().find_map(Object::read))
}

/// The objects of a list that a link has. Errors: `NotFound` for a link that is gone.
fn dump(
    socket: &mut RouteSocket,
    link: &LinkFacts,
    question: RouteNetlinkMessage,
) -> Result<Vec<Object>> {
    let answer = socket.dump(&question)?;
    let objects: Vec<Object> = answer.into_iter().filter_map(Object::read).collect();
    if objects.is_empty() {
        // The kernel has an empty list for a link that is gone, too.
        qdisc::check_link(socket, link)?;
    }
    Ok(objects)
}
