//! A step as an Anthropic messages answer.

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
    let mut usage = input_usage(exchange);
    if let Some(usage) = usage.as_object_mut() {
        usage.insert("output_tokens".to_owned(), json!(1));
    }
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
        "role": "assistant", "model": asked.model, "content": [], "stop_reason": null,
        "usage": usage}});
    let mut said = vec![start.to_string()];
    let mut index = 0;
    if !step.reasoning.is_empty() {
        let deltas = pieces(&step.reasoning, DELTA_BYTES).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
        let sealed = json!({"type": "signature_delta", "signature": "c2VhbA=="});
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        said.extend(content(index, &block, deltas.chain(std::iter::once(sealed))));
        index += 1;
    }
    if !step.text.is_empty() {
        let deltas = pieces(&step.text, DELTA_BYTES).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
        said.extend(content(index, &json!({"type": "text", "text": ""}), deltas));
        index += 1;
    }
    let mut rest = vec![json!({"type": "ping"}).to_string()];
    for (call, place) in step.calls.iter().zip(0_usize..) {
        let id = exchange.call_id(call, place);
        let block = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
        let text = arguments(&call.arguments);
        let deltas = pieces(&text, DELTA_BYTES).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        rest.extend(content(index, &block, deltas));
        index += 1;
    }
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": stop_reason(step)},
        "usage": {"output_tokens": output_tokens(step)}});
    rest.push(delta.to_string());
    rest.push(json!({"type": "message_stop"}).to_string());
    (said, rest)
}

fn content(index: usize, block: &Value, deltas: impl Iterator<Item = Value>) -> Vec<String> {
    let start = json!({"type": "content_block_start", "index": index, "content_block": block});
    let mut events = vec![start.to_string()];
    events.extend(deltas.map(|delta| {
        json!({"type": "content_block_delta", "index": index, "delta": delta}).to_string()
    }));
    events.push(json!({"type": "content_block_stop", "index": index}).to_string());
    events
}

/// An answer without streaming.
pub(crate) fn whole(asked: &Asked, exchange: &Exchange, step: &Step) -> Value {
    let mut blocks = Vec::new();
    if !step.text.is_empty() {
        blocks.push(json!({"type": "text", "text": step.text}));
    }
    for (call, place) in step.calls.iter().zip(0_usize..) {
        let id = exchange.call_id(call, place);
        blocks.push(
            json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}),
        );
    }
    let mut usage = input_usage(exchange);
    if let Some(usage) = usage.as_object_mut() {
        usage.insert("output_tokens".to_owned(), json!(output_tokens(step)));
    }
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": asked.model,
        "content": blocks, "stop_reason": stop_reason(step), "usage": usage})
}

/// An error in this provider's shape.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn stop_reason(step: &Step) -> &'static str {
    if step.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn input_usage(exchange: &Exchange) -> Value {
    let (all, known) = (tokens(exchange.bytes), tokens(exchange.known_bytes));
    json!({"input_tokens": all.saturating_sub(known), "cache_read_input_tokens": known,
        "cache_creation_input_tokens": 0})
}

fn output_tokens(step: &Step) -> usize {
    let arguments: usize = step.calls.iter().map(|call| arguments(&call.arguments).len()).sum();
    tokens(step.reasoning.len() + step.text.len() + arguments)
}
