//! What every workspace tool shares: its description from its argument type, its arguments checked,
//! its work on a thread that may block.

use longboat_core::content::{ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// Describes a tool whose arguments are `A`.
pub(crate) fn spec<A: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(A).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
    }
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema }
}

/// Reads a call's arguments.
pub(crate) fn parse<A: DeserializeOwned>(
    name: &str,
    arguments: serde_json::Value,
) -> Result<A, ToolOutcome> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolOutcome::error(format!("invalid arguments for {name}: {error}")))
}

/// Does work that blocks, off the runtime's threads.
pub(crate) async fn blocking(work: impl FnOnce() -> ToolOutcome + Send + 'static) -> ToolOutcome {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(_) => ToolOutcome::error("the tool failed inside; look before you call it again"),
    }
}
