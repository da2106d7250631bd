//! Everything that can be asked of a team, and what it answers. One closed list.

use super::handle::{CallError, Caller, TeamFault};
use super::permission::{AnswerRefused, Permit};
use super::residency::Loaded;
use super::roster::Prepared;
use super::view::TeamView;
use super::watch::WaitEnd;
use crate::ports::{GivenWorktree, ModelMissing};
use crate::settings::Isolation;
use longboat_core::content::{Prompt, Reply, ToolCall, ToolOutcome, Usage};
use longboat_core::id::{ItemId, MemberName, MessageId, Origin, Revision, SessionId, StepNo};
use longboat_core::log::{Lane, MemberContext, TurnOutcome};
use longboat_core::permission::{Answer, QuestionId, Request};
use longboat_core::session::Compaction;
use longboat_core::team::{
    InterruptRefused, SendRefused, SpawnRefused, Task, TaskCommand, TaskRefused, TaskWarning,
};
use longboat_model::Model;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A place for one answer. It is given after the commit that makes it true.
pub(crate) type ReplyTo<T> = oneshot::Sender<T>;

/// One thing asked of a team.
#[derive(Debug)]
pub(crate) enum Input {
    /// A driver says what it did and asks what to do. The answer may be long in coming.
    Report { session: SessionId, generation: u64, report: Report, reply: ReplyTo<Order> },
    /// A member sends a message.
    Send {
        caller: Caller,
        target: String,
        text: String,
        reply: ReplyTo<Result<Queued, CallError<SendRefused>>>,
    },
    /// The Lead makes a teammate.
    Spawn { request: SpawnRequest, reply: ReplyTo<Result<Spawned, CallError<SpawnRefused>>> },
    /// What a teammate begins with was read, or could not be.
    Prepared(Prepared),
    /// Somebody cancels a member's turn.
    Interrupt {
        by: Option<MemberName>,
        target: String,
        reply: ReplyTo<Result<Interrupted, CallError<InterruptRefused>>>,
    },
    /// A member changes the task board.
    Task {
        caller: Caller,
        command: TaskCommand,
        reply: ReplyTo<Result<TaskChanged, CallError<TaskRefused>>>,
    },
    /// A person says something to a member.
    Prompt {
        target: SessionId,
        lane: Lane,
        item: ItemId,
        text: String,
        reply: ReplyTo<Result<(), TeamFault>>,
    },
    /// Somebody looks at the team as it is.
    Look { viewer: Option<MemberName>, reply: ReplyTo<TeamView> },
    /// A driver wants to run a call of which it may not decide itself.
    Permission { origin: Origin, request: Request, reply: ReplyTo<Permit> },
    /// A person answers a question.
    Answer {
        question: QuestionId,
        answer: Answer,
        reply: ReplyTo<Result<(), CallError<AnswerRefused>>>,
    },
    /// A member waits for news.
    Wait { waiter: SessionId, since: Option<Revision>, reply: ReplyTo<WaitEnd> },
    /// Somebody waits for the whole run to end.
    Quiesce { reply: ReplyTo<RunEnd> },
    /// A member's log was read, or could not be.
    Loaded(Box<Loaded>),
    /// No more is to happen here.
    Close { reply: ReplyTo<()> },
}

/// What a driver did.
#[derive(Debug)]
pub(crate) enum Report {
    /// Nothing that is not recorded.
    Ready,
    /// The model replied.
    Replied { step: StepNo, reply: Reply },
    /// There will be no reply.
    Failed { step: StepNo, reason: String },
    /// There is no reply, because the conversation is too long for the model.
    Overflowed { step: StepNo, reason: String },
    /// There is a summary, or there is none to be had.
    SummedUp(Summary),
    /// A call has its result.
    Answered { step: StepNo, index: u32, outcome: ToolOutcome },
}

/// What a driver is to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// Make a model request.
    Ask {
        step: StepNo,
        prompt: Prompt,
        model: Result<Arc<dyn Model>, ModelMissing>,
        cancel: CancellationToken,
    },
    /// Ask for a summary of the conversation's beginning.
    SumUp { compaction: Compaction, model: Arc<dyn Model>, cancel: CancellationToken },
    /// Run these calls at once; each is recorded as begun.
    Run { step: StepNo, calls: Vec<Begun>, cancel: CancellationToken },
    /// Go on with the calls that are under way.
    Continue,
    /// Stop: the session goes out of memory, or the team closes.
    Leave,
}

/// A call that is recorded as begun.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    /// Its place in the reply.
    pub(crate) index: u32,
    /// As the model wrote it.
    pub(crate) call: ToolCall,
    /// Whether a question about it is on record: then the team decides, whatever the rules say now.
    pub(crate) asked: bool,
}

/// What came of asking for a summary.
#[derive(Debug)]
pub(crate) struct Summary {
    /// How many of the newest messages stay.
    pub(crate) kept: u64,
    /// What the model wrote; `None` when it could not.
    pub(crate) told: Option<String>,
    /// What asking cost.
    pub(crate) usage: Usage,
}

/// What the Lead wants a teammate to be.
#[derive(Debug, Clone)]
pub(crate) struct SpawnRequest {
    pub(crate) caller: Caller,
    pub(crate) name: MemberName,
    pub(crate) description: String,
    pub(crate) prompt: String,
    pub(crate) context: MemberContext,
    pub(crate) role: Option<String>,
    /// Where it is to work; its role says when this does not.
    pub(crate) isolation: Option<Isolation>,
}

/// A message that is durably in the mailbox.
#[derive(Debug)]
pub(crate) struct Queued {
    /// Its id.
    pub(crate) message: MessageId,
    /// Its target, as the sender calls it.
    pub(crate) to: String,
    /// Whether the target's inbox holds it already, or where that will be said.
    pub(crate) acceptance: Result<(), oneshot::Receiver<Acceptance>>,
}

/// What became of a message that could not be admitted at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// The target's inbox durably holds it.
    Accepted,
    /// It stays queued and is retried; the cause says what stands in the way.
    Deferred {
        /// What stands in the way.
        cause: String,
    },
}

/// A teammate that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spawned {
    /// Its name.
    pub(crate) name: MemberName,
    /// Its session.
    pub(crate) session: SessionId,
    /// Why it could not be made, when it could not.
    pub(crate) failed: Option<String>,
    /// Its worktree, when it has one.
    pub(crate) worktree: Option<GivenWorktree>,
    /// The revision from which news of it can be waited for.
    pub(crate) revision: Revision,
}

/// What an interrupt found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// The open turn was cancelled.
    Cancelled {
        /// Messages and prompts that were pending: they start the next turn at once.
        pending: usize,
    },
    /// No turn was open.
    NotRunning,
}

/// A task as it is after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskChanged {
    /// The task, whole.
    pub task: Arc<Task>,
    /// What the one who changed it should know.
    pub warnings: Vec<TaskWarning>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// How the Lead's last turn ended; `None` when it never had one.
    pub lead: Option<TurnOutcome>,
    /// The Lead's final text.
    pub final_text: String,
    /// Messages that are still owed, with what stands in their way.
    pub owed: Vec<(MessageId, MemberName, String)>,
    /// Which budget ended it before it came to rest, if one did. Its turns are open: a resume goes
    /// on.
    pub exhausted: Option<String>,
}
