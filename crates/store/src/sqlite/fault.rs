//! What SQLite's errors mean to a person and to a retry. Every place of this backend that meets one
//! comes here; nothing else reads SQLite's codes.

use crate::StoreError;
use rusqlite::{Error, ErrorCode};

/// A failure of the world, said clearly.
pub(super) fn io(doing: &'static str, error: &Error) -> StoreError {
    StoreError::Io { doing, cause: cause(error), retryable: retryable(error) }
}

/// Says whether the bytes of the database are at fault, not the way to them.
pub(super) fn is_damage(error: &Error) -> bool {
    match error {
        Error::InvalidColumnType(..)
        | Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..) => true,
        _ => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ),
    }
}

/// Says whether a row is there that must not be.
pub(super) fn is_taken(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// What happened, and SQLite's own words and number for it.
pub(super) fn cause(error: &Error) -> String {
    let plain = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full: make room and try again",
        Some(ErrorCode::SystemIoFailure) => {
            "the disk or file system refused: check it, and its quota and limits"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program is using the database"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "the file or its directory may not be written: check their permissions"
        }
        Some(ErrorCode::DatabaseCorrupt) => "the database is damaged",
        Some(ErrorCode::NotADatabase) => "the file is not a database",
        Some(ErrorCode::CannotOpen) => {
            "the file could not be opened: check it and its directory's permissions"
        }
        Some(ErrorCode::OutOfMemory) => "memory ran out",
        _ => "the database refused",
    };
    match error.sqlite_error() {
        Some(code) => format!("{plain} ({error}, SQLite {})", code.extended_code),
        None => format!("{plain} ({error})"),
    }
}

/// Says whether the same again may work with nobody changing anything: others finish, memory comes
/// back; a full disk stays full.
fn retryable(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory)
    )
}
