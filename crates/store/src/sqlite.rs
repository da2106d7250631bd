//! The embedded store.

/// Keeps logs in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore;

/// Says why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("no store")]
pub struct OpenError;
