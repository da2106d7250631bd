//! A responses stream, put together item by item. An item that is said to be done is told whole, and
//! counts for more than the pieces before it.

use crate::Watcher;
use crate::http::{Assembler, Flow, StreamFault, excerpt};
use crate::openai_chat::whole_calls;
use crate::sse::SseEvent;
use longboat_core::content::{FinishReason, ReasoningSeal, Reply, ReplyBlock, Usage, Wire};
use longboat_core::limits::CALLS_TAKEN;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Items of one reply: texts and thoughts between calls included.
const ITEMS: usize = CALLS_TAKEN * 2;

/// A reply on its way.
#[derive(Debug, Default)]
pub(crate) struct ResponseStream {
    items: BTreeMap<u64, Partial>,
    finish: Option<FinishReason>,
    usage: Usage,
}

#[derive(Debug)]
enum Partial {
    Text(String),
    Thought {
        id: String,
        text: String,
        sealed: String,
    },
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// A kind this build does not know; it is not kept.
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_item.added")]
    Added { output_index: u64, item: Item },
    #[serde(rename = "response.output_item.done")]
    Done { output_index: u64, item: Item },
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Text { output_index: u64, delta: String },
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta"
    )]
    Thought { output_index: u64, delta: String },
    #[serde(rename = "response.reasoning_summary_part.added")]
    ThoughtPart { output_index: u64 },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { output_index: u64, delta: String },
    #[serde(
        rename = "response.completed",
        alias = "response.incomplete",
        alias = "response.failed",
        alias = "response.cancelled"
    )]
    Over { response: Response },
    #[serde(rename = "error")]
    Error {
        #[serde(flatten)]
        error: WireError,
        #[serde(default, rename = "error")]
        inner: Option<WireError>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        #[serde(default)]
        content: Vec<Part>,
    },
    Reasoning {
        #[serde(default)]
        id: String,
        #[serde(default)]
        summary: Vec<Part>,
        #[serde(default)]
        content: Option<Vec<Part>>,
        #[serde(default)]
        encrypted_content: Option<String>,
    },
    FunctionCall {
        #[serde(default)]
        call_id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        arguments: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
    #[serde(default)]
    refusal: String,
}

/// A whole response: what ends a stream, and what comes without one.
#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: String,
    #[serde(default)]
    output: Option<Vec<Item>>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<WireError>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default)]
    code: Option<Value>,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: u64,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: u64,
}

impl Assembler for ResponseStream {
    fn event(&mut self, event: &SseEvent, watcher: &mut dyn Watcher) -> Result<Flow, StreamFault> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Flow::More);
        }
        match parse(data)? {
            Event::Added { output_index, item } => self.begin(output_index, item, watcher)?,
            Event::Done { output_index, item } => self.done(output_index, item, watcher)?,
            Event::Text { output_index, delta } => {
                watcher.text(&delta);
                if let Some(Partial::Text(text)) = self.items.get_mut(&output_index) {
                    text.push_str(&delta);
                }
            }
            Event::Thought { output_index, delta } => {
                watcher.reasoning(&delta);
                if let Some(Partial::Thought { text, .. }) = self.items.get_mut(&output_index) {
                    text.push_str(&delta);
                }
            }
            Event::ThoughtPart { output_index } => {
                if let Some(Partial::Thought { text, .. }) = self.items.get_mut(&output_index)
                    && !text.is_empty()
                {
                    text.push('\n');
                }
            }
            Event::Arguments { output_index, delta } => {
                if let Some(Partial::Call { arguments, .. }) = self.items.get_mut(&output_index) {
                    arguments.push_str(&delta);
                }
            }
            Event::Over { response } => {
                self.over(response, watcher)?;
                return Ok(Flow::End);
            }
            Event::Error { error, inner } => return Err(inner.unwrap_or(error).into()),
            Event::Unknown => {}
        }
        Ok(Flow::More)
    }

    fn whole(&mut self, body: &str, watcher: &mut dyn Watcher) -> Result<(), StreamFault> {
        let response: Response = parse(body)?;
        if response.output.is_none() && response.error.is_none() {
            return Err(StreamFault::broken(format!("it sent no response: {}", excerpt(body))));
        }
        self.over(response, watcher)
    }

    fn finish(self) -> Result<Reply, StreamFault> {
        let Some(finish) = self.finish else {
            return Err(StreamFault::broken("the stream broke before the reply was whole"));
        };
        let calls = self.items.values().filter_map(|item| match item {
            Partial::Call { id, name, arguments } => {
                Some((id.clone(), name.clone(), arguments.clone()))
            }
            Partial::Text(_) | Partial::Thought { .. } | Partial::Unknown => None,
        });
        // In their places: a thought stands before the call that it led to.
        let mut calls = whole_calls(calls)?.into_iter();
        let blocks = self.items.into_values().filter_map(|item| match item {
            Partial::Text(text) => (!text.is_empty()).then_some(ReplyBlock::Text { text }),
            Partial::Thought { id, text, sealed } => {
                let seal = (!sealed.is_empty()).then_some(ReasoningSeal::Item { id, sealed });
                let is_something = seal.is_some() || !text.is_empty();
                is_something.then_some(ReplyBlock::Reasoning { text, seal })
            }
            Partial::Call { .. } => calls.next(),
            Partial::Unknown => None,
        });
        let blocks = blocks.collect();
        Ok(Reply { wire: Wire::OpenaiResponses, blocks, finish, usage: self.usage })
    }
}

impl ResponseStream {
    fn begin(
        &mut self,
        index: u64,
        item: Item,
        watcher: &mut dyn Watcher,
    ) -> Result<(), StreamFault> {
        let calls = self.items.values().filter(|item| matches!(item, Partial::Call { .. }));
        if self.items.len() >= ITEMS || calls.count() >= CALLS_TAKEN {
            let what = format!("the reply has more than {CALLS_TAKEN} tool calls");
            return Err(StreamFault::fatal(what));
        }
        if let Item::FunctionCall { name, .. } = &item {
            watcher.call(name);
        }
        self.items.insert(index, item.into());
        Ok(())
    }

    fn done(
        &mut self,
        index: u64,
        item: Item,
        watcher: &mut dyn Watcher,
    ) -> Result<(), StreamFault> {
        let Some(partial) = self.items.get_mut(&index) else {
            return self.begin(index, item, watcher);
        };
        partial.replace(item.into());
        Ok(())
    }

    fn over(&mut self, response: Response, watcher: &mut dyn Watcher) -> Result<(), StreamFault> {
        let Response { status, output, usage, error, incomplete_details } = response;
        if let Some(error) = error {
            return Err(error.into());
        }
        if matches!(status.as_str(), "failed" | "cancelled") {
            return Err(StreamFault::broken(format!("the provider says that the reply {status}")));
        }
        for (item, index) in output.unwrap_or_default().into_iter().zip(0..) {
            if !self.items.contains_key(&index) {
                self.begin(index, item, watcher)?;
            }
        }
        self.usage = usage.map(Usage::from).unwrap_or_default();
        let reason = incomplete_details.map(|details| details.reason);
        self.finish = Some(match reason.as_deref() {
            Some("content_filter") => FinishReason::ContentFilter,
            Some(_) => FinishReason::Length,
            None if status == "incomplete" => FinishReason::Length,
            None => FinishReason::Done,
        });
        Ok(())
    }
}

impl Partial {
    /// Takes the whole item for the pieces, as far as it says more than they did.
    fn replace(&mut self, whole: Self) {
        match (&mut *self, whole) {
            (Self::Text(text), Self::Text(whole)) if whole.len() < text.len() => {}
            (Self::Thought { text, .. }, Self::Thought { id, text: whole, sealed }) => {
                let text = if whole.is_empty() { std::mem::take(text) } else { whole };
                *self = Self::Thought { id, text, sealed };
            }
            (Self::Call { arguments, .. }, Self::Call { id, name, arguments: whole }) => {
                let arguments = if whole.is_empty() { std::mem::take(arguments) } else { whole };
                *self = Self::Call { id, name, arguments };
            }
            (_, whole) => *self = whole,
        }
    }
}

impl From<Item> for Partial {
    fn from(item: Item) -> Self {
        match item {
            Item::Message { content } => Self::Text(joined(&content, "")),
            Item::Reasoning { id, summary, content, encrypted_content } => {
                let said = joined(&summary, "\n");
                let text = match content {
                    Some(content) if said.is_empty() => joined(&content, "\n"),
                    Some(_) | None => said,
                };
                Self::Thought { id, text, sealed: encrypted_content.unwrap_or_default() }
            }
            Item::FunctionCall { call_id, name, arguments } => {
                Self::Call { id: call_id, name, arguments }
            }
            Item::Unknown => Self::Unknown,
        }
    }
}

fn joined(parts: &[Part], between: &str) -> String {
    let texts = parts.iter().map(|part| match part.refusal.as_str() {
        "" => part.text.as_str(),
        refusal => refusal,
    });
    texts.collect::<Vec<_>>().join(between)
}

fn parse<T: serde::de::DeserializeOwned>(data: &str) -> Result<T, StreamFault> {
    serde_json::from_str(data).map_err(|error| {
        StreamFault::broken(format!("it sent what is no event ({error}): {}", excerpt(data)))
    })
}

impl From<WireError> for StreamFault {
    fn from(error: WireError) -> Self {
        let code = match error.code {
            Some(Value::String(code)) => code,
            Some(Value::Null) | None => String::new(),
            Some(code) => code.to_string(),
        };
        Self::reported(&code, &error.message)
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        Self {
            input: usage.input_tokens,
            cached: usage.input_tokens_details.map_or(0, |details| details.cached_tokens),
            cache_write: 0,
            output: usage.output_tokens,
            reasoning: usage.output_tokens_details.map_or(0, |details| details.reasoning_tokens),
        }
    }
}
