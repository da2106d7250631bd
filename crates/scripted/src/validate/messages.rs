//! What Anthropic messages refuses.

use super::{Fields, count, flag, given, list, number, only_known, tool, tool_name};
use crate::anthropic::{SEAL_PREFIX, seal};
use crate::asked::{items, text};
use serde_json::Value;
use std::collections::BTreeSet;

const KNOWN: &[&str] = &[
    "cache_control",
    "container",
    "context_management",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];
/// Cache breakpoints of one request.
const BREAKPOINTS: usize = 4;
/// Tokens of the smallest thinking budget.
const THINKING_TOKENS: u64 = 1024;

pub(super) fn check(body: &Fields) -> Result<(), String> {
    only_known(body, KNOWN)?;
    if given(body, "max_tokens").is_none() {
        return Err("max_tokens: field required".to_owned());
    }
    for name in ["max_tokens", "top_k"] {
        count(body, name)?;
    }
    number(body, "temperature", 0.0, 1.0)?;
    number(body, "top_p", 0.0, 1.0)?;
    flag(body, "stream")?;
    check_thinking(body)?;
    check_system(body)?;
    check_tools(body)?;
    let messages = list(body.get("messages"), "messages")?;
    check_messages(messages)?;
    let calls = messages.iter().flat_map(|message| items(message.get("content")));
    if given(body, "tools").is_none() && calls.into_iter().any(|b| text(b, "type") == "tool_use") {
        return Err("tools: a request with tool_use blocks must define tools".to_owned());
    }
    check_breakpoints(body)
}

fn check_thinking(body: &Fields) -> Result<(), String> {
    let Some(thinking) = given(body, "thinking") else { return Ok(()) };
    match text(thinking, "type") {
        "disabled" | "adaptive" => return Ok(()),
        "enabled" => {}
        kind => return Err(format!("thinking.type: {kind:?} is not valid")),
    }
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64).unwrap_or(0);
    if budget < THINKING_TOKENS {
        return Err(format!("thinking.budget_tokens: expected at least {THINKING_TOKENS}"));
    }
    if given(body, "max_tokens").and_then(Value::as_u64).is_some_and(|most| most <= budget) {
        return Err("max_tokens: must be greater than thinking.budget_tokens".to_owned());
    }
    if given(body, "temperature").and_then(Value::as_f64).is_some_and(|t| t < 1.0) {
        return Err("temperature: must be 1 when thinking is enabled".to_owned());
    }
    if given(body, "top_k").is_some() {
        return Err("top_k: must not be set when thinking is enabled".to_owned());
    }
    let forced = given(body, "tool_choice").map(|choice| text(choice, "type"));
    if forced.is_some_and(|kind| ["any", "tool"].contains(&kind)) {
        return Err("tool_choice: must not force a tool when thinking is enabled".to_owned());
    }
    Ok(())
}

fn check_system(body: &Fields) -> Result<(), String> {
    match given(body, "system") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(blocks)) => blocks.iter().zip(0_usize..).try_for_each(|(block, n)| {
            if text(block, "type") != "text" {
                return Err(format!("system.{n}.type: expected \"text\""));
            }
            check_text(block, &format!("system.{n}"))
        }),
        Some(_) => Err("system: expected a string or a list".to_owned()),
    }
}

fn check_tools(body: &Fields) -> Result<(), String> {
    let mut names = BTreeSet::new();
    match given(body, "tools") {
        None => {}
        Some(Value::Array(tools)) => {
            for (each, n) in tools.iter().zip(0_usize..) {
                tool(each, "input_schema", &format!("tools.{n}"), &mut names)?;
            }
        }
        Some(_) => return Err("tools: expected a list".to_owned()),
    }
    let Some(choice) = given(body, "tool_choice") else { return Ok(()) };
    if names.is_empty() {
        return Err("tool_choice: only allowed when tools are specified".to_owned());
    }
    match text(choice, "type") {
        "auto" | "any" | "none" => Ok(()),
        "tool" if names.contains(text(choice, "name")) => Ok(()),
        _ => Err(format!("tool_choice: {choice} is not valid")),
    }
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for (message, n) in messages.iter().zip(0_usize..) {
        let expected = if n % 2 == 0 { "user" } else { "assistant" };
        let role = text(message, "role");
        if role != expected {
            return Err(format!(
                "messages.{n}.role: {role:?}; roles alternate, expected {expected}"
            ));
        }
        let fields = message.as_object().ok_or(format!("messages.{n}: expected an object"))?;
        only_known(fields, &["role", "content"]).map_err(|w| format!("messages.{n}.{w}"))?;
        let blocks = match message.get("content") {
            Some(Value::String(said)) if !said.trim().is_empty() => &[],
            Some(Value::Array(blocks)) if !blocks.is_empty() => blocks.as_slice(),
            _ => return Err(format!("messages.{n}: content must not be empty")),
        };
        if expected == "user" {
            check_user(&open, blocks, n)?;
            open.clear();
        } else {
            open = check_reply(&mut used, blocks, n)?;
        }
    }
    if messages.len().is_multiple_of(2) {
        return Err("messages: the conversation must end with a user message".to_owned());
    }
    Ok(())
}

/// Checks what a user says, results first, against the calls that are to be answered.
fn check_user(open: &BTreeSet<&str>, blocks: &[Value], n: usize) -> Result<(), String> {
    let mut answered: BTreeSet<&str> = BTreeSet::new();
    let mut others = false;
    for (block, k) in blocks.iter().zip(0_usize..) {
        let place = format!("messages.{n}.content.{k}");
        match text(block, "type") {
            "tool_result" => {
                let id = text(block, "tool_use_id");
                if !open.contains(id) {
                    return Err(format!(
                        "{place}: unexpected tool_use_id {id:?}; the message before has no such \
                         tool_use"
                    ));
                }
                if !answered.insert(id) {
                    return Err(format!("{place}: multiple tool_result blocks with id {id:?}"));
                }
                if others {
                    return Err(format!("{place}: tool_result blocks come first"));
                }
                check_result(block, &place)?;
                continue;
            }
            "text" => check_text(block, &place)?,
            "image" => check_image(block, &place)?,
            "document" => {}
            kind => return Err(format!("{place}.type: {kind:?} is not valid for a user")),
        }
        others = true;
    }
    let left: Vec<&&str> = open.difference(&answered).collect();
    if left.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{n}: tool_use ids were found without tool_result blocks immediately after: {left:?}"
    ))
}

fn check_result(block: &Value, place: &str) -> Result<(), String> {
    let content = block.get("content").filter(|content| !content.is_null());
    let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    let empty = match content {
        None => true,
        Some(Value::String(said)) => said.is_empty(),
        Some(Value::Array(parts)) => {
            for (part, k) in parts.iter().zip(0_usize..) {
                let place = format!("{place}.content.{k}");
                match text(part, "type") {
                    "text" => check_text(part, &place)?,
                    kind if failed => {
                        return Err(format!(
                            "{place}.type: all content must be type \"text\" if is_error is true, not {kind:?}"
                        ));
                    }
                    "image" => check_image(part, &place)?,
                    "document" | "search_result" => {}
                    kind => return Err(format!("{place}.type: {kind:?} is not valid in a result")),
                }
            }
            parts.is_empty()
        }
        Some(_) => return Err(format!("{place}.content: expected a string or a list")),
    };
    if failed && empty {
        return Err(format!("{place}: content cannot be empty if is_error is true"));
    }
    Ok(())
}

/// Checks a reply, and returns the calls that it leaves to be answered.
fn check_reply<'a>(
    used: &mut BTreeSet<&'a str>,
    blocks: &'a [Value],
    n: usize,
) -> Result<BTreeSet<&'a str>, String> {
    let mut open = BTreeSet::new();
    for (block, k) in blocks.iter().zip(0_usize..) {
        let place = format!("messages.{n}.content.{k}");
        match text(block, "type") {
            "tool_use" => {
                let id = text(block, "id");
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                if id.is_empty() || !id.chars().all(fits) {
                    return Err(format!("{place}.id: {id:?} does not match ^[a-zA-Z0-9_-]+$"));
                }
                if !used.insert(id) {
                    return Err(format!("{place}.id: tool_use ids must be unique, not {id:?}"));
                }
                tool_name(text(block, "name"), &place)?;
                if !block.get("input").is_some_and(Value::is_object) {
                    return Err(format!("{place}.input: expected an object"));
                }
                open.insert(id);
            }
            "thinking" => check_thought(block, &place)?,
            "redacted_thinking" if text(block, "data").is_empty() => {
                return Err(format!("{place}.data: field required"));
            }
            "redacted_thinking" => {}
            "text" => check_text(block, &place)?,
            kind => return Err(format!("{place}.type: {kind:?} is not valid for an assistant")),
        }
    }
    let last = blocks.last().map(|block| text(block, "type"));
    if last.is_some_and(|kind| kind.ends_with("thinking")) {
        return Err(format!("messages.{n}: the final block of a reply cannot be a thought"));
    }
    Ok(open)
}

fn check_thought(block: &Value, place: &str) -> Result<(), String> {
    if !block.get("thinking").is_some_and(Value::is_string) {
        return Err(format!("{place}.thinking: field required"));
    }
    let signature = text(block, "signature");
    if signature.is_empty() {
        return Err(format!("{place}.signature: field required"));
    }
    if signature.starts_with(SEAL_PREFIX) && signature != seal(text(block, "thinking")) {
        return Err(format!("{place}: invalid signature; the thought is not the one it seals"));
    }
    Ok(())
}

fn check_text(block: &Value, place: &str) -> Result<(), String> {
    if text(block, "text").trim().is_empty() {
        return Err(format!("{place}: text content blocks must be non-empty"));
    }
    Ok(())
}

fn check_image(block: &Value, place: &str) -> Result<(), String> {
    let source = block.get("source").ok_or(format!("{place}.source: field required"))?;
    let kinds = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    match text(source, "type") {
        "base64" if !kinds.contains(&text(source, "media_type")) => {
            Err(format!("{place}.source.media_type: expected one of {kinds:?}"))
        }
        "base64" if text(source, "data").is_empty() => {
            Err(format!("{place}.source.data: field required"))
        }
        "base64" | "url" | "file" => Ok(()),
        kind => Err(format!("{place}.source.type: {kind:?} is not valid")),
    }
}

fn check_breakpoints(body: &Fields) -> Result<(), String> {
    let tools = items(body.get("tools")).iter();
    let system = items(body.get("system")).iter();
    let messages = items(body.get("messages")).iter();
    let blocks = messages.flat_map(|message| items(message.get("content")));
    let inner = blocks.clone().flat_map(|block| items(block.get("content")));
    let mut marks = usize::from(given(body, "cache_control").is_some());
    for block in tools.chain(system).chain(blocks).chain(inner) {
        let Some(mark) = block.get("cache_control").filter(|mark| !mark.is_null()) else {
            continue;
        };
        if text(block, "type").ends_with("thinking") {
            return Err("cache_control: not allowed on a thought".to_owned());
        }
        if text(mark, "type") != "ephemeral" {
            return Err(format!("cache_control.type: expected \"ephemeral\", not {mark}"));
        }
        marks += 1;
    }
    if marks > BREAKPOINTS {
        return Err(format!("cache_control: at most {BREAKPOINTS} blocks, found {marks}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::WireName;
    use serde_json::json;

    fn check(body: &Value) -> Result<(), String> {
        crate::validate::check(WireName::Anthropic, body)
    }

    fn with(field: &str, value: Value) -> Value {
        let tool = json!({"name": "x", "input_schema": {"type": "object"}});
        let mut body =
            json!({"model": "m", "max_tokens": 4096, "tools": [tool], "messages": [user()]});
        body[field] = value;
        body
    }

    fn refused(body: &Value, part: &str) {
        let wrong = check(body).expect_err(part);
        assert!(wrong.contains(part), "{wrong:?} does not say {part:?}");
    }

    fn refused_talk(messages: Value, part: &str) {
        refused(&with("messages", messages), part);
    }

    fn user() -> Value {
        json!({"role": "user", "content": "hi"})
    }

    fn says(content: Value) -> Value {
        json!({"role": "assistant", "content": content})
    }

    fn told(content: Value) -> Value {
        json!({"role": "user", "content": content})
    }

    fn calling(ids: &[&str]) -> Value {
        let calls =
            ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "x", "input": {}}));
        says(calls.collect())
    }

    fn result(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
    }

    fn said(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn a_rich_request_is_taken() {
        let mark = json!({"type": "ephemeral"});
        let picture = json!({"type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
        let body = json!({"model": "m", "max_tokens": 4096, "stream": true,
            "thinking": {"type": "enabled", "budget_tokens": 1024}, "temperature": 1,
            "system": [{"type": "text", "text": "You are x", "cache_control": mark}],
            "tools": [{"name": "x", "description": "d", "input_schema": {"type": "object"},
                "cache_control": mark}],
            "messages": [user(), says(json!([
                {"type": "thinking", "thinking": "hm", "signature": seal("hm")},
                {"type": "thinking", "thinking": "", "signature": "opaque"},
                {"type": "redacted_thinking", "data": "XX"}, said("ok"),
                {"type": "tool_use", "id": "a", "name": "x", "input": {}},
                {"type": "tool_use", "id": "b", "name": "x", "input": {"y": 1}},
            ])), told(json!([
                {"type": "tool_result", "tool_use_id": "b", "content": [said("1"), picture]},
                {"type": "tool_result", "tool_use_id": "a"}, said("and"), picture,
                {"type": "text", "text": "more", "cache_control": mark},
            ])), says(json!("ok")), user()]});
        assert_eq!(check(&body), Ok(()));
    }

    #[test]
    fn every_call_is_answered_once_in_the_very_next_message() {
        let answered = |blocks: Value| json!([user(), calling(&["a", "b"]), told(blocks)]);
        assert_eq!(check(&with("messages", answered(json!([result("b"), result("a")])))), Ok(()));
        refused_talk(answered(json!([result("a")])), "immediately after: [\"b\"]");
        refused_talk(answered(json!([said("hi")])), "immediately after: [\"a\", \"b\"]");
        refused_talk(answered(json!("hi")), "immediately after");
        let twice = json!([result("a"), result("a"), result("b")]);
        refused_talk(answered(twice), "multiple tool_result blocks with id \"a\"");
        let late = json!([said("first"), result("a"), result("b")]);
        refused_talk(answered(late), "tool_result blocks come first");
        let orphan = json!([result("a"), result("b"), result("c")]);
        refused_talk(answered(orphan), "unexpected tool_use_id \"c\"");
        let long_ago = json!([
            user(),
            calling(&["a"]),
            told(json!([result("a")])),
            says(json!("x")),
            told(json!([result("a")]))
        ]);
        refused_talk(long_ago, "unexpected tool_use_id \"a\"");
        refused_talk(json!([user(), calling(&["a"])]), "must end with a user message");
    }

    #[test]
    fn calls_are_well_formed_and_their_ids_unique() {
        let again = json!([
            user(),
            calling(&["a"]),
            told(json!([result("a")])),
            calling(&["a"]),
            told(json!([result("a")]))
        ]);
        refused_talk(again, "ids must be unique, not \"a\"");
        let broken = |field: &str, value: Value| {
            let mut reply = calling(&["a"]);
            reply["content"][0][field] = value;
            json!([user(), reply, told(json!([result("a")]))])
        };
        refused_talk(broken("id", json!("a b")), "does not match ^[a-zA-Z0-9_-]+$");
        refused_talk(broken("name", json!("a.b")), "the name \"a.b\"");
        refused_talk(broken("input", json!("{}")), "input: expected an object");
        let failed = |result: Value| json!([user(), calling(&["a"]), told(json!([result]))]);
        let mut empty = result("a");
        empty["content"] = json!([]);
        assert_eq!(check(&with("messages", failed(empty.clone()))), Ok(()));
        empty["is_error"] = json!(true);
        refused_talk(failed(empty.clone()), "cannot be empty if is_error");
        empty["content"] = json!([said("")]);
        refused_talk(failed(empty), "text content blocks must be non-empty");
        let mut body = with("messages", failed(result("a")));
        body["tools"] = json!(null);
        refused(&body, "must define tools");
    }

    #[test]
    fn roles_alternate_from_user_to_user() {
        refused_talk(json!([]), "messages: it must not be empty");
        refused_talk(json!([says(json!("x"))]), "expected user");
        refused_talk(json!([user(), user()]), "expected assistant");
        refused_talk(json!([{"role": "system", "content": "x"}]), "\"system\"; roles alternate");
        refused_talk(json!([user(), says(json!("x"))]), "must end with a user message");
        let mut named = user();
        named["name"] = json!("x");
        refused_talk(json!([named]), "messages.0.name: extra inputs");
    }

    #[test]
    fn nothing_is_empty_that_must_not_be() {
        for empty in [json!(""), json!(" \n"), json!([]), json!(null)] {
            refused_talk(json!([told(empty)]), "content must not be empty");
        }
        for blank in ["", " \n"] {
            refused_talk(json!([told(json!([said(blank)]))]), "must be non-empty");
            refused_talk(json!([user(), says(json!([said(blank)])), user()]), "must be non-empty");
        }
        refused(&with("system", json!([said("")])), "system.0: text content blocks");
        refused_talk(json!([told(json!([{"type": "tool_use"}]))]), "not valid for a user");
        refused_talk(json!([user(), says(json!([{"type": "image"}])), user()]), "an assistant");
    }

    #[test]
    fn a_thought_goes_back_sealed_unchanged_and_not_last() {
        let thought = |thought: Value| json!([user(), says(json!([thought, said("x")])), user()]);
        let sealed =
            |text: &str| json!({"type": "thinking", "thinking": text, "signature": seal("hm")});
        assert_eq!(check(&with("messages", thought(sealed("hm")))), Ok(()));
        refused_talk(thought(sealed("hm!")), "not the one it seals");
        refused_talk(thought(json!({"type": "thinking", "thinking": "hm"})), "signature: field");
        refused_talk(thought(json!({"type": "thinking", "signature": "s"})), "thinking: field");
        refused_talk(thought(json!({"type": "redacted_thinking"})), "data: field required");
        let last = json!([user(), says(json!([said("x"), sealed("hm")])), user()]);
        refused_talk(last, "cannot be a thought");
    }

    #[test]
    fn thinking_has_room_and_is_not_forced() {
        let thinking = |more: &[(&str, Value)]| {
            let mut body = with("thinking", json!({"type": "enabled", "budget_tokens": 2048}));
            more.iter().for_each(|(field, value)| body[*field] = value.clone());
            body
        };
        assert_eq!(check(&thinking(&[])), Ok(()));
        refused(&thinking(&[("max_tokens", json!(2048))]), "greater than thinking.budget_tokens");
        refused(&thinking(&[("temperature", json!(0.5))]), "temperature: must be 1");
        refused(&thinking(&[("top_k", json!(5))]), "top_k");
        refused(&thinking(&[("tool_choice", json!({"type": "any"}))]), "must not force");
        let small = json!({"type": "enabled", "budget_tokens": 1000});
        refused(&with("thinking", small), "at least 1024");
    }

    #[test]
    fn fields_are_known_and_in_their_bounds() {
        let mut none = with("model", json!("m"));
        none.as_object_mut().unwrap().remove("max_tokens");
        refused(&none, "max_tokens: field required");
        refused(&with("max_tokens", json!(0)), "max_tokens: expected a whole number");
        refused(&with("temperature", json!(1.1)), "temperature: expected a number from 0 to 1");
        refused(&with("stream_options", json!({})), "stream_options: extra inputs");
        refused(&with("system", json!(7)), "system: expected a string or a list");
        let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
        refused(&with("tools", json!([tool("x"), tool("x")])), "not unique");
        refused(&with("tools", json!([tool("")])), "does not match");
        refused(&with("tools", json!([{"name": "x"}])), "input_schema: field required");
        refused(&with("tool_choice", json!({"type": "tool", "name": "y"})), "tool_choice");
        let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
        refused_talk(json!([told(json!(vec![marked; 5]))]), "at most 4 blocks, found 5");
        let image = |source: Value| json!([told(json!([{"type": "image", "source": source}]))]);
        let kind = json!({"type": "base64", "media_type": "image/bmp", "data": "A"});
        refused_talk(image(kind), "media_type");
    }
}
