//! `longboat sessions`: what there is to look at.

use super::look::{Failure, Look, write_json};
use crate::report::list_sessions;

/// Teams shown when not all are asked for.
const NEWEST: usize = 20;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsArgs {
    /// Print JSON: one array, a Lead an element, its teammates inside
    #[arg(long)]
    json: bool,
    /// Show every team, and every teammate on a line of its own
    #[arg(long)]
    all: bool,
}

/// Lists the sessions of a store.
pub(crate) async fn run(args: &SessionsArgs, look: &mut Look<'_>) -> Result<(), Failure> {
    let most = if args.all || args.json { usize::MAX } else { NEWEST };
    let (listed, left_out) = list_sessions(look.store, most).await?;
    if args.json {
        return write_json(look.out, &listed);
    }
    let mut text = String::new();
    for team in &listed {
        team.write(&look.page, &mut text, args.all);
    }
    if listed.is_empty() {
        text.push_str("no sessions yet; start one with `longboat run`\n");
    }
    if left_out > 0 {
        text.push_str(&format!("… {left_out} older; --all shows them\n"));
    }
    look.out.write_all(text.as_bytes())?;
    Ok(())
}
