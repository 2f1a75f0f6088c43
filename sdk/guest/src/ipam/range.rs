//! Ranges of addresses, and sets of them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use weir_cni::Error;

/// The addresses from `start` to `end` of a subnet, both included, without the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The subnet; its host part is zero.
    pub subnet: IpNet,
    /// The first address.
    pub start: IpAddr,
    /// The last address.
    pub end: IpAddr,
    /// An address that is not assigned.
    pub gateway: IpAddr,
}

impl Range {
    /// Returns a range of `subnet`. Without `start` it begins after the network address, without `end` it
    /// ends with the last address, or for IPv4 with that before the broadcast address; without
    /// `gateway` the gateway is the address after the network address.
    ///
    /// Errors: code 7 for a subnet of fewer than 4 addresses or with host bits, for an address outside it, and where
    /// `end` is before `start`.
    pub fn new(
        subnet: IpNet,
        start: Option<IpAddr>,
        end: Option<IpAddr>,
        gateway: Option<IpAddr>,
    ) -> Result<Self, Error> {
        check_subnet(&subnet)?;
        let first = from_bits(to_bits(subnet.network()) + 1, &subnet);
        let last = to_bits(subnet.broadcast()) - u128::from(subnet.addr().is_ipv4());
        let range = Range {
            start: start.unwrap_or(first),
            end: end.unwrap_or(from_bits(last, &subnet)),
            gateway: gateway.unwrap_or(first),
            subnet,
        };
        range.check()?;
        Ok(range)
    }

    fn check(&self) -> Result<(), Error> {
        let keys = [
            ("rangeStart", self.start),
            ("rangeEnd", self.end),
            ("gateway", self.gateway),
        ];
        for (key, address) in keys {
            if !self.subnet.contains(&address) {
                let msg = format!("{key} {address} is not in subnet {}", self.subnet);
                return Err(Error::invalid_config(msg));
            }
        }
        if self.start > self.end {
            let msg = format!("rangeEnd {} is before rangeStart {}", self.end, self.start);
            return Err(Error::invalid_config(msg));
        }
        Ok(())
    }

    /// Whether the address lies between start and end.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.start.is_ipv4() && (self.start..=self.end).contains(&address)
    }

    /// Whether the two have an address in common.
    pub fn overlaps(&self, other: &Range) -> bool {
        self.contains(other.start) || other.contains(self.start)
    }

    /// Returns the address with the prefix length of the subnet.
    pub fn with_prefix(&self, address: IpAddr) -> IpNet {
        IpNet::new(address, self.subnet.prefix_len()).expect("an address of the subnet's family")
    }

    /// How many addresses there are from start to end. Of all 2^128 one is not counted.
    fn size(&self) -> u128 {
        (to_bits(self.end) - to_bits(self.start)).saturating_add(1)
    }

    /// Returns the address after this one in the range; none after the last.
    pub(super) fn next(&self, address: IpAddr) -> Option<IpAddr> {
        (address < self.end).then(|| from_bits(to_bits(address) + 1, &self.subnet))
    }

    /// The address that comes so many after the first.
    fn nth(&self, number: u128) -> IpAddr {
        from_bits(to_bits(self.start) + number, &self.subnet)
    }

    /// Whether not every address that can be assigned is taken.
    fn has_free(&self, taken: &BTreeSet<IpAddr>) -> bool {
        let is_usable = |address: &&IpAddr| **address != self.gateway;
        let used = taken.range(self.start..=self.end).filter(is_usable).count();
        let gateway = u128::from(self.contains(self.gateway));
        (used as u128) + gateway < self.size()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

fn check_subnet(subnet: &IpNet) -> Result<(), Error> {
    if let IpAddr::V6(v6) = subnet.addr()
        && v6.to_ipv4_mapped().is_some()
    {
        let msg = format!("subnet {subnet} is of IPv4 addresses: write it as IPv4");
        return Err(Error::invalid_config(msg));
    }
    if subnet.prefix_len() + 2 > subnet.max_prefix_len() {
        return Err(Error::invalid_config(format!(
            "subnet {subnet} is too small to allocate from: expected at least 4 addresses"
        )));
    }
    if *subnet != subnet.trunc() {
        return Err(Error::invalid_config(format!(
            "subnet {subnet} has host bits set: the network address for a prefix length of {} is {}",
            subnet.prefix_len(),
            subnet.network()
        )));
    }
    Ok(())
}

/// The address as a number.
fn to_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The number as an address of the subnet's family.
fn from_bits(bits: u128, subnet: &IpNet) -> IpAddr {
    match subnet {
        // Numbers are made from addresses of the same subnet, which is smaller than the family.
        IpNet::V4(_) => IpAddr::V4((bits as u32).into()),
        IpNet::V6(_) => IpAddr::V6(bits.into()),
    }
}

/// Ranges of one family, of which a container gets one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<Range>,
    /// Where a configuration has it.
    path: String,
}

impl RangeSet {
    /// Returns a set of ranges. Errors: code 7 without a range, and where they overlap or are of two families.
    pub fn new(ranges: Vec<Range>) -> Result<Self, Error> {
        let Some(first) = ranges.first() else {
            return Err(Error::invalid_config("empty range set"));
        };
        let is_ipv4 = first.start.is_ipv4();
        if ranges.iter().any(|range| range.start.is_ipv4() != is_ipv4) {
            let msg = "mixed address families in one range set";
            return Err(Error::invalid_config(msg));
        }
        for (index, range) in ranges.iter().enumerate() {
            if let Some(other) = ranges[..index].iter().find(|other| other.overlaps(range)) {
                let msg = format!("ranges {other} and {range} overlap");
                return Err(Error::invalid_config(msg));
            }
        }
        let path = String::new();
        Ok(RangeSet { ranges, path })
    }

    pub(super) fn with_path(self, path: String) -> Self {
        RangeSet { path, ..self }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the ranges, at least one.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Returns the range that an address is in.
    pub fn range_of(&self, address: IpAddr) -> Option<&Range> {
        self.ranges.iter().find(|range| range.contains(address))
    }

    /// Whether the address is the gateway of the range that it is in.
    pub fn is_gateway(&self, address: IpAddr) -> bool {
        let range = self.range_of(address);
        range.is_some_and(|range| range.gateway == address)
    }

    /// Whether the two have an address in common.
    pub fn overlaps(&self, other: &RangeSet) -> bool {
        let overlapping = |range: &Range| other.ranges.iter().any(|other| range.overlaps(other));
        self.ranges.iter().any(overlapping)
    }

    /// Whether an address is left when these are taken.
    pub fn has_free(&self, taken: &BTreeSet<IpAddr>) -> bool {
        self.ranges.iter().any(|range| range.has_free(taken))
    }

    /// Returns how many addresses the ranges have, gateways included.
    pub fn size(&self) -> u128 {
        let sizes = self.ranges.iter().map(Range::size);
        sizes.fold(0, u128::saturating_add)
    }

    /// Returns the address that comes so many after the first, which may be a gateway; none for [`size`](RangeSet::size)
    /// and more.
    pub fn nth(&self, mut number: u128) -> Option<IpAddr> {
        for range in &self.ranges {
            let size = range.size();
            if number < size {
                return Some(range.nth(number));
            }
            number -= size;
        }
        None
    }
}

impl fmt::Display for RangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.ranges.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{range}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn range(subnet: &str) -> Range {
        Range::new(subnet.parse().unwrap(), None, None, None).unwrap()
    }

    fn fault(subnet: &str, start: &str, end: &str, gateway: &str) -> String {
        let optional = |text: &str| text.parse().ok();
        let subnet = subnet.parse().unwrap();
        Range::new(subnet, optional(start), optional(end), optional(gateway))
            .unwrap_err()
            .msg
    }

    #[test]
    fn defaults_leave_out_network_and_broadcast_address() {
        let v4 = range("10.0.0.0/24");
        assert_eq!(v4.start, ip("10.0.0.1"));
        assert_eq!(v4.end, ip("10.0.0.254"));
        assert_eq!(v4.gateway, ip("10.0.0.1"));
        let v6 = range("fd00::/120");
        assert_eq!(v6.start, ip("fd00::1"));
        assert_eq!(v6.end, ip("fd00::ff"));
        assert_eq!(v6.gateway, ip("fd00::1"));
    }

    #[test]
    fn faults_name_key_and_value() {
        for (subnet, start, end, gateway, expected) in [
            ("10.0.0.0/31", "", "", "", "subnet 10.0.0.0/31 is too small"),
            ("fd00::/127", "", "", "", "subnet fd00::/127 is too small"),
            (
                "10.0.0.7/24",
                "",
                "",
                "",
                "subnet 10.0.0.7/24 has host bits set",
            ),
            (
                "10.0.0.0/24",
                "10.0.1.2",
                "",
                "",
                "rangeStart 10.0.1.2 is not in subnet 10.0.0.0/24",
            ),
            (
                "10.0.0.0/24",
                "",
                "10.0.1.2",
                "",
                "rangeEnd 10.0.1.2 is not in subnet 10.0.0.0/24",
            ),
            (
                "10.0.0.0/24",
                "",
                "",
                "10.1.0.1",
                "gateway 10.1.0.1 is not in subnet 10.0.0.0/24",
            ),
            (
                "10.0.0.0/24",
                "fd00::5",
                "",
                "",
                "rangeStart fd00::5 is not in subnet 10.0.0.0/24",
            ),
            (
                "10.0.0.0/24",
                "10.0.0.9",
                "10.0.0.8",
                "",
                "rangeEnd 10.0.0.8 is before rangeStart 10.0.0.9",
            ),
        ] {
            let fault = fault(subnet, start, end, gateway);
            assert!(fault.starts_with(expected), "{fault}");
        }
    }

    #[test]
    fn sets_are_of_one_family_and_without_overlap() {
        let fault = |subnets: &[&str]| {
            let ranges = subnets.iter().copied().map(range).collect();
            RangeSet::new(ranges).unwrap_err().msg
        };
        assert_eq!(fault(&[]), "empty range set");
        assert_eq!(
            fault(&["10.0.0.0/24", "fd00::/64"]),
            "mixed address families in one range set"
        );
        assert_eq!(
            fault(&["10.0.0.0/24", "10.0.1.0/24", "10.0.0.0/16"]),
            "ranges 10.0.0.1-10.0.0.254 and 10.0.0.1-10.0.255.254 overlap"
        );
    }

    #[test]
    fn a_set_is_full_when_all_but_the_gateway_are_taken() {
        let set = RangeSet::new(vec![range("10.0.0.0/30")]).unwrap();
        assert!(set.has_free(&BTreeSet::new()));
        assert!(set.has_free(&BTreeSet::from([ip("10.0.0.1"), ip("10.0.0.3")])));
        assert!(!set.has_free(&BTreeSet::from([ip("10.0.0.2")])));
    }

    #[test]
    fn the_widest_range_has_room() {
        let all = Range::new("::/0".parse().unwrap(), Some(ip("::")), None, None).unwrap();
        assert!(RangeSet::new(vec![all]).unwrap().has_free(&BTreeSet::new()));
    }

    fn set(ranges: &[(&str, &str, &str)]) -> RangeSet {
        let ranges = ranges.iter().map(|(subnet, start, end)| {
            let subnet = subnet.parse().unwrap();
            Range::new(subnet, start.parse().ok(), end.parse().ok(), None).unwrap()
        });
        RangeSet::new(ranges.collect()).unwrap()
    }

    #[test]
    fn addresses_are_counted_from_range_to_range() {
        let set = set(&[
            ("10.0.0.0/24", "10.0.0.10", "10.0.0.11"),
            ("10.0.1.0/24", "10.0.1.1", "10.0.1.2"),
        ]);
        assert_eq!(set.size(), 4);
        for (number, address) in [(0, "10.0.0.10"), (2, "10.0.1.1"), (3, "10.0.1.2")] {
            assert_eq!(set.nth(number), Some(ip(address)));
        }
        assert_eq!(set.nth(4), None);
    }

    #[test]
    fn the_widest_range_is_counted() {
        let all = set(&[("::/0", "::", "")]);
        // The very last address is not counted.
        assert_eq!(all.size(), u128::MAX);
        let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe";
        assert_eq!(all.nth(u128::MAX - 1), Some(ip(last)));
    }

    proptest! {
        #[test]
        fn a_range_contains_what_it_steps_through(prefix in 20u8..=30, network: u32) {
            let subnet = IpNet::new(IpAddr::V4(network.into()), prefix).unwrap().trunc();
            let range = Range::new(subnet, None, None, None).unwrap();
            let steps = std::iter::successors(Some(range.start), |a| range.next(*a));
            let mut count = 0;
            for address in steps {
                prop_assert!(range.contains(address));
                prop_assert!(subnet.contains(&address));
                prop_assert_eq!(range.nth(count), address);
                count += 1;
            }
            prop_assert_eq!(count, (1u128 << (32 - prefix)) - 2);
            prop_assert_eq!(count, range.size());
            prop_assert!(!range.contains(subnet.network()));
            prop_assert!(!range.contains(subnet.broadcast()));
        }

        #[test]
        fn overlap_is_a_common_address(a in 0u8..=250, b in 0u8..=250, c in 0u8..=250, d in 0u8..=250) {
            let make = |x: u8, y: u8| {
                let address = |last: u8| Some(IpAddr::V4([10, 0, 0, last].into()));
                let subnet = "10.0.0.0/24".parse().unwrap();
                Range::new(subnet, address(x.min(y)), address(x.max(y)), None).unwrap()
            };
            let (first, second) = (make(a, b), make(c, d));
            let common = (0..=255u8).any(|last| {
                let address = IpAddr::V4([10, 0, 0, last].into());
                first.contains(address) && second.contains(address)
            });
            prop_assert_eq!(first.overlaps(&second), common);
            prop_assert_eq!(second.overlaps(&first), common);
        }
    }
}
