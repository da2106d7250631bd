//! A directory with one store in it, for these tests.

use longboat_core::id::Seq;
use longboat_core::time::Timestamp;
use longboat_store::contract::{append, log, session};
use longboat_store::{Holder, NewRecord, SqliteStore, Store};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory of its own, removed at the end.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("store.db")
    }

    /// A file beside the database.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        self.dir.path().join(format!("store.db{suffix}"))
    }

    /// Opens the store as its owner.
    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path(), &holder()).unwrap()
    }

    /// The database behind the store's back. Only while no store is open here.
    pub(crate) fn sql(&self, statement: &str) {
        let connection = Connection::open(self.path()).unwrap();
        connection.execute_batch(statement).unwrap();
    }
}

/// This process.
pub(crate) fn holder() -> Holder {
    let started = Timestamp(1_764_597_600_123);
    Holder { pid: std::process::id(), started, command: "longboat run".to_owned() }
}

/// Commits records to one session.
pub(crate) async fn put(store: &SqliteStore, name: &str, records: Vec<NewRecord>) {
    store.commit(vec![append(name, records)]).await.unwrap();
}

/// The payloads of a log.
pub(crate) async fn payloads(store: &SqliteStore, name: &str) -> Vec<String> {
    log(store, name).await.unwrap().into_iter().map(|record| record.data).collect()
}

/// The number of records of a log.
pub(crate) async fn head(store: &SqliteStore, name: &str) -> u64 {
    store.head(&session(name)).await.unwrap().map_or(Seq(0), |head| head.head).0
}
