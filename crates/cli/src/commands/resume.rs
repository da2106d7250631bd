//! `longboat resume`: go on where a run was left, however it was left.

use super::asking::asking;
use super::follow::{follow, showing, shut, tell, tell_door};
use super::run::{read_prompt, say};
use crate::args::{BudgetArgs, GlobalArgs, PermissionArgs, ShowingArgs};
use crate::assemble::{Wishes, assemble};
use crate::config::Config;
use crate::door::Door;
use crate::exit::{CommandError, UsageError};
use crate::live::Display;
use crate::report::find_session;
use longboat_core::id::SessionId;
use longboat_engine::Since;
use longboat_store::Store;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// A session's id, the beginning of one, or "latest"
    #[arg(default_value = "latest")]
    pub(crate) id: String,
    /// Something more for the lead; - reads it from standard input
    prompt: Option<String>,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    permissions: PermissionArgs,
    #[command(flatten)]
    showing: ShowingArgs,
    /// Print an address at which a browser shows it
    #[arg(long)]
    web: bool,
}

/// Goes on with a run.
pub(crate) async fn run(
    args: &ResumeArgs,
    global: &GlobalArgs,
    config: &Config,
) -> Result<u8, CommandError> {
    let prompt = args.prompt.as_deref().map(read_prompt).transpose()?;
    let asking = asking(args.showing, args.web);
    let wishes = Wishes {
        budget: args.budget,
        permissions: args.permissions,
        answered: asking.is_answered(),
    };
    let assembly = assemble(config, wishes).await?;
    let asked = pick(&*assembly.store, &args.id, config).await?;
    let lead = lead_of(&asked);
    let team = assembly.teams.resume(&lead).await?;
    let showing = showing(args.showing, global.color, config);
    let mut display = Display::new(showing, lead.clone(), config.prices());
    if lead != asked {
        display.say(&format!("{asked} is a teammate; its whole team goes on"));
    }
    for warning in &assembly.warnings {
        display.say(&format!("passed over {warning}"));
    }
    assembly.concerns.iter().for_each(|concern| display.say(concern));
    display.say(&format!("session {lead} goes on"));
    let door = Door::of_run(config, &assembly, &team).await;
    tell_door(&door, &team, args.web, &mut display);
    let begin = async {
        match prompt {
            Some(prompt) => say(&assembly.teams, &team, prompt).await,
            None => Ok(()),
        }
    };
    let left = follow(&team, &mut display, asking, Since::Now, begin).await?;
    team.close().await;
    shut(door).await;
    let code = tell(&left, &team, showing, config)?;
    assembly.close().await;
    Ok(code)
}

/// The session a person means.
pub(crate) async fn pick(
    store: &dyn Store,
    asked: &str,
    config: &Config,
) -> Result<SessionId, CommandError> {
    use crate::report::LookError;
    match find_session(store, asked).await {
        Ok(session) => Ok(session),
        Err(LookError::Empty) => {
            let store = config.store.display().to_string();
            Err(CommandError::Usage(UsageError::NoSession { store }))
        }
        Err(error) => Err(CommandError::Look(super::look::Failure::Look(error))),
    }
}

/// The lead of a session's team.
pub(crate) fn lead_of(session: &SessionId) -> SessionId {
    let lead = session.as_str().split('.').next().unwrap_or_default();
    SessionId::new(lead).unwrap_or_else(|_| session.clone())
}
