//! The one place that speaks HTTP: a request out, a stream in, every failure a fault of a kind.

use crate::endpoint::{Endpoint, EndpointError};
use crate::sse::{SseDecoder, SseEvent};
use crate::{FaultKind, ModelFault, Watcher};
use futures::StreamExt;
use longboat_core::content::{Reply, Wire};
use longboat_core::id::CallId;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use std::time::Duration;

/// How long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of a whole stream, and of a whole answer that is not one.
const REPLY_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a reply as it is kept: far more than any model says at once, far less than a log's
/// record may have.
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 * 1024;
/// Characters of an error that are shown.
const EXCERPT_CHARS: usize = 300;

/// Puts a reply together from a stream's events. Does no I/O.
pub(crate) trait Assembler: Default + Send {
    /// Takes one event; says whether the stream is over.
    fn event(&mut self, event: &SseEvent, watcher: &mut dyn Watcher) -> Result<Flow, StreamFault>;
    /// Takes a whole answer that came without streaming.
    fn whole(&mut self, body: &str, watcher: &mut dyn Watcher) -> Result<(), StreamFault>;
    /// The reply, if it is whole.
    fn finish(self) -> Result<Reply, StreamFault>;
}

/// Whether more events are to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// More.
    More,
    /// That was the end.
    End,
}

/// What is wrong with a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamFault {
    pub(crate) what: String,
    pub(crate) kind: FaultKind,
}

impl StreamFault {
    /// A stream that cannot be trusted; another may be whole.
    pub(crate) fn broken(what: impl Into<String>) -> Self {
        Self { what: what.into(), kind: FaultKind::Retryable { after: None } }
    }

    /// A reply that is of no use; another would be no better, and paid for again.
    pub(crate) fn fatal(what: impl Into<String>) -> Self {
        Self { what: what.into(), kind: FaultKind::Fatal }
    }

    /// An error the provider put into the stream.
    pub(crate) fn reported(kind: &str, message: &str) -> Self {
        let text = format!("{kind} {message}");
        let kind = if is_overflow(&text) {
            FaultKind::ContextOverflow
        } else if ["invalid_request", "authentication", "permission", "not_found"]
            .iter()
            .any(|fatal| text.contains(fatal))
        {
            FaultKind::Fatal
        } else {
            FaultKind::Retryable { after: None }
        };
        Self { what: format!("the provider reported: {}", excerpt(&text)), kind }
    }
}

/// A way to one provider.
#[derive(Debug)]
pub(crate) struct Connection {
    client: reqwest::Client,
    url: reqwest::Url,
    provider: String,
    key_name: String,
    model: String,
    idle_timeout: Duration,
}

impl Connection {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        let path = match endpoint.wire {
            Wire::OpenaiChat => "chat/completions",
            Wire::OpenaiResponses => "responses",
            Wire::Anthropic => "messages",
        };
        let base = endpoint.base_url.trim_end_matches('/');
        let url = reqwest::Url::parse(&format!("{base}/{path}")).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| EndpointError::BaseUrl {
            provider: endpoint.provider.clone(),
            base_url: endpoint.base_url.clone(),
        })?;
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(headers(endpoint)?)
            .user_agent(concat!("longboat/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(EndpointError::Client)?;
        Ok(Self {
            client,
            url,
            provider: endpoint.provider.clone(),
            key_name: endpoint.key_name.clone(),
            model: endpoint.model.clone(),
            idle_timeout: endpoint.idle_timeout,
        })
    }

    /// Makes one request and puts the reply together.
    pub(crate) async fn ask<A: Assembler>(
        &self,
        body: String,
        watcher: &mut dyn Watcher,
    ) -> Result<Reply, ModelFault> {
        let request = self.client.post(self.url.clone()).body(body);
        let response = match tokio::time::timeout(self.idle_timeout, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(error)),
            Err(_) => return Err(self.silent()),
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let json = response
            .headers()
            .get(reqwest::header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| kind.starts_with("application/json"));
        let mut assembler = A::default();
        if json {
            let body = self.read(response, REPLY_BYTES).await?;
            assembler.whole(&body, watcher).map_err(|fault| self.fault(fault))?;
        } else {
            self.stream(response, &mut assembler, watcher).await?;
        }
        let reply = assembler.finish().map_err(|fault| self.fault(fault))?;
        // What cannot be kept is not asked for again: it would be paid for again.
        let kept = serde_json::to_string(&reply).map_or(usize::MAX, |text| text.len());
        if kept > KEPT_BYTES {
            let what = format!("the reply has {kept} bytes and the limit is {KEPT_BYTES}");
            return Err(self.fault(StreamFault::fatal(what)));
        }
        Ok(reply)
    }

    async fn stream<A: Assembler>(
        &self,
        response: reqwest::Response,
        assembler: &mut A,
        watcher: &mut dyn Watcher,
    ) -> Result<(), ModelFault> {
        let mut decoder = SseDecoder::default();
        let mut bytes = response.bytes_stream();
        let mut total = 0;
        loop {
            let piece = match tokio::time::timeout(self.idle_timeout, bytes.next()).await {
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(error))) => return Err(self.unreachable(error)),
                Ok(None) => return Ok(()),
                Err(_) => return Err(self.silent()),
            };
            total += piece.len();
            let events = decoder.push(&piece);
            let events = events.ok().filter(|_| total <= REPLY_BYTES).ok_or_else(|| {
                self.fault(StreamFault::fatal("the reply is longer than any can be"))
            })?;
            for event in events {
                match assembler.event(&event, watcher) {
                    Ok(Flow::More) => {}
                    Ok(Flow::End) => return Ok(()),
                    Err(fault) => return Err(self.fault(fault)),
                }
            }
        }
    }

    async fn read(&self, response: reqwest::Response, most: usize) -> Result<String, ModelFault> {
        let mut bytes = response.bytes_stream();
        let mut body = Vec::new();
        loop {
            match tokio::time::timeout(self.idle_timeout, bytes.next()).await {
                Ok(Some(Ok(piece))) => body.extend_from_slice(&piece),
                Ok(Some(Err(error))) => return Err(self.unreachable(error)),
                Ok(None) => break,
                Err(_) => return Err(self.silent()),
            }
            if body.len() > most {
                body.truncate(most);
                break;
            }
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// What an answer other than success calls for.
    async fn refused(&self, response: reqwest::Response) -> ModelFault {
        let status = response.status().as_u16();
        let after = retry_after(response.headers());
        let location = response
            .headers()
            .get(reqwest::header::LOCATION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let body = self.read(response, ERROR_BYTES).await.unwrap_or_default();
        let message = message_of(&body);
        let (what, kind) = match status {
            300..=399 => {
                let to = location.unwrap_or_default();
                let what = format!(
                    "HTTP {status}: it redirects to {}; set base_url to where it really is",
                    excerpt(&to)
                );
                (what, FaultKind::Fatal)
            }
            400 | 413 | 422 if status == 413 || is_overflow(&body) => {
                (format!("HTTP {status}: {message}"), FaultKind::ContextOverflow)
            }
            401 | 403 => {
                let what = format!(
                    "HTTP {status}: the key was not accepted ({message}); check {}",
                    self.key_name
                );
                (what, FaultKind::Fatal)
            }
            404 => {
                let what = format!(
                    "HTTP 404: {message}; check the model name {:?} and base_url",
                    self.model
                );
                (what, FaultKind::Fatal)
            }
            408 | 409 | 425 | 429 | 500..=599 => {
                (format!("HTTP {status}: {message}"), FaultKind::Retryable { after })
            }
            _ => (format!("HTTP {status}: {message}"), FaultKind::Fatal),
        };
        ModelFault { provider: self.provider.clone(), what, kind }
    }

    fn unreachable(&self, error: reqwest::Error) -> ModelFault {
        let error = error.without_url();
        let mut what = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            what = format!("{what}: {cause}");
            source = cause.source();
        }
        let host = self.url.host_str().unwrap_or_default();
        let kind = FaultKind::Retryable { after: None };
        ModelFault {
            provider: self.provider.clone(),
            what: format!("{host}: {}", excerpt(&what)),
            kind,
        }
    }

    fn silent(&self) -> ModelFault {
        let what = format!("it sent nothing for {} s", self.idle_timeout.as_secs());
        self.fault(StreamFault::broken(what))
    }

    fn fault(&self, fault: StreamFault) -> ModelFault {
        ModelFault { provider: self.provider.clone(), what: fault.what, kind: fault.kind }
    }
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, EndpointError> {
    let mut all = vec![
        ("content-type".to_owned(), "application/json".to_owned(), false),
        ("accept".to_owned(), "text/event-stream, application/json".to_owned(), false),
    ];
    let key = endpoint.key.as_ref().map(|key| key.expose_secret().trim().to_owned());
    match endpoint.wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            all.extend(key.map(|key| ("authorization".to_owned(), format!("Bearer {key}"), true)));
        }
        Wire::Anthropic => {
            all.push(("anthropic-version".to_owned(), "2023-06-01".to_owned(), false));
            all.extend(key.map(|key| ("x-api-key".to_owned(), key, true)));
        }
    }
    all.extend(endpoint.headers.iter().map(|(name, value)| (name.clone(), value.clone(), true)));
    let mut headers = HeaderMap::new();
    for (name, value, secret) in all {
        let header = HeaderName::from_bytes(name.as_bytes()).ok();
        let pair = header.zip(HeaderValue::from_str(&value).ok());
        let (header, mut value) = pair.ok_or_else(|| EndpointError::Header {
            provider: endpoint.provider.clone(),
            name: name.clone(),
        })?;
        value.set_sensitive(secret);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// The wait a provider asks for: in seconds, or until a date, which is read against the provider's
/// own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let seconds = text("retry-after-ms").and_then(|ms| ms.trim().parse::<f64>().ok());
    let seconds = seconds.map(|ms| ms / 1000.0);
    let after = text("retry-after")?.trim();
    let seconds = seconds.or_else(|| after.parse::<f64>().ok());
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds.clamp(0.0, 86_400.0)).ok();
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    let wait = date(after)?.duration_since(date(text("date")?)?);
    Duration::try_from(wait).ok().or(Some(Duration::ZERO))
}

/// A tool's name as every wire takes it: one that a model made up may be anything, and a request
/// that repeats it would be refused from then on.
pub(crate) fn wire_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// A call's id as a wire takes it, which may not be the wire that it came over: a member that begins
/// with a copy of another's turns can have a model of another provider. The same id always becomes the
/// same, and ids that differ stay different.
pub(crate) fn wire_call_id(id: &CallId, most: usize, fits: fn(char) -> bool) -> String {
    let id = id.as_str();
    if id.len() <= most && id.chars().all(fits) {
        return id.to_owned();
    }
    // FNV-1a, 32 bits (RFC draft eastlake-fnv), as eight letters.
    let hash = id
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let kept = id.chars().filter(|c| c.is_ascii() && fits(*c)).take(most.saturating_sub(9));
    format!("{}_{hash:08x}", kept.collect::<String>())
}

/// Says whether an error speaks of a prompt that is too long, in the words of the providers.
pub(crate) fn is_overflow(text: &str) -> bool {
    let text = text.to_lowercase();
    const WORDS: [&str; 9] = [
        "context_length_exceeded",
        "maximum context length",
        "prompt is too long",
        "context window",
        "context length",
        "context size",
        "too many tokens",
        "input is too long",
        "exceed_context_size",
    ];
    WORDS.iter().any(|words| text.contains(words))
}

/// The message in an error's body, or the beginning of the body.
fn message_of(body: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message = json.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        error.get("message").or(json.get("message")).unwrap_or(error).as_str()
    });
    match message {
        Some(message) => excerpt(message),
        None if body.trim().is_empty() => "no explanation".to_owned(),
        None => excerpt(body),
    }
}

/// One line, bounded, without control characters.
pub(crate) fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
    if line.chars().count() <= EXCERPT_CHARS {
        return line;
    }
    let cut: String = line.chars().take(EXCERPT_CHARS).collect();
    format!("{cut}…")
}
