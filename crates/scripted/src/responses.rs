//! A step as an OpenAI responses answer, streamed or whole. Its errors are those of chat completions.

use crate::anthropic::seal;
use crate::exchange::{Exchange, arguments, deltas};
use crate::script::{Call, Step};
use crate::sse::{Event, Reply, in_turn};
use serde_json::{Value, json};

/// A moment that all answers name; the server has no clock.
const CREATED: u64 = 1_700_000_000;

/// The events of a stream: up to the end of the text, and the rest.
pub(crate) fn events(exchange: &Exchange, step: &Step) -> Reply {
    let begun = response(exchange, step, "in_progress", &[]);
    let mut said = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    let items = items(exchange, step);
    let mut calls: Vec<Vec<Value>> = Vec::new();
    for (item, index) in items.iter().zip(0_usize..) {
        match item.get("type").and_then(Value::as_str) {
            Some("reasoning") => said.extend(thought(step, item, index)),
            Some("message") => said.extend(message(step, item, index)),
            _ => calls.push(call(step, item, index, items.len())),
        }
    }
    let mut rest = if step.interleaved { in_turn(calls) } else { calls.concat() };
    let (kind, status) = match step.finish.as_str() {
        "length" | "content_filter" => ("response.incomplete", "incomplete"),
        _ => ("response.completed", "completed"),
    };
    rest.push(json!({"type": kind, "response": response(exchange, step, status, &items)}));
    let mut numbers = 0_u64..;
    let mut named = |events: Vec<Value>| -> Vec<Event> {
        events.into_iter().map(|event| named(event, numbers.next().unwrap_or(0))).collect()
    };
    Reply { said: named(said), rest: named(rest) }
}

fn named(mut event: Value, number: u64) -> Event {
    if let Some(fields) = event.as_object_mut() {
        fields.insert("sequence_number".to_owned(), json!(number));
    }
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    Event { kind, text: event.to_string() }
}

/// An answer without streaming.
pub(crate) fn whole(exchange: &Exchange, step: &Step) -> Value {
    let status = match step.finish.as_str() {
        "length" | "content_filter" => "incomplete",
        _ => "completed",
    };
    response(exchange, step, status, &items(exchange, step))
}

/// An error as an event of a stream.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "code": kind, "message": message, "param": null})
}

fn response(exchange: &Exchange, step: &Step, status: &str, output: &[Value]) -> Value {
    let details = match (status, step.finish.as_str()) {
        ("incomplete", "content_filter") => json!({"reason": "content_filter"}),
        ("incomplete", _) => json!({"reason": "max_output_tokens"}),
        _ => Value::Null,
    };
    let used = exchange.used(step);
    let usage = if status == "in_progress" {
        Value::Null
    } else {
        json!({"input_tokens": used.input,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": used.reasoning},
            "total_tokens": used.input + used.output})
    };
    json!({"id": format!("resp_{}", exchange.response_id()), "object": "response",
        "created_at": CREATED, "model": exchange.model, "status": status, "error": null,
        "incomplete_details": details, "output": output, "usage": usage})
}

/// All items of the reply, whole.
fn items(exchange: &Exchange, step: &Step) -> Vec<Value> {
    let id = exchange.response_id();
    let mut items = Vec::new();
    if !step.reasoning.is_empty() || !step.redacted.is_empty() {
        let summary = match step.reasoning.as_str() {
            "" => json!([]),
            thought => json!([{"type": "summary_text", "text": thought}]),
        };
        items.push(json!({"type": "reasoning", "id": format!("rs_{id}"), "summary": summary,
            "encrypted_content": seal(&step.reasoning)}));
    }
    if !step.text.is_empty() {
        items.push(json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": step.text, "annotations": []}]}));
    }
    let calls = step.calls.iter().zip(0_usize..);
    items.extend(calls.map(|(call, index)| whole_call(exchange, call, index)));
    items
}

fn whole_call(exchange: &Exchange, call: &Call, index: usize) -> Value {
    json!({"type": "function_call", "id": format!("fc_{}_{index}", exchange.response_id()),
        "call_id": exchange.call_id(call, index), "name": call.name,
        "arguments": arguments(&call.arguments), "status": "completed"})
}

/// An item as it begins: without what comes in pieces.
fn begun(item: &Value, emptied: &str, empty: Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.insert(emptied.to_owned(), empty);
    }
    item
}

fn thought(step: &Step, item: &Value, index: usize) -> Vec<Value> {
    let begun = begun(&begun(item, "summary", json!([])), "encrypted_content", Value::Null);
    let mut events =
        vec![json!({"type": "response.output_item.added", "output_index": index, "item": begun})];
    let piece = |kind: &str, more: Value| {
        let mut event = json!({"type": format!("response.reasoning_summary_{kind}"),
            "output_index": index, "summary_index": 0});
        if let (Some(fields), Some(more)) = (event.as_object_mut(), more.as_object()) {
            fields.extend(more.clone());
        }
        event
    };
    if !step.reasoning.is_empty() {
        let empty = json!({"type": "summary_text", "text": ""});
        events.push(piece("part.added", json!({"part": empty})));
        let thoughts = deltas(&step.reasoning, step).into_iter();
        events.extend(thoughts.map(|delta| piece("text.delta", json!({"delta": delta}))));
        events.push(piece("text.done", json!({"text": step.reasoning})));
    }
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    events
}

fn message(step: &Step, item: &Value, index: usize) -> Vec<Value> {
    let begun = begun(item, "content", json!([]));
    let mut events = vec![
        json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
        json!({"type": "response.content_part.added", "output_index": index, "content_index": 0,
            "part": {"type": "output_text", "text": ""}}),
    ];
    let texts = deltas(&step.text, step).into_iter();
    events.extend(texts.map(|delta| {
        json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0,
            "delta": delta})
    }));
    events.push(json!({"type": "response.output_text.done", "output_index": index,
        "content_index": 0, "text": step.text}));
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    events
}

fn call(step: &Step, item: &Value, index: usize, items: usize) -> Vec<Value> {
    let begun = begun(item, "arguments", json!(""));
    let text = item.get("arguments").and_then(Value::as_str).unwrap_or_default();
    let mut events =
        vec![json!({"type": "response.output_item.added", "output_index": index, "item": begun})];
    events.extend(deltas(text, step).into_iter().map(|delta| {
        json!({"type": "response.function_call_arguments.delta", "output_index": index,
            "delta": delta})
    }));
    events.push(json!({"type": "response.function_call_arguments.done", "output_index": index,
        "arguments": text}));
    // A server that leaves the whole item out of the last one is still understood.
    if index + 1 < items || step.calls.len() == 1 {
        let done =
            json!({"type": "response.output_item.done", "output_index": index, "item": item});
        events.push(done);
    }
    events
}
