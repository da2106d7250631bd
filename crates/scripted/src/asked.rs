//! What the server understands of a request, the same for both wires.

use serde_json::Value;

/// A wire's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WireName {
    /// Chat completions.
    OpenaiChat,
    /// Anthropic messages.
    Anthropic,
}

/// A request, as far as a script needs it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) system: String,
    pub(crate) replies: usize,
    pub(crate) stream: bool,
    pub(crate) model: String,
}

impl Asked {
    pub(crate) fn read(wire: WireName, body: &Value) -> Self {
        let messages = body.get("messages").and_then(Value::as_array);
        let messages = messages.map(Vec::as_slice).unwrap_or_default();
        let role = |message: &Value, wanted: &str| {
            message.get("role").and_then(Value::as_str) == Some(wanted)
        };
        let system = match wire {
            WireName::Anthropic => body.get("system").map(text_of).unwrap_or_default(),
            WireName::OpenaiChat => messages
                .iter()
                .filter(|message| role(message, "system") || role(message, "developer"))
                .filter_map(|message| message.get("content"))
                .map(text_of)
                .collect(),
        };
        Self {
            system,
            replies: messages.iter().filter(|message| role(message, "assistant")).count(),
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            model: body.get("model").and_then(Value::as_str).unwrap_or("none").to_owned(),
        }
    }
}

/// The text of a content that is a string or a list of parts.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

/// Tokens, roughly, as providers count them.
pub(crate) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// A call's arguments as text: a string goes out as it is.
pub(crate) fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_owned(),
        value => value.to_string(),
    }
}

/// A text in pieces of about `most` bytes, never inside a character.
pub(crate) fn pieces(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = (most.min(rest.len())..=rest.len())
            .find(|end| rest.is_char_boundary(*end))
            .unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        pieces.push(head);
        rest = tail;
    }
    pieces
}
