//! Runs git: without a shell, without hooks and questions, for a bounded time. It never outlives the
//! one who asked, but for a process that dies: then git ends by itself.

use longboat_engine::WorktreeRefused;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Bytes of one output that are kept; what is over it is read and thrown away.
const KEPT_BYTES: usize = 1024 * 1024;
/// Characters of what git said that are passed on.
const SAID_CHARS: usize = 400;
/// How long git has between being told to end and being made to: it clears away what it began.
const GRACE: Duration = Duration::from_secs(3);
/// Before every command: no hook of the repository runs, and no program that watches files for it.
const SETTINGS: [&str; 4] = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/// The git of this machine, with the environment that commands get.
#[derive(Debug)]
pub(crate) struct Git {
    environment: BTreeMap<String, String>,
}

/// One command's bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) within: Duration,
    pub(crate) cancel: &'a CancellationToken,
}

/// What a command that ran to its end said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Git {
    pub(crate) fn new(environment: BTreeMap<String, String>) -> Self {
        Self { environment }
    }

    /// Runs `git ARGUMENTS` in a directory. That it failed is for the caller to see.
    pub(crate) async fn run(
        &self,
        directory: &Path,
        arguments: &[&str],
        bounds: Bounds<'_>,
    ) -> Result<Said, WorktreeRefused> {
        let doing = || arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => WorktreeRefused::GitMissing,
            _ => WorktreeRefused::Git { doing: doing(), said: error.to_string() },
        };
        let mut child = self.command(directory, arguments).spawn().map_err(failed)?;
        let ended = tokio::select! {
            biased;
            () = bounds.cancel.cancelled() => None,
            ended = timeout(bounds.within, listen(&mut child)) => Some(ended),
        };
        match ended {
            Some(Ok(ended)) => {
                let (status, out, err) = ended.map_err(failed)?;
                Ok(Said { ok: status.success(), out, err })
            }
            Some(Err(_)) => {
                end(child).await;
                Err(WorktreeRefused::TimedOut { doing: doing(), seconds: bounds.within.as_secs() })
            }
            None => {
                end(child).await;
                Err(WorktreeRefused::Interrupted)
            }
        }
    }

    fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(directory)
            .args(SETTINGS)
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .env("GIT_TERMINAL_PROMPT", "0")
            // Others may be at work in the same checkout.
            .env("GIT_OPTIONAL_LOCKS", "0")
            // What git says is read.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

impl Said {
    /// Why it failed, in one line.
    pub(crate) fn reason(&self) -> String {
        let told = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
        let lines = || self.err.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut reason: Vec<&str> = lines().filter(told).collect();
        if reason.is_empty() {
            reason.extend(lines().next_back());
        }
        let reason: String = reason.join("; ").chars().take(SAID_CHARS).collect();
        if reason.is_empty() { "it did not say why".to_owned() } else { reason }
    }
}

async fn listen(child: &mut Child) -> io::Result<(ExitStatus, String, String)> {
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("git came without its pipes"));
    };
    let (status, out, err) = tokio::join!(child.wait(), kept(out), kept(err));
    Ok((status?, out?, err?))
}

async fn kept(mut pipe: impl AsyncRead + Unpin) -> io::Result<String> {
    let (mut kept, mut part) = (Vec::new(), vec![0; 16 * 1024]);
    loop {
        let read = pipe.read(&mut part).await?;
        if read == 0 {
            return Ok(String::from_utf8_lossy(&kept).into_owned());
        }
        let room = KEPT_BYTES.saturating_sub(kept.len()).min(read);
        kept.extend_from_slice(part.get(..room).unwrap_or_default());
    }
}

/// Ends git and all that it started; it is given time to clear away what it began.
async fn end(mut child: Child) {
    let group = child.id().map(|id| Pid::from_raw(id.cast_signed()));
    let signal = |signal| {
        if let Some(group) = group {
            // A group that is gone has ended.
            killpg(group, signal).ok();
        }
    };
    signal(Signal::SIGTERM);
    if timeout(GRACE, child.wait()).await.is_err() {
        signal(Signal::SIGKILL);
        child.wait().await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git() -> Git {
        Git::new([("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into())
    }

    #[tokio::test]
    async fn a_git_that_takes_too_long_is_ended() {
        let cancel = CancellationToken::new();
        let bounds = Bounds { within: Duration::from_millis(50), cancel: &cancel };
        let endless = ["-c", "alias.wait=!exec sleep 1000", "wait"];
        let refused = git().run(Path::new("/"), &endless, bounds).await.unwrap_err();
        assert!(matches!(refused, WorktreeRefused::TimedOut { .. }), "{refused:?}");
    }

    #[tokio::test]
    async fn output_is_read_whole_and_kept_up_to_a_bound() {
        let cancel = CancellationToken::new();
        let bounds = Bounds { within: Duration::from_secs(60), cancel: &cancel };
        let much = ["-c", "alias.much=!head -c 3000000 /dev/zero", "much"];
        let said = git().run(Path::new("/"), &much, bounds).await.unwrap();
        assert_eq!((said.ok, said.out.len()), (true, KEPT_BYTES));
    }

    #[test]
    fn the_reason_is_what_git_calls_fatal_or_its_last_words() {
        let reason =
            |err: &str| Said { ok: false, out: String::new(), err: err.to_owned() }.reason();
        assert_eq!(reason("hint: x\nerror: a\nfatal: b\n"), "error: a; fatal: b");
        assert_eq!(reason("one\n\ntwo\n"), "two");
        assert_eq!(reason(""), "it did not say why");
    }
}
