//! `bash`: a command in the workspace, bounded in time and words.

use crate::arguments::{parse, spec};
use crate::process::Running;
use crate::settings::WorkspaceSettings;
use async_trait::async_trait;
use longboat_core::content::{ToolOutcome, ToolSpec, ToolStatus};
use longboat_engine::{Effect, Tool, ToolScope};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

/// The longest a command may run.
const LONGEST_MS: u64 = 3_600_000;
/// How long a command that is told to end may take over it.
const GRACE: Duration = Duration::from_millis(500);
/// How long the pipe may stay open after the shell has ended.
const LINGER: Duration = Duration::from_millis(300);
/// Bytes of the output's beginning and end that are shown.
const HEAD_BYTES: usize = 8 * 1024;
const TAIL_BYTES: usize = 16 * 1024;
/// Bytes of the output that are kept in a file.
const SPILL_BYTES: usize = 16 * 1024 * 1024;

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
        spec::<Arguments>(
            "bash",
            "Run a command with bash in the workspace's root and show what it prints and its exit code. Long output is cut in the middle and kept in a file that read can show. Everything the command started is ended with it: nothing can be left running in the background.",
        )
    }

    fn effect(&self) -> Effect {
        Effect::Ordered
    }

    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome {
        let arguments: Arguments = match parse("bash", arguments) {
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
        match self.run(&scope, &arguments.command, limit).await {
            Ok(outcome) => outcome,
            Err(error) => ToolOutcome::error(format!("the command could not be run: {error}")),
        }
    }
}

/// How a command ended.
enum Ending {
    Exited(ExitStatus),
    TimedOut,
}

impl Bash {
    async fn run(
        &self,
        scope: &ToolScope,
        command: &str,
        limit: Duration,
    ) -> io::Result<ToolOutcome> {
        let mut running = Running::start(command, &scope.cwd, &self.settings.environment)?;
        let file = scope.spill.join(format!("{}-{}.txt", scope.origin.step, scope.origin.index));
        let mut output = Output::new(file);
        let deadline = Instant::now() + limit;
        let ending = match timeout_at(deadline, follow(&mut running, &mut output)).await {
            Ok(status) => Ending::Exited(status?),
            Err(_) => {
                running.terminate();
                // Whoever does not end by itself is ended below.
                timeout(GRACE, follow(&mut running, &mut output)).await.ok();
                Ending::TimedOut
            }
        };
        // What is still in the pipe was said before the shell ended, or by what it left behind.
        let lingered = timeout(LINGER, output.drain(&mut running)).await.is_err();
        let left_behind = running.kill() && lingered;
        timeout(LINGER, output.drain(&mut running)).await.ok();
        Ok(told(&ending, limit, left_behind, output).await)
    }
}

/// Collects output until the shell ends.
async fn follow(running: &mut Running, output: &mut Output) -> io::Result<ExitStatus> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        // The end first, so that no chatter of a process left behind hides it; what was said
        // before is still in the pipe.
        let piece = tokio::select! {
            biased;
            status = running.child.wait() => return status,
            read = running.output.read(&mut buffer) => read?,
        };
        match buffer.get(..piece) {
            Some(piece) if !piece.is_empty() => output.add(piece).await?,
            _ => return running.ended().await,
        }
    }
}

async fn told(ending: &Ending, limit: Duration, left_behind: bool, output: Output) -> ToolOutcome {
    let mut text = output.shown().await;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let (status, end) = match ending {
        Ending::Exited(status) if status.success() => (ToolStatus::Ok, "[exit code 0]".to_owned()),
        Ending::Exited(status) => {
            let end = match (status.code(), status.signal()) {
                (Some(code), _) => format!("[exit code {code}]"),
                (None, Some(signal)) => format!("[ended by signal {signal}]"),
                (None, None) => "[ended]".to_owned(),
            };
            (ToolStatus::Error, end)
        }
        Ending::TimedOut => {
            let end = format!("[timed out after {} ms and was ended]", limit.as_millis());
            (ToolStatus::Error, end)
        }
    };
    text.push_str(&end);
    if left_behind {
        text.push_str("\n[processes it left in the background were ended]");
    }
    ToolOutcome { status, ..ToolOutcome::ok(text) }
}

/// What a command says: its beginning and its end in memory, all of it in a file when it is long.
struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
    path: PathBuf,
    file: Option<tokio::fs::File>,
}

impl Output {
    fn new(path: PathBuf) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, path, file: None }
    }

    async fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        let room = HEAD_BYTES - self.head.len();
        let (head, tail) = piece.split_at(room.min(piece.len()));
        let before = self.total;
        self.total += piece.len();
        if self.total > HEAD_BYTES + TAIL_BYTES && self.file.is_none() {
            self.spill().await?;
        }
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        if let Some(file) = &mut self.file {
            let room = SPILL_BYTES.saturating_sub(before);
            file.write_all(piece.get(..room.min(piece.len())).unwrap_or_default()).await?;
        }
        let over = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
        Ok(())
    }

    /// Begins the file with what there is so far.
    async fn spill(&mut self) -> io::Result<()> {
        if let Some(parent) = self.path.parent() {
            tokio::fs::create_dir_all(parent).await?;
        }
        let mut file = tokio::fs::File::create(&self.path).await?;
        file.write_all(&self.head).await?;
        let (one, two) = self.tail.as_slices();
        file.write_all(one).await?;
        file.write_all(two).await?;
        self.file = Some(file);
        Ok(())
    }

    /// Takes what is left in the pipe, until all who could write to it are gone.
    async fn drain(&mut self, running: &mut Running) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read) = running.output.read(&mut buffer).await {
            let piece = buffer.get(..read).unwrap_or_default();
            if piece.is_empty() || self.add(piece).await.is_err() {
                return;
            }
        }
    }

    async fn shown(mut self) -> String {
        let tail: Vec<u8> = self.tail.into_iter().collect();
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        let Some(file) = &mut self.file else { return format!("{head}{tail}") };
        // What could not be flushed is missing in the file; what is shown here is whole.
        file.flush().await.ok();
        let cut = self.total - self.head.len() - tail.len().min(self.total - self.head.len());
        let (path, total) = (self.path.display(), self.total);
        let kept = if total > SPILL_BYTES { "the beginning of it" } else { "all of it" };
        format!("{head}\n[… {cut} of {total} bytes are left out; {kept} is in {path}]\n{tail}")
    }
}
