//! The other processes of these tests: this same test binary, started again to play a part.

use crate::place::holder;
use crate::{crash, full_disk};
use std::path::Path;
use std::process::{Command, Stdio};

const PART: &str = "LONGBOAT_STORE_TEST_PART";
const STORE: &str = "LONGBOAT_STORE_TEST_STORE";

/// What a child does with the store at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// Owns it and commits until it is killed.
    CommitForEver,
    /// Owns it while files may not grow past a limit.
    FillTheDisk,
}

/// A child that plays a part. It survives writing past a file size limit as a process with a
/// handler for that signal does: by an error.
pub(crate) fn command(part: Part, store: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child::a_child_of_another_test_plays_its_part", "--nocapture"])
        .env(PART, format!("{part:?}"))
        .env(STORE, store)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Does nothing where it is not such a child.
#[test]
fn a_child_of_another_test_plays_its_part() {
    let (Some(part), Some(store)) = (std::env::var_os(PART), std::env::var_os(STORE)) else {
        return;
    };
    let store = longboat_store::SqliteStore::open(store, &holder()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    if part == format!("{:?}", Part::CommitForEver).as_str() {
        runtime.block_on(crash::commit_for_ever(store));
    } else if part == format!("{:?}", Part::FillTheDisk).as_str() {
        runtime.block_on(full_disk::fill_the_disk(store));
    } else {
        panic!("no part {part:?}");
    }
}
