//! The addresses of a range set in a round.

use std::net::IpAddr;

use super::range::RangeSet;

impl RangeSet {
    /// Iterates over all addresses once, without gateways, beginning after this one; with the first address if this one
    /// is in no range.
    pub fn after(&self, address: Option<IpAddr>) -> impl Iterator<Item = IpAddr> {
        Rotation::after(self, address)
    }
}

struct Rotation<'s> {
    set: &'s RangeSet,
    /// The address to look at next, and the index of its range.
    next: Option<(usize, IpAddr)>,
    /// Where the round ends.
    first: (usize, IpAddr),
}

impl<'s> Rotation<'s> {
    fn after(set: &'s RangeSet, last: Option<IpAddr>) -> Self {
        let position = |address: IpAddr| {
            let index = set.ranges().iter().position(|r| r.contains(address))?;
            Some(step(set, (index, address)))
        };
        let beginning = (0, set.ranges()[0].start);
        let first = last.and_then(position).unwrap_or(beginning);
        Rotation {
            set,
            next: Some(first),
            first,
        }
    }
}

/// The address after this one; after the last range comes the first.
fn step(set: &RangeSet, (index, address): (usize, IpAddr)) -> (usize, IpAddr) {
    let ranges = set.ranges();
    match ranges[index].next(address) {
        Some(next) => (index, next),
        None => {
            let index = (index + 1) % ranges.len();
            (index, ranges[index].start)
        }
    }
}

impl Iterator for Rotation<'_> {
    type Item = IpAddr;

    fn next(&mut self) -> Option<IpAddr> {
        while let Some((index, address)) = self.next {
            let following = step(self.set, (index, address));
            self.next = (following != self.first).then_some(following);
            if self.set.ranges()[index].gateway != address {
                return Some(address);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::super::range::Range;
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn set(ranges: &[(&str, &str, &str)]) -> RangeSet {
        let ranges = ranges.iter().map(|(subnet, start, end)| {
            let subnet = subnet.parse().unwrap();
            Range::new(subnet, start.parse().ok(), end.parse().ok(), None).unwrap()
        });
        RangeSet::new(ranges.collect()).unwrap()
    }

    fn round(set: &RangeSet, last: Option<&str>) -> Vec<String> {
        let round = set.after(last.map(ip));
        round.map(|address| address.to_string()).collect()
    }

    #[test]
    fn begins_with_the_first_address_but_the_gateway() {
        let set = set(&[("10.0.0.0/29", "", "")]);
        assert_eq!(
            round(&set, None),
            ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"]
        );
    }

    #[test]
    fn goes_on_after_the_last_and_ends_with_it() {
        let set = set(&[("10.0.0.0/29", "", "")]);
        assert_eq!(
            round(&set, Some("10.0.0.4")),
            ["10.0.0.5", "10.0.0.6", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
        );
        assert_eq!(round(&set, Some("10.0.0.6")), round(&set, None));
        assert_eq!(round(&set, Some("192.168.0.1")), round(&set, None));
    }

    #[test]
    fn goes_from_range_to_range() {
        let set = set(&[
            ("10.0.0.0/24", "10.0.0.10", "10.0.0.11"),
            ("10.0.1.0/24", "10.0.1.1", "10.0.1.2"),
        ]);
        assert_eq!(
            round(&set, Some("10.0.0.10")),
            ["10.0.0.11", "10.0.1.2", "10.0.0.10"]
        );
    }

    #[test]
    fn a_range_of_the_gateway_alone_has_no_address() {
        let set = set(&[("10.0.0.0/24", "10.0.0.1", "10.0.0.1")]);
        assert!(round(&set, None).is_empty());
        assert!(round(&set, Some("10.0.0.1")).is_empty());
    }

    #[test]
    fn ipv6_ranges_are_not_walked_through_to_begin() {
        let set = set(&[("fd00::/64", "", "")]);
        let mut round = set.after(Some(ip("fd00::ffff:ffff:ffff:ffff")));
        assert_eq!(round.next(), Some(ip("fd00::2")));
    }

    proptest! {
        #[test]
        fn every_usable_address_comes_once(
            start in 1u8..120, length in 0u8..40, other in 130u8..200, last in 0u8..=255,
        ) {
            let set = set(&[
                ("10.0.0.0/24", &format!("10.0.0.{start}"), &format!("10.0.0.{}", start + length)),
                ("10.0.1.0/24", &format!("10.0.1.{other}"), &format!("10.0.1.{}", other + 20)),
            ]);
            let last = IpAddr::V4([10, 0, last & 1, last].into());
            let round: Vec<IpAddr> = set.after(Some(last)).collect();
            let distinct: HashSet<IpAddr> = round.iter().copied().collect();
            prop_assert_eq!(distinct.len(), round.len());
            let gateways = usize::from(start == 1);
            prop_assert_eq!(round.len(), usize::from(length) + 1 + 21 - gateways);
            prop_assert!(round.iter().all(|a| set.range_of(*a).is_some() && !set.is_gateway(*a)));
            if set.range_of(last).is_some() && !set.is_gateway(last) {
                prop_assert_eq!(round.last(), Some(&last));
            }
        }
    }
}
