//! The mailbox protocol as a small machine of which every interleaving is checked: sends, deliveries,
//! drivers, members that leave memory, failures and crashes in any order.
//!
//! The engine is the real thing and has its own tests. This crate asks the question those cannot
//! answer: is there any order of events at all in which the rules break a promise? Its tests call
//! it; nothing is shipped with it, and it shares no code with the engine. Where the rules of
//! `engine/team` change, [`Machine`] changes with them.
//!
//! A checker that finds nothing may have looked at nothing. So each [`Mistake`] breaks one rule, and
//! a test shows that the checker notices.

mod enabled;
mod machine;
mod promises;
mod rules;
mod state;

pub use machine::{Action, Limits, Machine, Mistake, Path};
pub use promises::{P2, P4, P5, P6, P7, P8, P12};
pub use state::{Letter, Member, State};
