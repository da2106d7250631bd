//! The task that owns a team: it takes inputs, decides, commits them together, and only then acts.
//!
//! Nothing is awaited while a batch is decided, so no input can come between a look and the change
//! that follows from it. Many inputs of one batch share one sync.

use super::budget::Spent;
use super::handle::{By, Caller, TeamFault, TeamHandle};
use super::input::{Acceptance, Input, Order, ReplyTo, RunEnd};
use super::outage::Outage;
use super::permission::Question;
use super::repeats::Repeats;
use super::residency::Resident;
use super::watch::Waiter;
use crate::log_writer::{LogWriter, WriteError};
use crate::notice::Notice;
use crate::supervise::Supervisor;
use crate::teams::Parts;
use longboat_core::id::{MemberName, MessageId, Origin, SessionId, TeamId};
use longboat_core::log::{ActivityChange, Event, TurnOutcome};
use longboat_core::price::Spending;
use longboat_core::session::{Next, Phase};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio::time::Instant;

/// Inputs decided in one batch: more would only make the first of them wait longer.
const BATCH: usize = 256;
/// How long drivers and tools may take to become quiet.
const QUIET_WITHIN: Duration = Duration::from_secs(10);
/// How long until a failed store is tried again: doubled at each failure, up to the last.
const STORE_BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(20));

/// What runs after a batch's commit, told whether it is durable.
type AfterCommit = Box<dyn FnOnce(Option<&TeamFault>) + Send>;

/// The owner of one team.
pub(crate) struct TeamActor {
    pub(super) parts: Arc<Parts>,
    pub(super) writer: LogWriter,
    pub(super) inputs: mpsc::Sender<Input>,
    received: mpsc::Receiver<Input>,
    notices: broadcast::Sender<Notice>,
    pub(super) supervisor: Supervisor,
    pub(super) residents: BTreeMap<SessionId, Resident>,
    pub(super) generation: u64,
    pub(super) loading: BTreeSet<MemberName>,
    pub(super) outages: BTreeMap<MemberName, Outage>,
    pub(super) accepting: BTreeMap<MessageId, ReplyTo<Acceptance>>,
    pub(super) effects: BTreeMap<String, Effect>,
    /// Calls that wait for a person's permission, by the keys of their origins.
    pub(super) questions: BTreeMap<String, Question>,
    pub(super) spawning: BTreeMap<MemberName, super::roster::Spawning>,
    pub(super) stalled: Vec<(MemberName, Input)>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) quiescing: Vec<ReplyTo<RunEnd>>,
    after: Vec<AfterCommit>,
    pub(super) closing: bool,
    pub(super) told: BTreeSet<(MemberName, MessageId)>,
    pub(super) spent: Spent,
    /// What members that are out of memory had spent when they left it.
    pub(super) left: BTreeMap<SessionId, Spending>,
    pub(super) exhausted: Option<String>,
    pub(super) repeats: Repeats,
}

/// What an open tool call did to the team: remembered until its result is recorded.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// It queued this message, for whom the sender calls so.
    Message(MessageId, String),
    /// It made this change to a task.
    Task(Arc<longboat_core::team::Task>),
    /// It named this teammate.
    Member(MemberName),
}

enum Served {
    Closed(ReplyTo<()>),
    Abandoned,
    Failed(WriteError),
}

impl TeamActor {
    pub(crate) fn new(
        parts: Arc<Parts>,
        writer: LogWriter,
        channel: (mpsc::Sender<Input>, mpsc::Receiver<Input>),
        notices: broadcast::Sender<Notice>,
    ) -> Self {
        Self {
            parts,
            writer,
            inputs: channel.0,
            received: channel.1,
            notices,
            supervisor: Supervisor::new(),
            residents: BTreeMap::new(),
            generation: 0,
            loading: BTreeSet::new(),
            outages: BTreeMap::new(),
            accepting: BTreeMap::new(),
            effects: BTreeMap::new(),
            questions: BTreeMap::new(),
            spawning: BTreeMap::new(),
            stalled: Vec::new(),
            waiters: Vec::new(),
            quiescing: Vec::new(),
            after: Vec::new(),
            closing: false,
            told: BTreeSet::new(),
            spent: Spent::nothing(),
            left: BTreeMap::new(),
            exhausted: None,
            repeats: Repeats::default(),
        }
    }

    /// Runs the team until it is closed. A store that fails is waited for, and the team is then
    /// read anew, as after a crash.
    pub(crate) async fn run(mut self) {
        self.start().await;
        loop {
            match self.serve().await {
                Served::Closed(reply) => {
                    self.forget().await;
                    reply.send(()).ok();
                    return;
                }
                Served::Abandoned => {
                    self.forget().await;
                    return;
                }
                Served::Failed(error) => {
                    if !self.recover(&error).await {
                        return;
                    }
                }
            }
        }
    }

    /// A handle to this team, for those whom it makes.
    pub(super) fn handle(&self) -> TeamHandle {
        let (inputs, notices) = (self.inputs.clone(), self.notices.clone());
        TeamHandle::new(self.team(), inputs, notices, Arc::clone(&self.parts.store))
    }

    pub(super) fn team(&self) -> TeamId {
        self.writer.team().team().clone()
    }

    /// Remembers what an open call did, until its result is recorded; and what an outsider did, until
    /// everybody finds it in the store.
    pub(super) fn remember(&mut self, caller: &Caller, effect: Effect) {
        match &caller.by {
            By::Call(origin) => drop(self.effects.insert(origin.key().into(), effect)),
            By::Outside(key) => self.repeats.note(key),
        }
    }

    /// Remembers what to do when the batch is durable, or is known not to be.
    pub(super) fn after_commit(&mut self, act: impl FnOnce(Option<&TeamFault>) + Send + 'static) {
        self.after.push(Box::new(act));
    }

    /// Answers once the batch is durable; with the fault when it is not.
    pub(super) fn answer<T, E>(&mut self, reply: ReplyTo<Result<T, E>>, answer: Result<T, E>)
    where
        T: Send + 'static,
        E: From<TeamFault> + Send + 'static,
    {
        self.after_commit(move |fault| {
            let answer = match fault {
                None => answer,
                Some(fault) => Err(E::from(fault.clone())),
            };
            drop(reply.send(answer));
        });
    }

    pub(super) fn notify(&self, notice: Notice) {
        // Nobody watching is not an error.
        drop(self.notices.send(notice));
    }

    async fn serve(&mut self) -> Served {
        loop {
            if let Err(error) = self.settle().await {
                return Served::Failed(error);
            }
            let timer = self.next_timer();
            // In this order, so that a busy team still lets idle members go and tries again.
            let first = tokio::select! {
                biased;
                () = self.supervisor.token().cancelled() => return Served::Abandoned,
                () = tokio::time::sleep_until(timer) => {
                    self.on_timer();
                    continue;
                }
                input = self.received.recv() => input,
            };
            let Some(first) = first else { return Served::Abandoned };
            let mut closed = self.decide(first);
            for _ in 1..BATCH {
                match self.received.try_recv() {
                    Ok(input) => closed = self.decide(input).or(closed),
                    Err(_) => break,
                }
            }
            if let Some(reply) = closed {
                return match self.settle().await {
                    Ok(()) => Served::Closed(reply),
                    Err(error) => Served::Failed(error),
                };
            }
        }
    }

    /// Commits what was decided, then acts on it.
    async fn settle(&mut self) -> Result<(), WriteError> {
        let written = self.writer.commit().await;
        let fault =
            written.as_ref().err().map(|error| TeamFault::Store { cause: error.to_string() });
        for act in std::mem::take(&mut self.after) {
            act(fault.as_ref());
        }
        for (session, record) in written? {
            self.notify(Notice::Committed { session, record });
        }
        self.tell_waiters();
        Ok(())
    }

    pub(super) fn decide(&mut self, input: Input) -> Option<ReplyTo<()>> {
        match input {
            Input::Report { session, generation, report, reply } => {
                self.reported(&session, generation, report, reply);
            }
            Input::Send { caller, target, text, reply } => self.send(&caller, &target, text, reply),
            Input::Spawn { request, reply } => self.spawn(request, reply),
            Input::Prepared(prepared) => self.prepared(prepared),
            Input::Interrupt { by, target, reply } => self.interrupt(by, &target, reply),
            Input::Task { caller, command, reply } => self.change_task(&caller, command, reply),
            Input::Prompt { target, lane, item, text, reply } => {
                self.prompt(&target, lane, item, text, reply);
            }
            Input::Look { viewer, reply } => {
                let view = self.view(viewer.as_ref());
                self.after_commit(move |_| drop(reply.send(view)));
            }
            Input::Permission { origin, request, reply } => self.permission(origin, request, reply),
            Input::Answer { question, answer, reply } => self.answered(question, answer, reply),
            Input::Wait { waiter, since, reply } => self.wait(waiter, since, reply),
            Input::Quiesce { reply } => self.quiescing.push(reply),
            Input::Loaded(loaded) => self.loaded(*loaded),
            Input::Close { reply } => {
                self.suspend();
                return Some(reply);
            }
        }
        None
    }

    /// Appends a session's own events, and to the Lead's log what the team is to know of them.
    pub(super) fn append_all(&mut self, session: &SessionId, events: Vec<Event>) {
        for event in events {
            let activity = match &event {
                Event::TurnStarted { turn, .. } => {
                    Some(ActivityChange::TurnStarted { turn: *turn })
                }
                Event::TurnEnded { turn, outcome } => {
                    Some(self.ended(session, *turn, outcome.clone()))
                }
                _ => None,
            };
            if let Event::ToolResult { step, index, .. } = &event {
                let origin = Origin { session: session.clone(), step: *step, index: *index };
                self.effects.remove(origin.key().as_str());
                self.questions.remove(origin.key().as_str());
            }
            self.count_spent(session, &event);
            self.writer.append(session, None, event);
            if let (Some(change), Some(member)) = (activity, self.name_of(session)) {
                self.append_activity(member, change);
            }
        }
    }

    // P18: how a turn ended, and the beginning of its final text, are on record for the team.
    fn ended(
        &self,
        session: &SessionId,
        turn: longboat_core::id::TurnNo,
        outcome: TurnOutcome,
    ) -> ActivityChange {
        let text = self.writer.session(session).map_or("", |state| state.final_text());
        ActivityChange::TurnEnded { turn, outcome, excerpt: excerpt(text) }
    }

    pub(super) fn append_activity(&mut self, member: MemberName, change: ActivityChange) {
        let (lead, team) = (self.writer.lead().clone(), self.team());
        self.writer.append(&lead, None, Event::TeamActivity { team, member, change });
    }

    /// The name of a member's session.
    pub(super) fn name_of(&self, session: &SessionId) -> Option<MemberName> {
        if session == self.writer.lead() {
            return Some(MemberName::lead());
        }
        self.writer.team().roster().by_session(session).map(|member| member.name.clone())
    }

    /// The session of a member's name.
    pub(super) fn session_of(&self, name: &MemberName) -> Option<SessionId> {
        if name.is_lead() {
            return Some(self.writer.lead().clone());
        }
        self.writer.team().roster().get(name).map(|member| member.session.clone())
    }

    /// Takes a session as far as it goes without an effect, and gives its driver, if that waits,
    /// what to do next. Its log gets ahead of its driver, never the other way round.
    // P3, P4: whatever puts something into an inbox, or ends a turn, calls this in the same batch;
    // so in every commit an inbox that is not empty belongs to an open turn.
    pub(super) fn advance(&mut self, session: &SessionId) {
        loop {
            if self.closing || !self.residents.contains_key(session) {
                return;
            }
            let Some(state) = self.writer.session(session) else { return };
            let next = state.next();
            if self.sums_up_first(session, &next) {
                return;
            }
            match next {
                Next::Rest => {
                    self.rest(session);
                    return;
                }
                Next::Append(events) => self.append_all(session, events),
                Next::AskModel { step } => {
                    self.keep_budget();
                    self.order_request(session, step);
                    return;
                }
                Next::RunCalls { step } => {
                    self.order_calls(session, step);
                    return;
                }
            }
        }
    }

    fn rest(&mut self, session: &SessionId) {
        let waiting = self.residents.get_mut(session).filter(|resident| resident.parked.is_some());
        if let Some(resident) = waiting {
            resident.idle_since.get_or_insert_with(Instant::now);
        }
    }

    fn order_request(&mut self, session: &SessionId, step: longboat_core::id::StepNo) {
        let waiting = self.residents.get(session).is_some_and(|resident| resident.parked.is_some());
        if !waiting || self.closing {
            return;
        }
        let Some(state) = self.writer.session(session) else { return };
        let Some(prompt) = state.prompt() else { return };
        let model = state.configuration().map(|c| c.model.clone()).unwrap_or_default();
        let model = self.parts.models.find(&model);
        let cancel = self.turn_token(session);
        self.order(session, Order::Ask { step, prompt, model, cancel });
    }

    fn order_calls(&mut self, session: &SessionId, step: longboat_core::id::StepNo) {
        let Some(resident) = self.residents.get(session) else { return };
        if resident.parked.is_none() {
            return;
        }
        let Some(Phase::Calling { calls, .. }) = self.writer.session(session).map(|s| s.phase())
        else {
            return;
        };
        if calls.iter().any(|call| call.progress.is_open()) {
            let again = self.residents.get_mut(session).map(|r| std::mem::take(&mut r.again));
            let calls = again.unwrap_or_default();
            let cancel = self.turn_token(session);
            let order =
                if calls.is_empty() { Order::Continue } else { Order::Run { step, calls, cancel } };
            self.order(session, order);
            return;
        }
        let batch = resident.tools.startable(calls);
        let events = batch.iter().map(|begun| Event::ToolStarted {
            step,
            index: begun.index,
            call: begun.call.id.clone(),
        });
        self.append_all(session, events.collect());
        let cancel = self.turn_token(session);
        self.order(session, Order::Run { step, calls: batch, cancel });
    }

    /// Gives a waiting driver an order, once what it rests on is durable.
    pub(super) fn order(&mut self, session: &SessionId, order: Order) {
        let parked = self.residents.get_mut(session).and_then(|resident| {
            resident.idle_since = None;
            resident.parked.take()
        });
        if let Some(parked) = parked {
            self.after_commit(move |fault| {
                if fault.is_none() {
                    drop(parked.send(order));
                }
            });
        }
    }

    /// Throws memory away and reads the team anew, trying until the store works. Returns false when
    /// everybody has left meanwhile.
    async fn recover(&mut self, error: &WriteError) -> bool {
        let mut cause = error.to_string();
        self.forget().await;
        let (mut wait, longest) = STORE_BACKOFF;
        loop {
            self.notify(Notice::Recovering { cause: cause.clone() });
            if !self.refuse_inputs_for(wait, &cause).await {
                return false;
            }
            let lead = self.writer.lead().clone();
            match crate::load::load_lead(&*self.parts.store, &lead).await {
                Ok((state, team)) => {
                    let (store, clock) =
                        (Arc::clone(&self.parts.store), Arc::clone(&self.parts.clock));
                    self.writer = LogWriter::new(store, clock, state, team);
                    self.start().await;
                    return true;
                }
                Err(error) => cause = error.line(),
            }
            wait = (wait * 2).min(longest);
        }
    }

    /// Empties memory and waits until nothing runs any more.
    async fn forget(&mut self) {
        // Drivers that wait for an order leave when their question is dropped.
        self.residents.clear();
        self.supervisor.quiet(QUIET_WITHIN).await;
        self.supervisor = Supervisor::new();
        self.loading.clear();
        self.outages.clear();
        self.accepting.clear();
        self.effects.clear();
        self.questions.clear();
        self.spawning.clear();
        self.waiters.clear();
        self.stalled.clear();
        self.repeats = Repeats::default();
    }

    /// Answers everything with the fault for a while. Returns false when nobody can ask any more.
    async fn refuse_inputs_for(&mut self, wait: Duration, cause: &str) -> bool {
        let until = Instant::now() + wait;
        loop {
            let input = tokio::select! {
                biased;
                () = tokio::time::sleep_until(until) => return true,
                input = self.received.recv() => input,
            };
            match input {
                None => return false,
                Some(Input::Close { reply }) => {
                    reply.send(()).ok();
                    return false;
                }
                Some(Input::Quiesce { reply }) => self.quiescing.push(reply),
                Some(input) => input.refuse(&TeamFault::Store { cause: cause.to_owned() }),
            }
        }
    }
}

impl Input {
    /// Answers with a fault, where there is somebody to answer.
    fn refuse(self, fault: &TeamFault) {
        match self {
            Self::Report { reply, .. } => drop(reply.send(Order::Leave)),
            Self::Send { reply, .. } => drop(reply.send(Err(fault.clone().into()))),
            Self::Spawn { reply, .. } => drop(reply.send(Err(fault.clone().into()))),
            Self::Interrupt { reply, .. } => drop(reply.send(Err(fault.clone().into()))),
            Self::Task { reply, .. } => drop(reply.send(Err(fault.clone().into()))),
            Self::Answer { reply, .. } => drop(reply.send(Err(fault.clone().into()))),
            Self::Prompt { reply, .. } => drop(reply.send(Err(fault.clone()))),
            Self::Close { reply } => drop(reply.send(())),
            // Whoever looks, waits or reports a reading sees the channel close.
            Self::Look { .. }
            | Self::Permission { .. }
            | Self::Wait { .. }
            | Self::Quiesce { .. }
            | Self::Prepared(_)
            | Self::Loaded(_) => {}
        }
    }
}

/// The beginning of a text, cut at a character's end.
fn excerpt(text: &str) -> String {
    let text = text.trim();
    let most = longboat_core::limits::EXCERPT_BYTES;
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
