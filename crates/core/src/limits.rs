//! Every bound in the product, with its reason.

/// Teammates ever named in one team. Names are never reused, so this bounds the roster.
pub const TEAMMATES: usize = 8;
/// Agents above the deepest child, outside a team: a task handed down further is not done faster.
pub const AGENT_DEPTH: usize = 3;
/// Tasks that are not deleted. A board past this is no longer read by anyone.
pub const LIVE_TASKS: usize = 256;
/// Messages to one target that it has not read. More means it does not keep up.
pub const PENDING_PER_TARGET: usize = 64;
/// Bytes of one message with its frame: more belongs in a file.
pub const FRAMED_MESSAGE_BYTES: usize = 65_536;
/// Bytes of a human prompt or a teammate's first prompt.
pub const PROMPT_BYTES: usize = 262_144;
/// Bytes of a task's subject: it is shown on one line.
pub const TASK_SUBJECT_BYTES: usize = 256;
/// Bytes of a task's description.
pub const TASK_DESCRIPTION_BYTES: usize = 16_384;
/// Blockers of one task, and write scopes of one task.
pub const TASK_LINKS: usize = 32;
/// Bytes of one write scope.
pub const WRITE_SCOPE_BYTES: usize = 512;
/// Bytes of a teammate's description on the roster.
pub const DESCRIPTION_BYTES: usize = 1_024;
/// Bytes of a member's final text shown on the roster.
pub const EXCERPT_BYTES: usize = 400;
/// Tool calls of one reply that are run; the rest are answered with an error.
pub const CALLS_PER_REPLY: usize = 64;
/// Tool calls in one reply at all; a reply with more is of no use.
pub const CALLS_TAKEN: usize = 1_024;
/// Bytes of one tool call's arguments.
pub const ARGUMENT_BYTES: usize = 1_048_576;
/// Bytes of one tool result as the model sees it; more is spilled to a file.
pub const TOOL_RESULT_BYTES: usize = 32_768;
/// Bytes of a summary that stands in the place of a conversation's beginning.
pub const SUMMARY_BYTES: usize = 65_536;
/// Warnings that come with one change of a task; the rest are counted.
pub const TASK_WARNINGS: usize = 16;
/// Tasks in one page of a list.
pub const TASK_PAGE: usize = 100;
/// Tasks in one page of a list when no number is said.
pub const TASK_PAGE_DEFAULT: usize = 50;
/// The shortest wait for a change, in milliseconds: a shorter one is polling.
pub const WAIT_MIN_MS: u64 = 10_000;
/// The longest wait for a change, in milliseconds.
pub const WAIT_MAX_MS: u64 = 3_600_000;
/// The wait for a change when none is said, in milliseconds.
pub const WAIT_DEFAULT_MS: u64 = 30_000;

/// The limits a deployment may set. The constants above are the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// See [`TEAMMATES`].
    pub teammates: usize,
    /// See [`LIVE_TASKS`].
    pub live_tasks: usize,
    /// See [`PENDING_PER_TARGET`].
    pub pending_per_target: usize,
    /// See [`FRAMED_MESSAGE_BYTES`].
    pub framed_message_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            teammates: TEAMMATES,
            live_tasks: LIVE_TASKS,
            pending_per_target: PENDING_PER_TARGET,
            framed_message_bytes: FRAMED_MESSAGE_BYTES,
        }
    }
}
