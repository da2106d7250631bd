//! OpenAI responses: the request out, the stream in. Nothing is stored at the provider; thoughts come
//! sealed and go back with the conversation.
//! Format: the public API reference for responses and its streaming events.

mod request;
mod stream;

#[cfg(test)]
pub(crate) use {request::body, stream::ResponseStream};

use crate::endpoint::Endpoint;
use crate::http::Connection;
use crate::{Model, ModelFault, Watcher};
use async_trait::async_trait;
use longboat_core::content::{Prompt, Reply};

/// A model behind this wire.
#[derive(Debug)]
pub(crate) struct OpenaiResponses {
    connection: Connection,
    endpoint: Endpoint,
}

impl OpenaiResponses {
    pub(crate) fn new(connection: Connection, endpoint: Endpoint) -> Self {
        Self { connection, endpoint }
    }
}

#[async_trait]
impl Model for OpenaiResponses {
    async fn reply(&self, prompt: &Prompt, watcher: &mut dyn Watcher) -> Result<Reply, ModelFault> {
        let body = request::body(&self.endpoint, prompt);
        self.connection.ask::<stream::ResponseStream>(body, watcher).await
    }

    fn context_window(&self) -> u64 {
        self.endpoint.context_tokens
    }
}
