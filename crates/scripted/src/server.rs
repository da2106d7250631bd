//! The server: chooses the step, waits where the script says so, and sends it, or what goes wrong.

use crate::asked::{Asked, WireName};
use crate::script::{Call, Fault, Hold, Point, Script, Step};
use crate::{anthropic, openai, recall, validate};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::StreamExt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes of a request.
const REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// Requests that are remembered; older ones are forgotten first.
const REMEMBERED: usize = 20_000;

/// A request the server has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Whose part it asked for.
    pub agent: String,
    /// Which step, from 0.
    pub step: usize,
    /// How many requests for that step came before.
    pub attempt: usize,
    /// The wire.
    pub wire: WireName,
    /// The body, byte for byte.
    pub body: String,
}

/// A running server. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stage: Arc<Stage>,
    task: JoinHandle<()>,
}

/// What all requests share.
#[derive(Debug)]
struct Stage {
    script: Script,
    memory: Mutex<Memory>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Memory {
    seen: Vec<Seen>,
    attempts: BTreeMap<(String, usize), usize>,
    points: BTreeSet<(String, usize, Point)>,
    gates: BTreeSet<String>,
    last: BTreeMap<String, String>,
}

impl Memory {
    /// Says whether an agent came to a point or past it. Whoever asks for a later step had the reply
    /// to the one before, even if that was in another life of this server.
    fn is_past(&self, agent: &str, step: usize, point: Point) -> bool {
        let from = (agent.to_owned(), step, point);
        self.points.range(from..).next().is_some_and(|(who, _, _)| who == agent)
    }
}

/// One request and its place in the script.
#[derive(Debug)]
pub(crate) struct Exchange {
    agent: String,
    step: usize,
    attempt: usize,
    /// Bytes of the request.
    pub(crate) bytes: usize,
    /// Bytes with which the same agent's request before began, too.
    pub(crate) known_bytes: usize,
}

impl Exchange {
    /// The id of a call: the script's, or one made of its place.
    pub(crate) fn call_id(&self, call: &Call, index: usize) -> String {
        if call.id.is_empty() {
            format!("call_{}_{}_{index}", self.agent, self.step)
        } else {
            call.id.clone()
        }
    }
}

impl Server {
    /// Starts on loopback, at a port of the system's choice when `port` is 0.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub async fn start(script: Script, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let (changes, _) = watch::channel(0);
        let stage = Arc::new(Stage { script, memory: Mutex::default(), changes });
        let router = Router::new()
            .route("/v1/models", get(models))
            .route("/v1/chat/completions", post(chat))
            .route("/v1/messages", post(messages))
            .layer(DefaultBodyLimit::max(REQUEST_BYTES))
            .with_state(Arc::clone(&stage));
        let serving = async move {
            // It fails only with the listener, and then nobody is served any more.
            axum::serve(listener, router).await.ok();
        };
        #[expect(clippy::disallowed_methods, reason = "the server's one task; stopped with it")]
        let task = tokio::spawn(serving);
        Ok(Self { address, stage, task })
    }

    /// The URL before `/chat/completions` and `/messages`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.stage.memory().seen.clone()
    }

    /// Waits until a request for a step has come, and returns the first one.
    pub async fn arrived(&self, agent: &str, step: usize) -> Seen {
        self.stage
            .until(|memory| {
                memory.seen.iter().find(|seen| seen.agent == agent && seen.step == step).cloned()
            })
            .await
    }

    /// Waits until a step was answered whole.
    pub async fn answered(&self, agent: &str, step: usize) {
        let point = (agent.to_owned(), step, Point::Answered);
        self.stage.until(|memory| memory.points.contains(&point).then_some(())).await;
    }

    /// Opens a gate, for good.
    pub fn open_gate(&self, name: &str) {
        self.stage.change(|memory| {
            memory.gates.insert(name.to_owned());
        });
    }

    /// Stops serving.
    pub async fn stop(mut self) {
        self.task.abort();
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

impl Stage {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        // A panic elsewhere cannot leave it half changed: every change is one insertion.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Memory)) {
        change(&mut self.memory());
        self.changes.send_modify(|version| *version += 1);
    }

    async fn until<T>(&self, found: impl Fn(&Memory) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        loop {
            if let Some(found) = found(&self.memory()) {
                return found;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    async fn wait(&self, hold: &Hold) {
        let open = |memory: &Memory| {
            let until = hold
                .until
                .as_ref()
                .is_none_or(|until| memory.is_past(&until.agent, until.step, until.point));
            let gate = hold.gate.as_ref().is_none_or(|gate| memory.gates.contains(gate));
            (until && gate).then_some(())
        };
        let most = Duration::from_millis(hold.at_most_ms);
        // Past its bound a hold ends, whatever it waits for.
        tokio::time::timeout(most, self.until(open)).await.ok();
    }

    /// Remembers a request and finds its place.
    fn admit(&self, wire: WireName, agent: &str, step: usize, body: &str) -> Exchange {
        let mut exchange = None;
        self.change(|memory| {
            let attempts = memory.attempts.entry((agent.to_owned(), step)).or_default();
            let attempt = *attempts;
            *attempts += 1;
            memory.points.insert((agent.to_owned(), step, Point::Arrived));
            let last = memory.last.insert(agent.to_owned(), body.to_owned()).unwrap_or_default();
            let known = last.bytes().zip(body.bytes()).take_while(|(a, b)| a == b).count();
            let (agent, body) = (agent.to_owned(), body.to_owned());
            let (bytes, known_bytes) = (body.len(), known);
            exchange = Some(Exchange { agent: agent.clone(), step, attempt, bytes, known_bytes });
            if memory.seen.len() >= REMEMBERED {
                memory.seen.remove(0);
            }
            memory.seen.push(Seen { agent, step, attempt, wire, body });
        });
        exchange.unwrap_or(Exchange {
            agent: agent.to_owned(),
            step,
            attempt: 0,
            bytes: body.len(),
            known_bytes: 0,
        })
    }
}

async fn models() -> axum::Json<Value> {
    axum::Json(json!({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))
}

async fn chat(stage: State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(WireName::OpenaiChat, stage.0, &headers, &body).await
}

async fn messages(stage: State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(WireName::Anthropic, stage.0, &headers, &body).await
}

async fn answer(wire: WireName, stage: Arc<Stage>, headers: &HeaderMap, body: &Bytes) -> Response {
    if let Some(key) = &stage.script.key
        && brought_key(wire, headers) != Some(key.as_str())
    {
        return refusal(wire, StatusCode::UNAUTHORIZED, "authentication_error", "invalid key");
    }
    let text = String::from_utf8_lossy(body).into_owned();
    let request: Value = match serde_json::from_str(&text) {
        Ok(request) => request,
        Err(error) => return bad_request(wire, &format!("the body is not JSON: {error}")),
    };
    if let Err(wrong) = validate::check(wire, &request) {
        return bad_request(wire, &wrong);
    }
    let asked = Asked::read(wire, &request);
    let Some(agent) = stage.script.agent(&asked.system).cloned() else {
        return bad_request(wire, "the script has no agent for this system prompt");
    };
    let step = recall::recalled(agent.step(asked.replies), &request);
    let exchange = stage.admit(wire, &agent.name, asked.replies, &text);
    if let Some(hold) = &step.hold {
        stage.wait(hold).await;
    }
    tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
    perform(wire, stage, &asked, exchange, step)
}

fn brought_key(wire: WireName, headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match wire {
        WireName::OpenaiChat => text("authorization")?.strip_prefix("Bearer "),
        WireName::Anthropic => text("x-api-key"),
    }
}

fn perform(
    wire: WireName,
    stage: Arc<Stage>,
    asked: &Asked,
    exchange: Exchange,
    step: Step,
) -> Response {
    let fault = step.fault(exchange.attempt).cloned();
    match &fault {
        Some(Fault::Status { status, retry_after, body }) => {
            return faulty_status(wire, *status, retry_after.as_deref(), body);
        }
        Some(Fault::Raw { content_type, body }) => {
            return ([(header::CONTENT_TYPE, content_type.clone())], body.clone()).into_response();
        }
        Some(Fault::Cut { .. } | Fault::ErrorEvent { .. } | Fault::Stall { .. }) | None => {}
    }
    if !asked.stream {
        let whole = match wire {
            WireName::OpenaiChat => openai::whole(asked, &exchange, &step),
            WireName::Anthropic => anthropic::whole(asked, &exchange, &step),
        };
        mark_answered(&stage, &exchange);
        return axum::Json(whole).into_response();
    }
    let (said, rest) = match wire {
        WireName::OpenaiChat => openai::events(asked, &exchange, &step),
        WireName::Anthropic => anthropic::events(asked, &exchange, &step),
    };
    let end = match fault {
        None => End::Whole,
        Some(Fault::Cut { bytes }) => End::Cut(bytes),
        Some(Fault::Stall { bytes }) => End::Stall(bytes),
        Some(Fault::ErrorEvent { kind, message }) => {
            let error = match wire {
                WireName::OpenaiChat => openai::error(&kind, &message),
                WireName::Anthropic => anthropic::error(&kind, &message),
            };
            let first = said.into_iter().next().unwrap_or_default();
            let bytes = encode(wire, &step, &[first, error.to_string()]);
            return stream(vec![Part::Bytes(bytes.into())]);
        }
        Some(Fault::Status { .. } | Fault::Raw { .. }) => End::Whole,
    };
    let mut parts = cut(encode(wire, &step, &said), step.bytes);
    if let Some(hold) = step.hold_after_text.clone() {
        parts.push(Part::Hold(Arc::clone(&stage), hold));
    }
    parts.extend(cut(encode(wire, &step, &rest), step.bytes));
    stream(ended(parts, end, stage, exchange))
}

fn mark_answered(stage: &Stage, exchange: &Exchange) {
    stage.change(|memory| {
        memory.points.insert((exchange.agent.clone(), exchange.step, Point::Answered));
    });
}

/// How a stream ends.
enum End {
    Whole,
    Cut(usize),
    Stall(usize),
}

/// A piece of a stream.
enum Part {
    Bytes(Bytes),
    Hold(Arc<Stage>, Hold),
    Answered(Arc<Stage>, Exchange),
    Break,
    Silence,
}

/// Shortens a stream to what its end lets through.
fn ended(parts: Vec<Part>, end: End, stage: Arc<Stage>, exchange: Exchange) -> Vec<Part> {
    let (mut left, last) = match end {
        End::Whole => (usize::MAX, Part::Answered(stage, exchange)),
        End::Cut(bytes) => (bytes, Part::Break),
        End::Stall(bytes) => (bytes, Part::Silence),
    };
    let mut kept = Vec::with_capacity(parts.len() + 1);
    for part in parts {
        match part {
            Part::Bytes(bytes) => {
                let take = bytes.len().min(left);
                left -= take;
                kept.push(Part::Bytes(bytes.slice(..take)));
            }
            part => kept.push(part),
        }
    }
    kept.push(last);
    kept
}

fn encode(wire: WireName, step: &Step, events: &[String]) -> Vec<u8> {
    let end = if step.crlf { "\r\n" } else { "\n" };
    let mut stream = String::new();
    for event in events {
        if wire == WireName::Anthropic {
            let kind: Option<Value> = serde_json::from_str(event).ok();
            let kind = kind.as_ref().and_then(|event| event.get("type")).and_then(Value::as_str);
            stream.push_str(&format!("event: {}{end}", kind.unwrap_or("message")));
        }
        stream.push_str(&format!("data: {event}{end}{end}"));
    }
    stream.into_bytes()
}

fn cut(bytes: Vec<u8>, most: usize) -> Vec<Part> {
    if most == 0 {
        return vec![Part::Bytes(bytes.into())];
    }
    bytes.chunks(most).map(|piece| Part::Bytes(Bytes::copy_from_slice(piece))).collect()
}

fn stream(parts: Vec<Part>) -> Response {
    let stream = futures::stream::iter(parts).filter_map(|part| async {
        match part {
            Part::Bytes(bytes) => {
                // Lets the piece go out before the next one is made.
                tokio::task::yield_now().await;
                Some(Ok(bytes))
            }
            Part::Hold(stage, hold) => {
                stage.wait(&hold).await;
                None
            }
            Part::Answered(stage, exchange) => {
                mark_answered(&stage, &exchange);
                None
            }
            Part::Break => Some(Err(io::Error::other("cut by the script"))),
            Part::Silence => std::future::pending().await,
        }
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response()
}

fn faulty_status(wire: WireName, status: u16, retry_after: Option<&str>, body: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = if body.is_empty() {
        refusal(wire, status, "scripted_fault", "the script says so")
    } else {
        (status, body.to_owned()).into_response()
    };
    if let Some(after) = retry_after.and_then(|after| after.parse().ok()) {
        response.headers_mut().insert(header::RETRY_AFTER, after);
    }
    response
}

fn bad_request(wire: WireName, message: &str) -> Response {
    refusal(wire, StatusCode::BAD_REQUEST, "invalid_request_error", message)
}

fn refusal(wire: WireName, status: StatusCode, kind: &str, message: &str) -> Response {
    let body = match wire {
        WireName::OpenaiChat => openai::error(kind, message),
        WireName::Anthropic => anthropic::error(kind, message),
    };
    (status, axum::Json(body)).into_response()
}
