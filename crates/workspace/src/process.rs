//! Runs one command in a process group of its own, and never leaves any of the group behind: not
//! after it ends, not when it is stopped, and not when this very process is killed.
//!
//! Between this process and the command stands a small supervising shell, which leads the group. Its
//! standard input is a pipe that only this process holds, its lifeline: when that closes, because the
//! future was dropped or this process died, the group is told to end (SIGTERM) and half a second later
//! made to (SIGKILL). What leaves the group, as `setsid` does, is found by its mark; only what throws
//! that away as well is out of reach.

use crate::capture::Capture;
use crate::marks::{VARIABLE, end_marked};
use crate::sandbox::Confinement;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{interval, timeout};

/// How long the group has between being told to end and being made to.
const GRACE: Duration = Duration::from_millis(500);
/// How long what the command left behind has to end by itself.
const LINGER: Duration = Duration::from_millis(300);
/// How often it is looked whether the group has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Arguments: the command. It reports the command's status on its standard error, and then stays: the
/// group's id cannot be given to others as long as its leader is there. The watchdog ($w) watches the
/// lifeline while the command runs, the last four lines do afterwards.
const SUPERVISOR: &str = r#"
exec 3<&0 </dev/null 4>&2 2>/dev/null
trap : TERM INT HUP
(
    trap '' TERM INT HUP
    read -r _ <&3
    kill -s TERM 0
    sleep 0.5
    kill -s KILL 0
) >/dev/null 4>&- &
w=$!
if command -v bash >/dev/null 2>&1; then shell=bash; else shell=sh; fi
(exec "$shell" -c -- "$1" 2>&1 3<&- 4>&-)
status=$?
trap '' PIPE
exec >/dev/null
kill -s KILL "$w"
wait "$w"
echo "$status" >&4
exec 4>&-
read -r _ <&3
kill -s TERM 0
sleep 0.5
kill -s KILL 0
"#;

/// How a command came to its end.
#[derive(Debug)]
pub(crate) enum End<S> {
    /// By itself, with this status: what a shell calls `$?`.
    Exited(i32),
    /// Its supervising shell was killed, and it with it.
    Broken,
    /// `stop` came first.
    Stopped(S),
}

/// What a command left running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// Nothing that is known of.
    Nothing,
    /// Processes that have been ended.
    Ended,
    /// Something without its mark, which still holds its output.
    OutOfReach,
}

/// What is known after a command.
#[derive(Debug)]
pub(crate) struct Ended<S> {
    pub(crate) end: End<S>,
    pub(crate) leftover: Leftover,
}

/// A command to be run.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) command: &'a str,
    pub(crate) cwd: &'a Path,
    pub(crate) environment: BTreeMap<String, String>,
    /// By which all that it starts is found.
    pub(crate) mark: String,
    pub(crate) confinement: Option<&'a Confinement>,
}

impl Launch<'_> {
    async fn start(&self) -> io::Result<Child> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SUPERVISOR, "longboat-bash", self.command])
            .current_dir(self.cwd)
            .env_clear()
            .envs(&self.environment)
            .env(VARIABLE, &self.mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        match self.confinement {
            Some(confinement) => confinement.start(command, self.cwd, &self.environment).await,
            None => command.spawn(),
        }
    }
}

/// The command's process group and, in its child, the lifeline: dropped early, it ends the group.
struct Group {
    id: Pid,
    child: Child,
}

/// Runs a command until it ends or `stop` does, and takes its output in.
///
/// # Errors
/// When it could not be started, or its output could not be read.
pub(crate) async fn run<S>(
    launch: &Launch<'_>,
    capture: &mut Capture,
    stop: impl Future<Output = S>,
) -> io::Result<Ended<S>> {
    let mut child = launch.start().await?;
    let (id, mut output, mut report) = match (child.id(), child.stdout.take(), child.stderr.take())
    {
        (Some(id), Some(output), Some(report)) => (Pid::from_raw(id.cast_signed()), output, report),
        _ => return Err(io::Error::other("the shell came without its pipes")),
    };
    // From here on, dropping this future drops the child and with it the lifeline.
    let group = Group { id, child };
    let end = {
        let watched = watch(&mut output, &mut report, capture);
        tokio::select! {
            biased;
            stop = stop => End::Stopped(stop),
            code = watched => code?.map_or(End::Broken, End::Exited),
        }
    };
    let left_behind = match end {
        End::Stopped(_) => {
            group.signal(Signal::SIGTERM)?;
            let _who_takes_longer_is_killed = group.settles(&mut output, capture, GRACE).await;
            false
        }
        // Nobody but its watchdog is left of a shell that was killed.
        End::Broken => false,
        End::Exited(_) => !group.settles(&mut output, capture, LINGER).await,
    };
    group.finish().await?;
    let left_group = end_marked(&launch.mark).await > 0;
    // What was written until the very end. All that is known of are gone: who still holds the pipe
    // has thrown its mark away.
    let escaped = timeout(LINGER, drain(&mut output, capture)).await.is_err();
    let leftover = match (escaped, left_behind || left_group) {
        (true, _) => Leftover::OutOfReach,
        (false, true) => Leftover::Ended,
        (false, false) => Leftover::Nothing,
    };
    Ok(Ended { end, leftover })
}

impl Group {
    /// Sends a signal to all of the group. The leader is not reaped yet, so the id is still ours.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        match killpg(self.id, signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            // Some systems say so when only the unreaped leader is left.
            Err(Errno::EPERM) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes in output until all of the group but its leader have ended. Says whether they did
    /// within this time.
    async fn settles(
        &self,
        output: &mut ChildStdout,
        capture: &mut Capture,
        within: Duration,
    ) -> bool {
        let ended = async {
            // First all who hold the pipe, which needs no looking; then the silent ones.
            drain(output, capture).await;
            let mut looks = interval(LOOK);
            while self.others() {
                looks.tick().await;
            }
        };
        timeout(within, ended).await.is_ok()
    }

    /// Kills whatever is left, and reaps the leader.
    async fn finish(mut self) -> io::Result<()> {
        self.signal(Signal::SIGKILL)?;
        self.child.wait().await.map(drop)
    }

    /// Says whether the group is known to have living members besides its leader. Without `/proc`
    /// nobody knows; they are killed all the same.
    fn others(&self) -> bool {
        let Ok(entries) = std::fs::read_dir("/proc") else { return false };
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                return false;
            };
            pid != self.id.as_raw()
                && std::fs::read_to_string(entry.path().join("stat"))
                    .is_ok_and(|stat| lives_in(&stat, self.id.as_raw()))
        })
    }
}

/// Reads a line of `/proc/<pid>/stat`: the state and the group stand behind the last parenthesis.
fn lives_in(stat: &str, group: i32) -> bool {
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let state = fields.next();
    let of_group = fields.nth(1).and_then(|id| id.parse::<i32>().ok()) == Some(group);
    of_group && !matches!(state, Some("Z" | "X"))
}

/// Takes in output until the supervising shell reports the command's status.
async fn watch(
    output: &mut ChildStdout,
    report: &mut (impl AsyncRead + Unpin),
    capture: &mut Capture,
) -> io::Result<Option<i32>> {
    let mut buffer = vec![0; 16 * 1024];
    let mut line = Vec::new();
    let mut letters = [0; 32];
    let mut open = true;
    loop {
        tokio::select! {
            read = output.read(&mut buffer), if open => {
                let read = read?;
                open = read > 0;
                capture.push(buffer.get(..read).unwrap_or_default()).await;
            }
            read = report.read(&mut letters) => {
                let read = read?;
                line.extend_from_slice(letters.get(..read).unwrap_or_default());
                if read == 0 || line.contains(&b'\n') || line.len() > 256 {
                    return Ok(status(&line));
                }
            }
        }
    }
}

fn status(line: &[u8]) -> Option<i32> {
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

/// Takes in output until nobody holds the pipe any more.
async fn drain(output: &mut ChildStdout, capture: &mut Capture) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read) = output.read(&mut buffer).await
        && read > 0
    {
        capture.push(buffer.get(..read).unwrap_or_default()).await;
    }
}
