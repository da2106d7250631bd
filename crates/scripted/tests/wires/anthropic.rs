//! Anthropic messages, byte for byte.

use super::client::{ask, events, request, stepping, with_messages};
use longboat_scripted::{Step, TokenCounts, WireName};
use serde_json::{Value, json};

const WIRE: WireName = WireName::Anthropic;

async fn stream(step: Step) -> String {
    let server = stepping(vec![step]).await;
    let (status, stream) = ask(&server, WIRE, &request(WIRE, "s", 0)).await;
    assert_eq!(status, 200, "{stream}");
    stream
}

#[tokio::test]
async fn a_stream_has_thoughts_seals_text_calls_and_an_end_each_in_its_block() {
    let usage = TokenCounts {
        input: Some(130),
        cached: Some(100),
        cache_write: Some(20),
        output: Some(7),
        reasoning: None,
    };
    let step = Step { redacted: "XX".to_owned(), usage, ..Step::text("süß") }
        .thinking("hm")
        .and_call("read", json!({"p": 1}));
    let step = Step { signature: "SIG".to_owned(), ..step };
    let stream = stream(step).await;
    let start = |index: usize, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: usize, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: usize| json!({"type": "content_block_stop", "index": index});
    let expected = [
        json!({"type": "message_start", "message": {"id": "msg_a-0-0", "type": "message",
            "role": "assistant", "model": "m", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 1,
                "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}}}),
        json!({"type": "ping"}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "SIG"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "XX"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "süß"})),
        stop(2),
        start(3, json!({"type": "tool_use", "id": "call_a_0_0", "name": "read", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"p\":1}"})),
        stop(3),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    let bytes = expected
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    assert_eq!(stream, bytes.collect::<String>());
}

#[tokio::test]
async fn the_seal_of_a_thought_holds_only_for_that_thought() {
    let server = stepping(vec![Step::text("x").thinking("hm"), Step::text("y")]).await;
    let (_, first) = ask(&server, WIRE, &request(WIRE, "s", 0)).await;
    let seal = events(&first)
        .iter()
        .find_map(|event| event["delta"]["signature"].as_str().map(str::to_owned));
    let seal = seal.unwrap();
    let back = |thought: &str| {
        let thought = json!({"type": "thinking", "thinking": thought, "signature": seal});
        let reply = json!([thought, {"type": "text", "text": "x"}]);
        let user = json!({"role": "user", "content": "go"});
        with_messages(
            WIRE,
            "s",
            vec![user.clone(), json!({"role": "assistant", "content": reply}), user],
        )
    };
    assert_eq!(ask(&server, WIRE, &back("hm")).await.0, 200);
    let (status, error) = ask(&server, WIRE, &back("hm!")).await;
    assert_eq!(status, 400);
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!(error["error"]["type"], "invalid_request_error");
}

#[tokio::test]
async fn without_streaming_the_reply_is_one_object() {
    let step = Step { redacted: "XX".to_owned(), ..Step::text("hi").thinking("hm") }
        .and_call("x", json!({"a": 1}));
    let server = stepping(vec![step]).await;
    let mut body = request(WIRE, "s", 0);
    body["stream"] = json!(false);
    let (_, reply) = ask(&server, WIRE, &body).await;
    let mut reply: Value = serde_json::from_str(&reply).unwrap();
    assert!(reply["content"][0]["signature"].take().as_str().unwrap().starts_with("scripted-"));
    let expected = json!([
        {"type": "thinking", "thinking": "hm", "signature": null},
        {"type": "redacted_thinking", "data": "XX"},
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "call_a_0_0", "name": "x", "input": {"a": 1}},
    ]);
    assert_eq!(reply["content"], expected);
    assert_eq!(reply["stop_reason"], "tool_use");
    assert_eq!(reply["type"], "message");
}

#[tokio::test]
async fn the_stop_reason_is_this_wires_word() {
    let cases = [
        ("", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("pause_turn", "pause_turn"),
    ];
    for (finish, expected) in cases {
        let events = events(&stream(Step { finish: finish.to_owned(), ..Step::text("x") }).await);
        let reasons: Vec<&str> =
            events.iter().filter_map(|event| event["delta"]["stop_reason"].as_str()).collect();
        assert_eq!(reasons, [expected]);
    }
}

#[tokio::test]
async fn only_what_is_marked_is_cached_and_what_is_sent_again_is_read_from_there() {
    let server = stepping(vec![Step::text("x"), Step::text("y")]).await;
    let usage = async |body: &Value| {
        let usage = events(&ask(&server, WIRE, body).await.1)[0]["message"]["usage"].clone();
        ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
            .map(|name| usage[name].as_u64().unwrap())
    };
    let long = "x".repeat(4000);
    let marked = |texts: &[&str]| {
        let mut messages: Vec<Value> = Vec::new();
        for (text, n) in texts.iter().zip(0..) {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let block = json!({"type": "text", "text": text});
            messages.push(json!({"role": role, "content": [block]}));
        }
        messages.last_mut().unwrap()["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        with_messages(WIRE, "s", messages)
    };
    let plain = request(WIRE, &long, 0);
    let [input, read, written] = usage(&plain).await;
    assert!(input > 1000 && read == 0 && written == 0);
    let [_, read, written] = usage(&marked(&[&long])).await;
    assert!(read < 50 && written > 990, "{read} {written}");
    let [input, read, written] = usage(&marked(&[&long, "ok", "more"])).await;
    assert!(input == 0 && read > 1000 && (1..50).contains(&written), "{input} {read} {written}");
}
