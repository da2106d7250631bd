//! A step as an Anthropic messages answer, streamed or whole, and this provider's errors.

use crate::asked::text;
use crate::exchange::{Exchange, arguments, deltas, tokens};
use crate::script::{Call, Step};
use crate::sse::{Event, Reply};
use serde_json::{Value, json};

/// How the seals begin that the server makes itself, and so can check.
pub(crate) const SEAL_PREFIX: &str = "scripted-";

/// The seal over a thought: its FNV-1a hash, the same for ever.
pub(crate) fn seal(thought: &str) -> String {
    let hash = thought.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{SEAL_PREFIX}{hash:016x}")
}

/// The events of a stream: up to the end of the text, and the rest.
pub(crate) fn events(exchange: &Exchange, step: &Step) -> Reply {
    let start = json!({"type": "message_start", "message": {"id": message_id(exchange),
        "type": "message", "role": "assistant", "model": exchange.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(exchange, step, 1)}});
    let mut said = vec![start, json!({"type": "ping"})];
    let mut index = 0;
    let mut block = |block: Value, parts: Vec<Value>| {
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        let mut events = vec![start];
        events.extend(
            parts
                .into_iter()
                .map(|part| json!({"type": "content_block_delta", "index": index, "delta": part})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
        events
    };
    if let Some(signature) = signature(step) {
        let thoughts = deltas(&step.reasoning, step).into_iter();
        let thoughts = thoughts.map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
        let sealed = json!({"type": "signature_delta", "signature": signature});
        let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
        said.extend(block(empty, thoughts.chain([sealed]).collect()));
    }
    if !step.redacted.is_empty() {
        let sealed = json!({"type": "redacted_thinking", "data": step.redacted});
        said.extend(block(sealed, vec![]));
    }
    if !step.text.is_empty() {
        let texts = deltas(&step.text, step).into_iter();
        let texts = texts.map(|piece| json!({"type": "text_delta", "text": piece}));
        said.extend(block(json!({"type": "text", "text": ""}), texts.collect()));
    }
    let mut rest = Vec::new();
    for (call, place) in step.calls.iter().zip(0_usize..) {
        let text = arguments(&call.arguments);
        let pieces = deltas(&text, step).into_iter();
        let pieces = pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        rest.extend(block(tool_use(exchange, call, place, json!({})), pieces.collect()));
    }
    rest.push(json!({"type": "message_delta",
        "delta": {"stop_reason": stop_reason(step), "stop_sequence": null},
        "usage": {"output_tokens": exchange.used(step).output}}));
    rest.push(json!({"type": "message_stop"}));
    let named = |events: Vec<Value>| events.iter().map(named).collect();
    Reply { said: named(said), rest: named(rest) }
}

fn named(event: &Value) -> Event {
    Event { kind: text(event, "type").to_owned(), text: event.to_string() }
}

/// An answer without streaming.
pub(crate) fn whole(exchange: &Exchange, step: &Step) -> Value {
    let mut blocks = Vec::new();
    if let Some(signature) = signature(step) {
        let thought = &step.reasoning;
        blocks.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
    }
    if !step.redacted.is_empty() {
        blocks.push(json!({"type": "redacted_thinking", "data": step.redacted}));
    }
    if !step.text.is_empty() {
        blocks.push(json!({"type": "text", "text": step.text}));
    }
    for (call, place) in step.calls.iter().zip(0_usize..) {
        let input = match &call.arguments {
            Value::Null => json!({}),
            arguments => arguments.clone(),
        };
        blocks.push(tool_use(exchange, call, place, input));
    }
    json!({"id": message_id(exchange), "type": "message", "role": "assistant",
        "model": exchange.model, "content": blocks, "stop_reason": stop_reason(step),
        "stop_sequence": null, "usage": usage(exchange, step, exchange.used(step).output)})
}

/// The list of models.
pub(crate) fn models(names: &[String]) -> Value {
    let models = names.iter().map(|name| {
        json!({"type": "model", "id": name, "display_name": name,
            "created_at": "2023-11-14T22:13:20Z"})
    });
    json!({"data": models.collect::<Vec<_>>(), "has_more": false, "first_id": names.first(),
        "last_id": names.last()})
}

/// An error in this provider's shape.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// The error that goes with a status.
pub(crate) fn status_error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    error(kind, message)
}

/// The error of a request that is too long.
pub(crate) fn overflow(input: u64, most: u64) -> Value {
    status_error(400, &format!("prompt is too long: {input} tokens > {most} maximum"))
}

fn message_id(exchange: &Exchange) -> String {
    format!("msg_{}", exchange.response_id())
}

fn tool_use(exchange: &Exchange, call: &Call, place: usize, input: Value) -> Value {
    let id = exchange.call_id(call, place);
    json!({"type": "tool_use", "id": id, "name": call.name, "input": input})
}

/// The seal of a step's thought, if it has one.
fn signature(step: &Step) -> Option<String> {
    match (step.reasoning.as_str(), step.signature.as_str()) {
        ("", "") => None,
        (thought, "") => Some(seal(thought)),
        (_, signature) => Some(signature.to_owned()),
    }
}

fn stop_reason(step: &Step) -> &str {
    match step.finish.as_str() {
        "" if step.calls.is_empty() => "end_turn",
        "" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        finish => finish,
    }
}

/// What was used, as this provider tells it: only what is marked can come from the cache or go there,
/// and the three kinds of input add up.
fn usage(exchange: &Exchange, step: &Step, output: u64) -> Value {
    let used = exchange.used(step);
    let marked = tokens(exchange.marked_bytes);
    let cached = step.usage.cached.unwrap_or(used.cached.min(marked));
    let written = step.usage.cache_write.unwrap_or(marked.saturating_sub(cached));
    json!({"input_tokens": used.input.saturating_sub(cached + written),
        "cache_read_input_tokens": cached, "cache_creation_input_tokens": written,
        "output_tokens": output})
}
