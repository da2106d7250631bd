//! One line of a log, and the verdict that a log contradicts itself.

use super::Event;
use crate::id::{EventKey, Seq};
use crate::time::Timestamp;

/// One durable event of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its place: dense, from 0.
    pub seq: Seq,
    /// When it was decided.
    pub at: Timestamp,
    /// Its idempotency key, if it has one.
    pub key: Option<EventKey>,
    /// What happened.
    pub event: Event,
}

/// A log that cannot have been written by the rules. The session it belongs to stops here; others
/// go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log contradicts itself at seq {seq}: {what}")]
pub struct Corrupt {
    /// The record that cannot follow those before it.
    pub seq: Seq,
    /// What is wrong with it.
    pub what: String,
}
