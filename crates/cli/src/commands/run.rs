//! `longboat run`: a task, from its prompt to its end.

use super::asking::asking;
use super::follow::{follow, showing, shut, tell, tell_door};
use crate::args::{BudgetArgs, GlobalArgs, ModelArgs, PermissionArgs, ShowingArgs};
use crate::assemble::{Wishes, assemble, choose_model};
use crate::config::Config;
use crate::door::Door;
use crate::exit::{CommandError, UsageError};
use crate::live::Display;
use crate::reach::listens;
use longboat_core::id::{ItemId, MemberName};
use longboat_core::limits::PROMPT_BYTES;
use longboat_core::log::Lane;
use longboat_engine::{Since, TeamHandle, Teams};
use std::io::{self, Read};

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What is to be done; - reads it from standard input
    prompt: String,
    #[command(flatten)]
    model: ModelArgs,
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

/// Runs a task.
pub(crate) async fn run(
    args: &RunArgs,
    global: &GlobalArgs,
    config: &Config,
) -> Result<u8, CommandError> {
    let prompt = read_prompt(&args.prompt)?;
    let model = choose_model(config, &args.model)?;
    listens(config, &model).await?;
    let model = model.to_string();
    let asking = asking(args.showing, args.web);
    let wishes = Wishes {
        budget: args.budget,
        permissions: args.permissions,
        answered: asking.is_answered(),
    };
    let assembly = assemble(config, wishes).await?;
    let teams = &assembly.teams;
    let workspace = config.workspace.display().to_string();
    let team = teams.create(workspace.clone(), model.clone()).await?;
    let showing = showing(args.showing, global.color, config);
    let mut display = Display::new(showing, team.team().lead().clone(), config.prices());
    for warning in &assembly.warnings {
        display.say(&format!("passed over {warning}"));
    }
    assembly.concerns.iter().for_each(|concern| display.say(concern));
    display.say(&format!("session {} · {model} · {workspace}", team.team()));
    let door = Door::of_run(config, &assembly, &team).await;
    tell_door(&door, &team, args.web, &mut display);
    let begin = say(teams, &team, prompt);
    let left = follow(&team, &mut display, asking, Since::Start, begin).await?;
    team.close().await;
    shut(door).await;
    let code = tell(&left, &team, showing, config)?;
    assembly.close().await;
    Ok(code)
}

/// The prompt, from the command line or from standard input.
pub(crate) fn read_prompt(given: &str) -> Result<String, CommandError> {
    let mut prompt = given.to_owned();
    if given == "-" {
        prompt.clear();
        let most = PROMPT_BYTES as u64 + 1;
        io::stdin().lock().take(most).read_to_string(&mut prompt).map_err(|source| {
            if source.kind() == io::ErrorKind::InvalidData {
                return CommandError::Usage(UsageError::NoText);
            }
            CommandError::Io { doing: "reading the prompt from standard input", source }
        })?;
    }
    if prompt.trim().is_empty() {
        return Err(CommandError::Usage(UsageError::EmptyPrompt));
    }
    if prompt.len() > PROMPT_BYTES {
        return Err(CommandError::Usage(UsageError::LongPrompt { limit: PROMPT_BYTES }));
    }
    Ok(prompt)
}

/// Queues a person's words for the lead.
pub(crate) async fn say(
    teams: &Teams,
    team: &TeamHandle,
    prompt: String,
) -> Result<(), CommandError> {
    #[expect(clippy::expect_used, reason = "letters and digits are an item id")]
    let item = ItemId::new(format!("prompt/{}", teams.ids().prompt())).expect("an item id");
    team.prompt(&MemberName::lead(), Lane::NextTurn, item, prompt).await?;
    Ok(())
}
