//! Answers one request: refuses what a provider would refuse, chooses the step, waits where the script
//! says so, and sends the reply, or what goes wrong. It keeps nothing; the stage remembers.

use crate::asked::{Asked, WireName};
use crate::exchange::{Exchange, tokens};
use crate::play::{self, Body, CutShort, End};
use crate::script::{Fault, Step};
use crate::stage::{Refused, Stage};
use crate::{anthropic, fill, openai, recall, responses, sse, validate};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a request.
const REQUEST_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a refused request that are remembered.
const REFUSED_BYTES: usize = 1024 * 1024;
/// Headers that carry a key, and are not remembered.
const KEY_HEADERS: [&str; 3] = ["authorization", "x-api-key", "cookie"];

/// Answers one request, or ends its connection.
pub(crate) async fn answer(
    stage: Arc<Stage>,
    request: Request<Incoming>,
) -> Result<Response<Body>, CutShort> {
    let anthropic = request.headers().contains_key("anthropic-version");
    let wire = match request.uri().path() {
        "/v1/chat/completions" => WireName::OpenaiChat,
        "/v1/responses" => WireName::OpenaiResponses,
        "/v1/messages" => WireName::Anthropic,
        _ if anthropic => WireName::Anthropic,
        _ => WireName::OpenaiChat,
    };
    let method = match request.uri().path() {
        "/v1/models" => Method::GET,
        "/v1/chat/completions" | "/v1/responses" | "/v1/messages" => Method::POST,
        path => return Ok(failure(wire, 404, &format!("there is nothing at {path}"))),
    };
    if request.method() != method {
        return Ok(failure(wire, 405, &format!("this takes {method}, not {}", request.method())));
    }
    let (parts, body) = request.into_parts();
    if let Some(key) = &stage.script.key
        && brought_key(wire, &parts.headers) != Some(key.as_str())
    {
        return Ok(failure(wire, 401, "the key is missing or wrong"));
    }
    if method == Method::GET {
        let names = if stage.script.models.is_empty() {
            &["scripted".to_owned()]
        } else {
            stage.script.models.as_slice()
        };
        let models = match wire {
            WireName::OpenaiChat | WireName::OpenaiResponses => openai::models(names),
            WireName::Anthropic => anthropic::models(names),
        };
        return Ok(json(200, &models));
    }
    let too_long = || {
        failure(wire, 413, &format!("a request has at most {REQUEST_BYTES} bytes; this has more"))
    };
    if body.size_hint().lower() > REQUEST_BYTES as u64 {
        return Ok(too_long());
    }
    let body = match Limited::new(body, REQUEST_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Ok(too_long()),
        // The client left.
        Err(_) => return Err(CutShort),
    };
    reply(wire, stage, &parts.headers, &body).await
}

/// Checks a request and plays its step.
async fn reply(
    wire: WireName,
    stage: Arc<Stage>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response<Body>, CutShort> {
    let (request, asked) = match understood(wire, headers, body) {
        Ok(understood) => understood,
        Err(why) => {
            let answer = failure(wire, 400, &why);
            let kept = body.get(..REFUSED_BYTES).unwrap_or(body);
            stage.refuse(Refused { wire, why, body: String::from_utf8_lossy(kept).into_owned() });
            return Ok(answer);
        }
    };
    let models = &stage.script.models;
    if !models.is_empty() && !models.contains(&asked.model) {
        return Ok(failure(wire, 404, &format!("there is no model {:?}", asked.model)));
    }
    let Some(agent) = stage.script.agent(&asked) else {
        return Ok(failure(wire, 400, "the script has no agent for this request"));
    };
    let text = String::from_utf8_lossy(body).into_owned();
    let summarizing;
    let agent = if asked.wants_summary() {
        summarizing = agent.summarizing(asked.replies(&agent.count_from));
        &summarizing
    } else {
        agent
    };
    let exchange = stage.admit(wire, agent, &asked, remembered(headers), text);
    let input = tokens(exchange.prompt_bytes);
    if let Some(most) = stage.script.context_tokens.filter(|most| input > *most) {
        return Ok(overflow(wire, input, most));
    }
    let step = recall::recalled(agent.step(exchange.step), &request);
    let step = match fill::filled(step, &asked) {
        Ok(step) => step,
        Err(untold) => return Ok(failure(wire, 500, &untold.to_string())),
    };
    if let Some(fault) = step.fault(exchange.attempt) {
        return faulty(wire, stage, exchange, &step, fault);
    }
    if let Some(hold) = &step.hold {
        stage.wait(hold, &exchange).await;
    }
    if step.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
    }
    Ok(played(wire, stage, exchange, &step, End::Whole))
}

/// A request that a provider would take, or what is wrong with it.
fn understood(wire: WireName, headers: &HeaderMap, body: &Bytes) -> Result<(Value, Asked), String> {
    if wire == WireName::Anthropic && !headers.contains_key("anthropic-version") {
        return Err("anthropic-version: header is required".to_owned());
    }
    let request: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    validate::check(wire, &request)?;
    let asked = Asked::read(wire, &request);
    Ok((request, asked))
}

/// What goes wrong instead of a step's reply, or in its middle.
fn faulty(
    wire: WireName,
    stage: Arc<Stage>,
    exchange: Exchange,
    step: &Step,
    fault: &Fault,
) -> Result<Response<Body>, CutShort> {
    Ok(match fault {
        Fault::Status { status, retry_after, body } => {
            let mut response = if body.is_empty() {
                failure(wire, *status, "the script says so")
            } else {
                response(*status, "application/json", play::whole(body.clone()))
            };
            let after = retry_after.as_deref().and_then(|after| HeaderValue::from_str(after).ok());
            if let Some(after) = after {
                response.headers_mut().insert(RETRY_AFTER, after);
            }
            response
        }
        Fault::ContextOverflow => {
            let input = tokens(exchange.prompt_bytes);
            overflow(wire, input, input.saturating_sub(1))
        }
        Fault::Hangup => return Err(CutShort),
        Fault::Cut { bytes } => played(wire, stage, exchange, step, End::Cut(*bytes)),
        Fault::Stall { bytes } => played(wire, stage, exchange, step, End::Stall(*bytes)),
        Fault::Raw { content_type, body } => response(200, content_type, play::whole(body.clone())),
        Fault::ErrorEvent { kind, message } => {
            let error = match wire {
                WireName::OpenaiChat => openai::error(kind, message),
                WireName::OpenaiResponses => responses::error(kind, message),
                WireName::Anthropic => anthropic::error(kind, message),
            };
            if !exchange.stream {
                return Ok(json(if kind == "overloaded_error" { 529 } else { 500 }, &error));
            }
            let said = events(wire, &exchange, step).said;
            let error = sse::Event { kind: "error".to_owned(), text: error.to_string() };
            let pieces = (
                sse::pieces(wire, step, &said),
                sse::pieces(wire, step, std::slice::from_ref(&error)),
            );
            streamed(play::body(stage, exchange, step, pieces, End::Wrong))
        }
    })
}

/// A step's reply, up to its end.
fn played(
    wire: WireName,
    stage: Arc<Stage>,
    exchange: Exchange,
    step: &Step,
    end: End,
) -> Response<Body> {
    if exchange.stream {
        let sse::Reply { said, rest } = events(wire, &exchange, step);
        let pieces = (sse::pieces(wire, step, &said), sse::pieces(wire, step, &rest));
        return streamed(play::body(stage, exchange, step, pieces, end));
    }
    let whole = match wire {
        WireName::OpenaiChat => openai::whole(&exchange, step),
        WireName::OpenaiResponses => responses::whole(&exchange, step),
        WireName::Anthropic => anthropic::whole(&exchange, step),
    };
    let pieces = (vec![], vec![Bytes::from(whole.to_string())]);
    response(200, "application/json", play::body(stage, exchange, step, pieces, end))
}

fn events(wire: WireName, exchange: &Exchange, step: &Step) -> sse::Reply {
    match wire {
        WireName::OpenaiChat => openai::events(exchange, step),
        WireName::OpenaiResponses => responses::events(exchange, step),
        WireName::Anthropic => anthropic::events(exchange, step),
    }
}

fn streamed(body: Body) -> Response<Body> {
    let mut response = response(200, "text/event-stream; charset=utf-8", body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn overflow(wire: WireName, input: u64, most: u64) -> Response<Body> {
    let error = match wire {
        WireName::OpenaiChat | WireName::OpenaiResponses => openai::overflow(input, most),
        WireName::Anthropic => anthropic::overflow(input, most),
    };
    json(400, &error)
}

fn failure(wire: WireName, status: u16, message: &str) -> Response<Body> {
    let error = match wire {
        WireName::OpenaiChat | WireName::OpenaiResponses => openai::status_error(status, message),
        WireName::Anthropic => anthropic::status_error(status, message),
    };
    json(status, &error)
}

fn json(status: u16, body: &Value) -> Response<Body> {
    response(status, "application/json", play::whole(body.to_string()))
}

fn response(status: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(kind) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

fn brought_key(wire: WireName, headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = || text("authorization")?.strip_prefix("Bearer ");
    match wire {
        WireName::OpenaiChat | WireName::OpenaiResponses => bearer(),
        WireName::Anthropic => text("x-api-key").or_else(bearer),
    }
}

/// The headers that may be remembered, in order.
fn remembered(headers: &HeaderMap) -> Vec<(String, String)> {
    let open = headers.iter().filter(|(name, _)| !KEY_HEADERS.contains(&name.as_str()));
    let texts = open.map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    texts.collect()
}
