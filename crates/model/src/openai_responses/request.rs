//! A prompt as a responses request. The same prompt gives the same bytes, and a longer conversation
//! begins with the bytes of the shorter one.

use crate::endpoint::Endpoint;
use crate::http::{wire_call_id, wire_name};
use longboat_core::content::{
    AnsweredCall, Block, Message, Prompt, ReasoningSeal, Reply, ReplyBlock, ToolCall, Wire,
};
use longboat_core::id::CallId;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The request's body. `input` stands last, so that all before it is the same for a session.
pub(crate) fn body(endpoint: &Endpoint, prompt: &Prompt) -> String {
    let mut body = format!("{{\"model\":{}", Value::from(endpoint.model.as_str()));
    let mut add = |name: &str, value: Value| {
        // Writing to a string does not fail.
        write!(body, ",\"{name}\":{value}").ok();
    };
    add("stream", json!(true));
    add("store", json!(false));
    if endpoint.echo_reasoning {
        add("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(most) = endpoint.max_output_tokens {
        add("max_output_tokens", json!(most));
    }
    if let Some(effort) = &endpoint.reasoning_effort {
        add("reasoning", json!({"effort": effort, "summary": "auto"}));
    }
    add("instructions", json!(&*prompt.system));
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            let (name, description, schema) = (&tool.name, &tool.description, &tool.schema);
            // Strict schemas have no optional fields, and these have.
            json!({"type": "function", "name": name, "description": description,
                "parameters": schema, "strict": false})
        });
        add("tools", tools.collect());
    }
    add("input", prompt.messages.iter().flat_map(|message| items(endpoint, message)).collect());
    body.push('}');
    body
}

fn items(endpoint: &Endpoint, message: &Message) -> Vec<Value> {
    match message {
        Message::User(blocks) => {
            let parts: Vec<Value> = blocks.iter().map(part).collect();
            vec![json!({"type": "message", "role": "user", "content": parts})]
        }
        Message::Assistant(reply) => assistant(endpoint, reply),
        Message::ToolResults(results) => results.iter().map(result).collect(),
    }
}

fn part(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({"type": "input_text", "text": text}),
        Block::Image { media_type, data } => {
            json!({"type": "input_image", "image_url": format!("data:{media_type};base64,{data}")})
        }
    }
}

/// A reply's items in order. A thought goes back only in front of what it led to.
fn assistant(endpoint: &Endpoint, reply: &Reply) -> Vec<Value> {
    let spoken = |block: &ReplyBlock| match block {
        ReplyBlock::Text { text } => !text.is_empty(),
        ReplyBlock::ToolCall(_) => true,
        ReplyBlock::Reasoning { .. } => false,
    };
    let end = reply.blocks.iter().rposition(spoken).map_or(0, |last| last + 1);
    let blocks = reply.blocks.iter().take(end);
    blocks.filter_map(|block| item(endpoint, reply.wire, block)).collect()
}

fn item(endpoint: &Endpoint, wire: Wire, block: &ReplyBlock) -> Option<Value> {
    match block {
        ReplyBlock::Text { text } if text.is_empty() => None,
        ReplyBlock::Text { text } => Some(json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": text}]})),
        ReplyBlock::Reasoning { text, seal: Some(ReasoningSeal::Item { id, sealed }) }
            if wire == Wire::OpenaiResponses && endpoint.echo_reasoning =>
        {
            let summary: Vec<Value> = if text.is_empty() {
                Vec::new()
            } else {
                vec![json!({"type": "summary_text", "text": text})]
            };
            Some(json!({"type": "reasoning", "id": id, "summary": summary,
                "encrypted_content": sealed}))
        }
        ReplyBlock::Reasoning { .. } => None,
        ReplyBlock::ToolCall(made) => Some(call(made)),
    }
}

fn call(call: &ToolCall) -> Value {
    // Arguments that were refused as no object go back empty; the refusal says what was wrong.
    let object = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if object { call.arguments.as_str() } else { "{}" };
    json!({"type": "function_call", "call_id": call_id(&call.id), "name": wire_name(&call.name),
        "arguments": arguments})
}

/// A result: a text, or parts where there are pictures.
fn result(answered: &AnsweredCall) -> Value {
    let blocks = &answered.outcome.content;
    let texts = blocks.iter().map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Image { .. } => None,
    });
    let output = match texts.collect::<Option<Vec<&str>>>() {
        Some(texts) => json!(texts.join("\n")),
        None => blocks.iter().map(part).collect(),
    };
    json!({"type": "function_call_output", "call_id": call_id(&answered.call), "output": output})
}

/// How long an id this wire takes; its characters are free.
fn call_id(id: &CallId) -> String {
    wire_call_id(id, 64, |_| true)
}
