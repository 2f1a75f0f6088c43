//! The kernel's report of the parameters of all links: `IFLA_INET_CONF` and `IFLA_INET6_CONF` of rtnetlink(7).
//! Links with the same report have the same values below `/proc/sys/net/ipv[46]/conf`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer,
    NetlinkMessage, NlaBuffer, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkExtentMask, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::libc::{AF_INET, AF_INET6};

/// Attributes, as linux/if_link.h numbers them.
const IFLA_IFNAME: u16 = 3;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_INET_CONF: u16 = 1;
const IFLA_INET6_CONF: u16 = 2;

/// Parameters that are not in it.
pub const UNREPORTED: [&str; 4] = [
    "ra_honor_pio_life",
    "ra_honor_pio_pflag",
    "regen_min_advance",
    "stable_secret",
];

/// Before the attributes of a link: `struct ifinfomsg`.
const HEADER: usize = 16;

/// The kernel's answer is cut at this, which is more than it writes at once.
const BUFFER: usize = 1 << 16;

/// One link's, or none where it has no IPv4 or no IPv6.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OfLink {
    pub ipv4: Option<Vec<u8>>,
    pub ipv6: Option<Vec<u8>>,
}

/// Those of all links, by name, in the calling thread's namespace.
pub fn of_links() -> Result<BTreeMap<String, OfLink>> {
    let socket = Socket::new(NETLINK_ROUTE).context("a netlink socket")?;
    loop {
        // A list during which a link has changed begins again.
        if let Some(links) = list(&socket)? {
            return Ok(links);
        }
    }
}

/// None if the list is not of one moment.
fn list(socket: &Socket) -> Result<Option<BTreeMap<String, OfLink>>> {
    let kernel = SocketAddr::new(0, 0);
    socket
        .send_to(&request(), &kernel, 0)
        .context("ask for all links")?;
    let mut links = BTreeMap::new();
    let mut is_of_one_moment = true;
    let mut answer = Vec::with_capacity(BUFFER);
    loop {
        answer.clear();
        socket.recv(&mut answer, 0).context("a list of links")?;
        let mut rest = answer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkBuffer::new_checked(rest)?;
            is_of_one_moment &= message.flags() & NLM_F_DUMP_INTR == 0;
            match message.message_type() {
                NLMSG_DONE => return Ok(is_of_one_moment.then_some(links)),
                NLMSG_ERROR => bail!("the kernel refuses to list links"),
                _ => links.extend([link(message.payload())?]),
            }
            let length = usize::try_from(message.length())?.next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

fn request() -> Vec<u8> {
    let mut link = LinkMessage::default();
    let mask = LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]);
    link.attributes.push(mask);
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::GetLink(link));
    message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// A link's name, and its parameters.
fn link(message: &[u8]) -> Result<(String, OfLink)> {
    let attributes = message.get(HEADER..).context("a link without a header")?;
    let (mut name, mut link) = (None, OfLink::default());
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute?;
        match attribute.kind() {
            IFLA_IFNAME => name = Some(attribute.value().to_vec()),
            IFLA_AF_SPEC => link = of_families(attribute.value())?,
            _ => {}
        }
    }
    let name = name.context("a link without a name")?;
    let name = String::from_utf8(name)?;
    Ok((name.trim_end_matches('\0').to_owned(), link))
}

fn of_families(attributes: &[u8]) -> Result<OfLink> {
    let mut link = OfLink::default();
    for family in NlasIterator::new(attributes) {
        let family = family?;
        match i32::from(family.kind()) {
            AF_INET => link.ipv4 = inner(&family, IFLA_INET_CONF)?,
            AF_INET6 => link.ipv6 = inner(&family, IFLA_INET6_CONF)?,
            _ => {}
        }
    }
    Ok(link)
}

/// The value of an attribute inside another.
fn inner(outer: &NlaBuffer<&[u8]>, kind: u16) -> Result<Option<Vec<u8>>> {
    for attribute in NlasIterator::new(outer.value()) {
        let attribute = attribute?;
        if attribute.kind() == kind {
            return Ok(Some(attribute.value().to_vec()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use weir_kit::node::Node;

    use super::*;

    /// What the kernel counts itself, which cannot be written.
    const COUNTED: &str = "mc_forwarding";

    #[test]
    fn all_other_parameters_of_a_link_are_among_them() -> Result<()> {
        let not_among_them = Node::create()?.inside(|| {
            let mut names = Vec::new();
            for family in ["ipv4", "ipv6"] {
                let directory = Path::new("/proc/sys/net").join(family).join("conf/lo");
                for entry in fs::read_dir(&directory)? {
                    let entry = entry?;
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let is_other = name == COUNTED || UNREPORTED.contains(&name.as_str());
                    if !is_other && !is_among_them(&entry.path())? {
                        names.push(name);
                    }
                }
            }
            Ok(names)
        })?;
        assert_eq!(not_among_them, [""; 0]);
        Ok(())
    }

    /// Whether what the kernel reports is another thing after a change.
    fn is_among_them(path: &Path) -> Result<bool> {
        let before = fs::read_to_string(path)?;
        let reported = of_links()?.remove("lo");
        let changes = |value: &&str| {
            let written = fs::write(path, value);
            written.is_ok() && fs::read_to_string(path).is_ok_and(|now| now != before)
        };
        if !["1", "2", "0", "1400"].iter().any(changes) {
            bail!("{} cannot be changed", path.display());
        }
        let is_reported = of_links()?.remove("lo") != reported;
        fs::write(path, before.trim())?;
        Ok(is_reported)
    }
}
