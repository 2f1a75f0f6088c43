//! Times and durations, read and shown. All times are UTC.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Reads a time: RFC 3339, a date with or without a time of day, or a duration ago. Errors: text that is none of them.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    parse_at(text, Timestamp::now())
}

fn parse_at(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let expected = || {
        format!(
            "`{text}` is not a time; expected one as in RFC 3339, `2026-03-01T10:00:00Z`, a date, or a \
             duration ago, such as `10m` or `2days`"
        )
    };
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(time) = text.parse::<DateTime>() {
        let time = time.to_zoned(TimeZone::UTC).map_err(|_| expected())?;
        return Ok(time.timestamp());
    }
    let back = humantime::parse_duration(text).map_err(|_| expected())?;
    let back = SignedDuration::try_from(back).map_err(|_| expected())?;
    now.checked_sub(back).map_err(|_| expected())
}

/// To the millisecond: `2026-03-01T10:00:00.000Z`.
pub fn precise(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// To the second, for tables: `2026-03-01 10:00:00`.
pub fn to_the_second(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns a duration in a fitting unit: `631 µs`, `1.2 ms`, `3 min 5 s`.
pub fn duration(microseconds: u64) -> String {
    let tenths = |unit: u64| {
        let text = format!("{:.1}", microseconds as f64 / unit as f64);
        text.trim_end_matches(".0").to_owned()
    };
    let seconds = microseconds / 1_000_000;
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..1_000_000 => format!("{} ms", tenths(1_000)),
        1_000_000..60_000_000 => format!("{} s", tenths(1_000_000)),
        60_000_000..3_600_000_000 => two_units(seconds, "min", "s"),
        _ => two_units(seconds / 60, "h", "min"),
    }
}

/// In units of sixty and one; without the smaller one if it is zero.
fn two_units(count: u64, large: &str, small: &str) -> String {
    match (count / 60, count % 60) {
        (larger, 0) => format!("{larger} {large}"),
        (larger, smaller) => format!("{larger} {large} {smaller} {small}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_a_person_asks_for() {
        let now: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-02-28T23:00:00Z", "2026-02-28T23:00:00Z"),
            ("2026-02-28T23:00:00.5+02:00", "2026-02-28T21:00:00.5Z"),
            ("2026-02-28T23:00:00", "2026-02-28T23:00:00Z"),
            ("2026-02-28", "2026-02-28T00:00:00Z"),
            ("10m", "2026-03-01T09:50:00Z"),
            ("1day 2h", "2026-02-28T08:00:00Z"),
            ("0s", "2026-03-01T10:00:00Z"),
        ] {
            assert_eq!(parse_at(text, now).unwrap().to_string(), expected, "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "10",
            "-5m",
            "99999999999days",
        ] {
            let error = parse_at(text, now).unwrap_err();
            assert!(
                error.starts_with(&format!("`{text}` is not a time")),
                "{error}"
            );
        }
    }

    #[test]
    fn durations_have_a_unit() {
        for (microseconds, expected) in [
            (7, "7 µs"),
            (1_234, "1.2 ms"),
            (100_000, "100 ms"),
            (59_400_000, "59.4 s"),
            (185_000_000, "3 min 5 s"),
            (600_000_000, "10 min"),
            (7_260_000_000, "2 h 1 min"),
            (43_200_000_000, "12 h"),
            (43_800_000_000, "12 h 10 min"),
        ] {
            assert_eq!(duration(microseconds), expected);
        }
    }
}
