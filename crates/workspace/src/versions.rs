//! Which version of each file an agent has seen, so that it never overwrites what it does not know.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The versions one agent has seen. It lives as long as the agent's activation; after a resume a
/// file is read again before it is changed.
#[derive(Debug, Clone)]
pub(crate) struct Versions {
    seen: Arc<Mutex<HashMap<PathBuf, u64>>>,
    writing: Arc<Mutex<()>>,
}

impl Versions {
    pub(crate) fn new(writing: Arc<Mutex<()>>) -> Self {
        Self { seen: Arc::default(), writing }
    }

    /// Notes that the agent knows these bytes of a file.
    pub(crate) fn note(&self, path: &Path, bytes: &[u8]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(path.to_owned(), fingerprint(bytes));
    }

    /// Says whether the agent knows these bytes of a file.
    pub(crate) fn knows(&self, path: &Path, bytes: &[u8]) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(path) == Some(&fingerprint(bytes))
    }

    /// Says whether the agent has seen any version of a file.
    pub(crate) fn met(&self, path: &Path) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).contains_key(path)
    }

    /// Held while a file is compared and replaced.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
