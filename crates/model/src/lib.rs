//! Calling language models: the [`Model`] port, and one file per wire.

mod anthropic;
mod endpoint;
#[cfg(test)]
mod fuzz_tests;
mod http;
mod openai_chat;
mod openai_responses;
mod retry;
mod sse;
#[cfg(test)]
mod wire_tests;

pub use endpoint::{Endpoint, EndpointError, connect};
pub use retry::RetryPolicy;

use async_trait::async_trait;
use longboat_core::content::{Prompt, Reply};
use std::time::Duration;

/// Watches a reply as it streams. What it is told is for people only; the whole reply decides.
pub trait Watcher: Send {
    /// More text.
    fn text(&mut self, delta: &str);
    /// More reasoning.
    fn reasoning(&mut self, delta: &str);
    /// A tool call began.
    fn call(&mut self, name: &str);
}

/// A language model at the end of a wire.
#[async_trait]
pub trait Model: Send + Sync + std::fmt::Debug {
    /// Makes one request and returns the whole reply. Makes no second attempt: see [`ModelFault`].
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection; nothing is left running.
    ///
    /// # Errors
    /// [`ModelFault`] when there is no whole reply.
    async fn reply(&self, prompt: &Prompt, watcher: &mut dyn Watcher) -> Result<Reply, ModelFault>;

    /// How many tokens a request and its reply may have together. What is set, not what is known:
    /// [`FaultKind::ContextOverflow`] is the provider's word.
    fn context_window(&self) -> u64 {
        DEFAULT_CONTEXT_TOKENS
    }
}

/// The context window of a model of which nothing is said.
pub const DEFAULT_CONTEXT_TOKENS: u64 = 128_000;

/// Why there is no reply.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{provider}: {what}")]
pub struct ModelFault {
    /// The provider's name in the configuration.
    pub provider: String,
    /// What happened, for people: never a key, never more than a line.
    pub what: String,
    /// What to do about it.
    pub kind: FaultKind,
}

/// What a fault calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Trying again may help: 408, 409, 429, 5xx, a connection that failed, a stream that broke.
    Retryable {
        /// How long the provider asked us to wait.
        after: Option<Duration>,
    },
    /// The prompt is too long for the model.
    ContextOverflow,
    /// Somebody must change something: key, model name, request.
    Fatal,
}
