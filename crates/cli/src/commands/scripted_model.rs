//! `longboat scripted-model`: a script as a language model, for tests and for trying things out.

use crate::exit::{self, CommandError, UsageError};
use longboat_scripted::{Script, Server};
use std::io::{self, Write};
use std::path::PathBuf;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct ScriptedModelArgs {
    /// The script: TOML when its name ends so, JSON otherwise
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// The port; one of the system's choice if not given
    #[arg(long, default_value_t = 0)]
    port: u16,
}

/// Serves until it is killed. The first line it prints is its base URL.
pub(crate) async fn run(args: &ScriptedModelArgs) -> Result<u8, CommandError> {
    let path = args.script.display().to_string();
    let invalid =
        |reason: String| CommandError::Usage(UsageError::Script { path: path.clone(), reason });
    let text = std::fs::read_to_string(&args.script).map_err(|error| invalid(error.to_string()))?;
    let toml = args.script.extension().is_some_and(|ending| ending == "toml");
    let script = if toml { Script::from_toml(&text) } else { Script::from_json(&text) };
    let script = script.map_err(|error| invalid(error.to_string()))?;
    let io = |doing| move |source| CommandError::Io { doing, source };
    let server = Server::start(script, args.port).await.map_err(io("starting the server"))?;
    writeln!(io::stdout().lock(), "{}", server.base_url()).map_err(io("writing the URL"))?;
    server.serve().await;
    Ok(exit::DONE)
}
