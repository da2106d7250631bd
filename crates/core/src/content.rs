//! What is said between people, agents, models and tools. One small vocabulary for all wires.

use crate::id::CallId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A part of what a model is told: by a person, a member or a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Block {
    /// Text, byte for byte what was sent.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// For example `image/png`.
        media_type: String,
        /// The bytes, in base64.
        data: String,
    },
}

impl Block {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A part of a model's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReplyBlock {
    /// What the model says.
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought. Echoed to the wire that made it, in place, and dropped on others.
    Reasoning {
        /// The readable thought; empty when the provider keeps it.
        text: String,
        /// The provider's seal over the thought, or the sealed thought itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<ReasoningSeal>,
    },
    /// A wish to run a tool.
    ToolCall(ToolCall),
}

/// What a provider wants back, unchanged, with a thought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReasoningSeal {
    /// A signature over the readable text (Anthropic `thinking`).
    Signature {
        /// Opaque to us.
        value: String,
    },
    /// The sealed thought, beside a summary of it (OpenAI responses `reasoning`).
    Item {
        /// The provider's name for it.
        id: String,
        /// Opaque to us.
        sealed: String,
    },
    /// The thought, unreadable (Anthropic `redacted_thinking`).
    Redacted {
        /// Opaque to us.
        value: String,
    },
}

/// One tool call, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Unique within the session.
    pub id: CallId,
    /// The tool's name; it may be one that does not exist.
    pub name: String,
    /// The arguments' text, unparsed: it may be invalid JSON.
    pub arguments: String,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Unique within a session's tools.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// JSON Schema of the arguments: an object.
    pub schema: serde_json::Value,
}

/// Tokens of one model request. Zero where the provider says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input: u64,
    /// Those of `input` that were read from the provider's cache.
    pub cached: u64,
    /// Those of `input` that were written to the provider's cache.
    pub cache_write: u64,
    /// All output tokens, reasoning included.
    pub output: u64,
    /// Those of `output` that were reasoning.
    pub reasoning: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached += other.cached;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}

/// Why a model stopped. Never decides whether there are tool calls: the reply's blocks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It had no more to say, or wants its tools run.
    Done,
    /// The output limit cut it.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
}

/// A wire's name. Reasoning goes back only to the wire that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// OpenAI chat completions and every compatible server.
    OpenaiChat,
    /// OpenAI responses.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
}

/// A model's whole reply to one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The wire it came over.
    pub wire: Wire,
    /// Its parts, in order; may be empty.
    pub blocks: Vec<ReplyBlock>,
    /// Why it ended.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
}

impl Reply {
    /// The tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            ReplyBlock::ToolCall(call) => Some(call),
            ReplyBlock::Text { .. } | ReplyBlock::Reasoning { .. } => None,
        })
    }

    /// All text blocks, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match block {
                ReplyBlock::Text { text } => Some(text.as_str()),
                ReplyBlock::Reasoning { .. } | ReplyBlock::ToolCall(_) => None,
            })
            .collect();
        texts.join("\n")
    }
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOutcome {
    /// How it ended.
    pub status: ToolStatus,
    /// What the model is told.
    pub content: Vec<Block>,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It did what was asked.
    Ok,
    /// It was refused or failed; the content says why.
    Error,
    /// It was cut short by an interrupt.
    Interrupted,
    /// It had started when the process died.
    Unknown,
}

impl ToolOutcome {
    /// A success with this text.
    #[must_use]
    pub fn ok(text: impl Into<String>) -> Self {
        Self { status: ToolStatus::Ok, content: vec![Block::text(text)] }
    }

    /// A refusal or failure with this text.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { status: ToolStatus::Error, content: vec![Block::text(text)] }
    }

    /// Says whether a model should be told that the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.status != ToolStatus::Ok
    }
}

/// One turn of talk in a model request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// What came in from people and members. Each item is a block of its own.
    User(Vec<Block>),
    /// What the model replied.
    Assistant(Arc<Reply>),
    /// The results of all calls of the reply before, in the calls' order.
    ToolResults(Vec<AnsweredCall>),
}

/// A call's result, for a model request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredCall {
    /// The call.
    pub call: CallId,
    /// The tool's name, which some wires repeat.
    pub name: String,
    /// Its result.
    pub outcome: Arc<ToolOutcome>,
}

/// A whole model request, derived from a session's log and nothing else.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The system text.
    pub system: Arc<str>,
    /// The tools offered.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation, from the oldest.
    pub messages: Vec<Message>,
}
