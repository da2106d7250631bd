//! Who is in memory: bringing members back from their logs, letting them go, trying again.

use super::actor::{Effect, TeamActor};
use super::cut_off::{Ending, left, recorded_effects, settled};
use super::handle::{CallError, TeamFault};
use super::input::{Begun, Input, Interrupted, Order, ReplyTo, Report};
use super::isolation;
use super::outage::{Cause, Outage};
use crate::agent::Driver;
use crate::load::{LoadError, load_session};
use crate::supervise::Supervisor;
use crate::tools::ToolSet;
use longboat_core::content::ToolOutcome;
use longboat_core::id::{EventKey, ItemId, MemberName, MessageId, SessionId, StepNo, TurnNo};
use longboat_core::log::{ActivityChange, Event, SessionKind, StepOutcome, TurnOutcome};
use longboat_core::session::{Call, Next, Phase, Progress, SessionState, cut_short, repair};
use longboat_core::team::{InterruptRefused, Member, Standing, decide_interrupt};
use longboat_model::RetryPolicy;
use longboat_store::Store;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A timer that stands for none.
const NO_TIMER: Duration = Duration::from_secs(3_600);

/// A session in memory.
#[derive(Debug)]
pub(super) struct Resident {
    pub(super) name: MemberName,
    pub(super) tools: Arc<ToolSet>,
    pub(super) generation: u64,
    pub(super) supervisor: Supervisor,
    /// The driver's open question.
    pub(super) parked: Option<ReplyTo<Order>>,
    pub(super) turn: Option<(TurnNo, CancellationToken)>,
    pub(super) idle_since: Option<Instant>,
    /// Calls that a former life of the process began, and that had no effect: they are made again.
    pub(super) again: Vec<Begun>,
    /// The provider found the last request too long.
    pub(super) overflowed: bool,
    /// Owed messages that the log held when it was read.
    pub(super) already: BTreeSet<MessageId>,
}

/// What came of reading a member's log.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(super) member: MemberName,
    pub(super) result: Result<Back, Cause>,
}

/// A member as its log has it.
#[derive(Debug)]
pub(super) struct Back {
    state: SessionState,
    already: BTreeSet<MessageId>,
    effects: Vec<(String, Effect)>,
}

impl TeamActor {
    /// Begins with the Lead in memory: settles what a crash left half made, brings back whoever has
    /// work, and delivers what is owed.
    // P8: recovery retries everything that is owed, in order.
    pub(super) async fn start(&mut self) {
        let lead = self.writer.lead().clone();
        let effects = match self.writer.session(&lead) {
            // A store that fails here fails again at the first commit, which is where that is
            // handled; an effect that was overlooked cannot be had twice under its key.
            Some(state) => {
                recorded_effects(&*self.parts.store, &lead, state).await.unwrap_or_default()
            }
            None => Vec::new(),
        };
        self.effects.extend(effects);
        let failed = self.settle_provisioning().await;
        let already = self.already_in_log(&lead).await;
        self.seat(&lead, MemberName::lead(), already);
        self.deliver_owed(&MemberName::lead());
        for (member, reason) in failed {
            self.tell_owed(&member, &reason);
        }
        let members: Vec<Member> = self.writer.team().roster().iter().cloned().collect();
        for member in members {
            let owed = self.writer.team().mailbox().owed_to(&member.name).next().is_some();
            let never_ran = member.activity.turn.is_none() && member.activity.last.is_none();
            if member.standing == Standing::Active
                && (owed || never_ran || member.activity.turn.is_some())
            {
                self.rouse(&member.name);
            }
        }
    }

    async fn already_in_log(&mut self, lead: &SessionId) -> BTreeSet<MessageId> {
        let name = MemberName::lead();
        let owed: Vec<MessageId> =
            self.writer.team().mailbox().owed_to(&name).map(|owed| owed.id.clone()).collect();
        let team = self.team();
        let items = owed.into_iter().map(|id| (ItemId::message(&team, &id), id)).collect();
        // A store that fails here fails again at the first commit, which is where that is handled.
        found_in_log(&*self.parts.store, lead, items).await.unwrap_or_default()
    }

    /// Gives a session in memory its tools and its driver, after the records that close what a
    /// crash left open.
    pub(super) fn seat(
        &mut self,
        session: &SessionId,
        name: MemberName,
        already: BTreeSet<MessageId>,
    ) {
        let Some(state) = self.writer.session(session) else { return };
        let effects = std::mem::take(&mut self.effects);
        let events =
            repair(state, &mut |origin, call| left(&effects, origin, call, Ending::Restart));
        self.effects = effects;
        let place = self.place_of(&name);
        let tools = self.parts.tools_for(place, state, self.handle());
        let cwd = state.cwd().into();
        self.append_all(session, events);
        self.generation += 1;
        let supervisor = self.supervisor.child();
        let driver = Driver {
            team: self.handle(),
            session: session.clone(),
            member: name.clone(),
            generation: self.generation,
            tools: Arc::clone(&tools),
            cwd,
            spill: self.parts.settings.spill.join(session.as_str()),
            permissions: Arc::clone(&self.parts.settings.permissions),
            retry: RetryPolicy::default(),
            ids: Arc::clone(&self.parts.ids),
            cancel: supervisor.token().clone(),
        };
        supervisor.spawn(driver.run());
        let resident = Resident {
            name,
            tools,
            generation: self.generation,
            supervisor,
            parked: None,
            turn: None,
            idle_since: None,
            again: self.begun(session),
            overflowed: false,
            already,
        };
        self.residents.insert(session.clone(), resident);
        self.advance(session);
    }

    /// The calls of a session that have begun and have no result.
    fn begun(&self, session: &SessionId) -> Vec<Begun> {
        match self.writer.session(session).map(|state| state.phase()) {
            Some(Phase::Calling { calls, .. }) => calls
                .iter()
                .zip(0..)
                .filter(|(call, _)| call.progress.is_open())
                .map(|(call, index)| Begun {
                    index,
                    call: call.call.clone(),
                    asked: call.progress == Progress::Asked,
                })
                .collect(),
            Some(Phase::Idle | Phase::Between { .. } | Phase::Asking { .. }) | None => Vec::new(),
        }
    }

    /// Begins to bring a member back, now, whatever the backoff says.
    pub(super) fn rouse(&mut self, name: &MemberName) {
        let Some(member) = self.writer.team().roster().get(name).cloned() else { return };
        let ready = member.standing == Standing::Active && !self.closing;
        if !ready
            || self.residents.contains_key(&member.session)
            || !self.loading.insert(name.clone())
        {
            return;
        }
        let (parts, inputs, team) = (Arc::clone(&self.parts), self.inputs.clone(), self.team());
        let owed: Vec<MessageId> =
            self.writer.team().mailbox().owed_to(name).map(|owed| owed.id.clone()).collect();
        let lead = self.writer.lead().clone();
        let checkout = self.writer.session(&lead).map_or("", |state| state.cwd()).to_owned();
        self.supervisor.spawn(async move {
            let items = owed.into_iter().map(|id| (ItemId::message(&team, &id), id)).collect();
            let result = bring_back(&parts, (&lead, &checkout), &member, items).await;
            let loaded = Loaded { member: member.name, result };
            // A team that is gone needs no member.
            drop(inputs.send(Input::Loaded(Box::new(loaded))).await);
        });
    }

    pub(super) fn loaded(&mut self, loaded: Loaded) {
        let Loaded { member, result } = loaded;
        self.loading.remove(&member);
        if self.closing {
            return;
        }
        match result {
            Ok(back) => {
                let session = back.state.id().clone();
                self.outages.remove(&member);
                self.effects.extend(back.effects);
                self.writer.admit(back.state);
                self.seat(&session, member.clone(), back.already);
                self.append_activity(member.clone(), ActivityChange::Resumed);
                self.deliver_owed(&member);
                self.unstall(&member);
            }
            Err(cause) => self.unreachable(member, cause),
        }
    }

    fn unstall(&mut self, member: &MemberName) {
        for (name, input) in std::mem::take(&mut self.stalled) {
            if name == *member {
                // A prompt is never a closing.
                drop(self.decide(input));
            } else {
                self.stalled.push((name, input));
            }
        }
    }

    /// When something is to be done though nothing came in.
    pub(super) fn next_timer(&self) -> Instant {
        if self.closing {
            return Instant::now() + NO_TIMER;
        }
        let retries = self.outages.iter().filter(|(name, _)| !self.loading.contains(*name));
        let retries = retries.map(|(_, outage)| outage.retry_at);
        let releases = self.residents.values().filter(|resident| !resident.name.is_lead());
        let releases = releases.filter_map(|resident| resident.idle_since);
        let releases = releases.map(|since| since + self.parts.settings.release_after);
        let deadline = self.spent.deadline(&self.parts.settings.budget);
        retries.chain(releases).chain(deadline).min().unwrap_or_else(|| Instant::now() + NO_TIMER)
    }

    pub(super) fn on_timer(&mut self) {
        self.keep_budget();
        if self.closing {
            return;
        }
        let now = Instant::now();
        let due = |outage: &Outage| outage.retry_at <= now;
        let retry: Vec<MemberName> = self
            .outages
            .iter()
            .filter(|(_, outage)| due(outage))
            .map(|(name, _)| name.clone())
            .collect();
        for name in retry {
            self.rouse(&name);
        }
        let after = self.parts.settings.release_after;
        let idle: Vec<SessionId> = self
            .residents
            .iter()
            .filter(|(_, r)| !r.name.is_lead() && r.idle_since.is_some_and(|at| at + after <= now))
            .map(|(session, _)| session.clone())
            .collect();
        for session in idle {
            self.let_go(&session);
        }
    }

    /// Takes an idle member out of memory. Its driver waits for an order, so nothing is under way;
    /// mail that comes from here on brings it back.
    fn let_go(&mut self, session: &SessionId) {
        let resting = self.writer.session(session).is_some_and(|state| state.next() == Next::Rest);
        if !resting {
            return;
        }
        self.order(session, Order::Leave);
        if let Some(resident) = self.residents.remove(session) {
            self.append_activity(resident.name, ActivityChange::Released);
        }
        if let Some(state) = self.writer.session(session) {
            self.left.insert(session.clone(), state.spending().clone());
        }
        self.writer.release(session);
    }

    /// The token of a session's open turn; an interrupt cancels it.
    pub(super) fn turn_token(&mut self, session: &SessionId) -> CancellationToken {
        let turn = self.writer.session(session).and_then(|state| state.phase().turn());
        let Some(resident) = self.residents.get_mut(session) else {
            return CancellationToken::new();
        };
        match (&resident.turn, turn) {
            (Some((open, token)), Some(turn)) if *open == turn => token.clone(),
            (_, Some(turn)) => {
                let token = resident.supervisor.token().child_token();
                resident.turn = Some((turn, token.clone()));
                token
            }
            (_, None) => resident.supervisor.token().child_token(),
        }
    }

    pub(super) fn reported(
        &mut self,
        session: &SessionId,
        generation: u64,
        report: Report,
        reply: ReplyTo<Order>,
    ) {
        let current = self.residents.get(session).is_some_and(|r| r.generation == generation);
        if !current || self.closing {
            drop(reply.send(Order::Leave));
            return;
        }
        self.record(session, report);
        if let Some(resident) = self.residents.get_mut(session) {
            resident.parked = Some(reply);
        }
        self.advance(session);
    }

    /// Records what a driver did, unless the turn it did it in is over: then it is as if the driver
    /// had been cut off in time.
    fn record(&mut self, session: &SessionId, report: Report) {
        let report = match report {
            Report::SummedUp(summary) => {
                let event = self.summed_up(session, summary);
                self.append_all(session, event.into_iter().collect());
                return;
            }
            // A summary may make it fit; where none can, or one did not, the turn has failed.
            Report::Overflowed { step, reason } if !self.can_sum_up(session) => {
                Report::Failed { step, reason }
            }
            report => report,
        };
        let Some(state) = self.writer.session(session) else { return };
        let asking = |step: StepNo| matches!(state.phase(), Phase::Asking { step: open, .. } if *open == step);
        let events = match report {
            Report::Ready => return,
            Report::Replied { step, reply } if asking(step) => {
                let reply = Arc::new(state.admissible(reply));
                vec![Event::AssistantMessage { step, reply }]
            }
            Report::Failed { step, reason } if asking(step) => {
                let outcome = TurnOutcome::Failed { reason };
                cut_short(state, outcome, &mut |_, _| ToolOutcome::error("the turn failed"))
            }
            Report::Overflowed { step, .. } if asking(step) => {
                if let Some(resident) = self.residents.get_mut(session) {
                    resident.overflowed = true;
                }
                vec![Event::StepEnded { step, outcome: StepOutcome::Cut }]
            }
            Report::Answered { step, index, outcome } => match open_call(state, step, index) {
                Some(call) => {
                    let (call, outcome) = (call.call.id.clone(), Arc::new(outcome));
                    vec![Event::ToolResult { step, index, call, outcome }]
                }
                None => return,
            },
            Report::Replied { .. }
            | Report::Failed { .. }
            | Report::Overflowed { .. }
            | Report::SummedUp(_) => return,
        };
        self.append_all(session, events);
    }

    // P14: the turn ends at once; what is pending starts the next one.
    pub(super) fn interrupt(
        &mut self,
        by: Option<MemberName>,
        target: &str,
        reply: ReplyTo<Result<Interrupted, CallError<InterruptRefused>>>,
    ) {
        if self.closing {
            self.answer(reply, Err(TeamFault::Closed.into()));
            return;
        }
        let (lead, roster) = (self.writer.lead(), self.writer.team().roster());
        match decide_interrupt(lead, roster, by.as_ref(), target) {
            Ok(name) => {
                let by = by.map_or_else(|| "human".to_owned(), |by| by.to_string());
                let found = match self.session_of(&name) {
                    Some(session) => self.cancel_turn(&session, by),
                    None => Interrupted::NotRunning,
                };
                self.answer(reply, Ok(found));
            }
            Err(refused) => self.answer(reply, Err(CallError::Refused(refused))),
        }
    }

    fn cancel_turn(&mut self, target: &SessionId, by: String) -> Interrupted {
        let Some(state) = self.writer.session(target) else { return Interrupted::NotRunning };
        let pending = state.inbox().len();
        let effects = std::mem::take(&mut self.effects);
        let outcome = TurnOutcome::Interrupted { by };
        let events = cut_short(state, outcome, &mut |origin, call| {
            settled(&effects, origin, call, Ending::Interrupt)
        });
        self.effects = effects;
        let found = if events.is_empty() {
            Interrupted::NotRunning
        } else {
            Interrupted::Cancelled { pending }
        };
        self.append_all(target, events);
        let token = self.residents.get_mut(target).and_then(|resident| resident.turn.take());
        if let (Some((_, token)), Interrupted::Cancelled { .. }) = (token, found) {
            self.after_commit(move |fault| {
                if fault.is_none() {
                    token.cancel();
                }
            });
        }
        self.advance(target);
        found
    }

    /// Stops everything where it is: children first, then the Lead. Turns stay open.
    pub(super) fn suspend(&mut self) {
        self.closing = true;
        let lead = self.writer.lead().clone();
        let mut sessions: Vec<SessionId> = self.residents.keys().cloned().collect();
        sessions.sort_by_key(|session| *session == lead);
        for session in sessions {
            let Some(state) = self.writer.session(&session) else { continue };
            let effects = std::mem::take(&mut self.effects);
            let events =
                repair(state, &mut |origin, call| left(&effects, origin, call, Ending::Stop));
            self.effects = effects;
            self.append_all(&session, events);
            if let Some(resident) = self.residents.get(&session) {
                resident.supervisor.cancel();
            }
        }
    }
}

/// A call of the open step that has begun and has no result.
pub(super) fn open_call(state: &SessionState, step: StepNo, index: u32) -> Option<&Call> {
    match state.phase() {
        Phase::Calling { step: open, calls, .. } if *open == step => {
            calls.get(index as usize).filter(|call| call.progress.is_open())
        }
        Phase::Idle | Phase::Between { .. } | Phase::Asking { .. } | Phase::Calling { .. } => None,
    }
}

/// Reads a member back and checks that it can run: its log, its workspace, its model.
async fn bring_back(
    parts: &crate::teams::Parts,
    (lead, checkout): (&SessionId, &str),
    member: &Member,
    owed: Vec<(ItemId, MessageId)>,
) -> Result<Back, Cause> {
    let store = &*parts.store;
    let state = load_session(store, &member.session).await?;
    match state.kind() {
        kind if is_member(kind, lead, &member.name) => {}
        kind => {
            let text = format!("its log says it is {kind:?}, not this team's {}", member.name);
            return Err(Cause { text, lasting: true });
        }
    }
    isolation::there(member, checkout).await.map_err(Cause::passing)?;
    runnable(parts, &state).await.map_err(Cause::passing)?;
    let already = found_in_log(store, &member.session, owed).await?;
    let effects = recorded_effects(store, lead, &state).await?;
    Ok(Back { state, already, effects })
}

/// Says whether a log of this kind is that of a root's child of that name.
// P10: a member is a direct child on its root's own roster.
pub(super) fn is_member(kind: &SessionKind, root: &SessionId, name: &MemberName) -> bool {
    kind.child_of().is_some_and(|(of, called)| of.lead() == root && called == name)
}

/// Says what keeps a session from running, if anything does.
pub(crate) async fn runnable(
    parts: &crate::teams::Parts,
    state: &SessionState,
) -> Result<(), String> {
    match tokio::fs::metadata(state.cwd()).await {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(format!("its workspace {} is not a directory", state.cwd())),
        Err(error) => return Err(format!("its workspace {} cannot be used: {error}", state.cwd())),
    }
    let Some(configuration) = state.configuration() else {
        return Err("its log has no session/configured record".to_owned());
    };
    parts.models.find(&configuration.model).map(drop).map_err(|missing| missing.to_string())
}

async fn found_in_log(
    store: &dyn Store,
    session: &SessionId,
    items: Vec<(ItemId, MessageId)>,
) -> Result<BTreeSet<MessageId>, LoadError> {
    let mut found = BTreeSet::new();
    for (item, message) in items {
        let there = store.find(session, &EventKey::inbox(&item)).await;
        let there =
            there.map_err(|source| LoadError::Store { session: session.clone(), source })?;
        if there.is_some() {
            found.insert(message);
        }
    }
    Ok(found)
}
