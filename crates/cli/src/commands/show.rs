//! `longboat show`: a team at a glance, or one member's transcript.

use super::look::{Failure, Look, write_json};
use crate::report::{Detail, LookError, TeamLogs, TeamStory, Transcript, find_session, read_team};
use longboat_core::id::SessionId;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A session's id, the beginning of one, or "latest"
    #[arg(default_value = "latest")]
    pub(crate) id: String,
    /// Follow what the team does, from the process that runs it
    #[arg(long, conflicts_with_all = ["member", "full"])]
    pub(crate) follow: bool,
    /// Show this member's transcript
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Show thoughts, arguments and results whole
    #[arg(long)]
    full: bool,
    /// Print JSON: one object, or with --follow an event a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Shows a team, or a member of it.
pub(crate) async fn run(args: &ShowArgs, look: &mut Look<'_>) -> Result<(), Failure> {
    let asked = find_session(look.store, &args.id).await?;
    let (lead, child) = match asked.as_str().split_once('.') {
        // A teammate's id names its Lead, and means its transcript.
        Some((lead, name)) => (SessionId::new(lead).unwrap_or_else(|_| asked.clone()), Some(name)),
        None => (asked.clone(), None),
    };
    let logs = read_team(look.store, &lead).await?;
    match args.member.as_deref().or(child) {
        Some(member) => show_member(args, look, &logs, member),
        None => show_team(args, look, &logs),
    }
}

fn show_team(args: &ShowArgs, look: &mut Look<'_>, logs: &TeamLogs) -> Result<(), Failure> {
    let story = TeamStory::of(logs, &look.prices);
    if args.json {
        return write_json(look.out, &story);
    }
    let again = format!("longboat show {}{} --member", story.team, look.store_flag);
    look.out.write_all(story.text(&look.page, &again).as_bytes())?;
    Ok(())
}

fn show_member(
    args: &ShowArgs,
    look: &mut Look<'_>,
    logs: &TeamLogs,
    member: &str,
) -> Result<(), Failure> {
    let story = TeamStory::of(logs, &look.prices);
    let found = story.members.iter().find(|story| story.name.as_str() == member);
    let log = found.and_then(|story| {
        std::iter::once(&logs.lead).chain(&logs.teammates).find(|log| log.session == story.session)
    });
    let Some(log) = log else {
        let known = story.members.iter().map(|story| story.name.to_string()).collect();
        let (team, asked) = (story.team, member.to_owned());
        return Err(LookError::NoMember { team, asked, known }.into());
    };
    let transcript = Transcript::of(log);
    if args.json {
        return write_json(look.out, &transcript);
    }
    let detail = if args.full { Detail::Full } else { Detail::Short };
    look.out.write_all(transcript.text(&look.page, detail).as_bytes())?;
    Ok(())
}
