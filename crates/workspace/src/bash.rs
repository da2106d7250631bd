//! `bash`: a command in the workspace, bounded in time and words.

use crate::capture::Capture;
use crate::marks;
use crate::process::{self, End, Ended, Launch, Leftover};
use crate::settings::WorkspaceSettings;
use async_trait::async_trait;
use longboat_core::content::{ToolOutcome, ToolSpec, ToolStatus};
use longboat_core::permission::{Reach, Subject};
use longboat_engine::{Effect, Tool, ToolScope, describe_tool, parse_arguments};
use nix::sys::signal::Signal;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The longest a command may run.
const LONGEST_MS: u64 = 3_600_000;
/// What an operating system takes as one argument, with room to spare.
const COMMAND_BYTES: usize = 120 * 1024;

#[derive(Debug)]
pub(crate) struct Bash {
    pub(crate) settings: Arc<WorkspaceSettings>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command, for bash. It has no input, and runs in the workspace's root.
    command: String,
    /// Milliseconds it may take, up to 3600000; 120000 if not given.
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        describe_tool::<Arguments>(
            "bash",
            "Run a command with bash in the workspace's root and show what it prints and its exit code. Long output is cut in the middle and kept in a file that read can show. Everything the command started is ended with it: nothing can be left running in the background.",
        )
    }

    fn effect(&self) -> Effect {
        Effect::Ordered
    }

    fn reach(&self) -> Reach {
        if self.settings.confinement.is_some() { Reach::Confined } else { Reach::Changes }
    }

    fn subject(&self, _: &ToolScope, arguments: &serde_json::Value) -> Option<Subject> {
        arguments.get("command")?.as_str().map(Subject::command)
    }

    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome {
        let arguments: Arguments = match parse_arguments("bash", arguments) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let limit = match arguments.timeout_ms {
            Some(0) => return ToolOutcome::error("timeout_ms is 0; it must be 1 to 3600000"),
            Some(ms) => Duration::from_millis(ms.min(LONGEST_MS)),
            None => self.settings.bash_timeout,
        };
        if arguments.command.contains('\0') {
            return ToolOutcome::error("the command has a NUL character");
        }
        if arguments.command.len() > COMMAND_BYTES {
            return ToolOutcome::error(format!(
                "the command is longer than {COMMAND_BYTES} bytes; write it to a file and run that"
            ));
        }
        self.run(&scope, &arguments.command, limit).await
    }
}

const CONFINED: &str = "\n[commands can write in the workspace and in $TMPDIR, and cannot read the rest of the user's home]";
const CONFINED_TO_READ: &str =
    "\n[commands can write in $TMPDIR only, and cannot read the rest of the user's home]";

/// Why a command was not let run to its end.
enum Stop {
    Cancelled,
    TimedOut,
}

impl Bash {
    async fn run(&self, scope: &ToolScope, command: &str, limit: Duration) -> ToolOutcome {
        let file = scope.spill.join(format!("{}-{}.txt", scope.origin.step, scope.origin.index));
        let mut capture = Capture::new(file);
        let stop = async {
            tokio::select! {
                biased;
                () = scope.cancel.cancelled() => Stop::Cancelled,
                () = sleep(limit) => Stop::TimedOut,
            }
        };
        let launch = Launch {
            command,
            cwd: &scope.cwd,
            environment: self.environment(scope).await,
            mark: marks::mark(&self.settings.tag, &scope.origin),
            confinement: self.settings.confinement.as_ref(),
        };
        match process::run(&launch, &mut capture, stop).await {
            Ok(ended) => {
                let output = capture.shown().await;
                let hint = self.hint(&ended, &output);
                told(&ended, limit, output, hint)
            }
            Err(error) => ToolOutcome::error(format!("the command could not be run: {error}")),
        }
    }

    /// A confined command has a directory of its own for what it needs for a moment, since it cannot
    /// write to the machine's.
    async fn environment(&self, scope: &ToolScope) -> BTreeMap<String, String> {
        let mut environment = self.settings.environment.clone();
        if self.settings.confinement.is_some() {
            let temporary = scope.spill.join("tmp");
            if tokio::fs::create_dir_all(&temporary).await.is_ok() {
                environment.insert("TMPDIR".to_owned(), temporary.display().to_string());
            }
        }
        environment
    }

    /// Says what may have been in the way of a command that failed.
    fn hint(&self, ended: &Ended<Stop>, output: &str) -> &'static str {
        let failed = matches!(ended.end, End::Exited(code) if code != 0);
        let denied = ["Permission denied", "EACCES", "Operation not permitted", "os error 13"];
        match &self.settings.confinement {
            Some(confinement) if failed && denied.iter().any(|text| output.contains(text)) => {
                if confinement.writes {
                    CONFINED
                } else {
                    CONFINED_TO_READ
                }
            }
            Some(_) | None => "",
        }
    }
}

fn told(ended: &Ended<Stop>, limit: Duration, output: String, hint: &str) -> ToolOutcome {
    let (status, end) = match &ended.end {
        End::Exited(0) => (ToolStatus::Ok, "exit code 0".to_owned()),
        End::Exited(code) => (ToolStatus::Error, format!("exit code {code}{}", signal(*code))),
        End::Broken => {
            let end = "it killed the shell that ran it; leave that shell alone";
            (ToolStatus::Error, end.to_owned())
        }
        End::Stopped(Stop::TimedOut) => {
            (ToolStatus::Error, format!("timed out after {} ms and was ended", limit.as_millis()))
        }
        End::Stopped(Stop::Cancelled) => {
            (ToolStatus::Interrupted, "interrupted; all it started was ended".to_owned())
        }
    };
    let mut text = output;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[{end}]"));
    text.push_str(match ended.leftover {
        Leftover::Nothing => "",
        Leftover::Ended => "\n[processes it left in the background were ended]",
        Leftover::OutOfReach => {
            "\n[a process that hides from the runtime still runs; end it by its id]"
        }
    });
    text.push_str(hint);
    ToolOutcome { status, ..ToolOutcome::ok(text) }
}

/// The signal that shells mean by a code above 128.
fn signal(code: i32) -> String {
    Signal::try_from(code - 128).map_or_else(|_| String::new(), |signal| format!(" ({signal})"))
}
