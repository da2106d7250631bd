//! A server that is started here: its process, all that this starts in turn, and their end.
//!
//! They are in a process group that is led by a shell of ours, which waits on its standard input, the
//! lifeline. Whatever ends this process, even SIGKILL, closes the lifeline, and then the shell ends
//! the group. The group's id stays ours as long as the shell is not reaped.

use crate::offer::shortened;
use crate::settings::ServerSettings;
use longboat_engine::Supervisor;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long a server may take to leave when its input is closed, and again when it is told to.
const GRACE: Duration = Duration::from_secs(1);
/// How long its last words and its exit may take to be known once its output has ended.
const LINGER: Duration = Duration::from_millis(300);
/// Bytes of one line of standard error that are looked at as one: a secret in it is seen whole.
const LINE_BYTES: usize = 65_536;
/// Bytes of it that are passed on.
const SHOWN_BYTES: usize = 2_048;
/// Bytes of a server's last words that are told.
const WORDS_BYTES: usize = 300;

const LEADER: &str = r#"
trap '' TERM INT HUP
read -r _
kill -s TERM 0
sleep 0.5
kill -s KILL 0
"#;

/// A running server's process group.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its standard input is the lifeline.
    leader: Child,
    group: Pid,
    server: Child,
    words: Arc<Words>,
}

/// What a server writes on its standard error.
#[derive(Debug, Default)]
struct Words {
    last: Mutex<String>,
    /// Cancelled when there will be no more.
    all: CancellationToken,
}

/// Where one speaks with it.
pub(crate) struct Pipes {
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
}

impl Process {
    /// Starts a server.
    ///
    /// # Errors
    /// What the system says when it cannot be.
    pub(crate) fn start(
        settings: &Arc<ServerSettings>,
        program: &str,
        arguments: &[String],
        environment: &BTreeMap<String, SecretString>,
        directory: &Path,
        supervisor: &Supervisor,
    ) -> io::Result<(Self, Pipes)> {
        let leader = Command::new("/bin/sh")
            .args(["-c", LEADER, "longboat-mcp"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let id = leader.id().ok_or_else(|| io::Error::other("its shell is gone"))?.cast_signed();
        let variables = environment.iter().map(|(name, value)| (name, value.expose_secret()));
        // When this fails, the leader is dropped, and its lifeline with it.
        let mut server = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(variables)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(id)
            .kill_on_drop(true)
            .spawn()?;
        let pipes = (server.stdin.take(), server.stdout.take(), server.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(io::Error::other("it came without its pipes"));
        };
        let words = Arc::new(Words::default());
        supervisor.spawn(listen(
            errors,
            Arc::clone(settings),
            Arc::clone(&words),
            supervisor.child(),
        ));
        let process = Self { leader, group: Pid::from_raw(id), server, words };
        Ok((process, Pipes { input, output }))
    }

    /// Waits until the server itself has exited, and a moment more for what it last wrote.
    pub(crate) async fn exited(&mut self) {
        // What cannot be waited for is as good as gone.
        drop(self.server.wait().await);
        sleep(LINGER).await;
    }

    /// How it ended and what it last wrote on its standard error. `None` when it has not ended.
    pub(crate) async fn obituary(&mut self) -> Option<String> {
        let end = match timeout(LINGER, self.server.wait()).await {
            Ok(Ok(status)) => format!("it ended ({status})"),
            Ok(Err(error)) => format!("it is lost ({error})"),
            Err(_) => return None,
        };
        drop(timeout(LINGER, self.words.all.cancelled()).await);
        let last = self.words.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(if last.is_empty() { end } else { format!("{end}; its last words: {last}") })
    }

    /// Ends the server and all it started. Its input should be closed by now: that tells it first.
    pub(crate) async fn end(mut self) {
        let left = timeout(GRACE, self.server.wait()).await.is_ok();
        if !left {
            self.signal(Signal::SIGTERM);
            drop(timeout(GRACE, self.server.wait()).await);
        }
        self.signal(Signal::SIGKILL);
        drop(timeout(GRACE, self.server.wait()).await);
        drop(timeout(GRACE, self.leader.wait()).await);
    }

    fn signal(&self, signal: Signal) {
        match killpg(self.group, signal) {
            Ok(()) | Err(Errno::ESRCH | Errno::EPERM) => {}
            Err(errno) => {
                tracing::warn!(group = %self.group, %errno, "a server's group cannot be signalled")
            }
        }
    }
}

/// Passes on what a server writes on its standard error, without its secrets, and keeps the last of it.
async fn listen(
    errors: ChildStderr,
    settings: Arc<ServerSettings>,
    words: Arc<Words>,
    supervisor: Supervisor,
) {
    let _until_dropped = words.all.clone().drop_guard();
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = LINE_BYTES as u64;
        let mut part = (&mut errors).take(most);
        let read = tokio::select! {
            () = supervisor.token().cancelled() => return,
            read = part.read_until(b'\n', &mut line) => read,
        };
        if !read.is_ok_and(|read| read > 0) {
            return;
        }
        let text = settings.redacted(String::from_utf8_lossy(&line).trim());
        if text.is_empty() {
            continue;
        }
        tracing::debug!(server = %settings.name, "{}", shortened(&text, SHOWN_BYTES));
        let text = shortened(&text, WORDS_BYTES);
        *words.last.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}
