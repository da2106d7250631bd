//! OpenAI chat completions, and every server that speaks it: the request out, the stream in.
//! Format: the public API reference for chat completions and its streaming.

mod request;
mod stream;

pub(crate) use stream::whole_calls;
#[cfg(test)]
pub(crate) use {request::body, stream::ChatStream};

use crate::endpoint::Endpoint;
use crate::http::Connection;
use crate::{Model, ModelFault, Watcher};
use async_trait::async_trait;
use longboat_core::content::{Prompt, Reply};

/// A model behind this wire.
#[derive(Debug)]
pub(crate) struct OpenaiChat {
    connection: Connection,
    endpoint: Endpoint,
}

impl OpenaiChat {
    pub(crate) fn new(connection: Connection, endpoint: Endpoint) -> Self {
        Self { connection, endpoint }
    }
}

#[async_trait]
impl Model for OpenaiChat {
    async fn reply(&self, prompt: &Prompt, watcher: &mut dyn Watcher) -> Result<Reply, ModelFault> {
        let body = request::body(&self.endpoint, prompt);
        self.connection.ask::<stream::ChatStream>(body, watcher).await
    }

    fn context_window(&self) -> u64 {
        self.endpoint.context_tokens
    }
}
