//! When a file that is published is of.

use std::env;

use anyhow::{Context, Result};
use jiff::Timestamp;

/// Returns the time of `SOURCE_DATE_EPOCH`, with which the same input makes the same file, or now.
///
/// Errors: the variable is not a number of seconds.
pub fn creation_time() -> Result<Timestamp> {
    let Ok(epoch) = env::var("SOURCE_DATE_EPOCH") else {
        // Nobody needs fractions of it.
        return Ok(Timestamp::from_second(Timestamp::now().as_second())?);
    };
    let seconds = epoch.parse().ok();
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.with_context(|| {
        format!(
            "`SOURCE_DATE_EPOCH` is `{epoch}`; expected seconds since 1970, such as `1767225600`"
        )
    })
}
