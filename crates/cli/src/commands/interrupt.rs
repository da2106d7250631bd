//! `longboat interrupt`: ends a member's open turn, and nothing else.

use super::send::say;
use crate::args::parse_member;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::holder::Holding;
use longboat_core::id::MemberName;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct InterruptArgs {
    /// Whose turn: lead, or a teammate's name
    #[arg(value_parser = parse_member)]
    member: MemberName,
    /// The session's id or the beginning of one; the one at work if not given
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Deserialize)]
struct Outcome {
    cancelled: bool,
    pending: usize,
}

/// Ends it.
pub(crate) async fn run(args: &InterruptArgs, config: &Config) -> Result<u8, CommandError> {
    let holding = Holding::of(config, "interrupt")?;
    let session = holding.session(config, args.session.as_deref()).await?;
    let path = format!("/sessions/{session}/members/{}/interrupt", args.member);
    let Outcome { cancelled, pending } = holding.ask(Method::POST, &path, Some(&json!({}))).await?;
    let member = &args.member;
    say(&match (cancelled, pending) {
        (false, _) => format!("{member} has no open turn"),
        (true, 0) => format!("{member} was interrupted and has nothing pending"),
        (true, n) => format!("{member} was interrupted and goes on with {n} pending"),
    })?;
    Ok(exit::DONE)
}
