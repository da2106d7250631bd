//! The same server over streamable HTTP.

use crate::answers::{Answer, answer};
use crate::place::{shown, tool};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use longboat_core::content::ToolStatus;
use longboat_core::id::{MemberName, Origin, SessionId, StepNo};
use longboat_engine::{Supervisor, ToolScope};
use longboat_mcp::{McpServers, Reach, ServerName, ServerSettings};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Json,
    Sse,
    /// To nobody without the token.
    Closed,
    /// By sending them on.
    Elsewhere,
}

type Seen = Arc<Mutex<Vec<String>>>;

async fn reply(
    kind: Kind,
    seen: Seen,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let status = |status| Response::builder().status(status).body(Full::default()).unwrap();
    if request.method() != Method::POST {
        return Ok(status(StatusCode::METHOD_NOT_ALLOWED));
    }
    let headers = request.headers().clone();
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
    let (token, own) = (header("authorization").to_owned(), header("x-own").to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let method = message["method"].as_str().unwrap_or("reply").to_owned();
    seen.lock().unwrap().push(format!("{method} {token} {own}"));
    if kind == Kind::Elsewhere {
        let to = Response::builder().status(307).header("location", "http://127.0.0.1:9/steal");
        return Ok(to.body(Full::default()).unwrap());
    }
    if kind == Kind::Closed && token != "Bearer right" {
        let closed = Response::builder().status(401).header("www-authenticate", "Bearer");
        return Ok(closed.body(Full::default()).unwrap());
    }
    if message["id"].is_null() {
        return Ok(status(StatusCode::ACCEPTED));
    }
    let id = &message["id"];
    let answer = match answer("", &message) {
        Answer::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Answer::Error(code, text) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
        }
        Answer::Silence | Answer::Deafness => std::future::pending().await,
        Answer::Death => return Ok(status(StatusCode::INTERNAL_SERVER_ERROR)),
        Answer::After(bytes, _) => json!({"jsonrpc": "2.0", "id": id, "result": {
            "content": [{"type": "text", "text": String::from_utf8_lossy(&bytes)}]}}),
    };
    let (kind, body) = match kind {
        Kind::Sse => ("text/event-stream", format!("event: message\ndata: {answer}\n\n")),
        _ => ("application/json", answer.to_string()),
    };
    let answer = Response::builder().header("content-type", kind);
    Ok(answer.body(Full::from(body)).unwrap())
}

struct Remote {
    url: String,
    seen: Seen,
    running: Supervisor,
}

impl Remote {
    async fn start(kind: Kind, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (seen, running) = (Seen::default(), Supervisor::new());
        let (all, token) = (running.clone(), running.token().clone());
        let noted = Arc::clone(&seen);
        running.spawn(async move {
            loop {
                let (stream, _) = tokio::select! {
                    () = token.cancelled() => return,
                    accepted = listener.accept() => accepted.unwrap(),
                };
                let (seen, token) = (Arc::clone(&noted), token.clone());
                let service = service_fn(move |request| reply(kind, Arc::clone(&seen), request));
                all.spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    let served = http.serve_connection(TokioIo::new(stream), service);
                    tokio::select! {
                        () = token.cancelled() => {}
                        served = served => drop(served),
                    }
                });
            }
        });
        Self { url, seen, running }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    async fn until_seen(&self, line: &str) {
        while !self.seen().iter().any(|seen| seen.starts_with(line)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn servers(url: &str, bearer: Option<&str>) -> McpServers {
    let secret = |text: &str| SecretString::from(text.to_owned());
    let settings = ServerSettings {
        name: ServerName::new("hand").unwrap(),
        reach: Reach::Http {
            url: url.to_owned(),
            headers: BTreeMap::from([("X-Own".to_owned(), secret("mine"))]),
            bearer: bearer.map(secret),
        },
        timeout: Duration::from_secs(20),
        start_timeout: Duration::from_secs(10),
        tools: None,
        members: None,
        roles: None,
        secrets: Vec::new(),
    };
    McpServers::start(vec![settings]).await
}

fn scope() -> ToolScope {
    let session = SessionId::new("s-1").unwrap();
    ToolScope {
        session: session.clone(),
        member: MemberName::lead(),
        origin: Origin { session, step: StepNo(1), index: 0 },
        cwd: "/".into(),
        spill: std::env::temp_dir().join("longboat-mcp-unused"),
        cancel: CancellationToken::new(),
    }
}

#[tokio::test]
async fn a_server_over_http_answers_in_json_and_in_streams() {
    for kind in [Kind::Json, Kind::Sse] {
        let remote = Remote::start(kind, 0).await;
        let servers = servers(&remote.url, Some("right")).await;
        assert_eq!(servers.states()[0].problems, Vec::<String>::new(), "{kind:?}");
        let said = tool(&servers, "echo").call(scope(), json!({"text": "over"})).await;
        assert_eq!(shown(&said), "over");
        servers.close().await;
        let all = remote.seen();
        assert!(all.contains(&"tools/call Bearer right mine".to_owned()), "{all:?}");
    }
}

#[tokio::test]
async fn who_is_not_let_in_is_told_so_without_the_token() {
    let remote = Remote::start(Kind::Closed, 0).await;
    let right = servers(&remote.url, Some("right")).await;
    assert!(right.states()[0].runs);
    let wrong = servers(&remote.url, Some("wrong-token")).await;
    let problem = wrong.states()[0].problems.join("; ");
    assert!(problem.contains("bearer_token_env"), "{problem}");
    assert!(!problem.contains("wrong-token"), "{problem}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let remote = Remote::start(Kind::Elsewhere, 0).await;
    let servers = servers(&remote.url, Some("right")).await;
    assert!(!servers.states()[0].runs);
    let problem = &servers.states()[0].problems[0];
    assert!(problem.contains("307"), "{problem}");
}

#[tokio::test]
async fn a_server_that_fails_or_says_too_much_fails_its_call_only() {
    let remote = Remote::start(Kind::Json, 0).await;
    let servers = servers(&remote.url, None).await;
    for name in ["crash", "flood"] {
        let failed = tool(&servers, name).call(scope(), json!({})).await;
        assert_eq!(failed.status, ToolStatus::Error, "{name}");
        assert!(shown(&failed).contains("the connection to its server broke"), "{failed:?}");
        let next = tool(&servers, "echo").call(scope(), json!({"text": "next"})).await;
        assert_eq!(shown(&next), "next");
    }
}

#[tokio::test]
async fn a_server_that_was_away_is_reached_again() {
    let remote = Remote::start(Kind::Json, 0).await;
    let servers = servers(&remote.url, None).await;
    let port = remote.url.trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap();
    assert!(remote.running.quiet(Duration::from_secs(10)).await);
    drop(remote);
    let away = tool(&servers, "echo").call(scope(), json!({"text": "x"})).await;
    assert_eq!(away.status, ToolStatus::Error, "{away:?}");
    let _back = Remote::start(Kind::Json, port).await;
    let back = tool(&servers, "echo").call(scope(), json!({"text": "back"})).await;
    assert_eq!(shown(&back), "back");
}

#[tokio::test]
async fn a_cancelled_call_over_http_returns_at_once_and_the_server_is_told() {
    let remote = Remote::start(Kind::Sse, 0).await;
    let servers = servers(&remote.url, None).await;
    let (scope, hang) = (scope(), tool(&servers, "hang"));
    let cancel = scope.cancel.clone();
    let (outcome, ()) = tokio::join!(hang.call(scope, json!({})), async {
        remote.until_seen("tools/call").await;
        cancel.cancel();
    });
    assert_eq!(outcome.status, ToolStatus::Interrupted);
    remote.until_seen("notifications/cancelled").await;
}
