//! What a session remembers: an append-only list of records.

mod event;
mod format;
mod record;

pub use event::{
    ActivityChange, Event, InboxItem, Lane, Mail, MemberChange, MemberContext, Relation, Scope,
    Sender, SessionKind, Source, StepOutcome, Summarizer, Trigger, TurnOutcome, Worktree,
};
pub use format::{FormatError, decode, encode};
pub use record::{Corrupt, Record};
