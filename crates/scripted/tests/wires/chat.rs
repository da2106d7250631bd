//! Chat completions, byte for byte.

use super::client::{ask, events, post, request, stepping};
use longboat_scripted::{Call, Step, TokenCounts, WireName};
use serde_json::{Value, json};

const CHAT: WireName = WireName::OpenaiChat;

async fn stream(step: Step) -> String {
    let server = stepping(vec![step]).await;
    let (status, stream) = ask(&server, CHAT, &request(CHAT, "s", 0)).await;
    assert_eq!(status, 200, "{stream}");
    stream
}

fn line(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"delta\":{delta},\"finish_reason\":{finish},\"index\":0}}],\
         \"created\":1700000000,\"id\":\"chatcmpl-a-0-0\",\"model\":\"m\",\
         \"object\":\"chat.completion.chunk\"}}\n\n"
    )
}

#[tokio::test]
async fn a_stream_has_role_thought_text_calls_finish_and_an_end() {
    let step = Step { chunk_bytes: 4, ..Step::text("süß 🚣") }
        .thinking("hm")
        .and_call("read", json!({"p": 1}))
        .and_call("bad", json!("{broken"));
    let stream = stream(step).await;
    let begin = [
        line(r#"{"content":"","role":"assistant"}"#, "null"),
        line(r#"{"reasoning_content":"hm"}"#, "null"),
        line(r#"{"content":"süß"}"#, "null"),
        line(r#"{"content":" 🚣"}"#, "null"),
    ]
    .concat();
    assert!(stream.starts_with(&begin), "{stream}");
    let calls: Vec<Value> = events(&stream)
        .iter()
        .filter_map(|event| event["choices"][0]["delta"].get("tool_calls").cloned())
        .collect();
    let head = |index: usize, name: &str| {
        json!([{"index": index, "id": format!("call_a_0_{index}"), "type": "function",
            "function": {"name": name, "arguments": ""}}])
    };
    let more =
        |index: usize, text: &str| json!([{"index": index, "function": {"arguments": text}}]);
    let expected = [
        head(0, "read"),
        more(0, "{\"p\""),
        more(0, ":1}"),
        head(1, "bad"),
        more(1, "{bro"),
        more(1, "ken"),
    ];
    assert_eq!(calls, expected);
    let end = format!("{}data: [DONE]\n\n", line("{}", "\"tool_calls\""));
    assert!(stream.ends_with(&end), "{stream}");
}

#[tokio::test]
async fn a_plain_text_is_this_stream() {
    let expected = [
        line(r#"{"content":"","role":"assistant"}"#, "null"),
        line(r#"{"content":"hi"}"#, "null"),
        line("{}", "\"stop\""),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(stream(Step::text("hi")).await, expected.concat());
}

#[tokio::test]
async fn calls_can_come_interleaved() {
    let step = Step { chunk_bytes: 2, interleaved: true, ..Step::default() }
        .and_call("x", json!("abcd"))
        .and_call("y", json!("ef"));
    let order: Vec<(u64, String)> = events(&stream(step).await)
        .iter()
        .filter_map(|event| event["choices"][0]["delta"].get("tool_calls").cloned())
        .map(|calls| {
            let text = calls[0]["function"]["arguments"].as_str().unwrap().to_owned();
            (calls[0]["index"].as_u64().unwrap(), text)
        })
        .collect();
    let expected = [(0, ""), (1, ""), (0, "ab"), (1, "ef"), (0, "cd")];
    assert_eq!(order, expected.map(|(index, text)| (index, text.to_owned())));
}

#[tokio::test]
async fn usage_comes_when_it_is_asked_for() {
    let usage = TokenCounts { input: Some(100), cached: Some(60), ..TokenCounts::default() };
    let step = Step { usage, ..Step::text("four").thinking("12345678") };
    let server = stepping(vec![step]).await;
    let mut body = request(CHAT, "s", 0);
    let (_, without) = ask(&server, CHAT, &body).await;
    assert!(!without.contains("usage"), "{without}");
    body["stream_options"] = json!({"include_usage": true});
    let (_, with) = ask(&server, CHAT, &body).await;
    let events = events(&with);
    let (last, others) = events.split_last().unwrap();
    assert!(others.iter().all(|event| event["usage"].is_null() && event["choices"][0].is_object()));
    assert_eq!(last["choices"], json!([]));
    let expected = json!({"prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 2}});
    assert_eq!(last["usage"], expected);
}

#[tokio::test]
async fn without_streaming_the_reply_is_one_object() {
    let call = Call { id: "mine".to_owned(), name: "x".to_owned(), arguments: json!({"a": 1}) };
    let step = Step { calls: vec![call], ..Step::text("hi").thinking("hm") };
    let server = stepping(vec![step]).await;
    let mut body = request(CHAT, "s", 0);
    body["stream"] = json!(false);
    let response = post(&server, CHAT, &body).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let reply: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!(reply["object"], "chat.completion");
    let expected = json!({"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "hi", "reasoning_content": "hm", "tool_calls": [
            {"id": "mine", "type": "function", "function": {"name": "x", "arguments": "{\"a\":1}"}}]}});
    assert_eq!(reply["choices"], json!([expected]));
    assert!(reply["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn the_finish_reason_can_be_any() {
    for finish in ["length", "content_filter", "eos"] {
        let step = Step { finish: finish.to_owned(), ..Step::text("x") };
        let events = events(&stream(step).await);
        assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], finish);
    }
}
