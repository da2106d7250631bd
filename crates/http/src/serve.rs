//! Serving a router on a listener, with bounds on everything that a stranger can make wait or grow.

use crate::access::harden;
use crate::impatient::Impatient;
use crate::problem::Problem;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What a stranger can make wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections at once; whoever comes later waits to be taken.
    pub connections: usize,
    /// How long the head of a request may take to arrive, and a connection may stand idle.
    pub head_within: Duration,
    /// How long a request may take, its body's arrival included, until its answer begins.
    pub answered_within: Duration,
    /// How long a reader may take nothing of what is ready for it.
    pub taken_within: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 256,
            head_within: Duration::from_secs(10),
            answered_within: Duration::from_secs(90),
            taken_within: Duration::from_secs(60),
        }
    }
}

/// Bytes of a request's head: a cookie, and the id of an event of a large team.
const HEAD_BYTES: usize = 64 * 1024;
/// Header fields of a request.
const HEAD_FIELDS: usize = 64;
/// How long a system that has no more files to give is left alone.
const ACCEPT_REST: Duration = Duration::from_millis(50);
/// How long answers that are under way may take when the process ends.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Serves until `ending` is cancelled; then answers that are under way get a while to end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    ending: CancellationToken,
) {
    let within = bounds.answered_within;
    let router = router.layer(from_fn(move |request, next| answered(within, request, next)));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = ending.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < bounds.connections => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, router.clone(), bounds, ending.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_REST).await,
            },
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(LAST_ANSWERS, ended).await);
    connections.shutdown().await;
}

/// Gives up on a request that takes too long. What it asked for may happen all the same.
async fn answered(within: Duration, request: Request, next: Next) -> Response {
    match tokio::time::timeout(within, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            let detail = "this took too long; it may happen all the same, so look before you ask again, or ask under the same id";
            let problem = Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail);
            harden(problem.into_response()).await
        }
    }
}

/// Serves one connection until either side closes it.
async fn converse(stream: TcpStream, router: Router, bounds: Bounds, ending: CancellationToken) {
    // It only makes small pieces late.
    stream.set_nodelay(true).ok();
    let service = TowerToHyperService::new(router);
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_within)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_FIELDS);
    let stream = Impatient::new(stream, bounds.taken_within);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    // It fails when the client leaves, or sends what is no request: nothing to do about either.
    tokio::select! {
        _ = &mut serving => return,
        () = ending.cancelled() => {}
    }
    serving.as_mut().graceful_shutdown();
    drop(serving.await);
}
