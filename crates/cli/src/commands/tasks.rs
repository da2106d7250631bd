//! `longboat tasks`: a team's task board. Looking needs nobody; changing needs the process that holds
//! the store, and has the lead's authority.

use super::look::{Failure, Look, write_json};
use super::send::say;
use crate::args::{parse_member, parse_task};
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::holder::Holding;
use crate::report::{Page, board, find_session, one_line, read_team, write_board};
use longboat_core::id::{MemberName, TaskId};
use longboat_core::team::TaskState;
use longboat_store::SqliteStore;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    action: Option<TasksAction>,
    /// The session's id or the beginning of one; the one at work, or the latest, if not given
    #[arg(long, value_name = "ID", global = true)]
    session: Option<String>,
}

/// What to do with the board.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum TasksAction {
    /// List the tasks; so does no action at all
    List {
        /// Print JSON: one array
        #[arg(long)]
        json: bool,
    },
    /// Make a task
    Create {
        /// One line
        subject: String,
        /// What is to be done, and when it is done
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// A task that must be completed first; may be given again
        #[arg(long, value_name = "TASK", value_parser = parse_task)]
        blocked_by: Vec<TaskId>,
        /// A path its owner will write; may be given again
        #[arg(long, value_name = "PATH")]
        write_scope: Vec<String>,
    },
    /// Take a task for yourself
    Claim(OneTask),
    /// Take a task from whoever has it
    Release(OneTask),
    /// Say that a task is done
    Complete(OneTask),
    /// Say that a task is not done after all
    Reopen(OneTask),
    /// Take a task off the board, for good
    Delete(OneTask),
    /// Give a task to a member
    Assign {
        #[command(flatten)]
        task: OneTask,
        /// Who is to have it
        #[arg(value_parser = parse_member)]
        member: MemberName,
    },
    /// Change a task's texts
    Edit {
        #[command(flatten)]
        task: OneTask,
        /// The new subject
        #[arg(long, value_name = "TEXT", required_unless_present = "description")]
        subject: Option<String>,
        /// The new description
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
}

/// A task, as it was last seen.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OneTask {
    /// The task, such as t3
    #[arg(value_parser = parse_task)]
    task: TaskId,
    /// The revision you saw; if it has changed since, nothing happens
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
}

#[derive(Deserialize)]
struct Changed {
    task: Shown,
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Shown {
    id: String,
    revision: u64,
    status: String,
    owner: Option<String>,
}

/// Shows or changes the board.
pub(crate) async fn run(args: &TasksArgs, config: &Config, page: Page) -> Result<u8, CommandError> {
    let action = args.action.clone().unwrap_or(TasksAction::List { json: false });
    let TasksAction::List { json } = action else {
        return change(args, action, config).await;
    };
    let store = SqliteStore::open_read_only(&config.store)?;
    let mut out = io::stdout();
    let (prices, store_flag) = (config.prices(), config.store_flag());
    let mut look = Look { store: &store, page, out: &mut out, prices, store_flag };
    let listed = list(args.session.as_deref(), json, &mut look).await;
    store.close().await;
    listed.map_err(CommandError::Look)?;
    Ok(exit::DONE)
}

async fn list(session: Option<&str>, json: bool, look: &mut Look<'_>) -> Result<(), Failure> {
    let asked = find_session(look.store, session.unwrap_or("latest")).await?;
    let lead = super::resume::lead_of(&asked);
    let logs = read_team(look.store, &lead).await?;
    let tasks = board(&logs.lead);
    if json {
        let live: Vec<_> = tasks.iter().filter(|task| task.state != TaskState::Deleted).collect();
        return write_json(look.out, &live);
    }
    let mut text = String::new();
    write_board(&look.page, &mut text, &tasks);
    look.out.write_all(text.as_bytes())?;
    Ok(())
}

async fn change(
    args: &TasksArgs,
    action: TasksAction,
    config: &Config,
) -> Result<u8, CommandError> {
    let holding = Holding::of(config, "change a task")?;
    let session = holding.session(config, args.session.as_deref()).await?;
    let tasks = format!("/sessions/{session}/tasks");
    let changed: Changed = match body(action) {
        (None, body) => holding.ask(Method::POST, &tasks, Some(&body)).await?,
        (Some(OneTask { task, revision }), mut body) => {
            let path = format!("{tasks}/{task}");
            let revision = match revision {
                Some(revision) => revision,
                None => holding.ask::<Shown>(Method::GET, &path, None).await?.revision,
            };
            if let Some(body) = body.as_object_mut() {
                body.insert("expected_revision".to_owned(), revision.into());
            }
            holding.ask(Method::POST, &path, Some(&body)).await?
        }
    };
    let Shown { id, revision, status, owner } = changed.task;
    let owner = owner.map(|owner| format!(", {owner}'s")).unwrap_or_default();
    let status = status.replace('_', " ");
    say(&format!("{id} is {status}{owner} (revision {revision})"))?;
    for warning in &changed.warnings {
        exit::complain(&one_line(warning));
    }
    Ok(exit::DONE)
}

/// The task, when there is one already, and what is asked of the API.
fn body(action: TasksAction) -> (Option<OneTask>, Value) {
    match action {
        // Told apart before.
        TasksAction::List { .. } => (None, Value::Null),
        TasksAction::Create { subject, description, blocked_by, write_scope } => {
            let body = json!({"subject": subject, "description": description,
                "blocked_by": blocked_by, "write_scopes": write_scope});
            (None, body)
        }
        TasksAction::Claim(task) => (Some(task), json!({"action": "claim"})),
        TasksAction::Release(task) => (Some(task), json!({"action": "release"})),
        TasksAction::Complete(task) => (Some(task), json!({"action": "complete"})),
        TasksAction::Reopen(task) => (Some(task), json!({"action": "reopen"})),
        TasksAction::Delete(task) => (Some(task), json!({"action": "delete"})),
        TasksAction::Assign { task, member } => {
            (Some(task), json!({"action": "reassign", "owner": member}))
        }
        TasksAction::Edit { task, subject, description } => {
            let mut body = json!({"action": "edit"});
            for (name, text) in [("subject", subject), ("description", description)] {
                if let (Some(text), Some(body)) = (text, body.as_object_mut()) {
                    body.insert(name.to_owned(), text.into());
                }
            }
            (Some(task), body)
        }
    }
}
