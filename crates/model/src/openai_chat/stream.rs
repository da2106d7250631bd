//! A chat-completions stream, put together. What decides is what came, never the finish reason: some
//! servers say "stop" beside tool calls.

use crate::Watcher;
use crate::http::{Assembler, Flow, StreamFault, excerpt};
use crate::sse::SseEvent;
use longboat_core::content::{FinishReason, Reply, ReplyBlock, ToolCall, Usage, Wire};
use longboat_core::id::CallId;
use longboat_core::limits::CALLS_TAKEN;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A reply on its way.
#[derive(Debug, Default)]
pub(crate) struct ChatStream {
    text: String,
    reasoning: String,
    calls: Vec<PartialCall>,
    finish: Option<FinishReason>,
    usage: Usage,
    done: bool,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    message: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for the cached tokens.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

impl Assembler for ChatStream {
    fn event(&mut self, event: &SseEvent, watcher: &mut dyn Watcher) -> Result<Flow, StreamFault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(Flow::End);
        }
        if data.is_empty() {
            return Ok(Flow::More);
        }
        self.chunk(data, watcher)?;
        Ok(Flow::More)
    }

    fn whole(&mut self, body: &str, watcher: &mut dyn Watcher) -> Result<(), StreamFault> {
        self.chunk(body, watcher)
    }

    fn finish(self) -> Result<Reply, StreamFault> {
        if self.finish.is_none() && !self.done {
            return Err(StreamFault::broken("the stream broke before the reply was whole"));
        }
        let mut blocks = Vec::new();
        if !self.reasoning.is_empty() {
            blocks.push(ReplyBlock::Reasoning { text: self.reasoning, seal: None });
        }
        if !self.text.is_empty() {
            blocks.push(ReplyBlock::Text { text: self.text });
        }
        let calls = self.calls.into_iter().map(|call| (call.id, call.name, call.arguments));
        blocks.extend(whole_calls(calls)?);
        let finish = self.finish.unwrap_or(FinishReason::Done);
        Ok(Reply { wire: Wire::OpenaiChat, blocks, finish, usage: self.usage })
    }
}

impl ChatStream {
    fn chunk(&mut self, data: &str, watcher: &mut dyn Watcher) -> Result<(), StreamFault> {
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            StreamFault::broken(format!("it sent what is no chunk ({error}): {}", excerpt(data)))
        })?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(reported(&error));
        }
        if let Some(usage) = chunk.usage {
            self.usage = usage.into();
        }
        // One choice is asked for; a server that sends more has sent the first first.
        let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() else {
            return Ok(());
        };
        if let Some(delta) = choice.delta.or(choice.message) {
            self.delta(delta, watcher)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(match reason.as_str() {
                "length" | "max_tokens" => FinishReason::Length,
                "content_filter" => FinishReason::ContentFilter,
                _ => FinishReason::Done,
            });
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta, watcher: &mut dyn Watcher) -> Result<(), StreamFault> {
        let thoughts = [delta.reasoning_content, delta.reasoning.as_ref().and_then(plain)];
        // Some servers send the same thought under both names.
        if let Some(thought) = thoughts.into_iter().flatten().find(|text| !text.is_empty()) {
            watcher.reasoning(&thought);
            self.reasoning.push_str(&thought);
        }
        let texts = [delta.content.as_ref().and_then(plain), delta.refusal];
        for text in texts.into_iter().flatten().filter(|text| !text.is_empty()) {
            watcher.text(&text);
            self.text.push_str(&text);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call, watcher)?;
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta, watcher: &mut dyn Watcher) -> Result<(), StreamFault> {
        let id = delta.id.unwrap_or_default();
        let function = delta.function;
        let name = function.as_ref().and_then(|f| f.name.clone()).unwrap_or_default();
        let arguments = function.and_then(|f| f.arguments).map(|arguments| match arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            value => value.to_string(),
        });
        let place = self.place(delta.index, &id, &name);
        let place = match place {
            Some(place) => place,
            None if self.calls.len() >= CALLS_TAKEN => {
                let what = format!("the reply has more than {CALLS_TAKEN} tool calls");
                return Err(StreamFault::fatal(what));
            }
            None => {
                watcher.call(&name);
                self.calls.push(PartialCall { index: delta.index, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(place) else { return Ok(()) };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments.unwrap_or_default());
        Ok(())
    }

    /// Which call a delta belongs to: the one with its index, unless it brings a new id and name
    /// there, as servers do that give every call the index 0; without an index, the one with its
    /// id, or the last one.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let begins = |call: &PartialCall| {
            !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty()
        };
        match index {
            Some(_) => {
                let place = self.calls.iter().rposition(|call| call.index == index)?;
                self.calls.get(place).filter(|call| !begins(call)).map(|_| place)
            }
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        }
    }
}

/// Gives every call an id that is unique in the reply, and arguments.
pub(crate) fn whole_calls(
    calls: impl Iterator<Item = (String, String, String)>,
) -> Result<Vec<ReplyBlock>, StreamFault> {
    let mut ids = BTreeSet::new();
    let mut blocks = Vec::new();
    for (n, (id, name, arguments)) in calls.enumerate() {
        let given = CallId::new(id).ok().filter(|id| !ids.contains(id));
        let made = || {
            (n..).find_map(|n| CallId::new(format!("call_{n}")).ok().filter(|id| !ids.contains(id)))
        };
        let id = given.or_else(made);
        let id = id.ok_or_else(|| StreamFault::broken("a tool call has no usable id"))?;
        ids.insert(id.clone());
        let empty = arguments.trim().is_empty();
        let arguments = if empty { "{}".to_owned() } else { arguments };
        blocks.push(ReplyBlock::ToolCall(ToolCall { id, name, arguments }));
    }
    Ok(blocks)
}

/// The text of a content: a string, or the text parts of an array.
fn plain(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            Some(texts.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn reported(error: &Value) -> StreamFault {
    let text = |name: &str| {
        error.get(name).map(|value| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        })
    };
    let kind = [text("type"), text("code")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let message = text("message").unwrap_or_else(|| error.to_string());
    StreamFault::reported(&kind, &message)
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        let reasoning = usage.completion_tokens_details.and_then(|d| d.reasoning_tokens);
        Self {
            input: usage.prompt_tokens.unwrap_or(0),
            cached: cached.or(usage.prompt_cache_hit_tokens).unwrap_or(0),
            cache_write: 0,
            output: usage.completion_tokens.unwrap_or(0),
            reasoning: reasoning.unwrap_or(0),
        }
    }
}
