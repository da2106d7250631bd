//! Anthropic messages: the request out, the stream in.
//! Format: the public API reference for messages, streaming, extended thinking and prompt caching.

mod request;
mod stream;

#[cfg(test)]
pub(crate) use {request::body, stream::MessageStream};

use crate::endpoint::Endpoint;
use crate::http::Connection;
use crate::{Model, ModelFault, Watcher};
use async_trait::async_trait;
use longboat_core::content::{Prompt, Reply};

/// A model behind this wire.
#[derive(Debug)]
pub(crate) struct Anthropic {
    connection: Connection,
    endpoint: Endpoint,
}

impl Anthropic {
    pub(crate) fn new(connection: Connection, endpoint: Endpoint) -> Self {
        Self { connection, endpoint }
    }
}

#[async_trait]
impl Model for Anthropic {
    async fn reply(&self, prompt: &Prompt, watcher: &mut dyn Watcher) -> Result<Reply, ModelFault> {
        let body = request::body(&self.endpoint, prompt);
        self.connection.ask::<stream::MessageStream>(body, watcher).await
    }

    fn context_window(&self) -> u64 {
        self.endpoint.context_tokens
    }
}
