//! The tests of the stores: the contract on every backend, and what only a real file can show.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

mod child;
mod contract;
mod crash;
mod damage;
mod full_disk;
mod group_commit;
mod opening;
mod ownership;
mod place;
mod sameness;
