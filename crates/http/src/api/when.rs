//! Times as the API writes them: RFC 3339, in UTC, to the millisecond.

use longboat_core::time::Timestamp;

/// A time in words that every program reads.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    let at = i64::try_from(time.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    format!("{:.3}", at.unwrap_or(jiff::Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_any_number_is_one() {
        assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(Timestamp(1_764_590_400_007)), "2025-12-01T12:00:00.007Z");
        assert!(rfc3339(Timestamp(u64::MAX)).starts_with("9999-"));
    }
}
