//! Rows and SQL: how records and heads lie in the tables, and the checksum that lies beside each
//! record. The reader and the writer use it; it decides nothing about a log.

use crate::{SessionHead, StoredRecord};
use longboat_core::id::{EventKey, Seq, SessionId};
use longboat_core::time::Timestamp;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};

pub(super) const SELECT_FROM: &str = "
    SELECT seq, at_ms, kind, key, data, checksum FROM records
    WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";
pub(super) const SELECT_BY_KEY: &str = "
    SELECT seq, at_ms, kind, key, data, checksum FROM records
    WHERE session = (SELECT number FROM sessions WHERE id = ?1) AND key = ?2";
pub(super) const SELECT_SEQ_BY_KEY: &str = "
    SELECT seq FROM records WHERE session = ?1 AND key = ?2";
pub(super) const SELECT_IS_THERE: &str = "
    SELECT count(*) FROM records WHERE session = ?1 AND seq = ?2";
pub(super) const SELECT_HEAD: &str = "
    SELECT id, head, created_ms, updated_ms FROM sessions WHERE id = ?1";
pub(super) const SELECT_HEADS: &str = "
    SELECT id, head, created_ms, updated_ms FROM sessions ORDER BY updated_ms DESC, id";
pub(super) const INSERT_SESSION: &str = "
    INSERT INTO sessions (id, head, created_ms, updated_ms) VALUES (?1, 0, ?2, ?2)";
pub(super) const UPDATE_SESSION: &str = "
    UPDATE sessions SET head = ?2, updated_ms = ?3 WHERE number = ?1";
pub(super) const INSERT_RECORD: &str = "
    INSERT INTO records (session, seq, at_ms, kind, key, data, checksum)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const SELECT_SESSION: &str = "SELECT number, head FROM sessions WHERE id = ?1";

/// A session's number in this file, and its head.
pub(super) fn session(
    connection: &Connection,
    session: &SessionId,
) -> rusqlite::Result<Option<(i64, Seq)>> {
    connection
        .prepare_cached(SELECT_SESSION)?
        .query_row([session.as_str()], |row| Ok((row.get(0)?, Seq(unsigned(row, 1)?))))
        .optional()
}

/// A number as a column holds it. One that no column can hold is past every stored one.
pub(super) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The checksum of a record. Lengths are part of it, so that no byte can move between two fields;
/// so is the session, so that no record can move between two logs.
pub(super) fn checksum(
    session: &SessionId,
    seq: Seq,
    at: Timestamp,
    kind: &[u8],
    key: Option<&[u8]>,
    data: &[u8],
) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&seq.0.to_le_bytes());
    sum.update(&at.0.to_le_bytes());
    sum.update(&[u8::from(key.is_some())]);
    for field in [session.as_str().as_bytes(), kind, key.unwrap_or_default(), data] {
        sum.update(&(field.len() as u64).to_le_bytes());
        sum.update(field);
    }
    sum.finalize()
}

/// The place of a record's row.
pub(super) fn seq(row: &Row<'_>) -> rusqlite::Result<Seq> {
    unsigned(row, 0).map(Seq)
}

/// A record's row, checked. The error says what is wrong with it.
pub(super) fn decode(row: &Row<'_>, session: &SessionId) -> Result<StoredRecord, String> {
    let unreadable = |error: rusqlite::Error| format!("its row is not readable: {error}");
    let seq = seq(row).map_err(unreadable)?;
    let at = Timestamp(unsigned(row, 1).map_err(unreadable)?);
    let kind = bytes(row, 2).map_err(unreadable)?;
    let key = match row.get_ref(3).map_err(unreadable)? {
        ValueRef::Null => None,
        _ => Some(bytes(row, 3).map_err(unreadable)?),
    };
    let data = bytes(row, 4).map_err(unreadable)?;
    let stored: i64 = row.get(5).map_err(unreadable)?;
    if i64::from(checksum(session, seq, at, kind, key, data)) != stored {
        return Err("its checksum does not match: its bytes are not those that were written".into());
    }
    let text = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec()).map_err(|error| format!("it is not UTF-8: {error}"))
    };
    let key = key.map(|key| EventKey::new(text(key)?).map_err(|error| error.to_string()));
    Ok(StoredRecord { seq, at, kind: text(kind)?, key: key.transpose()?, data: text(data)? })
}

/// A session's row.
pub(super) fn session_head(row: &Row<'_>) -> rusqlite::Result<SessionHead> {
    let id: String = row.get(0)?;
    let session = SessionId::new(id).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
    })?;
    Ok(SessionHead {
        session,
        head: Seq(unsigned(row, 1)?),
        created: Timestamp(unsigned(row, 2)?),
        updated: Timestamp(unsigned(row, 3)?),
    })
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn bytes<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    let value = row.get_ref(column)?;
    value.as_bytes().map_err(|_| {
        rusqlite::Error::InvalidColumnType(column, "text".to_owned(), value.data_type())
    })
}
