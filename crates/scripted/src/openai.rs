//! A step as a chat-completions answer.

use crate::asked::{Asked, arguments, pieces, tokens};
use crate::script::Step;
use crate::server::Exchange;
use serde_json::{Value, json};

/// Bytes of one delta.
const DELTA_BYTES: usize = 24;

/// The events of a stream: up to the end of the text, and the rest.
pub(crate) fn events(
    asked: &Asked,
    exchange: &Exchange,
    step: &Step,
) -> (Vec<String>, Vec<String>) {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
            "model": asked.model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        .to_string()
    };
    let mut said = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    for piece in pieces(&step.reasoning, DELTA_BYTES) {
        said.push(chunk(json!({"reasoning_content": piece}), Value::Null));
    }
    for piece in pieces(&step.text, DELTA_BYTES) {
        said.push(chunk(json!({"content": piece}), Value::Null));
    }
    let mut rest = Vec::new();
    for (call, index) in step.calls.iter().zip(0_usize..) {
        let id = exchange.call_id(call, index);
        let begin = json!({"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": call.name, "arguments": ""}}]});
        rest.push(chunk(begin, Value::Null));
        for piece in pieces(&arguments(&call.arguments), DELTA_BYTES) {
            let more = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            rest.push(chunk(more, Value::Null));
        }
    }
    rest.push(chunk(json!({}), json!(finish(step))));
    let usage = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
        "model": asked.model, "choices": [], "usage": usage(exchange, step)});
    rest.push(usage.to_string());
    rest.push("[DONE]".to_owned());
    (said, rest)
}

/// An answer without streaming.
pub(crate) fn whole(asked: &Asked, exchange: &Exchange, step: &Step) -> Value {
    let calls: Vec<Value> = step
        .calls
        .iter()
        .zip(0_usize..)
        .map(|(call, index)| {
            json!({"id": exchange.call_id(call, index), "type": "function",
                "function": {"name": call.name, "arguments": arguments(&call.arguments)}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": step.text});
    if let (Some(fields), false) = (message.as_object_mut(), calls.is_empty()) {
        fields.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": asked.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(step)}],
        "usage": usage(exchange, step)})
}

/// An error in this provider's shape.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}

fn finish(step: &Step) -> &'static str {
    if step.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage(exchange: &Exchange, step: &Step) -> Value {
    let arguments: usize = step.calls.iter().map(|call| arguments(&call.arguments).len()).sum();
    let (thought, said) = (tokens(step.reasoning.len()), tokens(step.text.len() + arguments));
    let prompt = tokens(exchange.bytes);
    json!({"prompt_tokens": prompt, "completion_tokens": thought + said,
        "total_tokens": prompt + thought + said,
        "prompt_tokens_details": {"cached_tokens": tokens(exchange.known_bytes)},
        "completion_tokens_details": {"reasoning_tokens": thought}})
}
