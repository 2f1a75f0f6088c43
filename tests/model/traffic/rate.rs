//! Bursts as the kernel keeps them: as the time that they take, in ticks of 64 ns.

use weir_grant::traffic::{Class, TokenBucket};

const TICK: u128 = 64;
const SECOND: u128 = 1_000_000_000;
const MICROSECONDS: u128 = 1_000_000;

/// The class as it is read back. weir has rounded the ticks up.
pub(super) fn kept(class: &Class) -> Class {
    let up = |burst, rate| bytes(nanoseconds(burst, rate).div_ceil(TICK), rate);
    Class {
        burst: up(class.burst, class.rate),
        cburst: up(class.cburst, class.ceil),
        ..*class
    }
}

/// The token bucket as it is read back. The kernel has rounded the ticks down.
pub(super) fn kept_bucket(bucket: &TokenBucket) -> TokenBucket {
    let rate = u128::from(bucket.rate);
    let burst = bytes(nanoseconds(bucket.burst, bucket.rate) / TICK, bucket.rate);
    let limit = rate * u128::from(bucket.latency) / MICROSECONDS + u128::from(bucket.burst);
    let waiting = limit.saturating_sub(u128::from(burst));
    TokenBucket {
        rate: bucket.rate,
        burst,
        latency: saturated((waiting * MICROSECONDS + rate / 2) / rate),
    }
}

/// How long a burst takes, in nanoseconds.
fn nanoseconds(burst: u32, rate: u64) -> u128 {
    u128::from(burst) * SECOND / u128::from(rate)
}

/// The bytes of a number of ticks, to the nearest.
fn bytes(ticks: u128, rate: u64) -> u32 {
    saturated((ticks * TICK * u128::from(rate) + SECOND / 2) / SECOND)
}

fn saturated(number: u128) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
