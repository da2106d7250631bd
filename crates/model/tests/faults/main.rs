//! What providers do wrong, one by one, over real HTTP on every wire: each has one outcome, which is
//! what docs/providers.md says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod raw;

use longboat_core::content::{Block, FinishReason, Message, Prompt, Reply, ReplyBlock, Wire};
use longboat_model::{Endpoint, FaultKind, Model, ModelFault, Watcher, connect};
use longboat_scripted::{Agent, Fault, Script, Server, Step};
use raw::Raw;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic];

struct Unwatched;

impl Watcher for Unwatched {
    fn text(&mut self, _: &str) {}
    fn reasoning(&mut self, _: &str) {}
    fn call(&mut self, _: &str) {}
}

fn model(wire: Wire, base_url: &str) -> Arc<dyn Model> {
    let mut endpoint = Endpoint::new("p", wire, base_url, "model-1");
    endpoint.key_name = "THE_KEY".to_owned();
    endpoint.idle_timeout = Duration::from_secs(20);
    connect(endpoint).unwrap()
}

fn impatient(wire: Wire, base_url: &str) -> Arc<dyn Model> {
    let mut endpoint = Endpoint::new("p", wire, base_url, "model-1");
    endpoint.idle_timeout = Duration::from_millis(300);
    connect(endpoint).unwrap()
}

async fn ask(model: &dyn Model) -> Result<Reply, ModelFault> {
    let prompt = Prompt {
        system: "s".into(),
        tools: [].into(),
        messages: vec![Message::User(vec![Block::text("go")])],
    };
    model.reply(&prompt, &mut Unwatched).await
}

async fn serving(step: Step) -> Server {
    let agent = Agent::when("a", "", vec![step]);
    Server::start(Script::of(vec![agent]), 0).await.unwrap()
}

async fn asked(wire: Wire, step: Step) -> Result<Reply, ModelFault> {
    let server = serving(step).await;
    ask(&*model(wire, &server.base_url())).await
}

const AGAIN: FaultKind = FaultKind::Retryable { after: None };

fn after(seconds: u64) -> FaultKind {
    FaultKind::Retryable { after: Some(Duration::from_secs(seconds)) }
}

#[tokio::test]
async fn every_status_has_one_outcome_and_says_what_to_do() {
    let cases: &[(u16, Option<&str>, FaultKind, &str)] = &[
        (400, None, FaultKind::Fatal, "HTTP 400"),
        (401, None, FaultKind::Fatal, "check THE_KEY"),
        (403, None, FaultKind::Fatal, "check THE_KEY"),
        (404, None, FaultKind::Fatal, "check the model name \"model-1\" and base_url"),
        (408, None, AGAIN, "HTTP 408"),
        (409, None, AGAIN, "HTTP 409"),
        (413, None, FaultKind::ContextOverflow, "HTTP 413"),
        (418, None, FaultKind::Fatal, "HTTP 418"),
        (422, None, FaultKind::Fatal, "HTTP 422"),
        (425, None, AGAIN, "HTTP 425"),
        (429, None, AGAIN, "HTTP 429"),
        (429, Some("7"), after(7), "HTTP 429"),
        (
            429,
            Some("1.5"),
            FaultKind::Retryable { after: Some(Duration::from_millis(1_500)) },
            "429",
        ),
        (429, Some("soon"), AGAIN, "HTTP 429"),
        (500, None, AGAIN, "HTTP 500"),
        (502, None, AGAIN, "HTTP 502"),
        (503, Some("30"), after(30), "HTTP 503"),
        (504, None, AGAIN, "HTTP 504"),
        (529, None, AGAIN, "HTTP 529"),
    ];
    for wire in WIRES {
        for (status, retry_after, kind, says) in cases {
            let retry_after = retry_after.map(str::to_owned);
            let fault = Fault::Status { status: *status, retry_after, body: String::new() };
            let fault = asked(wire, Step::text("x").failing(fault)).await.unwrap_err();
            assert_eq!(fault.kind, *kind, "{wire:?} {status}: {fault}");
            assert!(fault.to_string().contains(says), "{wire:?} {status}: {fault}");
        }
        let fault = asked(wire, Step::text("x").failing(Fault::ContextOverflow)).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::ContextOverflow, "{fault}");
        let page = "<html>Bad Gateway</html>".to_owned();
        let page = Fault::Status { status: 502, retry_after: None, body: page };
        let fault = asked(wire, Step::text("x").failing(page)).await.unwrap_err();
        assert!(fault.kind == AGAIN && fault.to_string().contains("Bad Gateway"), "{fault}");
    }
}

/// A reply with everything in it.
fn rich() -> Step {
    let mut step = Step::text("größer \"als\" \\ 🚣\u{200d}♂\u{fe0f} gedacht")
        .and_call("read", json!({"path": "ä \"b\" \n 🚣"}))
        .and_call("bash", json!({"command": "echo \\"}))
        .and_call("list", json!({}));
    step.reasoning = "zuerst \u{1f914}".to_owned();
    step
}

#[tokio::test]
async fn a_reply_is_the_same_however_its_stream_comes() {
    for wire in WIRES {
        let plain = asked(wire, rich()).await.unwrap();
        assert_eq!(plain.calls().count(), 3);
        let mut ways = vec![
            Step { crlf: true, ..rich() },
            Step { keep_alive: true, ..rich() },
            Step { crlf: true, keep_alive: true, bytes: 3, ..rich() },
            // Bytes come one by one: inside characters, escapes and line ends.
            Step { bytes: 1, ..rich() },
            Step { chunk_bytes: 1, ..rich() },
        ];
        if wire != Wire::Anthropic {
            ways.push(Step { interleaved: true, ..rich() });
            ways.push(Step { interleaved: true, chunk_bytes: 1, crlf: true, ..rich() });
        }
        for step in ways {
            let way = format!("{wire:?} {step:?}");
            let reply = asked(wire, step).await.unwrap();
            assert_eq!(reply.blocks, plain.blocks, "{way}");
            assert_eq!(reply.usage, plain.usage, "{way}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_at_any_byte_is_asked_for_again_or_was_whole() {
    for wire in WIRES {
        let step = Step::text("grüße 🚣").and_call("read", json!({"path": "ä"}));
        let plain = asked(wire, step.clone()).await.unwrap();
        let (mut bytes, mut whole) = (0, false);
        // Until a cut comes after the end.
        while !whole {
            let faults: Vec<Fault> =
                (bytes..bytes + 64).map(|bytes| Fault::Cut { bytes }).collect();
            let server = serving(Step { faults, ..step.clone() }).await;
            let model = model(wire, &server.base_url());
            for at in bytes..bytes + 64 {
                match ask(&*model).await {
                    Err(fault) => assert_eq!(fault.kind, AGAIN, "{wire:?} at {at}: {fault}"),
                    Ok(reply) => {
                        assert_eq!(reply.blocks, plain.blocks, "{wire:?} at {at}");
                        whole = true;
                    }
                }
            }
            bytes += 64;
            assert!(bytes < 16_384, "it is never whole");
        }
    }
}

#[tokio::test]
async fn errors_in_the_middle_of_a_stream_are_of_a_kind() {
    let cases = [
        ("overloaded_error", "busy", AGAIN),
        ("server_error", "oops", AGAIN),
        ("rate_limit_exceeded", "slow down", AGAIN),
        ("invalid_request_error", "no such field", FaultKind::Fatal),
        ("authentication_error", "who are you", FaultKind::Fatal),
        ("invalid_request_error", "prompt is too long: 9 > 8", FaultKind::ContextOverflow),
        ("context_length_exceeded", "too much", FaultKind::ContextOverflow),
    ];
    for wire in WIRES {
        for (kind, message, expected) in cases {
            let (kind, message) = (kind.to_owned(), message.to_owned());
            let fault = Fault::ErrorEvent { kind, message: message.clone() };
            let fault = asked(wire, Step::text("so far").failing(fault)).await.unwrap_err();
            assert_eq!(fault.kind, expected, "{wire:?}: {fault}");
            assert!(fault.to_string().contains(&message), "{wire:?}: {fault}");
        }
    }
}

#[tokio::test]
async fn finish_reasons_are_told_apart() {
    for wire in WIRES {
        for (finish, reason) in [
            ("", FinishReason::Done),
            ("length", FinishReason::Length),
            ("content_filter", FinishReason::ContentFilter),
        ] {
            let step = Step { finish: finish.to_owned(), ..Step::text("half a") };
            assert_eq!(asked(wire, step).await.unwrap().finish, reason, "{wire:?}");
        }
        let nothing = asked(wire, Step::text("")).await.unwrap();
        assert_eq!((nothing.text(), nothing.calls().count()), (String::new(), 0), "{wire:?}");
    }
}

#[tokio::test]
async fn calls_keep_what_was_sent_and_get_ids_of_their_own() {
    for wire in WIRES {
        let mut step = Step::text("")
            .and_call("no_such_tool", json!("{\"cut\": "))
            .and_call("empty", json!(""))
            .and_call("twice", json!({"n": 1}))
            .and_call("twice", json!({"n": 2}));
        for call in &mut step.calls {
            call.id = "same".to_owned();
        }
        let reply = asked(wire, step).await.unwrap();
        let calls: Vec<_> = reply.calls().collect();
        let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["no_such_tool", "empty", "twice", "twice"], "{wire:?}");
        // What is no JSON stays as it is, for the tool's refusal to speak of.
        assert_eq!(calls[0].arguments, "{\"cut\": ", "{wire:?}");
        assert_eq!(calls[1].arguments, "{}", "{wire:?}");
        let ids: std::collections::BTreeSet<_> = calls.iter().map(|call| &call.id).collect();
        assert_eq!(ids.len(), 4, "{wire:?}");
    }
}

/// The bodies of streams that no careful server would send, by wire.
fn without_ids(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenaiChat => {
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
        }
        Wire::OpenaiResponses => {
            "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"read\",\"arguments\":\"{}\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n"
        }
        Wire::Anthropic => {
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"name\":\"read\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
        }
    }
}

#[tokio::test]
async fn a_call_without_an_id_gets_one() {
    for wire in WIRES {
        let content_type = "text/event-stream".to_owned();
        let fault = Fault::Raw { content_type, body: without_ids(wire).to_owned() };
        let reply = asked(wire, Step::text("x").failing(fault)).await.unwrap();
        let [ReplyBlock::ToolCall(call)] = &reply.blocks[..] else { panic!("{reply:?}") };
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("read", "{}"), "{wire:?}");
        assert!(!call.id.as_str().is_empty(), "{wire:?}");
    }
}

#[tokio::test]
async fn what_is_no_reply_is_asked_for_again() {
    for wire in WIRES {
        for (content_type, body) in [
            ("text/html", "<p>Sign in to the hotel's network</p>"),
            ("text/event-stream", ""),
            ("text/event-stream", "data: {\n\n"),
            ("application/json", "{}"),
            ("application/json", ""),
        ] {
            let (content_type, body) = (content_type.to_owned(), body.to_owned());
            let fault = Fault::Raw { content_type: content_type.clone(), body: body.clone() };
            let fault = asked(wire, Step::text("x").failing(fault)).await.unwrap_err();
            assert_eq!(fault.kind, AGAIN, "{wire:?} {content_type} {body:?}: {fault}");
        }
        let hung_up = asked(wire, Step::text("x").failing(Fault::Hangup)).await.unwrap_err();
        assert_eq!(hung_up.kind, AGAIN, "{hung_up}");
    }
}

#[tokio::test]
async fn silence_is_waited_for_so_long_and_slowness_is_not_silence() {
    for wire in WIRES {
        let server = serving(Step::text("x").failing(Fault::Stall { bytes: 30 })).await;
        let fault = ask(&*impatient(wire, &server.base_url())).await.unwrap_err();
        assert!(fault.kind == AGAIN && fault.to_string().contains("sent nothing"), "{fault}");
        // All of it takes longer than silence may.
        let slow = Step { gap_ms: 60, chunk_bytes: 2, ..Step::text("slow but steady") };
        let server = serving(slow).await;
        let reply = ask(&*impatient(wire, &server.base_url())).await.unwrap();
        assert_eq!(reply.text(), "slow but steady");
    }
    let nobody = ask(&*model(Wire::OpenaiChat, "http://127.0.0.1:9")).await.unwrap_err();
    assert_eq!(nobody.kind, AGAIN, "{nobody}");
}

#[tokio::test]
async fn a_redirect_is_named_and_not_followed() {
    for wire in WIRES {
        let elsewhere =
            Raw::answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()).await;
        for status in [301, 302, 307, 308] {
            let to = format!("{}/v1/x?k=1", elsewhere.url());
            let answer =
                format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
            let moved = Raw::answering(answer.into_bytes()).await;
            let fault = ask(&*model(wire, &moved.url())).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Fatal, "{fault}");
            assert!(fault.to_string().contains("set base_url to where it really is"), "{fault}");
        }
        assert_eq!(elsewhere.asked(), 0, "the key went nowhere else");
    }
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    for wire in WIRES {
        let body = raw::gzipped(without_ids(wire).as_bytes());
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        answer.extend(body);
        let server = Raw::answering(answer).await;
        let reply = ask(&*model(wire, &server.url())).await.unwrap();
        assert_eq!(reply.calls().count(), 1, "{wire:?}");
    }
}
