//! Rates and bursts in the kernel's units.
//!
//! The kernel stores a burst as its duration at the rate, in ticks of 64 ns (the second number of `/proc/net/psched`). So it
//! is read back exactly up to 7 MB/s, and above to the bytes of a tick.

use crate::error::{Error, Result};

/// `PSCHED_TICKS2NS(1)`.
const TICK: u128 = 64;

const SECOND: u128 = 1_000_000_000;

/// `TC_LINKLAYER_ETHERNET`. A specification that names the link layer needs no table of
/// transmission times beside it.
const ETHERNET: u8 = 1;

/// The bytes of `struct tc_ratespec`, and where the rate is in it.
pub(super) const SPECIFICATION: usize = 12;
const RATE_AT: usize = 8;

/// `struct tc_ratespec`. A rate that does not fit has a separate attribute.
pub(super) fn specification(rate: u64) -> [u8; SPECIFICATION] {
    let mut bytes = [0; SPECIFICATION];
    bytes[1] = ETHERNET;
    let rate = u32::try_from(rate).unwrap_or(u32::MAX);
    bytes[RATE_AT..].copy_from_slice(&rate.to_ne_bytes());
    bytes
}

/// The rate as an attribute, if it does not fit into a specification.
pub(super) fn large(rate: u64) -> Option<[u8; 8]> {
    u32::try_from(rate).is_err().then(|| rate.to_ne_bytes())
}

/// The rate of a specification, or of the attribute beside it.
pub(super) fn read(specification: &[u8], large: Option<&[u8]>) -> Option<u64> {
    if let Some(bytes) = large.and_then(|bytes| bytes.first_chunk()) {
        return Some(u64::from_ne_bytes(*bytes));
    }
    number(specification, RATE_AT).map(u64::from)
}

/// The number at this place of a structure.
pub(super) fn number(structure: &[u8], at: usize) -> Option<u32> {
    let bytes = structure.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

/// The ticks that a burst takes at a rate, rounded up.
///
/// Errors: `Invalid` for a rate or burst of 0, and for one that takes longer than can be written:
/// 274 s.
pub(super) fn ticks(burst: u32, rate: u64) -> Result<u32> {
    if rate == 0 || burst == 0 {
        return Err(Error::invalid(format!(
            "{burst} bytes at {rate} bytes per second: neither may be 0"
        )));
    }
    let ticks = (u128::from(burst) * SECOND).div_ceil(u128::from(rate) * TICK);
    u32::try_from(ticks).map_err(|_| {
        Error::invalid(format!(
            "{burst} bytes at {rate} bytes per second take longer than 274 s"
        ))
    })
}

/// The bytes of a number of ticks, rounded.
pub(super) fn burst(ticks: u32, rate: u64) -> u32 {
    let bytes = u128::from(ticks) * TICK * u128::from(rate);
    u32::try_from((bytes + SECOND / 2) / SECOND).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_kept_to_a_tick() {
        for rate in [1, 999, 125_000, 1_000_000, 7_800_000] {
            for bytes in [1, 1500, 20_000, 1 << 20] {
                let Ok(ticks) = ticks(bytes, rate) else {
                    assert!(u64::from(bytes) / rate > 273, "{bytes} at {rate}");
                    continue;
                };
                assert_eq!(burst(ticks, rate), bytes, "{bytes} at {rate}");
            }
        }
        for rate in [125_000_000, 12_500_000_000, u64::from(u32::MAX) + 1] {
            let of_tick = u32::try_from(rate * 64 / 1_000_000_000 + 1).unwrap();
            let kept = burst(ticks(1 << 20, rate).unwrap(), rate);
            assert!((1 << 20..=(1 << 20) + of_tick).contains(&kept), "{kept}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        for (bytes, rate) in [(0, 1), (1, 0), (u32::MAX, 1), (275_000, 1000)] {
            assert!(ticks(bytes, rate).is_err(), "{bytes} at {rate}");
        }
        assert!(ticks(274_000, 1000).is_ok());
    }

    #[test]
    fn large_rates_stand_beside_the_specification() {
        for rate in [1, u64::from(u32::MAX), u64::from(u32::MAX) + 1, u64::MAX] {
            let beside = large(rate);
            assert_eq!(beside.is_some(), rate > u64::from(u32::MAX));
            let beside = beside.as_ref().map(<[u8; 8]>::as_slice);
            assert_eq!(read(&specification(rate), beside), Some(rate));
        }
    }
}
