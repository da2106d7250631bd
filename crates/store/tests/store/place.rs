//! A directory with one store in it, for these tests.

use longboat_core::time::Timestamp;
use longboat_store::{Holder, SqliteStore};
use std::path::PathBuf;
use tempfile::TempDir;

/// A directory of its own, removed at the end.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("store.db")
    }

    /// Opens the store as its owner.
    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path(), &holder()).unwrap()
    }
}

/// This process.
pub(crate) fn holder() -> Holder {
    let started = Timestamp(1_764_597_600_123);
    Holder { pid: std::process::id(), started, command: "longboat run".to_owned() }
}
