//! The pages a person sees: pure functions from what a team's logs say to markup, and the few files
//! that a browser needs with them. Nothing here reads a store or listens anywhere.
//!
//! Reading order: [`watch`] is what is known of a team, [`region`] is how a page changes while it is
//! looked at, and [`pages`] has one file for each thing that is seen.

pub mod assets;
pub mod pages;
pub mod region;
mod text;
pub mod watch;

pub use text::{Moment, plain};
