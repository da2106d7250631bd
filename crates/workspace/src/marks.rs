//! Every command carries a mark in its environment, and so does whatever it starts: by it they are
//! found again when they left their group, and when the process that started them is gone.

use longboat_core::id::Origin;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::time::Duration;

/// The variable that holds the mark.
pub(crate) const VARIABLE: &str = "LONGBOAT_COMMAND";

/// How often it is looked again for processes that were started while others were ended.
const ROUNDS: usize = 20;
/// How long between two looks.
const BETWEEN: Duration = Duration::from_millis(20);

/// The mark of one command: whose it is, and which call started it.
pub(crate) fn mark(tag: &str, origin: &Origin) -> String {
    format!("{tag}/{}/{}/{}", origin.session, origin.step, origin.index)
}

/// Ends what commands of an earlier process with this tag left running. Says how many there were.
/// Nothing is found where there is no `/proc`.
pub async fn end_orphans(tag: &str) -> usize {
    let beginning = format!("{tag}/");
    end(move |mark| mark.starts_with(&beginning)).await
}

/// Ends what one command left running, wherever it went.
pub(crate) async fn end_marked(mark: &str) -> usize {
    let mark = mark.to_owned();
    end(move |found| found == mark).await
}

async fn end(is: impl Fn(&str) -> bool + Send + Clone + 'static) -> usize {
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let is = is.clone();
        let found = tokio::task::spawn_blocking(move || marked(&is)).await.unwrap_or_default();
        if found.is_empty() {
            break;
        }
        for pid in &found {
            // One that is gone is what was wanted.
            kill(*pid, Signal::SIGKILL).ok();
        }
        ended = ended.max(found.len());
        tokio::time::sleep(BETWEEN).await;
    }
    ended
}

/// The living processes whose mark is so; those of other users tell nothing.
fn marked(is: &impl Fn(&str) -> bool) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let pids = entries.flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (pid != own && has(&entry.path(), is)).then(|| Pid::from_raw(pid.cast_signed()))
    });
    pids.collect()
}

fn has(process: &Path, is: &impl Fn(&str) -> bool) -> bool {
    let Ok(environment) = std::fs::read(process.join("environ")) else { return false };
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| {
        let variable = std::str::from_utf8(variable).unwrap_or_default();
        variable.split_once('=').is_some_and(|(name, mark)| name == VARIABLE && is(mark))
    })
}
