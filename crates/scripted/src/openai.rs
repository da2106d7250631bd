//! A step as a chat-completions answer, streamed or whole, and this provider's errors.

use crate::exchange::{Exchange, arguments, deltas};
use crate::script::{Call, Step};
use crate::sse::{Event, Reply, in_turn};
use serde_json::{Value, json};

/// A moment that all answers name; the server has no clock.
const CREATED: u64 = 1_700_000_000;

/// The events of a stream: up to the end of the text, and the rest.
pub(crate) fn events(exchange: &Exchange, step: &Step) -> Reply {
    let chunk = |delta: Value, finish: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        event(exchange, choices, &Value::Null)
    };
    let more = |delta: Value| chunk(delta, Value::Null);
    let mut said = vec![more(json!({"role": "assistant", "content": ""}))];
    let thoughts = deltas(&step.reasoning, step);
    said.extend(thoughts.into_iter().map(|piece| more(json!({"reasoning_content": piece}))));
    let texts = deltas(&step.text, step);
    said.extend(texts.into_iter().map(|piece| more(json!({"content": piece}))));

    let calls = step.calls.iter().zip(0_usize..);
    let calls: Vec<Vec<Value>> = calls.map(|(c, n)| call_deltas(exchange, step, c, n)).collect();
    let ordered = if step.interleaved { in_turn(calls) } else { calls.concat() };
    let mut rest: Vec<Event> =
        ordered.into_iter().map(|call| more(json!({"tool_calls": [call]}))).collect();
    rest.push(chunk(json!({}), json!(finish(step))));
    if exchange.include_usage {
        rest.push(event(exchange, json!([]), &usage(exchange, step)));
    }
    rest.push(unnamed("[DONE]".to_owned()));
    Reply { said, rest }
}

fn unnamed(text: String) -> Event {
    Event { kind: String::new(), text }
}

fn event(exchange: &Exchange, choices: Value, usage: &Value) -> Event {
    let mut event = json!({"id": format!("chatcmpl-{}", exchange.response_id()),
        "object": "chat.completion.chunk", "created": CREATED, "model": exchange.model,
        "choices": choices});
    if let (true, Some(fields)) = (exchange.include_usage, event.as_object_mut()) {
        fields.insert("usage".to_owned(), usage.clone());
    }
    unnamed(event.to_string())
}

fn call_deltas(exchange: &Exchange, step: &Step, call: &Call, index: usize) -> Vec<Value> {
    let mut parts = vec![json!({"index": index, "id": exchange.call_id(call, index),
        "type": "function", "function": {"name": call.name, "arguments": ""}})];
    let text = arguments(&call.arguments);
    let pieces = deltas(&text, step).into_iter();
    parts.extend(pieces.map(|piece| json!({"index": index, "function": {"arguments": piece}})));
    parts
}

/// An answer without streaming.
pub(crate) fn whole(exchange: &Exchange, step: &Step) -> Value {
    let calls = step.calls.iter().zip(0_usize..).map(|(call, index)| {
        json!({"id": exchange.call_id(call, index), "type": "function",
            "function": {"name": call.name, "arguments": arguments(&call.arguments)}})
    });
    let calls: Vec<Value> = calls.collect();
    let content =
        if step.text.is_empty() && !calls.is_empty() { Value::Null } else { json!(step.text) };
    let mut message = json!({"role": "assistant", "content": content});
    if let Some(fields) = message.as_object_mut() {
        if !step.reasoning.is_empty() {
            fields.insert("reasoning_content".to_owned(), json!(step.reasoning));
        }
        if !calls.is_empty() {
            fields.insert("tool_calls".to_owned(), Value::Array(calls));
        }
    }
    json!({"id": format!("chatcmpl-{}", exchange.response_id()), "object": "chat.completion",
        "created": CREATED, "model": exchange.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(step)}],
        "usage": usage(exchange, step)})
}

/// The list of models.
pub(crate) fn models(names: &[String]) -> Value {
    let models = names.iter().map(
        |name| json!({"id": name, "object": "model", "created": CREATED, "owned_by": "scripted"}),
    );
    json!({"object": "list", "data": models.collect::<Vec<_>>()})
}

/// An error in this provider's shape.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}

/// The error that goes with a status.
pub(crate) fn status_error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", json!("invalid_api_key")),
        404 => ("invalid_request_error", json!("model_not_found")),
        429 => ("requests", json!("rate_limit_exceeded")),
        400..=499 => ("invalid_request_error", Value::Null),
        _ => ("server_error", Value::Null),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// The error of a request that is too long.
pub(crate) fn overflow(input: u64, most: u64) -> Value {
    let message = format!("maximum context length is {most} tokens; the messages have {input}");
    json!({"error": {"message": message, "type": "invalid_request_error", "param": "messages",
        "code": "context_length_exceeded"}})
}

fn finish(step: &Step) -> &str {
    match step.finish.as_str() {
        "" if step.calls.is_empty() => "stop",
        "" => "tool_calls",
        finish => finish,
    }
}

fn usage(exchange: &Exchange, step: &Step) -> Value {
    let used = exchange.used(step);
    json!({"prompt_tokens": used.input, "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning}})
}
