//! Every task the engine runs: spawned here, cancelled as a tree, and awaited when it is to be quiet.

use std::future::Future;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A set of tasks that end together.
#[derive(Debug, Clone)]
pub(crate) struct Supervisor {
    tasks: TaskTracker,
    token: CancellationToken,
}

impl Supervisor {
    pub(crate) fn new() -> Self {
        Self { tasks: TaskTracker::new(), token: CancellationToken::new() }
    }

    /// A part of this set that can be cancelled alone. Its tasks are this set's too.
    pub(crate) fn child(&self) -> Self {
        Self { tasks: self.tasks.clone(), token: self.token.child_token() }
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(self.tasks.track_future(task)));
    }

    /// Asks the tasks to end.
    pub(crate) fn cancel(&self) {
        self.token.cancel();
    }

    /// Asks the tasks to end and waits until they have, but no longer than `within`. Says whether
    /// they have.
    pub(crate) async fn quiet(&self, within: Duration) -> bool {
        self.token.cancel();
        self.tasks.close();
        tokio::time::timeout(within, self.tasks.wait()).await.is_ok()
    }
}
