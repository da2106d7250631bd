//! What a scripted model takes from what it was told: a value that only the run knows, such as the
//! revision to wait from. In a script it stands as `{"recall": "revision"}` among a call's arguments.

use crate::script::Step;
use serde_json::Value;

/// Replaces what is to be recalled by the value that the newest tool result gives the field; an
/// argument about which nothing was told is left out, as a model would.
pub(crate) fn recalled(mut step: Step, request: &Value) -> Step {
    for call in &mut step.calls {
        let Some(arguments) = call.arguments.as_object_mut() else { continue };
        let wanted: Vec<(String, String)> = arguments
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), field(value)?.to_owned())))
            .collect();
        for (name, field) in wanted {
            match request
                .get("messages")
                .or(request.get("input"))
                .and_then(|messages| newest(messages, &field))
            {
                Some(value) => drop(arguments.insert(name, value)),
                None => drop(arguments.remove(&name)),
            }
        }
    }
    step
}

/// The field that an argument recalls.
fn field(argument: &Value) -> Option<&str> {
    let object = argument.as_object().filter(|object| object.len() == 1)?;
    object.get("recall")?.as_str()
}

/// The value of a field in the last text that is a JSON object with it.
fn newest(value: &Value, field: &str) -> Option<Value> {
    match value {
        Value::String(text) if text.starts_with('{') => {
            let told: Value = serde_json::from_str(text).ok()?;
            told.get(field).cloned()
        }
        Value::Array(items) => items.iter().rev().find_map(|item| newest(item, field)),
        Value::Object(fields) => {
            // What the model called with itself is no news to it.
            let told = fields
                .iter()
                .filter(|(name, _)| !["tool_calls", "input", "arguments"].contains(&name.as_str()));
            told.filter_map(|(_, value)| newest(value, field)).next_back()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn since(messages: &Value) -> Value {
        let step = Step::call("wait_agent", json!({"since": {"recall": "revision"}, "n": 1}));
        recalled(step, &json!({"messages": messages})).calls.remove(0).arguments
    }

    #[test]
    fn the_newest_result_that_has_the_field_is_recalled_on_both_wires() {
        let chat = json!([
            {"role": "user", "content": "{\"revision\":1}"},
            {"role": "tool", "content": "{\"revision\":7,\"agents\":[]}"},
            {"role": "assistant", "tool_calls": [{"function": {"arguments": "{\"revision\":9}"}}]},
            {"role": "tool", "content": "outcome unknown"},
        ]);
        assert_eq!(since(&chat), json!({"since": 7, "n": 1}));
        let messages = json!([{"role": "user", "content": [
            {"type": "tool_result", "content": [{"type": "text", "text": "{\"revision\":8}"}]},
            {"type": "tool_result", "content": "{\"task\":{}}"},
        ]}]);
        assert_eq!(since(&messages), json!({"since": 8, "n": 1}));
    }

    #[test]
    fn an_argument_about_which_nothing_was_told_is_left_out() {
        assert_eq!(since(&json!([{"role": "user", "content": "hello"}])), json!({"n": 1}));
    }
}
