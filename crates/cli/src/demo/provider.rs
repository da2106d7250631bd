//! The demo's provider of models: the scripted server, started in this very process. A session whose
//! model is one of its models gets the server again when it is resumed.

use super::place::Wires;
use super::script::{Pace, script};
use crate::config::{Config, Provider};
use crate::exit::CommandError;
use crate::report::{find_session, lead_and_model};
use longboat_core::content::Wire;
use longboat_scripted::Server;
use longboat_store::SqliteStore;
use std::path::PathBuf;

/// The provider that speaks chat completions, and the one that speaks Anthropic messages. They are
/// one server.
const PROVIDERS: [(&str, Wire); 2] =
    [("demo", Wire::OpenaiChat), ("demo-anthropic", Wire::Anthropic)];

/// The name of the Lead's model.
pub(crate) fn lead_model(wires: Wires) -> String {
    format!("{}/lead", wires.of_lead())
}

/// Starts the scripted server and puts it among the providers. The server ends when it is dropped.
///
/// # Errors
/// [`CommandError::Io`] when there is no port.
pub(crate) async fn provide(config: &mut Config, pace: Pace) -> Result<Server, CommandError> {
    let started = Server::start(script(pace), 0).await;
    let server = started
        .map_err(|source| CommandError::Io { doing: "starting the scripted model", source })?;
    for (name, wire) in PROVIDERS {
        config.providers.insert(name.to_owned(), Provider::keyless(wire, server.base_url()));
    }
    Ok(server)
}

/// The model of a demo that is resumed.
#[derive(Debug)]
pub(crate) struct Revived {
    _server: Server,
}

/// Starts the scripted server if the session that is asked for is a demo's, and makes its workspace
/// the configuration's. Whatever else is wrong is left to the command itself to say.
///
/// # Errors
/// As [`provide`].
pub(crate) async fn revive(
    config: &mut Config,
    asked: &str,
) -> Result<Option<Revived>, CommandError> {
    let Some((workspace, model)) = remembered(config, asked).await else { return Ok(None) };
    let provider = model.split('/').next().unwrap_or_default();
    if !PROVIDERS.iter().any(|(name, _)| *name == provider) {
        return Ok(None);
    }
    config.workspace = workspace;
    let server = provide(config, Pace::Swift).await?;
    Ok(Some(Revived { _server: server }))
}

/// The workspace and the model of a session's Lead, if they can be read.
async fn remembered(config: &Config, asked: &str) -> Option<(PathBuf, String)> {
    let store = SqliteStore::open_read_only(&config.store).ok()?;
    let session = find_session(&store, asked).await.ok()?;
    let found = lead_and_model(&store, &session).await;
    store.close().await;
    found.map(|(cwd, model)| (cwd.into(), model))
}
