//! Keeps one server: started when it is first asked for, watched, closed when it breaks, started again
//! when it is asked for again. One task owns the connection; everybody else asks it.

use crate::connection::{Connection, Live};
use crate::settings::ServerSettings;
use longboat_engine::Supervisor;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

/// Questions that may wait for a keeper.
const QUESTIONS: usize = 64;
/// The wait before the second start in a row; each one after it waits twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait before a start.
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// A server that lived as long was well.
const LIVED: Duration = Duration::from_secs(10);

/// How long the end of a server may take to be noticed once its connection is seen to be broken.
const NOTICED: Duration = Duration::from_millis(500);

/// A question to a keeper.
#[derive(Debug)]
enum Ask {
    /// A connection, made if there is none.
    Connection(oneshot::Sender<Result<Live, Down>>),
    /// The connection of that generation is of no use any more.
    Broken(u64),
}

/// Says why a server cannot be used now.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the MCP server {server} cannot be used: {reason}")]
pub(crate) struct Down {
    pub(crate) server: String,
    pub(crate) reason: String,
}

/// What others hold of a keeper.
#[derive(Debug, Clone)]
pub(crate) struct Keeping {
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) supervisor: Supervisor,
    asks: mpsc::Sender<Ask>,
}

impl Keeping {
    /// A keeper, which starts nothing yet.
    pub(crate) fn new(settings: ServerSettings, supervisor: Supervisor) -> Self {
        let settings = Arc::new(settings);
        let (asks, inbox) = mpsc::channel(QUESTIONS);
        let keeper = Keeper {
            settings: Arc::clone(&settings),
            supervisor: supervisor.clone(),
            inbox,
            connection: None,
            generation: 0,
            opened: Instant::now(),
            failures: 0,
        };
        supervisor.spawn(keeper.run());
        Self { settings, supervisor, asks }
    }

    /// The connection, made if there is none. It takes as long as a start may take, and the wait
    /// after starts that failed.
    ///
    /// # Errors
    /// [`Down`] when the server cannot be used now; a later question may have it started again.
    pub(crate) async fn live(&self) -> Result<Live, Down> {
        let (reply, answer) = oneshot::channel();
        let ended = || self.down("this process is about to end".to_owned());
        self.asks.send(Ask::Connection(reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Says that a connection is of no use any more.
    pub(crate) async fn broken(&self, generation: u64) {
        // A keeper that is gone has closed it.
        drop(self.asks.send(Ask::Broken(generation)).await);
    }

    fn down(&self, reason: String) -> Down {
        Down { server: self.settings.name.to_string(), reason }
    }
}

struct Keeper {
    settings: Arc<ServerSettings>,
    supervisor: Supervisor,
    inbox: mpsc::Receiver<Ask>,
    connection: Option<Connection>,
    generation: u64,
    /// When the last connection was opened, or could not be.
    opened: Instant,
    /// Starts in a row that came to nothing, or to a server that did not live long.
    failures: u32,
}

impl Keeper {
    async fn run(mut self) {
        let stop = self.supervisor.token().clone();
        loop {
            let ask = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = ended(&mut self.connection) => {
                    self.lost(true).await;
                    continue;
                }
                ask = self.inbox.recv() => ask,
            };
            match ask {
                None => break,
                Some(Ask::Broken(generation)) => self.broken(generation).await,
                Some(Ask::Connection(reply)) => {
                    let live = tokio::select! {
                        biased;
                        () = stop.cancelled() => break,
                        live = self.ensure() => live,
                    };
                    self.answer(reply, live);
                }
            }
        }
        self.lost(false).await;
    }

    /// Answers whoever asked, and on failure all who wait: they would wait for the same.
    fn answer(&mut self, reply: oneshot::Sender<Result<Live, Down>>, live: Result<Live, Down>) {
        if live.is_err() {
            while let Ok(Ask::Connection(other)) = self.inbox.try_recv() {
                drop(other.send(live.clone()));
            }
        }
        // Who does not wait any more needs no answer.
        drop(reply.send(live));
    }

    async fn ensure(&mut self) -> Result<Live, Down> {
        if let Some(connection) = &self.connection {
            return Ok(connection.live.clone());
        }
        sleep_until(self.opened + wait(self.failures)).await;
        self.generation += 1;
        let opened = Connection::open(&self.settings, &self.supervisor, self.generation).await;
        self.opened = Instant::now();
        match opened {
            Ok(connection) => {
                let live = connection.live.clone();
                self.connection = Some(connection);
                Ok(live)
            }
            Err(reason) => {
                self.failures = self.failures.saturating_add(1);
                tracing::warn!(server = %self.settings.name, "{reason}");
                Err(Down { server: self.settings.name.to_string(), reason })
            }
        }
    }

    async fn broken(&mut self, generation: u64) {
        let current = self.connection.as_ref().map(|connection| connection.live.generation);
        if current == Some(generation) {
            // Whoever says so may have seen the server's end before its keeper.
            let gone = timeout(NOTICED, ended(&mut self.connection)).await.is_ok();
            self.lost(gone).await;
        }
    }

    /// Closes the connection, if there is one.
    async fn lost(&mut self, gone: bool) {
        let Some(connection) = self.connection.take() else { return };
        let lived = self.opened.elapsed() >= LIVED;
        self.failures = if lived { 0 } else { self.failures.saturating_add(1) };
        let reason = Arc::clone(&connection.live.reason);
        let obituary = self.settings.redacted(&connection.close(gone).await);
        if !obituary.is_empty() {
            tracing::warn!(server = %self.settings.name, "{obituary}");
            reason.get_or_init(|| obituary);
        }
    }
}

/// How long after the last start the next one is: at once after a server that was well.
fn wait(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doubled) => FIRST_WAIT.saturating_mul(2_u32.saturating_pow(doubled)).min(LONGEST_WAIT),
    }
}

async fn ended(connection: &mut Option<Connection>) {
    match connection {
        Some(connection) => connection.ended().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_that_come_to_nothing_are_spaced_out_up_to_a_bound() {
        let waits: Vec<u128> = (0..8).map(|failures| wait(failures).as_millis()).collect();
        assert_eq!(waits, [0, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(wait(u32::MAX), LONGEST_WAIT);
    }
}
