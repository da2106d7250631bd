//! What the server understands of a request, the same for both wires. It reads requests that were
//! checked before, and keeps nothing.

use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A wire's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WireName {
    /// Chat completions.
    OpenaiChat,
    /// OpenAI responses.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
}

/// What a client says when it wants a conversation summed up.
const WANTS_SUMMARY: &str = "its beginning is about to be replaced by a summary";
/// What stands around the number of replies in a summary, by which a script finds its place again.
pub(crate) const SUMMED_UP: (&str, &str) = ("[", " replies of the script were summed up]");

/// A request, as far as a script needs it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) system: String,
    pub(crate) stream: bool,
    /// Whether a chat stream tells what was used; the others always do.
    pub(crate) include_usage: bool,
    pub(crate) model: String,
    /// The conversation, from the oldest.
    pub(crate) turns: Vec<Turn>,
    /// The ids of all calls that were made.
    pub(crate) call_ids: BTreeSet<String>,
    /// What the model reads, in the order in which providers cache it.
    pub(crate) prompt: PromptBytes,
}

/// A part of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A user text.
    Told(String),
    /// A reply.
    Replied,
    /// What came of a call.
    Result { tool: String, text: String },
}

/// The bytes of a prompt, piece by piece, so that two prompts can be compared without being kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PromptBytes {
    pieces: Vec<(u64, usize)>,
    /// Bytes up to the last mark after which the client wants the prompt cached.
    pub(crate) marked: usize,
}

impl Asked {
    pub(crate) fn read(wire: WireName, body: &Value) -> Self {
        let messages = items(body.get("messages").or(body.get("input")));
        let system = match wire {
            WireName::Anthropic => body.get("system").map(text_of).unwrap_or_default(),
            WireName::OpenaiResponses => text(body, "instructions").to_owned(),
            WireName::OpenaiChat => messages
                .iter()
                .filter(|message| ["system", "developer"].contains(&text(message, "role")))
                .filter_map(|message| message.get("content"))
                .map(text_of)
                .collect(),
        };
        let mut conversation = Conversation::default();
        for message in messages {
            match wire {
                WireName::OpenaiChat => conversation.chat(message),
                WireName::OpenaiResponses => conversation.responses(message),
                WireName::Anthropic => conversation.anthropic(message),
            }
        }
        let options = body.get("stream_options");
        let include = options.and_then(|options| options.get("include_usage"));
        Self {
            system,
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            include_usage: include.and_then(Value::as_bool).unwrap_or(false),
            model: text(body, "model").to_owned(),
            turns: conversation.turns,
            call_ids: conversation.names.into_keys().collect(),
            prompt: PromptBytes::read(body),
        }
    }

    /// Whether some user text contains this.
    pub(crate) fn told(&self, part: &str) -> bool {
        self.turns.iter().any(|turn| matches!(turn, Turn::Told(text) if text.contains(part)))
    }

    /// How many replies the conversation holds, after the last user text that contains `from`.
    pub(crate) fn replies(&self, from: &str) -> usize {
        let counted = self.turns.iter().rev().take_while(|turn| {
            from.is_empty() || !matches!(turn, Turn::Told(text) if text.contains(from))
        });
        let counted = counted.map(|turn| match turn {
            Turn::Replied => 1,
            Turn::Told(text) => summed_up(text),
            Turn::Result { .. } => 0,
        });
        counted.sum()
    }

    /// Whether the last thing that was said asks for a summary of the conversation, which is no
    /// step of a script.
    pub(crate) fn wants_summary(&self) -> bool {
        matches!(self.turns.last(), Some(Turn::Told(text)) if text.contains(WANTS_SUMMARY))
    }
}

/// The replies that a summary of this server's stands for.
fn summed_up(text: &str) -> usize {
    let before = text.split_once(SUMMED_UP.1).map(|(before, _)| before);
    let count = before.and_then(|before| before.rsplit_once(SUMMED_UP.0));
    count.and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

#[derive(Default)]
struct Conversation {
    turns: Vec<Turn>,
    /// Which tool each call called.
    names: HashMap<String, String>,
    /// Whether the last item was part of a reply.
    replying: bool,
}

impl Conversation {
    fn chat(&mut self, message: &Value) {
        let content = message.get("content").unwrap_or(&Value::Null);
        match text(message, "role") {
            "user" => self.tell(content),
            "assistant" => {
                self.turns.push(Turn::Replied);
                for call in items(message.get("tool_calls")) {
                    let function = call.get("function").unwrap_or(call);
                    self.called(text(call, "id"), text(function, "name"));
                }
            }
            "tool" => self.result(text(message, "tool_call_id"), content),
            _ => {}
        }
    }

    fn anthropic(&mut self, message: &Value) {
        let content = message.get("content").unwrap_or(&Value::Null);
        if text(message, "role") == "assistant" {
            self.turns.push(Turn::Replied);
            for block in items(Some(content)).iter().filter(|b| text(b, "type") == "tool_use") {
                self.called(text(block, "id"), text(block, "name"));
            }
            return;
        }
        let results = items(Some(content)).iter().filter(|b| text(b, "type") == "tool_result");
        for block in results {
            let content = block.get("content").unwrap_or(&Value::Null);
            self.result(text(block, "tool_use_id"), content);
        }
        self.tell(content);
    }

    /// One item: those that stand together on the model's side are one reply.
    fn responses(&mut self, item: &Value) {
        let kind = text(item, "type");
        if kind == "function_call_output" {
            let output = item.get("output").unwrap_or(&Value::Null);
            self.replying = false;
            self.result(text(item, "call_id"), output);
            return;
        }
        if text(item, "role") == "user" {
            self.replying = false;
            self.tell(item.get("content").unwrap_or(&Value::Null));
            return;
        }
        if !std::mem::replace(&mut self.replying, true) {
            self.turns.push(Turn::Replied);
        }
        if kind == "function_call" {
            self.called(text(item, "call_id"), text(item, "name"));
        }
    }

    fn tell(&mut self, content: &Value) {
        if let Value::String(text) = content {
            self.turns.push(Turn::Told(text.clone()));
        }
        let texts = items(Some(content))
            .iter()
            .filter(|part| matches!(text(part, "type"), "text" | "input_text"));
        self.turns.extend(texts.map(|part| Turn::Told(text(part, "text").to_owned())));
    }

    fn called(&mut self, id: &str, name: &str) {
        self.names.insert(id.to_owned(), name.to_owned());
    }

    fn result(&mut self, id: &str, content: &Value) {
        let tool = self.names.get(id).cloned().unwrap_or_default();
        self.turns.push(Turn::Result { tool, text: text_of(content) });
    }
}

impl PromptBytes {
    fn read(body: &Value) -> Self {
        let mut prompt = Self::default();
        for tool in items(body.get("tools")) {
            prompt.add(tool);
        }
        match body.get("system").or(body.get("instructions")) {
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| prompt.add(block)),
            Some(text) => prompt.add(text),
            None => {}
        }
        for message in items(body.get("messages").or(body.get("input"))) {
            match message.get("content") {
                Some(Value::Array(blocks)) => blocks.iter().for_each(|block| prompt.add(block)),
                _ => prompt.add(message),
            }
        }
        if body.get("cache_control").is_some_and(|mark| !mark.is_null()) {
            prompt.marked = prompt.bytes();
        }
        prompt
    }

    fn add(&mut self, piece: &Value) {
        // A mark moves on from request to request and is not read by the model.
        let mark = piece.get("cache_control");
        let bytes = match piece.as_object() {
            Some(fields) if mark.is_some() => {
                let mut unmarked = fields.clone();
                unmarked.remove("cache_control");
                Value::Object(unmarked).to_string()
            }
            _ => piece.to_string(),
        };
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        self.pieces.push((hasher.finish(), bytes.len()));
        if mark.is_some_and(|mark| !mark.is_null()) {
            self.marked = self.bytes();
        }
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> usize {
        self.pieces.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The bytes with which another one begins, too.
    pub(crate) fn shared(&self, other: &Self) -> usize {
        let both = self.pieces.iter().zip(&other.pieces);
        both.take_while(|(a, b)| a == b).map(|((_, bytes), _)| bytes).sum()
    }
}

/// A field's text, or none.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A list's items, or none.
pub(crate) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The text of a content that is a string or a list of parts.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(part, "text")).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
