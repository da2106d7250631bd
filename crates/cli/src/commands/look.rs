//! What the commands that only look have in common: where they read, where they write, and what can
//! go wrong. They need no ownership of the store, so they work beside a live owner.

use crate::report::{LookError, Page, json_line};
use longboat_core::price::Prices;
use longboat_store::Store;
use serde::Serialize;
use std::io::{self, Write};

/// A look at a store.
pub(crate) struct Look<'a> {
    /// The store.
    pub(crate) store: &'a dyn Store,
    /// Where the report is read.
    pub(crate) page: Page,
    /// Where it goes.
    pub(crate) out: &'a mut (dyn Write + Send),
    /// What models cost.
    pub(crate) prices: Prices,
    /// What to add to a `longboat` command line so that it reads this store: empty, or ` --store …`.
    pub(crate) store_flag: String,
}

/// Says why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// There is nothing to look at, or it cannot be read.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The report could not be written.
    #[error("the report could not be written: {0}")]
    Write(#[from] io::Error),
    /// The report could not be put into JSON.
    #[error("the report could not be put into JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Something was reported, but not everything: what is damaged has been said already.
    #[error("{damaged} of {sessions} sessions are damaged; what could be read was written")]
    Damaged {
        /// How many logs are damaged.
        damaged: usize,
        /// Of how many.
        sessions: usize,
    },
}

impl Failure {
    /// What the process ends with: 2 when something else must be asked for, 1 when something is
    /// wrong, 0 when nobody reads the report any more.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Look(
                LookError::Unknown { .. }
                | LookError::Ambiguous { .. }
                | LookError::NoMember { .. }
                | LookError::Empty,
            ) => 2,
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Look(LookError::Store(_))
            | Self::Write(_)
            | Self::Json(_)
            | Self::Damaged { .. } => 1,
        }
    }
}

/// Writes one line of JSON.
pub(crate) fn write_json(
    out: &mut (dyn Write + Send),
    value: &impl Serialize,
) -> Result<(), Failure> {
    out.write_all(json_line(value)?.as_bytes())?;
    Ok(())
}
