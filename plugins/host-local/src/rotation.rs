//! The order in which the addresses of a range set are assigned: round-robin.
//!
//! A container that is started again and again gets an address a second time only after all others have been assigned.
//! The address that was assigned last is the value of `last_reserved_ip.<index of the range set>`, as in the reference
//! plugin's files.

use std::net::IpAddr;

use weir_sdk::ipam::{Pool, RangeSet};
use weir_sdk::{Error, Outcome};

/// Iterates over all addresses of a set, beginning after the one that was assigned last.
pub fn candidates<'s>(
    pool: &Pool,
    index: usize,
    set: &'s RangeSet,
) -> Result<impl Iterator<Item = IpAddr> + 's, Error> {
    let last = pool.store().get(&last_reserved_key(index)).found()?;
    Ok(set.starting_at(after(set, &last.unwrap_or_default())))
}

/// The position after an address. Without an address of the set, as after a crash, the round starts again.
fn after(set: &RangeSet, last: &[u8]) -> u128 {
    let last = String::from_utf8_lossy(last).trim().parse().ok();
    let position = last.and_then(|last| set.position(last));
    position.map_or(0, |position| position.saturating_add(1))
}

/// Notes the address that was assigned last.
pub fn note(pool: &Pool, index: usize, address: IpAddr) -> Result<(), Error> {
    let value = address.to_string();
    let store = pool.store();
    Ok(store.put(&last_reserved_key(index), value.as_bytes())?)
}

fn last_reserved_key(index: usize) -> String {
    format!("last_reserved_ip.{index}")
}

#[cfg(test)]
mod tests {
    use weir_sdk::ipam::Range;

    use super::*;

    fn set(subnet: &str) -> RangeSet {
        let range = Range::new(subnet.parse().unwrap(), None, None, None);
        RangeSet::new(vec![range.unwrap()]).unwrap()
    }

    fn round(last: &str) -> Vec<String> {
        let set = set("10.0.0.0/29");
        let round = set.starting_at(after(&set, last.as_bytes()));
        round.map(|address| address.to_string()).collect()
    }

    #[test]
    fn the_files_are_the_references() {
        assert_eq!(last_reserved_key(1), "last_reserved_ip.1");
    }

    #[test]
    fn begins_with_the_first_address_but_the_gateway() {
        for last in ["", "garbage", "10.0.0.6", "192.168.0.1", "fd00::1"] {
            assert_eq!(
                round(last),
                ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"],
                "{last}"
            );
        }
    }

    #[test]
    fn goes_on_after_the_last_and_ends_with_it() {
        assert_eq!(
            round("10.0.0.4\n"),
            ["10.0.0.5", "10.0.0.6", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
        );
    }

    #[test]
    fn ipv6_ranges_are_not_walked_through_to_begin() {
        let set = set("fd00::/64");
        let mut round = set.starting_at(after(&set, b"fd00::ffff:ffff:ffff:ffff"));
        assert_eq!(round.next(), "fd00::2".parse().ok());
    }
}
