//! What every workspace tool shares: its arguments checked, its work on a thread that may block, what
//! came of it as an outcome.

use longboat_core::content::{Block, ToolOutcome};
use longboat_engine::parse_arguments;
use serde::de::DeserializeOwned;

/// Reads a call's arguments and does its work off the runtime's threads.
pub(crate) async fn perform<A, B>(
    name: &str,
    arguments: serde_json::Value,
    work: impl FnOnce(&A) -> Result<B, String> + Send + 'static,
) -> ToolOutcome
where
    A: DeserializeOwned + Send + 'static,
    B: Into<Shown> + Send + 'static,
{
    let arguments: A = match parse_arguments(name, arguments) {
        Ok(arguments) => arguments,
        Err(outcome) => return outcome,
    };
    match tokio::task::spawn_blocking(move || work(&arguments)).await {
        Ok(Ok(shown)) => ToolOutcome { content: vec![shown.into().0], ..ToolOutcome::ok("") },
        Ok(Err(problem)) => ToolOutcome::error(problem),
        Err(_) => ToolOutcome::error("the tool failed inside; look before you call it again"),
    }
}

/// What a tool shows of what it did.
pub(crate) struct Shown(Block);

impl From<String> for Shown {
    fn from(text: String) -> Self {
        Self(Block::text(text))
    }
}

impl From<Block> for Shown {
    fn from(block: Block) -> Self {
        Self(block)
    }
}
