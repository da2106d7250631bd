//! A messages stream, put together block by block.

use crate::Watcher;
use crate::http::{Assembler, Flow, StreamFault, excerpt};
use crate::openai_chat::whole_calls;
use crate::sse::SseEvent;
use longboat_core::content::{FinishReason, ReasoningSeal, Reply, ReplyBlock, Usage, Wire};
use longboat_core::limits::CALLS_TAKEN;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Blocks of one reply: texts and thoughts between calls included.
const BLOCKS: usize = CALLS_TAKEN * 2;

/// A reply on its way.
#[derive(Debug, Default)]
pub(crate) struct MessageStream {
    blocks: BTreeMap<u64, Partial>,
    finish: Option<FinishReason>,
    usage: WireUsage,
    stopped: bool,
}

#[derive(Debug)]
enum Partial {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        id: String,
        name: String,
        input: Value,
        arguments: String,
    },
    /// A kind this build does not know; it is not kept.
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: WireBlock,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {},
    MessageDelta {
        delta: Stop,
        #[serde(default)]
        usage: Option<WireUsage>,
    },
    MessageStop {},
    Ping {},
    Error {
        error: WireError,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        #[serde(default)]
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Stop {
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

#[derive(Debug, Default, Clone, Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

/// An answer that came without streaming.
#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    content: Option<Vec<WireBlock>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<WireError>,
}

impl Assembler for MessageStream {
    fn event(&mut self, event: &SseEvent, watcher: &mut dyn Watcher) -> Result<Flow, StreamFault> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Flow::More);
        }
        let event: Event = parse(data)?;
        match event {
            Event::MessageStart { message } => self.add_usage(message.usage),
            Event::ContentBlockStart { index, content_block } => {
                self.start(index, content_block, watcher)?;
            }
            Event::ContentBlockDelta { index, delta } => self.delta(index, delta, watcher)?,
            Event::MessageDelta { delta, usage } => {
                self.add_usage(usage);
                self.stop(delta.stop_reason);
            }
            Event::MessageStop {} => {
                self.stopped = true;
                return Ok(Flow::End);
            }
            Event::Error { error } => return Err(error.into()),
            Event::ContentBlockStop {} | Event::Ping {} | Event::Unknown => {}
        }
        Ok(Flow::More)
    }

    fn whole(&mut self, body: &str, watcher: &mut dyn Watcher) -> Result<(), StreamFault> {
        let whole: Whole = parse(body)?;
        if let Some(error) = whole.error {
            return Err(error.into());
        }
        let Some(content) = whole.content else {
            return Err(StreamFault::broken(format!("it sent no message: {}", excerpt(body))));
        };
        for (block, index) in content.into_iter().zip(0..) {
            self.start(index, block, watcher)?;
        }
        self.add_usage(whole.usage);
        self.stop(whole.stop_reason);
        self.stopped = true;
        Ok(())
    }

    fn finish(self) -> Result<Reply, StreamFault> {
        if !self.stopped {
            return Err(StreamFault::broken("the stream broke before the reply was whole"));
        }
        let mut blocks = Vec::new();
        let mut calls = Vec::new();
        for partial in self.blocks.into_values() {
            match partial {
                Partial::Text(text) if text.is_empty() => {}
                Partial::Text(text) => blocks.push(ReplyBlock::Text { text }),
                Partial::Thinking { text, signature } => {
                    let seal = (!signature.is_empty())
                        .then_some(ReasoningSeal::Signature { value: signature });
                    blocks.push(ReplyBlock::Reasoning { text, seal });
                }
                Partial::Redacted(value) => blocks.push(ReplyBlock::Reasoning {
                    text: String::new(),
                    seal: Some(ReasoningSeal::Redacted { value }),
                }),
                Partial::Call { id, name, input, arguments } => {
                    let whole = if arguments.is_empty() { whole_input(&input) } else { arguments };
                    calls.push((id, name, whole));
                }
                Partial::Unknown => {}
            }
        }
        blocks.extend(whole_calls(calls.into_iter())?);
        let finish = self.finish.unwrap_or(FinishReason::Done);
        Ok(Reply { wire: Wire::Anthropic, blocks, finish, usage: self.usage.into() })
    }
}

impl MessageStream {
    fn start(
        &mut self,
        index: u64,
        block: WireBlock,
        watcher: &mut dyn Watcher,
    ) -> Result<(), StreamFault> {
        let partial = match block {
            WireBlock::Text { text } => {
                if !text.is_empty() {
                    watcher.text(&text);
                }
                Partial::Text(text)
            }
            WireBlock::Thinking { thinking, signature } => {
                Partial::Thinking { text: thinking, signature }
            }
            WireBlock::RedactedThinking { data } => Partial::Redacted(data),
            WireBlock::ToolUse { id, name, input } => {
                watcher.call(&name);
                Partial::Call { id, name, input, arguments: String::new() }
            }
            WireBlock::Unknown => Partial::Unknown,
        };
        let calls = self.blocks.values().filter(|block| matches!(block, Partial::Call { .. }));
        if self.blocks.len() >= BLOCKS || calls.count() >= CALLS_TAKEN {
            let what = format!("the reply has more than {CALLS_TAKEN} tool calls");
            return Err(StreamFault::fatal(what));
        }
        self.blocks.insert(index, partial);
        Ok(())
    }

    fn delta(
        &mut self,
        index: u64,
        delta: Delta,
        watcher: &mut dyn Watcher,
    ) -> Result<(), StreamFault> {
        match (self.blocks.get_mut(&index), delta) {
            (Some(Partial::Text(so_far)), Delta::Text { text }) => {
                watcher.text(&text);
                so_far.push_str(&text);
            }
            (Some(Partial::Thinking { text, .. }), Delta::Thinking { thinking }) => {
                watcher.reasoning(&thinking);
                text.push_str(&thinking);
            }
            (Some(Partial::Thinking { signature, .. }), Delta::Signature { signature: more }) => {
                signature.push_str(&more)
            }
            (Some(Partial::Call { arguments, .. }), Delta::InputJson { partial_json }) => {
                arguments.push_str(&partial_json);
            }
            (Some(Partial::Unknown), _) | (_, Delta::Unknown) => {}
            (Some(_) | None, _) => {
                let what = format!("a delta does not fit block {index}");
                return Err(StreamFault::broken(what));
            }
        }
        Ok(())
    }

    fn stop(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.finish = Some(match reason.as_str() {
                "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
                "refusal" => FinishReason::ContentFilter,
                _ => FinishReason::Done,
            });
        }
    }

    /// Later numbers replace earlier ones: the last event has the totals.
    fn add_usage(&mut self, usage: Option<WireUsage>) {
        let Some(usage) = usage else { return };
        let so_far = std::mem::take(&mut self.usage);
        self.usage = WireUsage {
            input_tokens: usage.input_tokens.or(so_far.input_tokens),
            cache_read_input_tokens: usage
                .cache_read_input_tokens
                .or(so_far.cache_read_input_tokens),
            cache_creation_input_tokens: usage
                .cache_creation_input_tokens
                .or(so_far.cache_creation_input_tokens),
            output_tokens: usage.output_tokens.or(so_far.output_tokens),
        };
    }
}

fn whole_input(input: &Value) -> String {
    match input {
        Value::Object(fields) if !fields.is_empty() => input.to_string(),
        _ => String::new(),
    }
}

fn parse<T: serde::de::DeserializeOwned>(data: &str) -> Result<T, StreamFault> {
    serde_json::from_str(data).map_err(|error| {
        StreamFault::broken(format!("it sent what is no event ({error}): {}", excerpt(data)))
    })
}

impl From<WireError> for StreamFault {
    fn from(error: WireError) -> Self {
        Self::reported(&error.kind, &error.message)
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        let cache_write = usage.cache_creation_input_tokens.unwrap_or(0);
        Self {
            input: usage.input_tokens.unwrap_or(0) + cached + cache_write,
            cached,
            cache_write,
            output: usage.output_tokens.unwrap_or(0),
            reasoning: 0,
        }
    }
}
