//! What the process ends with, and the one line that says why.

use crate::assemble::AssemblyError;
use crate::config::ConfigError;
use crate::holder::HoldingError;
use longboat_core::log::TurnOutcome;
use longboat_engine::{RunEnd, TeamError, TeamFault};
use longboat_store::OpenError;
use std::error::Error;
use std::process::ExitCode;

/// The Lead's last turn was completed, and nothing is owed.
pub(crate) const DONE: u8 = 0;
/// The run ended, but not well.
pub(crate) const UNDONE: u8 = 1;
/// Something must be set or asked for differently.
pub(crate) const USAGE: u8 = 2;
/// The store is held by another process, or cannot be used.
pub(crate) const STORE: u8 = 3;
/// Stopped by Ctrl-C or SIGTERM.
pub(crate) const STOPPED: u8 = 130;

/// Everything that ends a command early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The configuration is wrong or incomplete.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The parts could not be joined.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The team could not be opened.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// The team could not be asked.
    #[error(transparent)]
    Fault(#[from] TeamFault),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] longboat_store::StoreError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}{}", crate::door::why_not(.source))]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The address can be reached by others.
    #[error(transparent)]
    Remote(#[from] longboat_http::NotLoopback),
    /// The process that holds the store did not do it.
    #[error(transparent)]
    Holding(#[from] crate::holder::HoldingError),
    /// The terminal or a file could not be read or written.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no demo.
    #[error(transparent)]
    Demo(#[from] crate::commands::demo::DemoError),
    /// There is no report.
    #[error(transparent)]
    Look(crate::commands::look::Failure),
    /// What was asked for cannot be.
    #[error("{0}")]
    Usage(UsageError),
}

/// What was asked for cannot be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    /// There is no prompt.
    #[error("the prompt is empty; say what is to be done: longboat run \"…\"")]
    EmptyPrompt,
    /// The prompt is no text.
    #[error("the prompt on standard input is not UTF-8 text; name the file in a prompt instead")]
    NoText,
    /// The prompt is too long.
    #[error("the prompt has more than {limit} bytes; put what is long into a file and name it")]
    LongPrompt {
        /// The most it may have.
        limit: usize,
    },
    /// There is nothing to resume.
    #[error("there is no session in {store} yet; start one with: longboat run \"…\"")]
    NoSession {
        /// Where.
        store: String,
    },
    /// Nobody is there to be asked.
    #[error(
        "nobody holds {store}, so there is nobody to {wanted}: start longboat serve{flag}, or go on with a session by longboat resume{flag}"
    )]
    NobodyHolds {
        /// What was wanted.
        wanted: &'static str,
        /// The store.
        store: String,
        /// What to add to a command line.
        flag: String,
    },
    /// Whoever is there cannot be asked.
    #[error(
        "{store} is held by {holder}, which takes nothing from other commands: it is of an older version, or it said why when it began"
    )]
    HolderMute {
        /// The store.
        store: String,
        /// Who holds it.
        holder: String,
    },
    /// The script cannot be read.
    #[error("the script {path} is not valid: {reason}")]
    Script {
        /// Which file.
        path: String,
        /// Where and why.
        reason: String,
    },
}

impl CommandError {
    /// The exit code it calls for.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Usage(_) | Self::Assembly(_) => USAGE,
            Self::Listen { .. } | Self::Remote(_) => USAGE,
            Self::Holding(HoldingError::Problem { status: 400..=499, .. }) => USAGE,
            Self::Holding(_) => UNDONE,
            Self::Open(OpenError::Missing { .. }) => USAGE,
            Self::Open(_) | Self::Store(_) => STORE,
            Self::Team(TeamError::Write(_) | TeamError::Store(_)) => STORE,
            Self::Team(TeamError::Load(error)) if error.is_damage() => STORE,
            Self::Team(_) => USAGE,
            Self::Look(failure) => failure.exit_code(),
            Self::Fault(_) | Self::Demo(_) | Self::Io { .. } => UNDONE,
        }
    }
}

/// Prints why a command ended early.
pub(crate) fn report(error: &CommandError) -> ExitCode {
    if error.code() == DONE {
        // Whoever read the output has enough of it.
        return ExitCode::from(DONE);
    }
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        source = cause.source();
    }
    complain(&line);
    ExitCode::from(error.code())
}

/// Says something amiss. When nobody can read it, the exit code still says so.
pub(crate) fn complain(line: &str) {
    use std::io::Write;
    writeln!(std::io::stderr().lock(), "longboat: {line}").ok();
}

/// What a run that came to rest ends with, and why, when it is not well.
pub(crate) fn of_run(end: &RunEnd) -> (u8, Vec<String>) {
    let mut reasons = Vec::new();
    if let Some(budget) = &end.exhausted {
        reasons.push(format!("{budget}; longboat resume goes on, with a new budget"));
    }
    match &end.lead {
        Some(TurnOutcome::Completed) | None => {}
        Some(TurnOutcome::Interrupted { by }) => {
            reasons.push(format!("the lead's last turn was interrupted by {by}"));
        }
        Some(TurnOutcome::Failed { reason }) => {
            reasons.push(format!("the lead's turn failed: {reason}"));
        }
    }
    for (message, to, cause) in &end.owed {
        reasons
            .push(format!("{message} is still owed to {to}: {cause}; longboat resume tries again"));
    }
    (if reasons.is_empty() { DONE } else { UNDONE }, reasons)
}
