//! How often all callers together may ask: a bucket that fills steadily.

use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Requests that may come at once.
const BURST: f64 = 400.0;
/// Requests that may come each second, for long.
const PER_SECOND: f64 = 100.0;

/// The bucket.
#[derive(Debug)]
pub(crate) struct Pace(Mutex<Bucket>);

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Default for Pace {
    fn default() -> Self {
        Self(Mutex::new(Bucket { left: BURST, at: Instant::now() }))
    }
}

impl Pace {
    /// Takes one request out of the bucket; `false` when it is empty.
    pub(crate) fn admits(&self) -> bool {
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let filled = now.duration_since(bucket.at).as_secs_f64() * PER_SECOND;
        bucket.left = (bucket.left + filled).min(BURST);
        bucket.at = now;
        let admits = bucket.left >= 1.0;
        if admits {
            bucket.left -= 1.0;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_admitted_and_then_the_steady_pace() {
        let pace = Pace::default();
        let admitted = (0..1_000).filter(|_| pace.admits()).count();
        assert_eq!(admitted, 400);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((0..1_000).filter(|_| pace.admits()).count(), 100);
    }
}
