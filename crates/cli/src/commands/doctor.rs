//! `longboat doctor`: what is wrong with the store, the sessions in it and the settings, and what to
//! do about each. It changes nothing, so it works beside a run; MCP servers are started to see whether
//! they do.

use super::look::{Failure, write_json};
use crate::args::{ModelArgs, PermissionArgs};
use crate::assemble::choose_model;
use crate::config::{Config, concerns, confinement, permissions, servers};
use crate::exit::{self, CommandError};
use crate::reach::listens;
use crate::report::{LoggedStatus, MessageState, TeamStory, list_sessions, one_line, read_team};
use crate::roles;
use longboat_core::price::Prices;
use longboat_mcp::McpServers;
use longboat_store::{OpenError, SqliteStore};
use longboat_workspace::Confinement;
use serde::Serialize;
use std::io::{self, Write};

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON: one array of findings
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    grade: Grade,
    about: String,
    says: String,
}

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Grade {
    Good,
    /// Worth knowing; nothing is broken.
    Note,
    Wrong,
}

impl Finding {
    fn new(grade: Grade, about: &str, says: impl Into<String>) -> Self {
        Self { grade, about: about.to_owned(), says: says.into() }
    }
}

/// Looks at everything. Ends with 1 when something is wrong.
pub(crate) async fn run(args: &DoctorArgs, config: &Config) -> Result<u8, CommandError> {
    let mut findings = settings(config).await;
    permitted(config, &mut findings);
    mcp(config, &mut findings).await;
    match SqliteStore::open_read_only(&config.store) {
        Ok(store) => {
            let shown = config.store.display().to_string();
            findings.push(Finding::new(Grade::Good, "store", format!("{shown} can be read")));
            structure(&store, &mut findings).await;
            sessions(&store, &mut findings).await;
        }
        Err(OpenError::Missing { .. }) => {
            findings.push(Finding::new(
                Grade::Note,
                "store",
                "there is none yet: the first run makes it",
            ));
        }
        Err(error) => findings.push(Finding::new(Grade::Wrong, "store", error.to_string())),
    }
    write(args, &findings)?;
    let wrong = findings.iter().any(|finding| finding.grade == Grade::Wrong);
    Ok(if wrong { exit::UNDONE } else { exit::DONE })
}

fn write(args: &DoctorArgs, findings: &[Finding]) -> Result<(), CommandError> {
    let mut out = io::stdout();
    if args.json {
        return write_json(&mut out, &findings).map_err(CommandError::Look);
    }
    for finding in findings {
        let mark = match finding.grade {
            Grade::Good => "ok   ",
            Grade::Note => "note ",
            Grade::Wrong => "WRONG",
        };
        let line = format!("{mark} {}: {}\n", finding.about, one_line(&finding.says));
        out.write_all(line.as_bytes()).map_err(Failure::Write).map_err(CommandError::Look)?;
    }
    Ok(())
}

/// The model, its key and its server; the roles.
async fn settings(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let base_url = config.environment.get("LONGBOAT_BASE_URL").map(str::to_owned);
    match choose_model(config, &ModelArgs { base_url, ..ModelArgs::default() }) {
        Ok(name) => match listens(config, &name).await {
            Ok(()) => findings.push(Finding::new(Grade::Good, "model", name.to_string())),
            Err(error) => findings.push(Finding::new(Grade::Wrong, "model", error.to_string())),
        },
        Err(error) => findings.push(Finding::new(Grade::Note, "model", error.to_string())),
    }
    let roles = roles::read(&config.workspace);
    if !roles.by_name.is_empty() {
        let names: Vec<&str> = roles.by_name.keys().map(String::as_str).collect();
        findings.push(Finding::new(Grade::Good, "roles", names.join(", ")));
    }
    let remarks = roles.remarks.into_iter();
    findings.extend(remarks.map(|remark| Finding::new(Grade::Note, "role", remark)));
    let broken = roles.broken.into_iter();
    findings.extend(broken.map(|problem| Finding::new(Grade::Wrong, "role", problem)));
    findings
}

/// What members may do, and whether the kernel holds their commands to it.
fn permitted(config: &Config, findings: &mut Vec<Finding>) {
    let policy = permissions(config, PermissionArgs::default(), false).policy;
    let held = confinement(config, policy).is_some_and(|_| Confinement::is_supported());
    let says = match held {
        true => format!("{}; the kernel keeps commands to it", policy.name()),
        false => policy.name().to_owned(),
    };
    findings.push(Finding::new(Grade::Good, "permissions", says));
    let concerns = concerns(config, policy).into_iter();
    findings.extend(concerns.map(|says| Finding::new(Grade::Note, "permissions", says)));
}

/// The MCP servers: each is started, asked for its tools, and ended.
async fn mcp(config: &Config, findings: &mut Vec<Finding>) {
    let servers = match servers(config) {
        Ok(servers) => McpServers::start(servers).await,
        Err(error) => {
            findings.push(Finding::new(Grade::Wrong, "mcp", error.to_string()));
            return;
        }
    };
    for state in servers.states() {
        let about = format!("mcp {}", state.name);
        if state.runs {
            let says = match state.tools.as_slice() {
                [] => "it offers no tools".to_owned(),
                tools => tools.join(", "),
            };
            findings.push(Finding::new(Grade::Good, &about, says));
        }
        let wrong = state.problems.iter();
        findings.extend(wrong.map(|problem| Finding::new(Grade::Wrong, &about, problem)));
    }
    servers.close().await;
}

/// The file as SQLite sees it.
async fn structure(store: &SqliteStore, findings: &mut Vec<Finding>) {
    match store.check().await {
        Ok(problems) if problems.is_empty() => {
            findings.push(Finding::new(Grade::Good, "store", "its structure is sound"));
        }
        Ok(problems) => findings.extend(problems.into_iter().map(|problem| {
            let says = format!("{problem}; save what is readable with: longboat export");
            Finding::new(Grade::Wrong, "store", says)
        })),
        Err(error) => findings.push(Finding::new(Grade::Wrong, "store", error.to_string())),
    }
}

/// Every session: whether its log can be read and folded, and what is still to be done in it.
async fn sessions(store: &SqliteStore, findings: &mut Vec<Finding>) {
    let listed = match list_sessions(store, usize::MAX).await {
        Ok((listed, _)) => listed,
        Err(error) => {
            findings.push(Finding::new(Grade::Wrong, "sessions", error.to_string()));
            return;
        }
    };
    for lead in listed {
        match read_team(store, &lead.session).await {
            Ok(logs) => findings.extend(team(&TeamStory::of(&logs, &Prices::default()))),
            Err(error) => {
                findings.push(Finding::new(Grade::Wrong, lead.session.as_str(), error.to_string()));
            }
        }
    }
}

fn team(story: &TeamStory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for log in &story.damaged {
        let says = format!(
            "its log cannot be understood from seq {} on: {}; other sessions are not touched, and longboat export saves what is readable",
            log.damage.seq, log.damage.what
        );
        findings.push(Finding::new(Grade::Wrong, log.session.as_str(), says));
    }
    for member in &story.members {
        if let Some(cause) = &member.unreachable {
            let says = format!("cannot be reached: {cause}");
            findings.push(Finding::new(Grade::Wrong, member.session.as_str(), says));
        }
        let damaged = story
            .damaged
            .iter()
            .any(|log| log.session == member.session || log.session == story.team);
        if matches!(member.status, LoggedStatus::OpenTurn { .. }) && !damaged {
            let says = "a turn is open: it runs, or longboat resume goes on with it";
            findings.push(Finding::new(Grade::Note, member.session.as_str(), says));
        }
    }
    let owed: Vec<String> = story
        .messages
        .iter()
        .filter(|way| way.state == MessageState::Owed)
        .map(|way| format!("{} to {}", way.message, way.to))
        .collect();
    if !owed.is_empty() && story.damaged.is_empty() {
        let says = format!("still owed: {}; longboat resume tries again", owed.join(", "));
        findings.push(Finding::new(Grade::Note, story.team.as_str(), says));
    }
    if findings.is_empty() {
        findings.push(Finding::new(Grade::Good, story.team.as_str(), "every log is whole"));
    }
    findings
}
