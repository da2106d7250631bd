//! The API from outside: a real listener, real SQLite, the scripted model behind real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod bounds;
mod document;
mod doors;
mod events;
mod large;
mod pages;
mod person;
mod place;
mod stream;
