//! What others hold of a team.

use super::input::{
    Acceptance, Input, Interrupted, Order, Queued, Report, RunEnd, SpawnRequest, Spawned,
    TaskChanged,
};
use super::permission::{AnswerRefused, Permit};
use super::view::TeamView;
use super::watch::WaitEnd;
use crate::load::decode_stored;
use crate::notice::{Follower, Notice, Since};
use longboat_core::id::{
    EventKey, ItemId, MemberName, MessageId, Origin, Revision, SessionId, TeamId,
};
use longboat_core::log::{Event, Lane};
use longboat_core::permission::{Answer, QuestionId, Request};
use longboat_core::team::{InterruptRefused, SendRefused, SpawnRefused, TaskCommand, TaskRefused};
use longboat_store::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot};

/// How long a sender waits for a target that has to be brought back, before it is told `queued`.
const ACCEPT_WITHIN: Duration = Duration::from_secs(10);

/// The world failed while a team was asked for something. Nothing was refused; ask again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamFault {
    /// The team was closed, or is being closed.
    #[error("the team is closed; resume it to go on")]
    Closed,
    /// The store failed. Whether the request is durable is not known.
    #[error("the store failed ({cause}); it is tried again, so look before you repeat this")]
    Store {
        /// What it said.
        cause: String,
    },
    /// A caller's own name for what it asks cannot be one.
    #[error("the name of the call cannot be used: {reason}")]
    CallName {
        /// Why.
        reason: String,
    },
    /// The same is being done under this name at this moment.
    #[error("this is being done already under the same name; ask again to see what came of it")]
    Repeated,
    /// There is no such member.
    #[error("there is no member {name:?} in this team")]
    UnknownMember {
        /// What was asked for.
        name: String,
    },
    /// The member's inbox is full of unread prompts.
    #[error("{name} has {pending} unread items and the limit (pending_per_target) is {limit}")]
    InboxFull {
        /// Who.
        name: MemberName,
        /// How many.
        pending: usize,
        /// The limit.
        limit: usize,
    },
    /// The prompt is empty or too long.
    #[error("the prompt has {bytes} bytes; it needs 1 to {limit}")]
    PromptLength {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The member cannot be brought back into memory now.
    #[error("{name} cannot be reached: {cause}")]
    Unreachable {
        /// Who.
        name: MemberName,
        /// Why.
        cause: String,
    },
}

/// Why a team did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError<R: std::error::Error> {
    /// It is not allowed; nothing was written.
    #[error("{0}")]
    Refused(R),
    /// The world failed.
    #[error("{0}")]
    Fault(TeamFault),
}

impl<R: std::error::Error> From<TeamFault> for CallError<R> {
    fn from(fault: TeamFault) -> Self {
        Self::Fault(fault)
    }
}

/// Who asks. Made by the host from the session that it runs, never from what a model wrote.
// P9: no argument of a tool names a sender.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) name: MemberName,
    pub(crate) by: By,
}

/// What asks: its effect is recorded under its key, so it happens at most once.
#[derive(Debug, Clone)]
pub(crate) enum By {
    /// A call of the member's model.
    Call(Origin),
    /// An agent that is not ours, by a name of its own for what it asks.
    Outside(EventKey),
}

impl Caller {
    pub(crate) fn key(&self) -> EventKey {
        match &self.by {
            By::Call(origin) => origin.key(),
            By::Outside(key) => key.clone(),
        }
    }
}

/// A team that is in memory. Clones speak to the same team.
#[derive(Debug, Clone)]
pub struct TeamHandle {
    team: TeamId,
    inputs: mpsc::Sender<Input>,
    notices: broadcast::Sender<Notice>,
    store: Arc<dyn Store>,
}

impl TeamHandle {
    pub(crate) fn new(
        team: TeamId,
        inputs: mpsc::Sender<Input>,
        notices: broadcast::Sender<Notice>,
        store: Arc<dyn Store>,
    ) -> Self {
        Self { team, inputs, notices, store }
    }

    /// The team's id, which is its Lead's session.
    #[must_use]
    pub fn team(&self) -> &TeamId {
        &self.team
    }

    /// Says whether both speak to the same team in memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.inputs.same_channel(&other.inputs)
    }

    /// Follows the team.
    ///
    /// # Errors
    /// [`TeamFault::Store`] when the store cannot be read.
    pub async fn follow(&self, since: Since) -> Result<Follower, TeamFault> {
        let (notices, store) = (self.notices.subscribe(), Arc::clone(&self.store));
        let follower = Follower::new(notices, store, self.team.lead().clone(), since);
        follower.await.map_err(|error| TeamFault::Store { cause: error.to_string() })
    }

    /// The team as it is.
    ///
    /// # Errors
    /// [`TeamFault::Closed`].
    pub async fn look(&self) -> Result<TeamView, TeamFault> {
        self.look_as(None).await
    }

    pub(crate) async fn look_as(&self, viewer: Option<MemberName>) -> Result<TeamView, TeamFault> {
        self.ask(|reply| Input::Look { viewer, reply }).await
    }

    /// Puts a person's words into a member's inbox: as a turn of its own, or at its nearest step
    /// boundary. The same item id a second time changes nothing, also at the same time.
    ///
    /// # Durability
    /// The inbox durably holds it when this returns.
    ///
    /// # Errors
    /// [`TeamFault`]; [`TeamFault::CallName`] when the item's id is one that the team itself uses.
    pub async fn prompt(
        &self,
        target: &MemberName,
        lane: Lane,
        item: ItemId,
        text: String,
    ) -> Result<(), TeamFault> {
        // P6: these are the ids of the team's own messages and first prompts.
        if item.as_str().starts_with(self.team.lead().as_str()) {
            let reason = format!("{item} is the team's own");
            return Err(TeamFault::CallName { reason });
        }
        let target = self.session_of(target).await?;
        loop {
            if self.find(&target, &EventKey::inbox(&item)).await?.is_some() {
                return Ok(());
            }
            let (target, item, text) = (target.clone(), item.clone(), text.clone());
            let asked = self.ask(|reply| Input::Prompt { target, lane, item, text, reply });
            match asked.await? {
                Err(TeamFault::Repeated) => {}
                done => return done,
            }
        }
    }

    /// Changes the task board in a person's name: with the Lead's authority, and recorded as done by
    /// `human`. `call` is the caller's own name for this change: asked again under the same one,
    /// nothing changes twice, and the task comes back as it was after the change.
    ///
    /// # Durability
    /// The change is on disk when this returns.
    ///
    /// # Errors
    /// [`TaskRefused`] or a fault.
    pub async fn change_task(
        &self,
        call: &str,
        command: TaskCommand,
    ) -> Result<TaskChanged, CallError<TaskRefused>> {
        let name = MemberName::human();
        let key = outside(&name, call)?;
        loop {
            match self.find(self.team.lead(), &key).await? {
                Some(Event::TeamTask { task, .. }) => {
                    return Ok(TaskChanged { task, warnings: Vec::new() });
                }
                Some(_) => return Err(used_otherwise(call).into()),
                None => {}
            }
            let caller = Caller { name: name.clone(), by: By::Outside(key.clone()) };
            match self.change_task_as(caller, command.clone()).await {
                Err(CallError::Fault(TeamFault::Repeated)) => {}
                done => return done,
            }
        }
    }

    /// Cancels a member's open turn, in a person's name.
    ///
    /// # Errors
    /// [`InterruptRefused`] or a fault.
    pub async fn interrupt(
        &self,
        target: &str,
    ) -> Result<Interrupted, CallError<InterruptRefused>> {
        self.interrupt_as(None, target.to_owned()).await
    }

    /// Answers a call that waits for permission, in a person's name.
    ///
    /// # Durability
    /// The answer is on disk when this returns, and the call runs or is refused.
    ///
    /// # Errors
    /// [`AnswerRefused`] or a fault.
    pub async fn answer(
        &self,
        question: QuestionId,
        answer: Answer,
    ) -> Result<(), CallError<AnswerRefused>> {
        self.ask(|reply| Input::Answer { question, answer, reply })
            .await
            .map_err(CallError::from)?
    }

    /// Waits until nothing moves any more: the Lead is idle, nobody runs, no deliverable mail is
    /// owed.
    ///
    /// # Errors
    /// [`TeamFault::Closed`].
    // P17: this, not the end of the Lead's first turn, is the end of a run.
    pub async fn quiescent(&self) -> Result<RunEnd, TeamFault> {
        self.ask(|reply| Input::Quiesce { reply }).await
    }

    /// Stops everything: nothing is taken any more, running calls are answered as stopped, what was
    /// decided is durable. Open turns stay open, so a resume goes on with them.
    pub async fn close(&self) {
        // A team that is gone is closed.
        drop(self.ask(|reply| Input::Close { reply }).await);
    }

    /// Speaks for a member, for an agent that is not ours: whoever holds this can send in that
    /// member's name and in no other.
    #[must_use]
    pub fn member(&self, name: MemberName) -> MemberHandle {
        MemberHandle { team: self.clone(), name }
    }

    pub(crate) async fn interrupt_as(
        &self,
        by: Option<MemberName>,
        target: String,
    ) -> Result<Interrupted, CallError<InterruptRefused>> {
        self.ask(|reply| Input::Interrupt { by, target, reply }).await.map_err(CallError::from)?
    }

    /// Sends a message, and waits a while for its acceptance.
    pub(crate) async fn send(
        &self,
        caller: Caller,
        target: String,
        text: String,
    ) -> Result<(Queued, Acceptance), CallError<SendRefused>> {
        let ask = self.ask(|reply| Input::Send { caller, target, text, reply });
        let mut queued = ask.await.map_err(CallError::from)??;
        let acceptance = match &mut queued.acceptance {
            Ok(()) => Acceptance::Accepted,
            Err(later) => match tokio::time::timeout(ACCEPT_WITHIN, later).await {
                Ok(Ok(acceptance)) => acceptance,
                Ok(Err(_)) | Err(_) => Acceptance::Deferred {
                    cause: format!("{} is still being brought back", queued.to),
                },
            },
        };
        Ok((queued, acceptance))
    }

    pub(crate) async fn spawn(
        &self,
        request: SpawnRequest,
    ) -> Result<Spawned, CallError<SpawnRefused>> {
        self.ask(|reply| Input::Spawn { request, reply }).await.map_err(CallError::from)?
    }

    pub(crate) async fn change_task_as(
        &self,
        caller: Caller,
        command: TaskCommand,
    ) -> Result<TaskChanged, CallError<TaskRefused>> {
        self.ask(|reply| Input::Task { caller, command, reply }).await.map_err(CallError::from)?
    }

    /// Whether a call may run: its result otherwise. It may take as long as a person does.
    pub(crate) async fn permission(
        &self,
        origin: Origin,
        request: Request,
    ) -> Result<Permit, TeamFault> {
        self.ask(|reply| Input::Permission { origin, request, reply }).await
    }

    pub(crate) async fn wait(
        &self,
        waiter: SessionId,
        since: Option<Revision>,
    ) -> Result<WaitEnd, TeamFault> {
        self.ask(|reply| Input::Wait { waiter, since, reply }).await
    }

    pub(crate) async fn report(
        &self,
        session: &SessionId,
        generation: u64,
        report: Report,
    ) -> Order {
        let session = session.clone();
        self.ask(|reply| Input::Report { session, generation, report, reply })
            .await
            .unwrap_or(Order::Leave)
    }

    pub(crate) fn notify(&self, notice: Notice) {
        // Nobody watching is not an error.
        drop(self.notices.send(notice));
    }

    /// What is recorded under a key, if anything is.
    async fn find(&self, session: &SessionId, key: &EventKey) -> Result<Option<Event>, TeamFault> {
        let found = self.store.find(session, key).await;
        let found = found.map_err(|error| TeamFault::Store { cause: error.to_string() })?;
        let Some(stored) = found else { return Ok(None) };
        let record = decode_stored(stored);
        let record = record.map_err(|error| TeamFault::Store { cause: error.to_string() })?;
        Ok(Some(record.event))
    }

    async fn session_of(&self, name: &MemberName) -> Result<SessionId, TeamFault> {
        if name.is_lead() {
            return Ok(self.team.lead().clone());
        }
        let view = self.look().await?;
        let member = view.members.into_iter().find(|member| member.name == *name);
        member
            .map(|member| member.session)
            .ok_or_else(|| TeamFault::UnknownMember { name: name.to_string() })
    }

    async fn ask<T>(
        &self,
        input: impl FnOnce(oneshot::Sender<T>) -> Input,
    ) -> Result<T, TeamFault> {
        let (reply, answer) = oneshot::channel();
        self.inputs.send(input(reply)).await.map_err(|_| TeamFault::Closed)?;
        answer.await.map_err(|_| TeamFault::Closed)
    }
}

/// One member of a team, for an agent that is not ours.
#[derive(Debug, Clone)]
pub struct MemberHandle {
    team: TeamHandle,
    name: MemberName,
}

impl MemberHandle {
    /// Sends a message in this member's name. `call` is the caller's own name for this send: asked
    /// again under the same one, after an answer that got lost, nothing is sent twice.
    ///
    /// # Durability
    /// The message is on disk when this returns; [`Acceptance`] says whether its target's inbox has
    /// it.
    ///
    /// # Errors
    /// [`SendRefused`] or a fault.
    pub async fn send(
        &self,
        call: &str,
        target: String,
        text: String,
    ) -> Result<(MessageId, Acceptance), CallError<SendRefused>> {
        let key = outside(&self.name, call)?;
        loop {
            match self.team.find(self.team.team.lead(), &key).await? {
                Some(Event::TeamMessageQueued { message, .. }) => {
                    return Ok((message, Acceptance::Accepted));
                }
                Some(_) => return Err(used_otherwise(call).into()),
                None => {}
            }
            let caller = Caller { name: self.name.clone(), by: By::Outside(key.clone()) };
            match self.team.send(caller, target.clone(), text.clone()).await {
                Ok((queued, acceptance)) => return Ok((queued.message, acceptance)),
                Err(CallError::Fault(TeamFault::Repeated)) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The key under which what an outsider asks in somebody's name is recorded.
fn outside(name: &MemberName, call: &str) -> Result<EventKey, TeamFault> {
    let key = EventKey::new(format!("outside/{name}/{call}"));
    key.map_err(|invalid| TeamFault::CallName { reason: invalid.to_string() })
}

fn used_otherwise(call: &str) -> TeamFault {
    let call: String = call.chars().take(80).collect();
    TeamFault::CallName { reason: format!("{call:?} names something else that was done") }
}
