//! Takes in a command's output: keeps its head and tail for the model, and all of it in a file when
//! it is too long to show.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// The bytes shown from the start.
const HEAD: usize = 8 * 1024;
/// The bytes shown from the end.
const TAIL: usize = 16 * 1024;
/// The most bytes kept in the file.
const MAX_SPILL: u64 = 16 * 1024 * 1024;

/// Output as it comes in.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    path: PathBuf,
    spill: Spill,
}

#[derive(Debug)]
enum Spill {
    /// Everything still fits head and tail.
    NotNeeded,
    Open {
        file: File,
        written: u64,
    },
    Failed(io::Error),
}

impl Capture {
    /// Nothing yet. `path` is made only when the output is too long to show.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, path, spill: Spill::NotNeeded }
    }

    /// Takes in the next bytes.
    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if matches!(self.spill, Spill::NotNeeded) && self.total > (HEAD + TAIL) as u64 {
            self.start_spill().await;
        }
        self.append_spill(bytes).await;
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
    }

    /// Begins the file with what was taken in before.
    async fn start_spill(&mut self) {
        let mut before = self.head.clone();
        before.extend(&self.tail);
        self.spill = match create(&self.path).await {
            Ok(file) => Spill::Open { file, written: 0 },
            Err(error) => Spill::Failed(error),
        };
        self.append_spill(&before).await;
    }

    async fn append_spill(&mut self, bytes: &[u8]) {
        let Spill::Open { file, written } = &mut self.spill else { return };
        let room = usize::try_from(MAX_SPILL - *written).unwrap_or(usize::MAX).min(bytes.len());
        let (kept, _) = bytes.split_at(room);
        *written += kept.len() as u64;
        if let Err(error) = file.write_all(kept).await {
            self.spill = Spill::Failed(error);
        }
    }

    /// What the model is shown: everything, or head and tail and where the rest is.
    pub(crate) async fn shown(mut self) -> String {
        if let Spill::Open { file, .. } = &mut self.spill
            && let Err(error) = file.flush().await
        {
            self.spill = Spill::Failed(error);
        }
        let tail: Vec<u8> = self.tail.into_iter().collect();
        let (total, path) = (self.total, self.path.display());
        let kept = match &self.spill {
            Spill::NotNeeded => {
                self.head.extend(tail);
                return String::from_utf8_lossy(&self.head).into_owned();
            }
            Spill::Open { written, .. } if *written < total => {
                format!("the first {written} are in {path}")
            }
            Spill::Open { .. } => format!("all of it is in {path}"),
            Spill::Failed(error) => format!("they could not be kept in a file: {error}"),
        };
        let cut = total - (self.head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {cut} of {total} bytes are left out; {kept}]\n{tail}")
    }
}

async fn create(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        tokio::fs::create_dir_all(directory).await?;
    }
    File::create(path).await
}
