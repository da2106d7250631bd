//! The bounds of a commit, and the check every backend makes before it writes. It knows no log:
//! what depends on one (heads, keys) is for the backend to decide.

use crate::{Append, NewRecord, StoreError};
use std::collections::BTreeSet;

/// Records in one commit. A fork brings a whole history in one.
pub const COMMIT_RECORDS: usize = 65_536;
/// Bytes of all payloads in one commit.
pub const COMMIT_BYTES: usize = 256 * 1_048_576;
/// Bytes of one record's payload: the largest thing a model may say or a tool may show, several
/// times over.
pub const RECORD_BYTES: usize = 16 * 1_048_576;
/// Bytes of a kind's name.
pub const KIND_BYTES: usize = 128;
/// The last millisecond a record may carry: what a signed 64-bit column holds.
pub const LAST_TIMESTAMP_MS: u64 = i64::MAX as u64;

/// Checks what can be said of a commit without knowing any log.
pub(crate) fn check(appends: &[Append]) -> Result<(), StoreError> {
    let refuse = |reason: String| Err(StoreError::Invalid { reason });
    if appends.is_empty() {
        return refuse("it appends to no session".to_owned());
    }
    let mut seen = BTreeSet::new();
    let mut records = 0;
    for append in appends {
        let session = &append.session;
        if !seen.insert(session) {
            return refuse(format!("it appends to session {session} twice"));
        }
        if append.records.is_empty() {
            return refuse(format!("it has no records for session {session}"));
        }
        records += append.records.len();
        for record in &append.records {
            check_record(record)
                .or_else(|reason| refuse(format!("a record of session {session} {reason}")))?;
        }
    }
    if records > COMMIT_RECORDS {
        return refuse(format!("it has {records} records, over the limit of {COMMIT_RECORDS}"));
    }
    let bytes = payload_bytes(appends);
    if bytes > COMMIT_BYTES {
        return refuse(format!("it has {bytes} bytes, over the limit of {COMMIT_BYTES}"));
    }
    Ok(())
}

/// The bytes of all payloads of a commit.
pub(crate) fn payload_bytes(appends: &[Append]) -> usize {
    appends.iter().flat_map(|append| &append.records).map(|record| record.data.len()).sum()
}

fn check_record(record: &NewRecord) -> Result<(), String> {
    let NewRecord { at, kind, key: _, data } = record;
    if data.len() > RECORD_BYTES {
        return Err(format!("has {} bytes, over the limit of {RECORD_BYTES}", data.len()));
    }
    if kind.is_empty() {
        return Err("has no kind".to_owned());
    }
    if kind.len() > KIND_BYTES {
        return Err(format!("has a kind of {} bytes, over the limit of {KIND_BYTES}", kind.len()));
    }
    if at.0 > LAST_TIMESTAMP_MS {
        return Err(format!("has the time {} ms, past the last of {LAST_TIMESTAMP_MS}", at.0));
    }
    Ok(())
}
