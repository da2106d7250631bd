//! One agent's conversation: the fold of its log, and what follows from it.

mod compaction;
mod inbox;
mod repair;
mod state;
mod transcript;
mod turn;

pub use compaction::Compaction;
pub use inbox::Inbox;
pub use repair::{cut_short, forked_tail, repair};
pub use state::{Configuration, SessionState};
pub use transcript::Transcript;
pub use turn::{Call, Next, Phase, Progress};
