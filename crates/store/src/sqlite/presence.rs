//! Whether the files of a store are still where they were. An open file outlives its name: what is
//! written to one that was removed is gone with the process, and a lock on one keeps nobody out.

use super::{OpenError, connection};
use crate::StoreError;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files, as they were when the store was opened.
#[derive(Debug)]
pub(super) struct Presence(Vec<(PathBuf, Identity)>);

/// Which file a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

fn identity(path: &Path) -> io::Result<Identity> {
    let found = std::fs::metadata(path)?;
    Ok(Identity { device: found.dev(), inode: found.ino() })
}

impl Presence {
    /// Notes the database, its lock, and its write-ahead log, which is there once it was written to.
    pub(super) fn note(path: &Path) -> Result<Self, OpenError> {
        let log = connection::beside(path, "-wal");
        let files = [path.to_owned(), connection::beside(path, ".lock")];
        let files = files.into_iter().chain(log.exists().then_some(log));
        let noted = files.map(|file| identity(&file).map(|found| (file, found)));
        noted.collect::<io::Result<_>>().map(Self).map_err(|error| OpenError::Io {
            path: path.to_owned(),
            doing: "looking at its files",
            cause: error.to_string(),
        })
    }

    /// Says so when one of them was taken away or replaced.
    ///
    /// # Errors
    /// [`StoreError::Io`]: what was written since then is not kept.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let gone = self.0.iter().find(|(file, noted)| identity(file).ok() != Some(*noted));
        match gone {
            None => Ok(()),
            Some((file, _)) => Err(StoreError::Io {
                doing: "committing",
                cause: format!(
                    "{} was removed or replaced while it was in use, so nothing written now is \
                     kept: stop, put the file back, and resume",
                    file.display()
                ),
                retryable: false,
            }),
        }
    }
}
