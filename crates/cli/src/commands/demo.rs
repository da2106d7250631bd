//! `longboat demo`: a whole team run without any key. The model is scripted; the client, the engine,
//! the tools, the store and the project are real.

use super::asking::Asking;
use super::follow::{Left, Stops, follow, showing, shut, tell, tell_door};
use super::run::say;
use crate::args::{GlobalArgs, ShowingArgs};
use crate::assemble::{Assembly, Wishes, assemble};
use crate::config::Config;
use crate::demo::{PROMPT, Pace, Place, TestVerdict, Wires, lead_model, provide};
use crate::door::Door;
use crate::exit::{self, CommandError, complain};
use crate::live::{Display, Showing};
use crate::report::{MessageState, Page, TeamStory, one_line, read_team};
use longboat_core::price::Prices;
use longboat_core::team::TaskState;
use longboat_engine::{Since, TeamHandle};
use std::io::{self, Write};
use std::path::PathBuf;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// What the members speak with their model
    #[arg(long, value_name = "WIRE", default_value = "both")]
    wire: Wires,
    /// Make the demo's directory in this one instead of the system's for temporary files
    #[arg(long, value_name = "DIR")]
    within: Option<PathBuf>,
    #[command(flatten)]
    showing: ShowingArgs,
    /// Print an address at which a browser shows it, and stay after its end
    #[arg(long)]
    web: bool,
}

/// Says why there is no demo.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// The project's test cannot be run.
    #[error(
        "the demo's project cannot be tested here ({reason}); its test.sh needs sh, grep and rustc"
    )]
    NoTest {
        /// What came of trying.
        reason: String,
    },
}

/// Runs the demo. `page` is where its report is read.
pub(crate) async fn run(
    args: &DemoArgs,
    global: &GlobalArgs,
    page: impl FnOnce(&Config) -> Page,
) -> Result<u8, CommandError> {
    let place = Place::make(args.within.as_deref(), args.wire)
        .map_err(|source| CommandError::Io { doing: "making the demo's directory", source })?;
    let mut config = Config::read(&globals(global, &place))?;
    let showing = showing(args.showing, global.color, &config);
    let pace = match showing {
        Showing::Terminal { .. } => Pace::Watched,
        Showing::Lines | Showing::Json | Showing::Quiet => Pace::Swift,
    };
    let before = test_before(&place).await?;
    // Lives until the end of the demo.
    let _server = provide(&mut config, pace).await?;
    let assembly = assemble(&config, Wishes::default()).await?;
    let cwd = config.workspace.display().to_string();
    let team = assembly.teams.create(cwd, lead_model(args.wire)).await?;
    let mut display = Display::new(showing, team.team().lead().clone(), config.prices());
    display.say(&format!(
        "a demo in {}: its model is scripted, all else is real",
        place.root.display()
    ));
    display.say(&format!("session {} · bill/test.sh says: {before}", team.team()));
    let door = Door::of_run(&config, &assembly, &team).await;
    tell_door(&door, &team, args.web, &mut display);
    let begin = say(&assembly.teams, &team, PROMPT.to_owned());
    let left = follow(&team, &mut display, Asking::Nobody, Since::Start, begin).await?;
    if let (true, Ok(_), Left::Ended(_)) = (args.web, &door, &left) {
        complain("it has ended and is still served; Ctrl-C stops");
        Stops::new()?.next().await;
    }
    team.close().await;
    shut(door).await;
    let verdict = match &left {
        Left::Ended(_) => judge(&place, &assembly, &team, showing, page(&config)).await?,
        Left::Stopped => Vec::new(),
    };
    let code = tell(&left, &team, showing, &config)?;
    assembly.close().await;
    Ok(conclude(code, &verdict))
}

/// The demo is its own workspace with its own configuration; a store that is asked for is used.
fn globals(global: &GlobalArgs, place: &Place) -> GlobalArgs {
    GlobalArgs {
        directory: Some(place.workspace.clone()),
        store: Some(global.store.clone().unwrap_or_else(|| place.store.clone())),
        config: Some(place.configuration.clone()),
        color: global.color,
    }
}

/// Sees the project's test fail: a demo that repairs what is not broken shows nothing.
async fn test_before(place: &Place) -> Result<String, DemoError> {
    match place.test().await {
        TestVerdict::Failed { said } if said.contains("1 passed; 1 failed") => Ok(one_line(&said)),
        TestVerdict::Failed { said } => Err(DemoError::NoTest { reason: one_line(&said) }),
        TestVerdict::NotRun { reason } => Err(DemoError::NoTest { reason: one_line(&reason) }),
        TestVerdict::Passed => Err(DemoError::NoTest { reason: "it passes before".to_owned() }),
    }
}

/// Shows the team as its logs have it, and says what is not as it should be.
async fn judge(
    place: &Place,
    assembly: &Assembly,
    team: &TeamHandle,
    showing: Showing,
    page: Page,
) -> Result<Vec<String>, CommandError> {
    let logs = read_team(&*assembly.store, team.team().lead()).await;
    let logs = logs.map_err(|error| CommandError::Look(error.into()))?;
    let story = TeamStory::of(&logs, &Prices::default());
    if matches!(showing, Showing::Terminal { .. } | Showing::Lines) {
        let mut tables = String::new();
        story.write_tables(&page, &mut tables);
        tables.push('\n');
        let written = io::stdout().lock().write_all(tables.as_bytes());
        written.map_err(|source| CommandError::Io { doing: "writing the report", source })?;
    }
    let mut amiss = amiss(&story);
    match place.test().await {
        TestVerdict::Passed => {}
        TestVerdict::Failed { said } => amiss.push(format!("the project's test fails: {said}")),
        TestVerdict::NotRun { reason } => {
            amiss.push(format!("the project's test could not be run: {reason}"));
        }
    }
    Ok(amiss)
}

/// What of a demo's story is not as it should be.
fn amiss(story: &TeamStory) -> Vec<String> {
    let unread = story.messages.iter().filter(|way| way.state != MessageState::Read);
    let unread = unread.map(|way| format!("{} was not read by {}", way.message, way.to));
    let open = |state: &TaskState| !matches!(state, TaskState::Completed { .. });
    let undone = story.tasks.iter().filter(|task| open(&task.state));
    let undone = undone.map(|task| format!("task {} is not completed", task.id));
    let mut amiss: Vec<String> = unread.chain(undone).collect();
    if story.messages.is_empty() || story.tasks.is_empty() {
        amiss.push("the team wrote no message or made no task".to_owned());
    }
    amiss
}

#[expect(clippy::print_stderr, reason = "this is where people read how it ended")]
fn conclude(code: u8, amiss: &[String]) -> u8 {
    for reason in amiss {
        eprintln!("longboat: {}", one_line(reason));
    }
    if code == exit::DONE && !amiss.is_empty() { exit::UNDONE } else { code }
}
