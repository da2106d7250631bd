//! A prompt as a messages request. The same prompt gives the same bytes; a longer conversation begins
//! with the bytes of the shorter one but for the cache breakpoint on the last block, which moves on.

use crate::endpoint::{DEFAULT_MAX_OUTPUT_TOKENS, Endpoint};
use crate::http::{wire_call_id, wire_name};
use longboat_core::content::{
    AnsweredCall, Block, Message, Prompt, ReasoningSeal, Reply, ReplyBlock, Wire,
};
use longboat_core::id::CallId;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The request's body. What is the same for the whole session stands first: tools, then the system
/// text, then the conversation, which is also the provider's order for caching.
pub(crate) fn body(endpoint: &Endpoint, prompt: &Prompt) -> String {
    let mut body = format!("{{\"model\":{}", Value::from(endpoint.model.as_str()));
    let mut add = |name: &str, value: Value| {
        // Writing to a string does not fail.
        write!(body, ",\"{name}\":{value}").ok();
    };
    let most = endpoint.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS);
    add("max_tokens", json!(most));
    add("stream", json!(true));
    if let Some(budget) = endpoint.thinking_tokens {
        add("thinking", json!({"type": "enabled", "budget_tokens": budget}));
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            let (name, description, schema) = (&tool.name, &tool.description, &tool.schema);
            json!({"name": name, "description": description, "input_schema": schema})
        });
        let mut tools: Vec<Value> = tools.collect();
        mark_cached(tools.last_mut());
        add("tools", Value::Array(tools));
    }
    let mut system = vec![json!({"type": "text", "text": &*prompt.system})];
    mark_cached(system.last_mut());
    add("system", Value::Array(system));
    add("messages", Value::Array(messages(&prompt.messages)));
    body.push('}');
    body
}

/// Puts a cache breakpoint on a block.
fn mark_cached(block: Option<&mut Value>) {
    if let Some(object) = block.and_then(Value::as_object_mut) {
        object.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

/// Alternating messages: what comes between two replies is one user message, results first.
fn messages(said: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in said {
        let (role, blocks) = match message {
            Message::User(blocks) => ("user", heard(blocks)),
            Message::ToolResults(results) => ("user", answered(results)),
            Message::Assistant(reply) => ("assistant", assistant(reply)),
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, together)) if *last == role => together.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    mark_cached(turns.last_mut().and_then(|(_, blocks)| blocks.last_mut()));
    let wire = |(role, blocks)| json!({"role": role, "content": Value::Array(blocks)});
    turns.into_iter().map(wire).collect()
}

/// What was heard. Where all of it is blank, that is what is said: without it two replies would meet.
fn heard(blocks: &[Block]) -> Vec<Value> {
    let heard: Vec<Value> = blocks.iter().filter_map(block).collect();
    if heard.is_empty() { vec![json!({"type": "text", "text": "(blank)"})] } else { heard }
}

/// A block, or nothing for a text that this wire would refuse as blank.
fn block(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text } if text.trim().is_empty() => None,
        Block::Text { text } => Some(json!({"type": "text", "text": text})),
        Block::Image { media_type, data } => Some(json!({"type": "image",
            "source": {"type": "base64", "media_type": media_type, "data": data}})),
    }
}

/// Results, and behind them the pictures of those that failed: a failure carries text only.
fn answered(results: &[AnsweredCall]) -> Vec<Value> {
    let failed = results.iter().filter(|answered| answered.outcome.is_error());
    let pictures = failed.flat_map(|answered| &answered.outcome.content);
    let pictures = pictures.filter(|block| matches!(block, Block::Image { .. }));
    results.iter().map(result).chain(pictures.filter_map(block)).collect()
}

fn result(answered: &AnsweredCall) -> Value {
    let failed = answered.outcome.is_error();
    let content = answered.outcome.content.iter();
    let content = content.filter(|block| !failed || matches!(block, Block::Text { .. }));
    let mut content: Vec<Value> = content.filter_map(block).collect();
    if content.is_empty() {
        // An error without words is refused.
        content.push(json!({"type": "text", "text": "(no output)"}));
    }
    let mut result = Map::new();
    result.insert("type".to_owned(), json!("tool_result"));
    result.insert("tool_use_id".to_owned(), json!(call_id(&answered.call)));
    result.insert("content".to_owned(), Value::Array(content));
    if failed {
        result.insert("is_error".to_owned(), json!(true));
    }
    Value::Object(result)
}

/// The characters that this wire takes in a call's id, and how many: longer ones were never tried.
fn call_id(id: &CallId) -> String {
    wire_call_id(id, 64, |c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// A reply's blocks. The wire refuses one that ends with a thought, so what was only thought is not
/// said again.
fn assistant(reply: &Reply) -> Vec<Value> {
    let spoken = |block: &ReplyBlock| !matches!(block, ReplyBlock::Reasoning { .. });
    let end = reply.blocks.iter().rposition(spoken).map_or(0, |last| last + 1);
    let blocks = reply.blocks.iter().take(end);
    let mut said: Vec<Value> = blocks.filter_map(|block| reply_block(reply.wire, block)).collect();
    let thought = |block: &Value| {
        matches!(block.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking"))
    };
    // A blank text behind a thought is left out, and leaves the thought at the end.
    while said.last().is_some_and(thought) {
        said.pop();
    }
    said
}

/// A reply's block as it goes back. Thoughts go back only to the wire that sealed them.
fn reply_block(wire: Wire, block: &ReplyBlock) -> Option<Value> {
    match block {
        ReplyBlock::Text { text } if text.trim().is_empty() => None,
        ReplyBlock::Text { text } => Some(json!({"type": "text", "text": text})),
        ReplyBlock::Reasoning { text, seal: Some(seal) } if wire == Wire::Anthropic => match seal {
            ReasoningSeal::Signature { value } => {
                Some(json!({"type": "thinking", "thinking": text, "signature": value}))
            }
            ReasoningSeal::Redacted { value } => {
                Some(json!({"type": "redacted_thinking", "data": value}))
            }
            ReasoningSeal::Item { .. } => None,
        },
        ReplyBlock::Reasoning { .. } => None,
        ReplyBlock::ToolCall(call) => {
            // The wire wants an object; arguments that were refused as none go back empty.
            let input: Map<String, Value> =
                serde_json::from_str(&call.arguments).unwrap_or_default();
            Some(
                json!({"type": "tool_use", "id": call_id(&call.id), "name": wire_name(&call.name), "input": input}),
            )
        }
    }
}
