//! What chat completions and the servers compatible with it refuse.

use super::{Fields, count, flag, given, list, number, only_known, tool, tool_name};
use crate::asked::{items, text, text_of};
use serde_json::Value;
use std::collections::BTreeSet;

/// The fields of the reference, and those that compatible servers take.
const KNOWN: &[&str] = &[
    "audio",
    "cache_prompt",
    "chat_template_kwargs",
    "enable_thinking",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "min_p",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "provider",
    "reasoning",
    "reasoning_effort",
    "repetition_penalty",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];
/// Characters of a call's id.
const CALL_ID_CHARS: usize = 40;
/// Tools of one request.
const TOOLS: usize = 128;

pub(super) fn check(body: &Fields) -> Result<(), String> {
    only_known(body, KNOWN)?;
    number(body, "temperature", 0.0, 2.0)?;
    number(body, "top_p", 0.0, 1.0)?;
    number(body, "presence_penalty", -2.0, 2.0)?;
    number(body, "frequency_penalty", -2.0, 2.0)?;
    for name in ["max_tokens", "max_completion_tokens", "n"] {
        count(body, name)?;
    }
    if given(body, "max_tokens").is_some() && given(body, "max_completion_tokens").is_some() {
        return Err("max_tokens: not together with max_completion_tokens".to_owned());
    }
    for name in ["stream", "parallel_tool_calls"] {
        flag(body, name)?;
    }
    if given(body, "reasoning_effort").is_some_and(|effort| !effort.is_string()) {
        return Err("reasoning_effort: expected a string".to_owned());
    }
    check_stream_options(body)?;
    check_tools(body)?;
    let messages = list(body.get("messages"), "messages")?;
    check_messages(messages)
}

fn check_stream_options(body: &Fields) -> Result<(), String> {
    let Some(options) = given(body, "stream_options") else { return Ok(()) };
    if body.get("stream").and_then(Value::as_bool) != Some(true) {
        return Err("stream_options: only allowed when stream is true".to_owned());
    }
    let options = options.as_object().ok_or("stream_options: expected an object")?;
    only_known(options, &["include_usage", "include_obfuscation"])
        .map_err(|wrong| format!("stream_options.{wrong}"))?;
    flag(options, "include_usage").map_err(|wrong| format!("stream_options.{wrong}"))
}

fn check_tools(body: &Fields) -> Result<(), String> {
    let Some(tools) = given(body, "tools") else {
        let without = ["tool_choice", "parallel_tool_calls"];
        return match without.iter().find(|name| given(body, name).is_some()) {
            Some(name) => Err(format!("{name}: only allowed when tools are specified")),
            None => Ok(()),
        };
    };
    let tools = list(Some(tools), "tools")?;
    if tools.len() > TOOLS {
        return Err(format!("tools: at most {TOOLS}, not {}", tools.len()));
    }
    let mut names = BTreeSet::new();
    for (each, n) in tools.iter().zip(0_usize..) {
        if text(each, "type") != "function" {
            return Err(format!("tools[{n}].type: expected \"function\""));
        }
        let function =
            each.get("function").ok_or(format!("tools[{n}].function: field required"))?;
        if function.get("parameters").is_some() {
            tool(function, "parameters", &format!("tools[{n}].function"), &mut names)?;
        } else {
            tool_name(text(function, "name"), &format!("tools[{n}].function"))?;
        }
    }
    match given(body, "tool_choice") {
        None => Ok(()),
        Some(Value::String(choice)) if ["none", "auto", "required"].contains(&choice.as_str()) => {
            Ok(())
        }
        Some(choice) => match choice.get("function").map(|function| text(function, "name")) {
            Some(name) if names.contains(name) => Ok(()),
            _ => Err(format!("tool_choice: {choice} is not valid")),
        },
    }
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut answered: BTreeSet<&str> = BTreeSet::new();
    let mut begun = false;
    for (message, n) in messages.iter().zip(0_usize..) {
        let role = text(message, "role");
        if role != "tool" && !open.is_empty() {
            return Err(format!(
                "messages[{n}]: an assistant message with tool_calls must be followed by tool \
                 messages for each of them; no response to {open:?}"
            ));
        }
        match role {
            "system" | "developer" if begun => {
                return Err(format!("messages[{n}].role: {role} must be at the beginning"));
            }
            "system" | "developer" => check_content(message, n, &["text"])?,
            "user" => {
                let parts = ["text", "image_url", "input_audio", "file"];
                check_content(message, n, &parts)?;
            }
            "assistant" => {
                open = check_reply(message, n)?;
                answered.clear();
            }
            "tool" => {
                let id = text(message, "tool_call_id");
                if answered.contains(id) {
                    return Err(format!(
                        "messages[{n}]: the tool call {id:?} has a result already"
                    ));
                }
                if !open.remove(id) {
                    return Err(format!("messages[{n}]: no tool call {id:?} before this result"));
                }
                answered.insert(id);
                check_content(message, n, &["text"])?;
            }
            role => return Err(format!("messages[{n}].role: {role:?} is not valid")),
        }
        begun = begun || !["system", "developer"].contains(&role);
    }
    if !begun {
        return Err("messages: there is nothing but the system's".to_owned());
    }
    if open.is_empty() { Ok(()) } else { Err(format!("tool calls without a response: {open:?}")) }
}

fn check_content(message: &Value, n: usize, parts: &[&str]) -> Result<(), String> {
    let content = message.get("content");
    if content.is_some_and(Value::is_string) {
        return Ok(());
    }
    let place = format!("messages[{n}].content");
    let list = list(content, &place)?;
    for (part, k) in list.iter().zip(0_usize..) {
        let kind = text(part, "type");
        if !parts.contains(&kind) {
            return Err(format!("{place}[{k}].type: {kind:?} is not valid here"));
        }
        let whole = match kind {
            "text" => part.get("text").is_some_and(Value::is_string),
            "image_url" => {
                part.get("image_url").is_some_and(|image| !text(image, "url").is_empty())
            }
            _ => part.get(kind).is_some_and(Value::is_object),
        };
        if !whole {
            return Err(format!("{place}[{k}].{kind}: field required"));
        }
    }
    Ok(())
}

/// Checks a reply, and returns the calls that it leaves to be answered.
fn check_reply(message: &Value, n: usize) -> Result<BTreeSet<&str>, String> {
    let mut open = BTreeSet::new();
    let content = message.get("content").filter(|content| !content.is_null());
    let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
    if let Some(content) = content {
        check_content(message, n, &["text", "refusal"])?;
        if calls.is_none() && text_of(content).is_empty() {
            return Err(format!("messages[{n}]: content or tool_calls must be set"));
        }
    } else if calls.is_none() {
        return Err(format!("messages[{n}]: content or tool_calls must be set"));
    }
    if message.get("reasoning_content").is_some_and(|thought| !thought.is_string()) {
        return Err(format!("messages[{n}].reasoning_content: expected a string"));
    }
    if calls.is_some() {
        list(calls, &format!("messages[{n}].tool_calls"))?;
    }
    for (call, k) in items(calls).iter().zip(0_usize..) {
        let place = format!("messages[{n}].tool_calls[{k}]");
        let id = text(call, "id");
        if id.is_empty() || id.chars().count() > CALL_ID_CHARS {
            return Err(format!(
                "{place}.id: expected 1 to {CALL_ID_CHARS} characters, not {id:?}"
            ));
        }
        if !open.insert(id) {
            return Err(format!("{place}.id: duplicate tool call id {id:?}"));
        }
        if text(call, "type") != "function" {
            return Err(format!("{place}.type: expected \"function\""));
        }
        let function = call.get("function").ok_or(format!("{place}.function: field required"))?;
        tool_name(text(function, "name"), &place)?;
        // Compatible servers parse them, and fail the whole request.
        let arguments: Option<Value> = serde_json::from_str(text(function, "arguments")).ok();
        if !arguments.is_some_and(|arguments| arguments.is_object()) {
            return Err(format!("{place}.function.arguments: not the JSON text of an object"));
        }
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use crate::asked::WireName;
    use serde_json::{Value, json};

    fn check(body: &Value) -> Result<(), String> {
        crate::validate::check(WireName::OpenaiChat, body)
    }

    fn with(field: &str, value: Value) -> Value {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        body[field] = value;
        body
    }

    fn talk(messages: Value) -> Result<(), String> {
        check(&with("messages", messages))
    }

    fn refused(body: &Value, part: &str) {
        let wrong = check(body).expect_err(part);
        assert!(wrong.contains(part), "{wrong:?} does not say {part:?}");
    }

    fn refused_talk(messages: Value, part: &str) {
        refused(&with("messages", messages), part);
    }

    fn calling(ids: &[&str]) -> Value {
        let calls = ids.iter().map(|id| {
            json!({"id": id, "type": "function", "function": {"name": "x", "arguments": "{}"}})
        });
        json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": ""})
    }

    fn user() -> Value {
        json!({"role": "user", "content": "hi"})
    }

    #[test]
    fn a_rich_request_is_taken() {
        let tool = json!({"type": "function", "function": {"name": "x", "description": "d",
            "parameters": {"type": "object"}}});
        let body = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
            "max_completion_tokens": 9, "temperature": 1, "reasoning_effort": "high",
            "tools": [tool], "tool_choice": "auto", "parallel_tool_calls": true, "messages": [
            {"role": "system", "content": "You are x"},
            {"role": "user", "content": [{"type": "text", "text": ""},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
            calling(&["a", "b"]), result("b"), result("a"),
            {"role": "user", "content": "and"}, {"role": "user", "content": "more"},
            {"role": "assistant", "content": "ok", "reasoning_content": "hm"}, user(),
            calling(&["a"]), result("a"),
        ]});
        assert_eq!(check(&body), Ok(()));
    }

    #[test]
    fn every_call_is_answered_once_right_after_its_reply() {
        refused_talk(json!([user(), calling(&["a"])]), "without a response: {\"a\"}");
        refused_talk(json!([user(), calling(&["a", "b"]), result("a")]), "response: {\"b\"}");
        refused_talk(json!([user(), calling(&["a"]), user(), result("a")]), "messages[2]");
        let other = json!({"role": "assistant", "content": "x"});
        refused_talk(json!([user(), calling(&["a"]), other]), "no response to {\"a\"}");
        let twice = json!([user(), calling(&["a"]), result("a"), result("a")]);
        refused_talk(twice, "\"a\" has a result already");
        refused_talk(json!([user(), result("a")]), "no tool call \"a\"");
        let late = json!([user(), calling(&["a"]), result("a"), user(), result("a")]);
        refused_talk(late, "messages[4]");
        refused_talk(json!([user(), calling(&["a", "a"])]), "duplicate tool call id");
    }

    #[test]
    fn calls_are_well_formed() {
        let broken = |change: fn(&mut Value)| {
            let mut reply = calling(&["a"]);
            change(&mut reply["tool_calls"][0]);
            json!([user(), reply, result("a")])
        };
        refused_talk(broken(|call| call["id"] = json!("")), "tool_calls[0].id");
        refused_talk(broken(|call| call["id"] = json!("x".repeat(41))), "1 to 40 characters");
        refused_talk(broken(|call| call["type"] = json!("tool")), "tool_calls[0].type");
        refused_talk(broken(|call| call["function"]["name"] = json!("a b")), "the name \"a b\"");
        for arguments in ["{", "[]", "", "7"] {
            let mut reply = calling(&["a"]);
            reply["tool_calls"][0]["function"]["arguments"] = json!(arguments);
            refused_talk(json!([user(), reply, result("a")]), "JSON text of an object");
        }
        let none = json!({"role": "assistant", "content": "x", "tool_calls": []});
        refused_talk(json!([user(), none]), "tool_calls: it must not be empty");
    }

    #[test]
    fn roles_and_contents_are_legal() {
        refused_talk(json!([]), "messages: it must not be empty");
        refused_talk(json!([{"role": "system", "content": "x"}]), "nothing but the system's");
        refused_talk(json!([user(), {"role": "system", "content": "x"}]), "at the beginning");
        refused_talk(json!([{"role": "robot", "content": "x"}]), "\"robot\" is not valid");
        refused_talk(json!([{"role": "user"}]), "messages[0].content");
        refused_talk(json!([{"role": "user", "content": null}]), "messages[0].content");
        refused_talk(json!([{"role": "user", "content": []}]), "must not be empty");
        refused_talk(
            json!([{"role": "user", "content": [{"type": "text"}]}]),
            "text: field required",
        );
        let video = json!([{"type": "video"}]);
        refused_talk(json!([{"role": "user", "content": video}]), "\"video\" is not valid here");
        for empty in [json!({"role": "assistant"}), json!({"role": "assistant", "content": ""})] {
            refused_talk(json!([user(), empty]), "content or tool_calls must be set");
        }
        let mut picture = result("a");
        picture["content"] = json!([{"type": "image_url", "image_url": {"url": "x"}}]);
        refused_talk(json!([user(), calling(&["a"]), picture]), "\"image_url\" is not valid here");
        assert_eq!(talk(json!([{"role": "developer", "content": "x"}, user()])), Ok(()));
    }

    #[test]
    fn fields_are_known_and_in_their_bounds() {
        refused(&json!({"messages": [user()]}), "model: field required");
        refused(&json!([]), "expected an object");
        refused(&with("max_output", json!(1)), "max_output: extra inputs");
        refused(&with("temperature", json!(2.1)), "temperature");
        refused(&with("max_tokens", json!(0)), "max_tokens");
        refused(&with("stream", json!("yes")), "stream: expected a boolean");
        refused(&with("stream_options", json!({})), "only allowed when stream is true");
        let mut both = with("max_tokens", json!(1));
        both["max_completion_tokens"] = json!(1);
        refused(&both, "not together");
        let mut options = with("stream", json!(true));
        options["stream_options"] = json!({"usage": true});
        refused(&options, "stream_options.usage");
    }

    #[test]
    fn tools_are_named_well_and_once() {
        let tool = |name: &str| {
            json!({"type": "function",
            "function": {"name": name, "parameters": {"type": "object"}}})
        };
        refused(&with("tools", json!([])), "tools: it must not be empty");
        refused(&with("tools", json!([tool("a.b")])), "the name \"a.b\" does not match");
        refused(&with("tools", json!([tool(&"a".repeat(65))])), "does not match");
        refused(&with("tools", json!([tool("a"), tool("a")])), "not unique");
        let mut schema = tool("a");
        schema["function"]["parameters"] = json!({"type": "string"});
        refused(&with("tools", json!([schema])), "not of type object");
        refused(&with("tools", json!([{"name": "a"}])), "tools[0].type");
        refused(&with("tool_choice", json!("auto")), "only allowed when tools are specified");
        let mut choice = with("tools", json!([tool("a")]));
        choice["tool_choice"] = json!({"type": "function", "function": {"name": "b"}});
        refused(&choice, "tool_choice");
    }
}
