//! Where a model is, and how to reach it.

use crate::anthropic::Anthropic;
use crate::http::Connection;
use crate::openai_chat::OpenaiChat;
use crate::openai_responses::OpenaiResponses;
use crate::{DEFAULT_CONTEXT_TOKENS, Model};
use longboat_core::content::Wire;
use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;

/// A model at a provider.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The provider's name in the configuration, for messages.
    pub provider: String,
    /// What it speaks.
    pub wire: Wire,
    /// The URL before `/chat/completions`, `/responses` or `/messages`, such as `https://host/v1`.
    pub base_url: String,
    /// The key, if it wants one.
    pub key: Option<SecretString>,
    /// Which variable or setting holds the key, for messages.
    pub key_name: String,
    /// The model's name at the provider.
    pub model: String,
    /// Output tokens at most; the Anthropic wire needs a number, the other sends none by default.
    pub max_output_tokens: Option<u32>,
    /// Effort of reasoning, sent as it is, for models that take one.
    pub reasoning_effort: Option<String>,
    /// Tokens to think with, on the Anthropic wire.
    pub thinking_tokens: Option<u32>,
    /// Sends reasoning back: readable on the chat-completions wire, as DeepSeek wants it, and sealed
    /// on the responses wire, as OpenAI's reasoning models do.
    pub echo_reasoning: bool,
    /// The context window, in tokens.
    pub context_tokens: u64,
    /// More headers.
    pub headers: Vec<(String, String)>,
    /// How long the provider may send nothing.
    pub idle_timeout: Duration,
}

/// Output tokens on the Anthropic wire when none are set.
pub(crate) const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 16_384;

impl Endpoint {
    /// An endpoint with the defaults.
    #[must_use]
    pub fn new(provider: &str, wire: Wire, base_url: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            wire,
            base_url: base_url.to_owned(),
            key: None,
            key_name: "api_key_env".to_owned(),
            model: model.to_owned(),
            max_output_tokens: None,
            reasoning_effort: None,
            thinking_tokens: None,
            echo_reasoning: false,
            context_tokens: DEFAULT_CONTEXT_TOKENS,
            headers: Vec::new(),
            idle_timeout: Duration::from_secs(180),
        }
    }
}

/// Says why an endpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The base URL is not one.
    #[error("provider {provider}: base_url {base_url:?} is not an http or https URL")]
    BaseUrl {
        /// The provider.
        provider: String,
        /// What was set.
        base_url: String,
    },
    /// A header cannot be sent.
    #[error("provider {provider}: the header {name:?} or its value cannot be sent")]
    Header {
        /// The provider.
        provider: String,
        /// Its name.
        name: String,
    },
    /// The HTTP client could not be made.
    #[error("the HTTP client could not be made")]
    Client(#[source] reqwest::Error),
}

/// Makes a model of an endpoint. Nothing is sent yet.
///
/// # Errors
/// [`EndpointError`].
pub fn connect(endpoint: Endpoint) -> Result<Arc<dyn Model>, EndpointError> {
    let connection = Connection::new(&endpoint)?;
    Ok(match endpoint.wire {
        Wire::OpenaiChat => Arc::new(OpenaiChat::new(connection, endpoint)),
        Wire::OpenaiResponses => Arc::new(OpenaiResponses::new(connection, endpoint)),
        Wire::Anthropic => Arc::new(Anthropic::new(connection, endpoint)),
    })
}
