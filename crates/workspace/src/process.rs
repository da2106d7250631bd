//! Running a command so that nothing of it outlives us: in a process group of its own, under a shell
//! that holds a lifeline to this process and kills the group when the line breaks.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin, Command};

/// Runs `$1` with `$0 -c`. Its own standard input is the lifeline: when that ends, this process is
/// gone, however it died, and the whole group is killed.
const UNDERTAKER: &str = r#"
exec 3<&0 </dev/null
(read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &
w=$!
"$0" -c "$1" 3<&-
code=$?
kill -KILL "$w" 2>/dev/null
exit "$code"
"#;

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    group: Group,
    /// Open as long as this process lives.
    _lifeline: Option<ChildStdin>,
    /// What it says, both streams in order.
    pub(crate) output: pipe::Receiver,
}

/// A process group that is killed when this is dropped.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Running {
    /// Starts a command in a directory with this environment and no other.
    pub(crate) fn start(
        command: &str,
        directory: &Path,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        let mut child = Command::new("/bin/sh")
            .args(["-c", UNDERTAKER, shell, command])
            .current_dir(directory)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let lifeline = child.stdin.take();
        Ok(Self { child, group: Group(pid), _lifeline: lifeline, output })
    }

    /// Waits until the command's shell has ended.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks the whole group to end.
    pub(crate) fn terminate(&self) {
        self.group.signal(Signal::SIGTERM);
    }

    /// Kills the whole group. Says whether there was anything left to kill.
    pub(crate) fn kill(&mut self) -> bool {
        self.group.signal(Signal::SIGKILL)
    }
}

impl Group {
    fn signal(&self, signal: Signal) -> bool {
        // A group that is gone needs no signal.
        self.0.is_some_and(|group| killpg(group, signal).is_ok())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}
