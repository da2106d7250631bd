//! The command line.

use crate::commands;
use clap::{Args, Parser, Subcommand, ValueEnum};
use longboat_core::content::Wire;
use longboat_core::id::{InvalidId, MemberName, TaskId};
use longboat_core::permission::{Policy, Unanswered};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  longboat demo                         a whole team run, without any key
  longboat run \"Fix the failing test. Use a team: one to find, one to fix.\"
  longboat resume                       go on with the latest run
  longboat show                         its members, tasks and mail
  longboat send scout \"Look at x.rs\"    say something to a member at work
  longboat serve                        runs for whoever asks, over HTTP

Models: set a key (OPENAI_API_KEY, ANTHROPIC_API_KEY, DEEPSEEK_API_KEY, …) and a
model (--model, LONGBOAT_MODEL, or [model] default in longboat.toml), written
PROVIDER/MODEL, for example deepseek/deepseek-chat or ollama/qwen3.

Exit codes: 0 done; 1 the run ended, but not well; 2 something must be set or
asked for differently; 3 the store is held or cannot be used; 130 stopped.";

/// Runs a team of language-model agents on one task. No message between them is
/// ever lost, doubled, reordered or left unread.
#[derive(Debug, Parser)]
#[command(name = "longboat", version, after_help = AFTER_HELP, max_term_width = 80)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Work in this directory instead of the current one
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Keep sessions in this file instead of the workspace's own
    #[arg(long, global = true, value_name = "FILE", env = "LONGBOAT_STORE")]
    pub(crate) store: Option<PathBuf>,
    /// Read this configuration file and no other
    #[arg(long, global = true, value_name = "FILE", env = "LONGBOAT_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Which model, for the commands that start one.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelArgs {
    /// The model, PROVIDER/MODEL
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Where it is, instead of the provider's own place; such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL", env = "LONGBOAT_BASE_URL")]
    pub(crate) base_url: Option<String>,
    /// What it speaks there; of use with --base-url and a model without a provider
    #[arg(long, value_name = "WIRE")]
    pub(crate) wire: Option<WireArg>,
}

/// A wire's name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WireArg {
    /// OpenAI chat completions, and everything compatible
    OpenaiChat,
    /// OpenAI responses
    OpenaiResponses,
    /// Anthropic messages
    Anthropic,
}

impl From<WireArg> for Wire {
    fn from(wire: WireArg) -> Self {
        match wire {
            WireArg::OpenaiChat => Self::OpenaiChat,
            WireArg::OpenaiResponses => Self::OpenaiResponses,
            WireArg::Anthropic => Self::Anthropic,
        }
    }
}

/// What a run may cost; past it the run is suspended, and resume goes on.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct BudgetArgs {
    /// Suspend the run after so many turns of all members; 1000 if not given
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u64>,
    /// Suspend the run after so many tokens of all members, in and out
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Suspend the run after so many US dollars, of the models that have a price
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,
    /// Suspend the run after so many minutes
    #[arg(long, value_name = "N")]
    pub(crate) max_minutes: Option<u64>,
}

/// What members may do.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct PermissionArgs {
    /// What members may change at most; workspace-write if not given
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<PolicyArg>,
    /// Ask a person before every call that could change something
    #[arg(long)]
    pub(crate) ask: bool,
    /// What becomes of a question; wait where somebody can answer, deny elsewhere
    #[arg(long, value_name = "WHAT")]
    pub(crate) unanswered: Option<UnansweredArg>,
}

/// A policy's name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyArg {
    /// Nothing: files are read, and commands are kept from writing
    ReadOnly,
    /// The workspace; commands are kept to it where the kernel can
    WorkspaceWrite,
    /// Whatever you can
    Full,
}

impl From<PolicyArg> for Policy {
    fn from(policy: PolicyArg) -> Self {
        match policy {
            PolicyArg::ReadOnly => Self::ReadOnly,
            PolicyArg::WorkspaceWrite => Self::WorkspaceWrite,
            PolicyArg::Full => Self::Full,
        }
    }
}

/// What becomes of a question, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnansweredArg {
    /// The call is refused
    Deny,
    /// The call runs
    Allow,
    /// The call waits for longboat answer, the browser or the terminal
    Wait,
}

impl From<UnansweredArg> for Unanswered {
    fn from(unanswered: UnansweredArg) -> Self {
        match unanswered {
            UnansweredArg::Deny => Self::Deny,
            UnansweredArg::Allow => Self::Allow,
            UnansweredArg::Wait => Self::Wait,
        }
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text.trim_start_matches('$').parse().map_err(|_| "it is not a number")?;
    if amount.is_finite() && amount > 0.0 {
        Ok(amount)
    } else {
        Err("it needs to be above 0".to_owned())
    }
}

/// How a run is shown.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ShowingArgs {
    /// Print every event as one JSON line, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the lead's answer only
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// Reads a member's name.
pub(crate) fn parse_member(text: &str) -> Result<MemberName, InvalidId> {
    MemberName::new(text)
}

/// Reads a task's id.
pub(crate) fn parse_task(text: &str) -> Result<TaskId, InvalidId> {
    TaskId::new(text)
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a whole team at work on a small project; needs no key
    Demo(commands::demo::DemoArgs),
    /// Run a task to its end, with a lead and the teammates it makes
    Run(commands::run::RunArgs),
    /// Go on with a run that was stopped, or say more to one that ended
    Resume(commands::resume::ResumeArgs),
    /// Start a new session from the ended turns of another
    Fork(commands::fork::ForkArgs),
    /// Serve the sessions of this workspace over HTTP, and run them for whoever asks
    Serve(commands::serve::ServeArgs),
    /// Say something to a member of a team at work
    Send(commands::send::SendArgs),
    /// Answer a call that waits for your permission
    Answer(commands::answer::AnswerArgs),
    /// End a member's turn; what is pending for it starts the next one
    Interrupt(commands::interrupt::InterruptArgs),
    /// Show a team's tasks, or change them
    Tasks(commands::tasks::TasksArgs),
    /// List the sessions of this workspace
    Sessions(commands::sessions::SessionsArgs),
    /// Show a team, its tasks and its mail, or a member's transcript
    Show(commands::show::ShowArgs),
    /// Write every event as JSON lines
    Export(commands::export::ExportArgs),
    /// Find what is wrong with the store and the settings, and say what to do
    Doctor(commands::doctor::DoctorArgs),
    /// Print completions for a shell
    Completions(commands::completions::CompletionsArgs),
    /// Serve a script as a language model, for tests
    #[command(hide = true)]
    ScriptedModel(commands::scripted_model::ScriptedModelArgs),
}
