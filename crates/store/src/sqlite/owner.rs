//! Who owns a store: one process, known by a lock on a file beside the database. The lock is the
//! operating system's and ends with the process; what the file says is only for people to read.

use super::{OpenError, connection};
use longboat_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Bytes of the lock file that are looked at.
const HOLDER_BYTES: u64 = 4_096;
/// How long a lock may outlive the process that took it.
const DEAD_WITHIN: Duration = Duration::from_secs(3);
/// Characters of a command that are kept.
const COMMAND_CHARS: usize = 400;

/// The process that owns a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// When it started, in milliseconds since 1970.
    pub started: Timestamp,
    /// How it was started, for people to recognise it by. Cut at 400 characters.
    pub command: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Quoted: what a file says may not steer a terminal.
        write!(f, "process {} ({:?})", self.pid, self.command)?;
        let started = i64::try_from(self.started.0).ok();
        match started.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()) {
            Some(time) => write!(f, " since {time:.0}"),
            None => Ok(()),
        }
    }
}

/// Owning a store. Dropping it gives the store up.
#[derive(Debug)]
pub(super) struct Ownership {
    file: File,
}

impl Ownership {
    /// Takes the lock, or says who has it.
    pub(super) fn take(path: &Path, holder: &Holder) -> Result<Self, OpenError> {
        let failed = |error: std::io::Error| OpenError::Io {
            path: path.to_owned(),
            doing: "taking its lock",
            cause: error.to_string(),
        };
        let lock = connection::beside(path, ".lock");
        // Not truncated: until the lock is taken the words in it are someone else's.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(lock)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let held = read(&file);
                let dead = held.as_ref().is_some_and(is_dead);
                let waited = if dead { wait(file).map_err(failed)? } else { None };
                let Some(free) = waited else {
                    return Err(OpenError::Held { path: path.to_owned(), holder: held });
                };
                file = free;
                // What the dead one wrote was read to its end.
                file.rewind().map_err(failed)?;
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let command = holder.command.chars().take(COMMAND_CHARS).collect();
        let holder = Holder { command, ..holder.clone() };
        file.set_len(0)
            .and_then(|()| serde_json::to_string(&holder).map_err(std::io::Error::from))
            .and_then(|text| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // Unlocked by hand: a process that is just being started from this one may still have a
        // copy of the descriptor, and with it the lock. Neither step can be made up for; the lock
        // ends with the process anyway.
        drop(self.file.set_len(0));
        drop(self.file.unlock());
    }
}

/// Who has the lock, as far as it has said so.
fn read(file: &File) -> Option<Holder> {
    let mut text = String::new();
    file.take(HOLDER_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The process that says it owns a store and is not known to have died. It may be none any more: the
/// lock alone is proof.
pub(super) fn said(path: &Path) -> Option<Holder> {
    // Where there is no file, nobody owns one; where it has several names, one lock is for all.
    let path = path.canonicalize().ok()?;
    let file = File::open(connection::beside(&path, ".lock")).ok()?;
    read(&file).filter(|holder| !is_dead(holder))
}

/// Says whether a holder's process is known to have died. A process that it was just starting may
/// then have a copy of the lock for a moment more.
fn is_dead(holder: &Holder) -> bool {
    let processes = Path::new("/proc");
    if !processes.join("self/stat").exists() {
        return false;
    }
    let stat = std::fs::read_to_string(processes.join(format!("{}/stat", holder.pid)));
    stat.map_or(true, |stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with(['Z', 'X']));
        state.unwrap_or(false)
    })
}

/// Waits for the lock of a process that died; `None` when somebody else holds it after all.
fn wait(file: File) -> std::io::Result<Option<File>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = move || {
        let locked = file.lock().map(|()| file);
        // Nobody waits any more: the lock is given back with the file.
        sender.send(locked).ok();
    };
    std::thread::Builder::new().name("longboat-lock".to_owned()).spawn(waiting)?;
    match receiver.recv_timeout(DEAD_WITHIN) {
        Ok(locked) => locked.map(Some),
        Err(_) => Ok(None),
    }
}
