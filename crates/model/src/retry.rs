//! Which fault is worth another request, after how long, and how often. Pure: the engine's driver
//! waits and asks again.

use crate::{FaultKind, ModelFault};
use std::time::Duration;

/// When to make a failed request again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests in all, the first one included.
    pub attempts: u32,
    /// The wait after the first failure; doubled at each further one.
    pub first: Duration,
    /// The longest wait of our own.
    pub longest: Duration,
    /// The longest wait a provider may ask for; past it, we ask anew earlier.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    /// Ten requests over about three minutes: outages of providers are mostly shorter.
    fn default() -> Self {
        Self {
            attempts: 10,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(60),
            longest_asked: Duration::from_secs(300),
        }
    }
}

impl RetryPolicy {
    /// How long to wait before the next request after `failures` failed ones, the last of them with
    /// `fault`; `None` to give up. `jitter`, from 0 to 1, spreads the requests of many members.
    #[must_use]
    pub fn delay(&self, failures: u32, fault: &ModelFault, jitter: f64) -> Option<Duration> {
        let FaultKind::Retryable { after } = fault.kind else { return None };
        if failures >= self.attempts {
            return None;
        }
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(20));
        let own = doubled.min(self.longest).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        let asked = after.unwrap_or_default().min(self.longest_asked);
        Some(own.max(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: FaultKind) -> ModelFault {
        ModelFault { provider: "p".to_owned(), what: "w".to_owned(), kind }
    }

    fn millis(failures: u32, kind: FaultKind) -> Option<u128> {
        let policy = RetryPolicy::default();
        policy.delay(failures, &fault(kind), 1.0).map(|delay| delay.as_millis())
    }

    #[test]
    fn waits_double_up_to_the_longest_and_end_with_the_last_attempt() {
        let waits: Vec<_> = (1..=10)
            .map(|n| millis(n, FaultKind::Retryable { after: None }).unwrap_or(0))
            .collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 0]);
    }

    #[test]
    fn a_provider_may_ask_for_a_longer_wait_but_not_for_ever() {
        let asked = |s| FaultKind::Retryable { after: Some(Duration::from_secs(s)) };
        assert_eq!(millis(1, asked(7)), Some(7_000));
        assert_eq!(millis(1, asked(86_400)), Some(300_000));
        assert_eq!(millis(1, asked(0)), Some(500));
    }

    #[test]
    fn what_somebody_must_change_is_not_asked_again() {
        assert_eq!(millis(1, FaultKind::Fatal), None);
        assert_eq!(millis(1, FaultKind::ContextOverflow), None);
    }
}
