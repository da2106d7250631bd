//! A prompt as a chat-completions request. The same prompt gives the same bytes, and a longer
//! conversation begins with the bytes of the shorter one.

use crate::endpoint::Endpoint;
use crate::http::{wire_call_id, wire_name};
use longboat_core::content::{AnsweredCall, Block, Message, Prompt, Reply, ReplyBlock, ToolCall};
use longboat_core::id::CallId;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The request's body. `messages` stands last, so that all before it is the same for a session.
pub(crate) fn body(endpoint: &Endpoint, prompt: &Prompt) -> String {
    let mut body = format!("{{\"model\":{}", Value::from(endpoint.model.as_str()));
    let mut add = |name: &str, value: Value| {
        // Writing to a string does not fail.
        write!(body, ",\"{name}\":{value}").ok();
    };
    add("stream", json!(true));
    add("stream_options", json!({"include_usage": true}));
    if let Some(most) = endpoint.max_output_tokens {
        // OpenAI's own models take the newer name only; the servers compatible with it the older.
        let name =
            if endpoint.provider == "openai" { "max_completion_tokens" } else { "max_tokens" };
        add(name, json!(most));
    }
    if let Some(effort) = &endpoint.reasoning_effort {
        add("reasoning_effort", json!(effort));
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            let (name, description, schema) = (&tool.name, &tool.description, &tool.schema);
            json!({"type": "function", "function":
                {"name": name, "description": description, "parameters": schema}})
        });
        add("tools", tools.collect());
    }
    let system = json!({"role": "system", "content": &*prompt.system});
    let said = prompt.messages.iter().flat_map(|message| wire_messages(endpoint, message));
    let messages: Vec<Value> = std::iter::once(system).chain(said).collect();
    add("messages", Value::Array(messages));
    body.push('}');
    body
}

fn wire_messages(endpoint: &Endpoint, message: &Message) -> Vec<Value> {
    match message {
        Message::User(blocks) => vec![json!({"role": "user", "content": user_content(blocks)})],
        Message::Assistant(reply) => assistant(endpoint, reply).into_iter().collect(),
        Message::ToolResults(results) => tool_results(results),
    }
}

/// One text is sent as a string; several items stay several parts, so that none can pose as the
/// beginning of another.
fn user_content(blocks: &[Block]) -> Value {
    match blocks {
        [Block::Text { text }] => json!(text),
        blocks => blocks.iter().map(part).collect(),
    }
}

fn part(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Image { media_type, data } => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}})
        }
    }
}

/// A reply, or nothing for one that this wire would refuse: without text and without calls.
fn assistant(endpoint: &Endpoint, reply: &Reply) -> Option<Value> {
    let text = reply.text();
    let calls: Vec<Value> = reply.calls().map(call).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if text.is_empty() { Value::Null } else { Value::from(text) };
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), content);
    if endpoint.echo_reasoning {
        let thoughts = reply.blocks.iter().filter_map(|block| match block {
            ReplyBlock::Reasoning { text, .. } if !text.is_empty() => Some(text.as_str()),
            ReplyBlock::Reasoning { .. } | ReplyBlock::Text { .. } | ReplyBlock::ToolCall(_) => {
                None
            }
        });
        let thoughts: Vec<&str> = thoughts.collect();
        if !thoughts.is_empty() {
            message.insert("reasoning_content".to_owned(), json!(thoughts.join("\n")));
        }
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Some(Value::Object(message))
}

fn call(call: &ToolCall) -> Value {
    // Servers parse the arguments and refuse the whole request when they are not an object, so
    // arguments that were refused as such go back empty. The refusal says what was wrong.
    let object = serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if object { call.arguments.as_str() } else { "{}" };
    json!({"id": call_id(&call.id), "type": "function",
        "function": {"name": wire_name(&call.name), "arguments": arguments}})
}

/// How long an id this wire takes (OpenAI's limit); its characters are free.
fn call_id(id: &CallId) -> String {
    wire_call_id(id, 40, |_| true)
}

/// A tool message per result; pictures follow in a user message, since tool messages carry text.
fn tool_results(results: &[AnsweredCall]) -> Vec<Value> {
    let mut pictures = Vec::new();
    let mut messages = Vec::with_capacity(results.len() + 1);
    for answered in results {
        let mut texts = Vec::new();
        for block in &answered.outcome.content {
            match block {
                Block::Text { text } => texts.push(text.as_str()),
                Block::Image { .. } => {
                    texts.push("[the picture follows]");
                    pictures.push(part(block));
                }
            }
        }
        let content = texts.join("\n");
        messages.push(
            json!({"role": "tool", "tool_call_id": call_id(&answered.call), "content": content}),
        );
    }
    if !pictures.is_empty() {
        messages.push(json!({"role": "user", "content": pictures}));
    }
    messages
}
