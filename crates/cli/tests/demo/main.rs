//! The demo, and looking back at what it left: the real binary, real processes, real files. Nothing
//! here waits for time to pass; what is waited for is an event that the binary prints.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod normal;
mod place;
mod reports;
mod resumed;
mod served;
mod team_run;
