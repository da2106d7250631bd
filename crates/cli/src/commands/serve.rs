//! `longboat serve`: holds the store of a workspace, and runs its sessions for whoever asks over
//! HTTP.

use super::follow::Stops;
use crate::args::{BudgetArgs, ModelArgs, PermissionArgs};
use crate::assemble::{Wishes, assemble, choose_model};
use crate::config::Config;
use crate::door::{ANYWHERE_HERE, Door, Opening, parse_listen};
use crate::exit::{self, CommandError, complain};
use longboat_http::Scope;
use secrecy::ExposeSecret;
use std::io::{self, Write};
use std::net::SocketAddr;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Where to listen: a port, or an address with one; any free port if not given
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen, default_value_t = ANYWHERE_HERE)]
    listen: SocketAddr,
    /// Let others than this machine in: whoever has the token can run commands here
    #[arg(long)]
    allow_remote: bool,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    permissions: PermissionArgs,
}

/// Serves until it is stopped.
pub(crate) async fn run(args: &ServeArgs, config: &Config) -> Result<u8, CommandError> {
    let model = match choose_model(config, &args.model) {
        Ok(model) => Some(model.to_string()),
        // Sessions can be looked at without one; whoever starts a run can name one.
        Err(_) if args.model.model.is_none() => None,
        Err(error) => return Err(error),
    };
    let mut stops = Stops::new()?;
    let wishes = Wishes { budget: args.budget, permissions: args.permissions, answered: true };
    let assembly = assemble(config, wishes).await?;
    let (listen, remote) = (args.listen, args.allow_remote);
    let opening = Opening { listen, remote, scope: Scope::All, model: model.clone() };
    let door = Door::open(config, &assembly, opening).await?;
    for warning in &assembly.warnings {
        complain(&format!("passed over {warning}"));
    }
    assembly.concerns.iter().for_each(|concern| complain(concern));
    if remote && !listen.ip().is_loopback() {
        complain(
            "other machines can reach this; whoever has the token can have this machine's commands run, and nothing on the way is encrypted",
        );
    }
    let workspace = config.workspace.display();
    let model = model.unwrap_or_else(|| "no model; name one with each run".to_owned());
    complain(&format!("serves {workspace} · {model} · Ctrl-C stops"));
    announce(door.url().expose_secret())?;
    stops.next().await;
    complain("stopping: what is decided is being written (once more to stop at once)");
    tokio::select! {
        () = door.close() => {}
        () = stops.next() => std::process::exit(exit::STOPPED.into()),
    }
    assembly.close().await;
    Ok(exit::DONE)
}

/// Prints the address once, alone on standard output, so that programs can take it.
fn announce(url: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{url}")
        .and_then(|()| out.flush())
        .map_err(|source| CommandError::Io { doing: "printing the address", source })
}
