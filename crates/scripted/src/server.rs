//! The server: takes connections on loopback and remembers what came. Started by tests, the demo and
//! `longboat scripted-model`. What it answers is `answer.rs`'s to say.

use crate::answer::answer;
use crate::script::{Point, Script};
use crate::stage::{Held, Refused, Seen, Stage};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

/// Connections at once; more wait until one ends.
const CONNECTIONS: usize = 1024;
/// How long the server rests when the system gives it no connection.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// A running server. It ends when it is stopped or dropped, and all its connections with it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stage: Arc<Stage>,
    stopping: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts on loopback, at a port of the system's choice when `port` is 0.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub async fn start(script: Script, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let (stage, stopping) = (Arc::new(Stage::new(script)), Arc::new(Notify::new()));
        let serving = accept(listener, Arc::clone(&stage), Arc::clone(&stopping));
        #[expect(clippy::disallowed_methods, reason = "the server's one task; it ends with it")]
        let task = tokio::spawn(serving);
        Ok(Self { address, stage, stopping, task })
    }

    /// The URL before `/chat/completions` and `/messages`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far that were taken, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.stage.memory().seen.iter().cloned().collect()
    }

    /// The first requests that were refused as a provider would refuse them.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refused> {
        self.stage.memory().refused.iter().cloned().collect()
    }

    /// Waits until a request for a step has come, and returns the first one that is remembered.
    pub async fn arrived(&self, agent: &str, step: usize) -> Seen {
        self.attempted(agent, step, 0).await
    }

    /// Waits until so many requests for a step have come before another one, and returns that one.
    pub async fn attempted(&self, agent: &str, step: usize, attempt: usize) -> Seen {
        let fits = |seen: &&Seen| seen.agent == agent && seen.step == step;
        self.stage
            .until(|memory| {
                let mut seen = memory.seen.iter().filter(fits);
                seen.find(|seen| seen.attempt >= attempt).cloned()
            })
            .await
    }

    /// Waits until a step was answered whole.
    pub async fn answered(&self, agent: &str, step: usize) {
        self.stage.until(|memory| memory.came(agent, step, Point::Answered).then_some(())).await;
    }

    /// The requests whose replies are withheld now, by holds and stalls.
    #[must_use]
    pub fn held(&self) -> Vec<Held> {
        self.stage.memory().held().cloned().collect()
    }

    /// Waits until the reply to a step is withheld.
    pub async fn withheld(&self, agent: &str, step: usize) -> Held {
        let fits = |held: &&Held| held.agent == agent && held.step == step;
        self.stage.until(|memory| memory.held().find(fits).cloned()).await
    }

    /// Waits until no reply to a step is withheld: it went on, or its client left.
    pub async fn let_go(&self, agent: &str, step: usize) {
        let fits = |held: &Held| held.agent == agent && held.step == step;
        self.stage.until(|memory| (!memory.held().any(fits)).then_some(())).await;
    }

    /// Opens a gate, for good.
    pub fn open_gate(&self, name: &str) {
        self.stage.open_gate(name);
    }

    /// Stops serving: when it returns, all connections are closed, whatever they were at.
    pub async fn stop(mut self) {
        self.stopping.notify_one();
        // It was asked to end, so how it ended says nothing.
        (&mut self.task).await.ok();
    }

    /// Serves until the process ends.
    pub async fn serve(mut self) {
        (&mut self.task).await.ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Takes connections until it is told to stop. All of them live in its set, and end with it.
async fn accept(listener: TcpListener, stage: Arc<Stage>, stopping: Arc<Notify>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stopping.notified() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, Arc::clone(&stage)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_REST).await,
            },
        }
    }
    connections.shutdown().await;
}

/// Serves one connection until either side closes it. A client that leaves ends what it asked for.
async fn converse(stream: TcpStream, stage: Arc<Stage>) {
    // It only makes small pieces late.
    stream.set_nodelay(true).ok();
    let answering = service_fn(|request| answer(Arc::clone(&stage), request));
    let serving = hyper::server::conn::http1::Builder::new();
    // It fails when the client leaves or the script cuts it off: nothing to do about either.
    serving.serve_connection(TokioIo::new(stream), answering).await.ok();
}
