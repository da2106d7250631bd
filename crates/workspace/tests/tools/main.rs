//! The workspace tools, on real files and real processes.
#![expect(clippy::unwrap_used, reason = "a test may panic, in what it sets up with too")]

mod bash;
mod confined;
mod files;
mod place;
mod search;
