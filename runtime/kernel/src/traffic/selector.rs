//! Networks as what `u32` compares: words of the IP header, under masks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_route::tc::{TcU32Key, TcU32Selector, TcU32SelectorFlags};
use weir_grant::address::Family;

use crate::error::{Error, Result};

/// `ETH_P_…`: to which packets a filter belongs.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ALL: u16 = 0x0003;

/// The bytes that are compared at once.
const WORD: usize = 4;

/// Which packets: by both networks, where they are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Networks {
    pub source: Option<IpNet>,
    pub destination: Option<IpNet>,
}

impl Networks {
    /// Errors: `Invalid` for networks of two families, and for one with bits behind its prefix.
    pub(super) fn new(source: Option<IpNet>, destination: Option<IpNet>) -> Result<Self> {
        if let (Some(source), Some(destination)) = (source, destination)
            && Family::of(&source.addr()) != Family::of(&destination.addr())
        {
            return Err(Error::invalid(format!(
                "no packet is both from {source} and to {destination}"
            )));
        }
        let mut given = source.into_iter().chain(destination);
        if let Some(wrong) = given.find(|network| network.trunc() != *network) {
            return Err(Error::invalid(format!(
                "{wrong} has bits behind its prefix: expected {}",
                wrong.trunc()
            )));
        }
        Ok(Self {
            source,
            destination,
        })
    }

    fn family(&self) -> Option<Family> {
        let given = self.source.or(self.destination)?;
        Some(Family::of(&given.addr()))
    }

    /// The Ethernet type of the packets.
    pub fn protocol(&self) -> u16 {
        match self.family() {
            Some(Family::Ipv4) => IPV4,
            Some(Family::Ipv6) => IPV6,
            None => ALL,
        }
    }

    /// The selector. It is terminal: a matching packet is not classified further.
    pub(super) fn selector(&self) -> TcU32Selector {
        let mut selector = TcU32Selector::default();
        selector.flags = TcU32SelectorFlags::Terminal;
        selector.keys = match self.family() {
            Some(family) => self.keys(&AddressFields::of(family)),
            // tc(8) writes "every packet" as a word under an empty mask.
            None => vec![TcU32Key::default()],
        };
        // At most two addresses of four words.
        selector.nkeys = u8::try_from(selector.keys.len()).unwrap_or(u8::MAX);
        selector
    }

    fn keys(&self, place: &AddressFields) -> Vec<TcU32Key> {
        let source = self.source.iter().map(|network| (place.source, network));
        let destination = self.destination.iter();
        let destination = destination.map(|network| (place.destination, network));
        let networks = source.chain(destination);
        networks
            .flat_map(|(at, network)| keys(at, network))
            .collect()
    }

    /// The networks that a selector compares with; none if it does anything else.
    pub(super) fn read(protocol: u16, selector: &TcU32Selector) -> Option<Self> {
        if selector.flags != TcU32SelectorFlags::Terminal || selector.hmask != 0 {
            return None;
        }
        let place = match protocol {
            IPV4 => AddressFields::of(Family::Ipv4),
            IPV6 => AddressFields::of(Family::Ipv6),
            ALL => return Self::everything(selector),
            _ => return None,
        };
        let mut source = Compared::default();
        let mut destination = Compared::default();
        for key in &selector.keys {
            let known = source.add(place.source, &place, key)
                || destination.add(place.destination, &place, key);
            if !known || key.offmask != 0 {
                return None;
            }
        }
        let networks = Self {
            source: source.network(&place)?,
            destination: destination.network(&place)?,
        };
        networks.family().map(|_| networks)
    }

    fn everything(selector: &TcU32Selector) -> Option<Self> {
        let counts = selector.keys.iter().any(|key| key.mask != 0);
        (!counts).then_some(Self {
            source: None,
            destination: None,
        })
    }
}

/// Where the addresses are in an IP header, and how long they are, in bytes.
struct AddressFields {
    source: usize,
    destination: usize,
    length: usize,
}

impl AddressFields {
    fn of(family: Family) -> Self {
        match family {
            Family::Ipv4 => Self {
                source: 12,
                destination: 16,
                length: 4,
            },
            Family::Ipv6 => Self {
                source: 8,
                destination: 24,
                length: 16,
            },
        }
    }
}

/// The words of a network's address, from `at` on. Words under an empty mask are left out, except the first: it stands for
/// the family and for which address is meant.
fn keys(at: usize, network: &IpNet) -> Vec<TcU32Key> {
    let value = words(network.addr());
    let mask = words(network.netmask());
    let all = value.into_iter().zip(mask).enumerate();
    all.filter(|(index, (_, mask))| *index == 0 || *mask != 0)
        .map(|(index, (val, mask))| {
            let mut key = TcU32Key::default();
            key.val = val;
            key.mask = mask;
            key.off = i32::try_from(at + index * WORD).unwrap_or(i32::MAX);
            key
        })
        .collect()
}

fn words(address: IpAddr) -> Vec<u32> {
    match address {
        IpAddr::V4(v4) => vec![v4.to_bits()],
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            [96, 64, 32, 0].map(|shift| (bits >> shift) as u32).to_vec()
        }
    }
}

/// An address under a mask, put together from its words.
#[derive(Default)]
struct Compared {
    value: u128,
    mask: u128,
    is_given: bool,
}

impl Compared {
    /// Adds a word, if it is one of the address that begins at `start`.
    fn add(&mut self, start: usize, place: &AddressFields, key: &TcU32Key) -> bool {
        let distance = usize::try_from(key.off)
            .ok()
            .and_then(|at| at.checked_sub(start));
        let Some(distance) = distance.filter(|d| *d < place.length && d % WORD == 0) else {
            return false;
        };
        let shift = 8 * (place.length - WORD - distance);
        self.value |= u128::from(key.val) << shift;
        self.mask |= u128::from(key.mask) << shift;
        self.is_given = true;
        true
    }

    /// The network, if one is given; the outer none for a mask that is not a prefix.
    fn network(&self, place: &AddressFields) -> Option<Option<IpNet>> {
        if !self.is_given {
            return Some(None);
        }
        let spare = 128 - 8 * place.length as u32;
        let prefix = (self.mask << spare).leading_ones();
        let is_prefix = self.mask.count_ones() == prefix;
        let address = match place.length {
            WORD => IpAddr::V4(Ipv4Addr::from_bits(self.value as u32)),
            _ => IpAddr::V6(Ipv6Addr::from_bits(self.value)),
        };
        let network = IpNet::new(address, u8::try_from(prefix).ok()?).ok()?;
        is_prefix.then_some(Some(network.trunc()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(source: &str, destination: &str) -> Networks {
        let network = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a network"));
        Networks::new(network(source), network(destination)).expect("networks")
    }

    #[test]
    fn networks_are_read_back_from_their_selectors() {
        let pairs = [
            ("", ""),
            ("10.1.2.3/32", ""),
            ("", "10.0.0.0/8"),
            ("0.0.0.0/0", ""),
            ("", "0.0.0.0/0"),
            ("10.0.0.0/9", "192.168.128.0/17"),
            ("2001:db8::1/128", ""),
            ("", "fd00::/8"),
            ("2001:db8::/32", "2001:db8:1:2::/64"),
            ("fd00:0:0:0:8000::/65", "::/0"),
            ("::/0", ""),
            ("", "fe80::/10"),
        ];
        for (source, destination) in pairs {
            let networks = networks(source, destination);
            let read = Networks::read(networks.protocol(), &networks.selector());
            assert_eq!(read, Some(networks), "{source} {destination}");
        }
    }

    #[test]
    fn every_ipv6_address_is_a_word_at_most_four_times() {
        assert_eq!(networks("fd00::/8", "").selector().nkeys, 1);
        assert_eq!(networks("2001:db8::/33", "").selector().nkeys, 2);
        assert_eq!(
            networks("2001:db8::1/128", "2001:db8::2/128")
                .selector()
                .nkeys,
            8
        );
    }

    #[test]
    fn what_is_no_network_is_not_read() {
        let of = |off, mask, offmask| {
            let mut key = TcU32Key::default();
            key.off = off;
            key.mask = mask;
            key.offmask = offmask;
            let mut selector = TcU32Selector::default();
            selector.flags = TcU32SelectorFlags::Terminal;
            selector.nkeys = 1;
            selector.keys = vec![key];
            selector
        };
        assert!(Networks::read(IPV4, &of(12, 0xff00_0000, 0)).is_some());
        assert_eq!(Networks::read(IPV4, &of(12, 0xff00_00ff, 0)), None);
        assert_eq!(Networks::read(IPV4, &of(20, 0xffff_0000, 0)), None);
        assert_eq!(Networks::read(IPV4, &of(13, 0xff00_0000, 0)), None);
        assert_eq!(Networks::read(IPV4, &of(-14, 0xff00_0000, 0)), None);
        assert_eq!(Networks::read(IPV4, &of(12, 0xff00_0000, -1)), None);
        assert_eq!(Networks::read(IPV6, &of(40, 0xffff_ffff, 0)), None);
        assert_eq!(Networks::read(IPV6, &of(12, 0xffff_ffff, 0)), None);
        assert_eq!(Networks::read(ALL, &of(12, 0xff00_0000, 0)), None);
        assert_eq!(Networks::read(0x0806, &of(12, 0xff00_0000, 0)), None);
        let mut passing = of(12, 0xff00_0000, 0);
        passing.flags = TcU32SelectorFlags::empty();
        assert_eq!(Networks::read(IPV4, &passing), None);
    }

    #[test]
    fn networks_that_no_packet_has_are_refused() {
        let network = |text: &str| Some(text.parse().expect("a network"));
        assert!(Networks::new(network("10.0.0.0/8"), network("fd00::/8")).is_err());
        assert!(Networks::new(network("10.0.0.1/8"), None).is_err());
        assert!(Networks::new(None, network("fd00::1/8")).is_err());
    }
}
