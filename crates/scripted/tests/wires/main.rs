//! The scripted server over real HTTP: what it sends, byte for byte, and what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod anthropic;
mod chat;
mod client;
mod connections;
mod faults;
mod holds;
mod steps;
