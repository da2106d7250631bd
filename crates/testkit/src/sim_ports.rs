//! Ports that repeat: the same run makes the same times and ids.

use longboat_core::id::SessionId;
use longboat_core::time::Timestamp;
use longboat_engine::{Clock, Ids, Tool, Toolbox};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the runtime's own time, which tests pause.
#[derive(Debug)]
pub struct SimClock {
    base: u64,
    start: tokio::time::Instant,
}

impl SimClock {
    /// A clock that reads `base` milliseconds now.
    #[must_use]
    pub fn at(base: u64) -> Self {
        Self { base, start: tokio::time::Instant::now() }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let passed = self.start.elapsed().as_millis();
        Timestamp(self.base + u64::try_from(passed).unwrap_or(u64::MAX / 2))
    }
}

/// Counts ids up.
#[derive(Debug, Default)]
pub struct SimIds {
    sessions: AtomicU64,
    prompts: AtomicU64,
}

impl Ids for SimIds {
    #[expect(clippy::expect_used, reason = "a letter and a number are a session id")]
    fn session(&self) -> SessionId {
        let n = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        SessionId::new(format!("s-{n}")).expect("a session id")
    }

    fn prompt(&self) -> String {
        format!("p{}", self.prompts.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}

/// Members that have the team's tools only.
#[derive(Debug)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn open(&self, _: &SessionId) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }
}
