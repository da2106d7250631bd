//! Refuses what a real provider would answer with 400: this is how the product shows that it never
//! makes such a request.

use crate::asked::{WireName, text_of};
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks a request.
///
/// # Errors
/// What a provider would say.
pub(crate) fn check(wire: WireName, body: &Value) -> Result<(), String> {
    if body.get("model").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err("model: field required".to_owned());
    }
    let messages = body.get("messages").and_then(Value::as_array).filter(|all| !all.is_empty());
    let messages = messages.ok_or("messages: at least one message is required")?;
    check_tools(wire, body)?;
    match wire {
        WireName::OpenaiChat => check_chat(messages),
        WireName::Anthropic => {
            if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|most| most == 0) {
                return Err("max_tokens: field required".to_owned());
            }
            check_anthropic(messages)
        }
    }
}

fn check_tools(wire: WireName, body: &Value) -> Result<(), String> {
    let mut names = BTreeSet::new();
    let tools = body.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let (holder, schema) = match wire {
            WireName::OpenaiChat => (tool.get("function").unwrap_or(tool), "parameters"),
            WireName::Anthropic => (tool, "input_schema"),
        };
        let name = text(holder, "name");
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Err(format!("tools: the name {name:?} does not match ^[a-zA-Z0-9_-]{{1,64}}$"));
        }
        if !names.insert(name.to_owned()) {
            return Err(format!("tools: the name {name:?} is not unique"));
        }
        if holder.get(schema).is_some_and(|schema| text(schema, "type") != "object") {
            return Err(format!("tools: the schema of {name:?} is not of type object"));
        }
    }
    Ok(())
}

fn check_chat(messages: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (message, n) in messages.iter().zip(0_usize..) {
        let role = text(message, "role");
        if role != "tool" && !open.is_empty() {
            return Err(format!(
                "messages[{n}]: tool_calls must be followed by tool messages; no response to {open:?}"
            ));
        }
        let content = message.get("content");
        match role {
            "system" | "developer" | "user" => {
                if content.is_none_or(|content| content.is_null()) {
                    return Err(format!("messages[{n}].content: expected a string or array"));
                }
            }
            "assistant" => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                if calls.is_none() && content.is_none_or(|content| text_of(content).is_empty()) {
                    return Err(format!("messages[{n}]: content or tool_calls must be set"));
                }
                for call in calls.into_iter().flatten() {
                    let function = call.get("function").unwrap_or(call);
                    if serde_json::from_str::<Value>(text(function, "arguments")).is_err() {
                        return Err(format!("messages[{n}]: arguments are not valid JSON"));
                    }
                    if !open.insert(text(call, "id").to_owned()) {
                        return Err(format!("messages[{n}]: duplicate tool call id"));
                    }
                }
            }
            "tool" => {
                let id = text(message, "tool_call_id");
                if !open.remove(id) {
                    return Err(format!("messages[{n}]: no tool call {id:?} before this result"));
                }
            }
            role => return Err(format!("messages[{n}].role: {role:?} is not valid")),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("tool calls without a response: {open:?}")) }
}

fn check_anthropic(messages: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (message, n) in messages.iter().zip(0_usize..) {
        let expected = if n % 2 == 0 { "user" } else { "assistant" };
        if text(message, "role") != expected {
            return Err(format!("messages.{n}: roles must alternate, expected {expected}"));
        }
        let content = message.get("content").cloned().unwrap_or_default();
        let blocks = match content {
            Value::String(text) if !text.trim().is_empty() => {
                continue_open(&open, n).map(|()| vec![])?
            }
            Value::Array(blocks) if !blocks.is_empty() => blocks,
            _ => return Err(format!("messages.{n}: content must not be empty")),
        };
        if expected == "user" {
            check_results(&mut open, &blocks, n)?;
        } else {
            open = check_reply(&mut used, &blocks, n)?;
        }
    }
    continue_open(&open, messages.len())
}

fn continue_open(open: &BTreeSet<String>, n: usize) -> Result<(), String> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{n}: tool_use ids without tool_result blocks immediately after: {open:?}"
    ))
}

fn check_results(open: &mut BTreeSet<String>, blocks: &[Value], n: usize) -> Result<(), String> {
    let mut texts = false;
    for block in blocks {
        match text(block, "type") {
            "tool_result" => {
                let id = text(block, "tool_use_id");
                if !open.remove(id) {
                    return Err(format!("messages.{n}: unexpected tool_use_id {id:?}"));
                }
                if texts {
                    return Err(format!("messages.{n}: tool_result blocks come first"));
                }
            }
            "text" if text(block, "text").trim().is_empty() => {
                return Err(format!("messages.{n}: text content blocks must be non-empty"));
            }
            "text" | "image" => texts = true,
            kind => return Err(format!("messages.{n}: {kind:?} is not valid for a user")),
        }
    }
    continue_open(open, n)
}

fn check_reply(
    used: &mut BTreeSet<String>,
    blocks: &[Value],
    n: usize,
) -> Result<BTreeSet<String>, String> {
    let mut open = BTreeSet::new();
    for block in blocks {
        match text(block, "type") {
            "tool_use" => {
                let id = text(block, "id").to_owned();
                if !used.insert(id.clone()) {
                    return Err(format!("messages.{n}: tool_use ids must be unique"));
                }
                if !block.get("input").is_some_and(Value::is_object) {
                    return Err(format!("messages.{n}: tool_use input must be an object"));
                }
                open.insert(id);
            }
            "thinking" if text(block, "signature").is_empty() => {
                return Err(format!("messages.{n}: thinking needs a signature"));
            }
            "text" if text(block, "text").trim().is_empty() => {
                return Err(format!("messages.{n}: text content blocks must be non-empty"));
            }
            "text" | "thinking" | "redacted_thinking" => {}
            kind => return Err(format!("messages.{n}: {kind:?} is not valid for an assistant")),
        }
    }
    Ok(open)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
