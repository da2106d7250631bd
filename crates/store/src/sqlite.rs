//! The embedded store: all logs in one SQLite file that one process owns. The engine gets it from
//! the command line's composition root. It blocks no runtime: one thread writes, others read. It
//! never looks into a payload and never reads history to commit.

mod connection;
mod fault;
mod owner;
mod presence;
mod queue;
mod reader;
mod rows;
mod writer;

pub use owner::Holder;

use crate::limits;
use crate::{Append, Appended, SessionHead, Store, StoreError, StoredRecord};
use async_trait::async_trait;
use longboat_core::id::{EventKey, Seq, SessionId};
use owner::Ownership;
use presence::Presence;
use reader::Readers;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use writer::Writer;

/// Says why a store could not be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// Another process owns it.
    #[error(
        "{} is in use by {}: stop it, or use a command that only reads or speaks to it (longboat send, tasks, show --follow), or give another --store",
        path.display(),
        holder.as_ref().map_or("another process, just started".to_owned(), Holder::to_string)
    )]
    Held {
        /// The database file.
        path: PathBuf,
        /// Who owns it. `None` when it has not said so yet.
        holder: Option<Holder>,
    },
    /// There is nothing to read.
    #[error(
        "{} holds no store yet: start a run with it first, or give another --store",
        path.display()
    )]
    Missing {
        /// The file that is not there, or is empty.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} {what}: give another --store, or move the file away", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// The file is a store whose bytes are damaged.
    #[error(
        "{} is damaged: {what}. Keep a copy of it and of the files beside it, then bring it back \
         from a backup, or give another --store",
        path.display()
    )]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A newer longboat made it.
    #[error(
        "{} has format {found}, but this longboat knows formats up to {known}: use a newer \
         longboat, or give another --store",
        path.display()
    )]
    NewerFormat {
        /// The database file.
        path: PathBuf,
        /// Its format.
        found: usize,
        /// The newest format known here.
        known: usize,
    },
    /// An older longboat made it, and whoever only reads cannot bring it up to date.
    #[error(
        "{} has format {found}, older than {known}: start a run with it once, which updates it",
        path.display()
    )]
    OlderFormat {
        /// The database file.
        path: PathBuf,
        /// Its format.
        found: usize,
        /// The format needed.
        known: usize,
    },
    /// The world failed: disk, directory, permissions.
    #[error("{}: {doing} failed: {cause}", path.display())]
    Io {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        cause: String,
    },
}

/// How much a store wrote since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteCounts {
    /// Commits that succeeded.
    pub commits: u64,
    /// Transactions, and so syncs, they took: fewer when commits came at once.
    pub transactions: u64,
}

/// Keeps logs in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    readers: Readers,
    writer: Option<Writer>,
    running: tokio::sync::Mutex<Running>,
}

/// What ends when the store is closed, in this order.
#[derive(Debug, Default)]
struct Running {
    readers: Vec<JoinHandle<()>>,
    writer: Option<JoinHandle<()>>,
    ownership: Option<Ownership>,
}

impl SqliteStore {
    /// Opens a store for the one process that owns it. Creates it (for its user only) when it is
    /// not there, and updates an older format. Blocks on the disk; needs no runtime.
    ///
    /// # Errors
    /// Every [`OpenError`] but [`OpenError::Missing`] and [`OpenError::OlderFormat`].
    pub fn open(path: impl AsRef<Path>, holder: &Holder) -> Result<Self, OpenError> {
        let path = connection::place(path.as_ref())?;
        let ownership = Ownership::take(&path, holder)?;
        let connection = connection::open_writing(&path)?;
        let (readers, reader_threads) = reader::start(&path)?;
        let presence = Presence::note(&path)?;
        let (writer, writer_thread) = writer::start(&path, connection, presence)?;
        let running = Running {
            readers: reader_threads,
            writer: Some(writer_thread),
            ownership: Some(ownership),
        };
        Ok(Self { path, readers, writer: Some(writer), running: running.into() })
    }

    /// Opens a store to read only, beside its owner or without one. Every commit is refused with
    /// [`StoreError::Io`]. It changes no record; where no owner lives, SQLite may recover the
    /// write-ahead log of the last one.
    ///
    /// # Errors
    /// Every [`OpenError`] but [`OpenError::Held`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let (readers, threads) = reader::start(&path)?;
        let running = Running { readers: threads, ..Running::default() };
        Ok(Self { path, readers, writer: None, running: running.into() })
    }

    /// The process that says it owns the store of a file, if one does and is not known to have died.
    /// For those who want to speak to it; only opening the store proves that nobody owns it.
    #[must_use]
    pub fn holder(path: impl AsRef<Path>) -> Option<Holder> {
        owner::said(path.as_ref())
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How much this store wrote since it was opened.
    #[must_use]
    pub fn write_counts(&self) -> WriteCounts {
        let Some(writer) = &self.writer else { return WriteCounts::default() };
        WriteCounts {
            commits: writer.counts().commits.load(Ordering::Relaxed),
            transactions: writer.counts().transactions.load(Ordering::Relaxed),
        }
    }

    /// Says what is wrong with the file's structure; nothing, if all is well. It reads the whole
    /// file and takes its time. Records are checked one by one whenever they are read.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the file cannot even be checked, [`StoreError::Closed`].
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.readers.run(reader::check).await
    }

    /// Finishes what waits, writes everything into the one file, ends the threads and gives the
    /// store up. Whatever comes later is answered with [`StoreError::Closed`]. Dropping the store
    /// does the same, but blocks the thread that drops it.
    ///
    /// # Cancel safety
    /// Calling it again goes on where it was left; so does dropping the store.
    pub async fn close(&self) {
        let mut running = self.running.lock().await;
        self.readers.close().await;
        join(std::mem::take(&mut running.readers)).await;
        // The writer's connection ends last: only the last one may put the write-ahead log away.
        if let Some(writer) = &self.writer {
            writer.close().await;
        }
        join(running.writer.take().into_iter().collect()).await;
        drop(running.ownership.take());
    }
}

async fn join(threads: Vec<JoinHandle<()>>) {
    // Joining blocks, so it is kept off the runtime. It cannot fail but by the runtime's own end.
    drop(tokio::task::spawn_blocking(move || join_here(threads)).await);
}

fn join_here(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        let name = thread.thread().name().unwrap_or_default().to_owned();
        if thread.join().is_err() {
            tracing::error!(thread = name, "a thread of the store panicked");
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        let running = self.running.get_mut();
        self.readers.hang_up();
        join_here(running.readers.drain(..));
        if let Some(writer) = &mut self.writer {
            writer.hang_up();
        }
        join_here(running.writer.take());
    }
}

/// Starts one of the store's threads. SQLite blocks, so it gets threads of its own instead of the
/// runtime's; each ends when its queue is closed, and is joined by close or drop.
fn spawn(
    path: &Path,
    name: String,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    std::thread::Builder::new().name(name).spawn(work).map_err(|error| OpenError::Io {
        path: path.to_owned(),
        doing: "starting a thread",
        cause: error.to_string(),
    })
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, appends: Vec<Append>) -> Result<Vec<Appended>, StoreError> {
        limits::check(&appends)?;
        match &self.writer {
            Some(writer) => writer.commit(appends).await,
            None => Err(StoreError::Io {
                doing: "committing",
                cause: "the store was opened to read only: open it as its owner to write".into(),
                retryable: false,
            }),
        }
    }

    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let session = session.clone();
        self.readers.run(move |connection| reader::read(connection, &session, from, limit)).await
    }

    async fn find(
        &self,
        session: &SessionId,
        key: &EventKey,
    ) -> Result<Option<StoredRecord>, StoreError> {
        let (session, key) = (session.clone(), key.clone());
        self.readers.run(move |connection| reader::find(connection, &session, &key)).await
    }

    async fn head(&self, session: &SessionId) -> Result<Option<SessionHead>, StoreError> {
        let session = session.clone();
        self.readers.run(move |connection| reader::head(connection, &session)).await
    }

    async fn sessions(&self) -> Result<Vec<SessionHead>, StoreError> {
        self.readers.run(reader::sessions).await
    }
}
