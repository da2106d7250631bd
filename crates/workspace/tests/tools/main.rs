//! The workspace tools, on real files and real processes.

mod bash;
mod files;
mod place;
mod search;
