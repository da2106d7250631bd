//! What OpenAI responses refuses.

use super::{Fields, count, flag, given, list, number, only_known, tool, tool_name};
use crate::anthropic::{SEAL_PREFIX, seal};
use crate::asked::{items, text};
use serde_json::Value;
use std::collections::BTreeSet;

const KNOWN: &[&str] = &[
    "background",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];
/// Characters of a call's id.
const CALL_ID_CHARS: usize = 64;
/// Output tokens at least.
const OUTPUT_TOKENS: u64 = 16;

pub(super) fn check(body: &Fields) -> Result<(), String> {
    only_known(body, KNOWN)?;
    number(body, "temperature", 0.0, 2.0)?;
    number(body, "top_p", 0.0, 1.0)?;
    count(body, "max_output_tokens")?;
    if given(body, "max_output_tokens").and_then(Value::as_u64).is_some_and(|n| n < OUTPUT_TOKENS) {
        return Err(format!("max_output_tokens: expected at least {OUTPUT_TOKENS}"));
    }
    for name in ["stream", "store", "parallel_tool_calls"] {
        flag(body, name)?;
    }
    if given(body, "instructions").is_some_and(|text| !text.is_string()) {
        return Err("instructions: expected a string".to_owned());
    }
    for (each, n) in items(given(body, "include")).iter().zip(0_usize..) {
        if each.as_str() != Some("reasoning.encrypted_content") {
            return Err(format!("include[{n}]: {each} is not supported"));
        }
    }
    check_tools(body)?;
    let input = list(body.get("input"), "input")?;
    check_input(input)
}

fn check_tools(body: &Fields) -> Result<(), String> {
    let Some(tools) = given(body, "tools") else { return Ok(()) };
    let mut names = BTreeSet::new();
    for (each, n) in list(Some(tools), "tools")?.iter().zip(0_usize..) {
        if text(each, "type") != "function" {
            return Err(format!("tools[{n}].type: expected \"function\""));
        }
        tool(each, "parameters", &format!("tools[{n}]"), &mut names)?;
    }
    Ok(())
}

/// Every call is answered once, by its id, before anything else is said; a thought stands before what
/// it led to.
fn check_input(input: &[Value]) -> Result<(), String> {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut thought = false;
    for (item, n) in input.iter().zip(0_usize..) {
        let place = format!("input[{n}]");
        let kind = text(item, "type");
        let spoken = kind == "function_call" || text(item, "role") == "assistant";
        if thought && !spoken && kind != "reasoning" {
            return Err(format!(
                "{place}: an item of type 'reasoning' was provided without its required following item"
            ));
        }
        thought = kind == "reasoning";
        match kind {
            "message" | "" => {
                if !open.is_empty() && text(item, "role") != "assistant" {
                    return Err(format!(
                        "{place}: no tool output found for function calls {open:?}"
                    ));
                }
                check_message(item, &place)?;
            }
            "reasoning" => check_thought(item, &place)?,
            "function_call" => {
                let id = call_id(item, &place)?;
                tool_name(text(item, "name"), &place)?;
                let arguments: Option<Value> = serde_json::from_str(text(item, "arguments")).ok();
                if !arguments.is_some_and(|arguments| arguments.is_object()) {
                    return Err(format!("{place}.arguments: not the JSON text of an object"));
                }
                if !used.insert(id) {
                    return Err(format!("{place}.call_id: duplicate id {id:?}"));
                }
                open.insert(id);
            }
            "function_call_output" => {
                let id = call_id(item, &place)?;
                if !open.remove(id) {
                    return Err(format!("{place}: no tool call found for call_id {id:?}"));
                }
                check_output(item, &place)?;
            }
            kind => return Err(format!("{place}.type: {kind:?} is not supported")),
        }
    }
    if thought {
        return Err("input: a 'reasoning' item without its required following item".to_owned());
    }
    if open.is_empty() { Ok(()) } else { Err(format!("no tool output found for {open:?}")) }
}

fn call_id<'a>(item: &'a Value, place: &str) -> Result<&'a str, String> {
    let id = text(item, "call_id");
    if id.is_empty() || id.chars().count() > CALL_ID_CHARS {
        return Err(format!(
            "{place}.call_id: expected 1 to {CALL_ID_CHARS} characters, not {id:?}"
        ));
    }
    Ok(id)
}

fn check_message(item: &Value, place: &str) -> Result<(), String> {
    let parts = match text(item, "role") {
        "user" | "system" | "developer" => ["input_text", "input_image"],
        "assistant" => ["output_text", "refusal"],
        role => return Err(format!("{place}.role: {role:?} is not valid")),
    };
    match item.get("content") {
        Some(Value::String(_)) => Ok(()),
        content => check_parts(list(content, &format!("{place}.content"))?, &parts, place),
    }
}

fn check_output(item: &Value, place: &str) -> Result<(), String> {
    match item.get("output") {
        Some(Value::String(_)) => Ok(()),
        output => {
            let output = list(output, &format!("{place}.output"))?;
            check_parts(output, &["input_text", "input_image"], place)
        }
    }
}

fn check_parts(parts: &[Value], kinds: &[&str], place: &str) -> Result<(), String> {
    for (part, k) in parts.iter().zip(0_usize..) {
        let kind = text(part, "type");
        if !kinds.contains(&kind) {
            return Err(format!("{place}[{k}].type: {kind:?} is not valid here"));
        }
        let whole = match kind {
            "input_image" => !text(part, "image_url").is_empty(),
            "refusal" => part.get("refusal").is_some_and(Value::is_string),
            _ => part.get("text").is_some_and(Value::is_string),
        };
        if !whole {
            return Err(format!("{place}[{k}]: a field of {kind} is missing"));
        }
    }
    Ok(())
}

fn check_thought(item: &Value, place: &str) -> Result<(), String> {
    if text(item, "id").is_empty() {
        return Err(format!("{place}.id: field required"));
    }
    let Some(summary) = item.get("summary").and_then(Value::as_array) else {
        return Err(format!("{place}.summary: field required"));
    };
    let sealed = text(item, "encrypted_content");
    if sealed.is_empty() {
        return Err(format!("{place}: the item was not stored; encrypted_content is required"));
    }
    let said: Vec<&str> = summary.iter().map(|part| text(part, "text")).collect();
    if sealed.starts_with(SEAL_PREFIX) && sealed != seal(&said.join("\n")) {
        return Err(format!("{place}: the encrypted content could not be verified"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::asked::WireName;
    use crate::validate;
    use serde_json::{Value, json};

    fn check(input: Value) -> Result<(), String> {
        let body = json!({"model": "m", "instructions": "s", "input": input});
        validate::check(WireName::OpenaiResponses, &body)
    }

    fn refused(input: Value, part: &str) {
        let why = check(input).unwrap_err();
        assert!(why.contains(part), "{why}");
    }

    fn user() -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]})
    }

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"})
    }

    fn output(id: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": "x"})
    }

    fn thought() -> Value {
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"})
    }

    #[test]
    fn every_call_is_answered_once_before_anything_else_is_said() {
        let two = json!([user(), call("a"), call("b"), output("b"), output("a"), user()]);
        assert_eq!(check(two), Ok(()));
        refused(json!([user(), call("a")]), "no tool output");
        refused(json!([user(), call("a"), user()]), "no tool output");
        refused(json!([user(), output("a")]), "no tool call found");
        refused(json!([user(), call("a"), output("a"), output("a")]), "no tool call found");
        refused(json!([user(), call("a"), output("a"), call("a"), output("a")]), "duplicate");
        refused(json!([user(), call(&"x".repeat(65))]), "1 to 64");
    }

    #[test]
    fn a_thought_goes_back_sealed_and_before_what_it_led_to() {
        assert_eq!(check(json!([user(), thought(), call("a"), output("a")])), Ok(()));
        refused(json!([user(), thought()]), "following item");
        refused(json!([user(), thought(), user()]), "following item");
        let unsealed = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        refused(json!([user(), unsealed, call("a"), output("a")]), "encrypted_content");
    }
}
