//! Times and durations as people and programs read them.

use jiff::tz::TimeZone;
use longboat_core::time::Timestamp;

/// For programs: RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    format(at, TimeZone::UTC, "%Y-%m-%dT%H:%M:%S%.3fZ")
}

/// A time in JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's serialize_with wants this shape")]
pub(super) fn as_rfc3339<S: serde::Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&rfc3339(*at))
}

/// A time that may not have come, in JSON.
#[expect(clippy::ref_option, reason = "serde's serialize_with wants this shape")]
pub(super) fn as_rfc3339_or_null<S: serde::Serializer>(
    at: &Option<Timestamp>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => as_rfc3339(at, to),
        None => to.serialize_none(),
    }
}

/// Day and minute, in the reader's time zone.
pub(super) fn day(at: Timestamp, zone: &TimeZone) -> String {
    format(at, zone.clone(), "%Y-%m-%d %H:%M")
}

/// The time of day, to the millisecond, in the reader's time zone.
pub(super) fn time_of_day(at: Timestamp, zone: &TimeZone) -> String {
    format(at, zone.clone(), "%H:%M:%S%.3f")
}

fn format(at: Timestamp, zone: TimeZone, shape: &str) -> String {
    let time = i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match time {
        Some(time) => jiff::ZonedDateTime::new(time, zone).strftime(shape).to_string(),
        None => format!("{} ms", at.0),
    }
}

/// How long ago, roughly.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.millis_since(at) / 1_000;
    match seconds {
        0..10 => "just now".to_owned(),
        10..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "1 day ago".to_owned(),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// A duration in milliseconds, in the unit that fits.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// A number of tokens: whole while it is short.
pub(super) fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_ages_have_the_unit_that_fits() {
        let durations: Vec<String> = [0, 999, 1_250, 61_000, 3_720_000].map(duration).into();
        assert_eq!(durations, ["0 ms", "999 ms", "1.2 s", "1 min 1 s", "1 h 2 min"]);
        let now = Timestamp(200_000_000);
        let ages =
            [0, 59, 61, 7_300, 90_000, 200_000].map(|s| ago(Timestamp(now.0 - s * 1_000), now));
        assert_eq!(
            ages,
            ["just now", "59 s ago", "1 min ago", "2 h ago", "1 day ago", "2 days ago"]
        );
        assert_eq!([9_999, 12_345, 3_250_000].map(tokens), ["9999", "12.3k", "3.2M"]);
    }

    #[test]
    fn a_time_no_calendar_has_is_still_shown() {
        assert_eq!(rfc3339(Timestamp(u64::MAX)), "18446744073709551615 ms");
        assert_eq!(rfc3339(Timestamp(1_796_133_906_123)), "2026-12-01T14:05:06.123Z");
    }
}
