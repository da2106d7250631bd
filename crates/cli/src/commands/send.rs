//! `longboat send`: a person's words to a member of a team that another process runs.

use super::run::read_prompt;
use crate::args::parse_member;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::holder::Holding;
use longboat_core::id::MemberName;
use reqwest::Method;
use serde_json::{Value, json};
use std::io::{self, Write};

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct SendArgs {
    /// Who is to hear it: lead, or a teammate's name
    #[arg(value_parser = parse_member)]
    member: MemberName,
    /// The words; - reads them from standard input
    text: String,
    /// Have it read at the member's nearest step, not as a turn of its own
    #[arg(long)]
    steer: bool,
    /// The session's id or the beginning of one; the one at work if not given
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// A name of your own for it: said again under the same one, it is said once
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
}

/// Says it.
pub(crate) async fn run(args: &SendArgs, config: &Config) -> Result<u8, CommandError> {
    let text = read_prompt(&args.text)?;
    let holding = Holding::of(config, "send")?;
    let session = holding.session(config, args.session.as_deref()).await?;
    let how = if args.steer { "steer" } else { "prompt" };
    let path = format!("/sessions/{session}/members/{}/{how}", args.member);
    let body = match &args.id {
        Some(id) => json!({"text": text, "id": id}),
        None => json!({"text": text}),
    };
    let _taken: Value = holding.ask(Method::POST, &path, Some(&body)).await?;
    let done = if args.steer { "steered" } else { "queued for" };
    say(&format!("{done} {} in {session}", args.member))?;
    Ok(exit::DONE)
}

/// Prints what was done.
pub(crate) fn say(line: &str) -> Result<(), CommandError> {
    writeln!(io::stdout().lock(), "{line}")
        .map_err(|source| CommandError::Io { doing: "writing what was done", source })
}
