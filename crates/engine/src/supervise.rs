//! Every task the engine runs: spawned here, cancelled as a tree, and awaited when it is to be quiet.

use std::future::Future;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A set of tasks that end together.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    tasks: TaskTracker,
    token: CancellationToken,
}

impl Supervisor {
    /// A set without tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A part of this set that can be cancelled alone. Its tasks are this set's too.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { tasks: self.tasks.clone(), token: self.token.child_token() }
    }

    /// Cancelled when the tasks are to end.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Runs a task in this set.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(self.tasks.track_future(task)));
    }

    /// Asks the tasks to end.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Asks the tasks to end and waits until they have, but no longer than `within`. Says whether
    /// they have.
    pub async fn quiet(&self, within: Duration) -> bool {
        self.token.cancel();
        self.tasks.close();
        tokio::time::timeout(within, self.tasks.wait()).await.is_ok()
    }
}
