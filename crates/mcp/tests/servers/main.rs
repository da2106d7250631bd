//! MCP servers of all kinds of conduct, and the client that must live with them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod answers;
mod calls;
mod child;
mod http;
mod lives;
mod offers;
mod place;
