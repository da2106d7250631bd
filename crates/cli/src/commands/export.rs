//! `longboat export`: every event of a team's sessions as JSON lines.

use super::look::{Failure, Look};
use crate::report::{export_session, find_session, read_roster, sessions_of_team};
use longboat_core::id::SessionId;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// A session's id, the beginning of one, or "latest". A Lead's means its whole team
    #[arg(default_value = "latest")]
    id: String,
    /// Write to this file instead of standard output; it appears when it is whole
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only this session, without its teammates
    #[arg(long)]
    alone: bool,
}

/// Exports a team or a session. What is damaged is told on `complaints`, and the rest is exported.
pub(crate) async fn run(
    args: &ExportArgs,
    look: &mut Look<'_>,
    complaints: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    let asked = find_session(look.store, &args.id).await?;
    let sessions = if args.alone || asked.as_str().contains('.') {
        vec![asked]
    } else {
        let roster = read_roster(look.store, &asked).await;
        sessions_of_team(look.store, &asked, &roster).await?
    };
    match &args.output {
        None => export(look, None, &sessions, complaints).await,
        // A device, a pipe or a link is written to; only a file is replaced.
        Some(path) if path.symlink_metadata().is_ok_and(|found| !found.is_file()) => {
            let file = std::fs::OpenOptions::new().write(true).truncate(true).open(path);
            let mut file = file.map_err(|error| at(path, &error))?;
            export(look, Some(&mut file), &sessions, complaints).await
        }
        Some(path) => {
            let mut file = open_beside(path)?;
            let outcome = export(look, Some(file.as_file_mut()), &sessions, complaints).await;
            // What could be read is worth keeping, whatever else is damaged.
            if matches!(outcome, Ok(()) | Err(Failure::Damaged { .. })) {
                file.as_file().sync_all()?;
                file.persist(path).map_err(|error| at(path, &error.error))?;
            }
            outcome
        }
    }
}

fn open_beside(path: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    tempfile::NamedTempFile::new_in(directory).map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::Write(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

async fn export(
    look: &mut Look<'_>,
    file: Option<&mut std::fs::File>,
    sessions: &[SessionId],
    complaints: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    let out: &mut (dyn Write + Send) = match file {
        Some(file) => file,
        None => &mut *look.out,
    };
    let mut out = BufWriter::new(out);
    let mut damaged = 0;
    for session in sessions {
        let exported = export_session(look.store, session, &mut out).await?;
        damaged += usize::from(!exported.flaws.is_empty());
        for flaw in exported.flaws {
            writeln!(complaints, "longboat: session {session}, {flaw}")?;
        }
    }
    out.flush()?;
    match damaged {
        0 => Ok(()),
        damaged => Err(Failure::Damaged { damaged, sessions: sessions.len() }),
    }
}
