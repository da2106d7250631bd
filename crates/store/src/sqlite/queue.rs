//! The bounded way from the runtime to the threads of a store. Putting waits without blocking the
//! runtime; taking blocks the thread. A queue that is closed takes nothing more, and what it holds
//! is still taken out.

use crate::StoreError;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use tokio::sync::mpsc;

/// Where work is put.
pub(super) struct Queue<T> {
    sender: Mutex<Option<mpsc::Sender<Entry<T>>>>,
}

/// Where it is taken out.
pub(super) struct Intake<T> {
    receiver: mpsc::Receiver<Entry<T>>,
}

enum Entry<T> {
    Work(T),
    /// Nothing that comes after this is taken.
    Last,
}

/// A queue that holds at most `limit` pieces of work, and its other end.
pub(super) fn bounded<T>(limit: usize) -> (Queue<T>, Intake<T>) {
    let (sender, receiver) = mpsc::channel(limit);
    (Queue { sender: Mutex::new(Some(sender)) }, Intake { receiver })
}

impl<T> Queue<T> {
    /// Puts work in, when there is room.
    pub(super) async fn put(&self, work: T) -> Result<(), StoreError> {
        let sender = self.lock().clone().ok_or(StoreError::Closed)?;
        sender.send(Entry::Work(work)).await.map_err(|_| StoreError::Closed)
    }

    /// Closes the queue behind what it holds.
    pub(super) async fn close(&self) {
        let sender = self.lock().take();
        if let Some(sender) = sender {
            // It fails only when the other end is gone, and then the queue is closed already.
            drop(sender.send(Entry::Last).await);
        }
    }

    /// The same without waiting. Nobody else may be putting.
    pub(super) fn hang_up(&mut self) {
        *self.sender.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<Entry<T>>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Intake<T> {
    /// Waits for work. `None` when the queue is closed and empty.
    pub(super) fn wait(&mut self) -> Option<T> {
        loop {
            match self.receiver.blocking_recv()? {
                Entry::Work(work) => return Some(work),
                Entry::Last => self.receiver.close(),
            }
        }
    }

    /// Takes work that is already there.
    pub(super) fn ready(&mut self) -> Option<T> {
        loop {
            match self.receiver.try_recv().ok()? {
                Entry::Work(work) => return Some(work),
                Entry::Last => self.receiver.close(),
            }
        }
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("open", &self.lock().is_some()).finish()
    }
}
