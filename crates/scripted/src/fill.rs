//! Fills in what only the run knows: `{{result.<tool>.<n>.<path>}}` and `{{message.<n>.<field>}}` become
//! what the request tells. The request alone decides, so the same request is filled alike for ever.

use crate::asked::{Asked, Turn};
use crate::script::Step;
use serde_json::Value;

/// Says what a script wants that the request does not tell.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script wants {{{{{placeholder}}}}}, but {why}")]
pub(crate) struct Untold {
    placeholder: String,
    why: String,
}

/// Fills in a step's texts and arguments.
pub(crate) fn filled(mut step: Step, asked: &Asked) -> Result<Step, Untold> {
    step.text = text(&step.text, asked)?;
    step.reasoning = text(&step.reasoning, asked)?;
    for call in &mut step.calls {
        fill(&mut call.arguments, asked)?;
    }
    Ok(step)
}

/// A string that is one placeholder becomes its value; in a longer text its text is put in.
fn fill(value: &mut Value, asked: &Asked) -> Result<(), Untold> {
    match value {
        Value::String(said) => {
            let inner = said.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
            match inner {
                Some(inner) if is_ours(inner) && !inner.contains("}}") => {
                    *value = look_up(inner, asked)?;
                }
                _ => *said = text(said, asked)?,
            }
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill(item, asked))?,
        Value::Object(fields) => fields.values_mut().try_for_each(|item| fill(item, asked))?,
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn text(said: &str, asked: &Asked) -> Result<String, Untold> {
    let mut filled = String::with_capacity(said.len());
    let mut rest = said;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        match after.split_once("}}") {
            Some((inner, after)) if is_ours(inner) => {
                match look_up(inner, asked)? {
                    Value::String(text) => filled.push_str(&text),
                    value => filled.push_str(&value.to_string()),
                }
                rest = after;
            }
            // Braces of other languages are left alone.
            _ => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_ours(inner: &str) -> bool {
    inner.starts_with("result.") || inner.starts_with("message.")
}

fn look_up(inner: &str, asked: &Asked) -> Result<Value, Untold> {
    let mut parts = inner.split('.');
    let kind = parts.next().unwrap_or_default();
    let found = if kind == "result" { result(parts, asked) } else { message(parts, asked) };
    found.map_err(|why| Untold { placeholder: inner.to_owned(), why })
}

fn result<'a>(mut parts: impl Iterator<Item = &'a str>, asked: &Asked) -> Result<Value, String> {
    let (tool, n) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let results = asked.turns.iter().filter_map(|turn| match turn {
        Turn::Result { tool: name, text } if name == tool => Some(text.as_str()),
        Turn::Result { .. } | Turn::Told(_) | Turn::Replied => None,
    });
    let text = nth(results.collect(), n)
        .map_err(|count| format!("the request has {count} results of {tool}"))?;
    let mut path = parts.peekable();
    if path.peek().is_none() {
        return Ok(Value::from(text));
    }
    let whole: Value = serde_json::from_str(text)
        .map_err(|_| format!("result {n} of {tool} is not JSON: {}", excerpt(text)))?;
    let mut value = &whole;
    for part in path {
        let inside = match value {
            Value::Array(items) => part.parse().ok().and_then(|n: usize| items.get(n)),
            value => value.get(part),
        };
        value = inside.ok_or_else(|| format!("there is no {part:?} in {}", excerpt(text)))?;
    }
    Ok(value.clone())
}

fn message<'a>(mut parts: impl Iterator<Item = &'a str>, asked: &Asked) -> Result<Value, String> {
    let (n, field) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let messages = asked.turns.iter().filter_map(|turn| match turn {
        Turn::Told(text) => Message::read(text),
        Turn::Result { .. } | Turn::Replied => None,
    });
    let message = nth(messages.collect(), n)
        .map_err(|count| format!("the request has {count} messages of members"))?;
    match field {
        "id" => Ok(message.id.into()),
        "from" => Ok(message.from.into()),
        "text" => Ok(message.text.into()),
        field => Err(format!("a message has id, from and text, no {field:?}")),
    }
}

/// A member's message as a model sees it: `[message <id> from <name>]`, and the text.
struct Message<'a> {
    id: &'a str,
    from: &'a str,
    text: &'a str,
}

impl<'a> Message<'a> {
    fn read(told: &'a str) -> Option<Self> {
        let (frame, text) = told.strip_prefix("[message ")?.split_once(']')?;
        let (id, from) = frame.split_once(" from ")?;
        Some(Self { id, from, text: text.trim_start() })
    }
}

/// The `n`th, from 0, or the last; or how many there are.
fn nth<T>(mut all: Vec<T>, n: &str) -> Result<T, usize> {
    let count = all.len();
    let n = if n == "last" { count.checked_sub(1) } else { n.parse().ok() };
    n.filter(|n| *n < count).map(|n| all.swap_remove(n)).ok_or(count)
}

fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::WireName;
    use serde_json::json;

    fn chat() -> Asked {
        let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
        let body = json!({"model": "m", "messages": [
            {"role": "user", "content": "[message m1 from lead]\nfirst"},
            {"role": "assistant", "tool_calls": [call("a", "create"), call("b", "create")]},
            {"role": "tool", "tool_call_id": "b", "content": "{\"task\":{\"id\":\"t2\",\"revision\":7}}"},
            {"role": "tool", "tool_call_id": "a", "content": "not JSON"},
            {"role": "user", "content": [
                {"type": "text", "text": "[message m4 from worker-a]\nsecond"},
                {"type": "text", "text": "no message"},
            ]},
        ]});
        Asked::read(WireName::OpenaiChat, &body)
    }

    fn anthropic() -> Asked {
        let body = json!({"model": "m", "messages": [
            {"role": "user", "content": "[message m1 from lead]\nfirst"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "create", "input": {}},
                {"type": "tool_use", "id": "b", "name": "create", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "b",
                 "content": [{"type": "text", "text": "{\"task\":{\"id\":\"t2\",\"revision\":7}}"}]},
                {"type": "tool_result", "tool_use_id": "a", "content": "not JSON"},
                {"type": "text", "text": "[message m4 from worker-a]\nsecond"},
                {"type": "text", "text": "no message"},
            ]},
        ]});
        Asked::read(WireName::Anthropic, &body)
    }

    #[test]
    fn what_the_request_tells_is_filled_in_with_its_type_on_both_wires() {
        for asked in [chat(), anthropic()] {
            let step = Step::text("see {{message.0.id}} and {{message.last.text}}, {{x}} {{")
                .thinking("{{result.create.last}}")
                .and_call(
                    "update",
                    json!({"id": "{{result.create.0.task.id}}", "list": ["{{message.1.from}}"],
                        "expected_revision": "{{result.create.0.task.revision}}",
                        "note": "at {{result.create.0.task.revision}}"}),
                )
                .and_call("raw", json!("{\"id\": {{result.create.0.task.revision}"))
                .and_call("raw", json!("{\"id\": {{result.create.0.task.revision}}"));
            let filled = filled(step, &asked).unwrap();
            assert_eq!(filled.text, "see m1 and second, {{x}} {{");
            assert_eq!(filled.reasoning, "not JSON");
            let arguments: Vec<Value> = filled.calls.into_iter().map(|c| c.arguments).collect();
            let update =
                json!({"id": "t2", "list": ["worker-a"], "expected_revision": 7, "note": "at 7"});
            let raw = json!("{\"id\": {{result.create.0.task.revision}");
            assert_eq!(arguments, [update, raw, json!("{\"id\": 7")]);
        }
    }

    #[test]
    fn what_the_request_does_not_tell_is_named() {
        let why = |text: &str| filled(Step::text(text), &chat()).unwrap_err().to_string();
        assert_eq!(
            why("{{result.create.2.x}}"),
            "the script wants {{result.create.2.x}}, but the request has 2 results of create"
        );
        assert!(why("{{result.create.1.x}}").ends_with("result 1 of create is not JSON: not JSON"));
        assert!(why("{{result.create.0.task.no}}").contains("there is no \"no\" in {\"task\""));
        assert!(why("{{message.2.id}}").ends_with("the request has 2 messages of members"));
        assert!(
            why("{{message.0.size}}").ends_with("a message has id, from and text, no \"size\"")
        );
    }
}
