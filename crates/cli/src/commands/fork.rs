//! `longboat fork`: a new session that begins with the ended turns of another.

use super::resume::pick;
use crate::assemble::{Wishes, assemble};
use crate::config::Config;
use crate::exit::{self, CommandError};
use std::io::{self, Write};

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct ForkArgs {
    /// A session's id, the beginning of one, or "latest"
    #[arg(default_value = "latest")]
    id: String,
}

/// Makes the new session and prints its id. It has a team of its own, without members.
pub(crate) async fn run(args: &ForkArgs, config: &Config) -> Result<u8, CommandError> {
    let assembly = assemble(config, Wishes::default()).await?;
    let from = pick(&*assembly.store, &args.id, config).await?;
    let team = assembly.teams.fork(&from).await?;
    team.close().await;
    let written = writeln!(io::stdout().lock(), "{}", team.team());
    written.map_err(|source| CommandError::Io { doing: "writing the new session's id", source })?;
    assembly.close().await;
    Ok(exit::DONE)
}
