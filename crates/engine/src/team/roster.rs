//! Making teammates: the name is durable first, then the child with its first prompt, then the
//! child is active; or it failed, durably.

use super::actor::{Effect, TeamActor};
use super::handle::{CallError, TeamFault};
use super::input::{Input, ReplyTo, SpawnRequest, Spawned};
use super::isolation::leave_behind;
use super::policy;
use super::residency::is_member;
use crate::load::{LoadError, load_session, read_log};
use crate::ports::{GivenWorktree, WorktreeRefused};
use crate::settings::{Isolation, Role};
use crate::tools::team::Place;
use longboat_core::id::{EventKey, ItemId, MemberName, Seq, SessionId, TeamId};
use longboat_core::log::{
    Event, InboxItem, Lane, MemberChange, MemberContext, Record, Scope, SessionKind, Source,
    Worktree,
};
use longboat_core::session::{Configuration, SessionState, forked_tail};
use longboat_core::team::{Member, SpawnRefused, Standing, decide_spawn};
use longboat_store::Store;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A teammate on its way.
#[derive(Debug)]
pub(super) struct Spawning {
    pub(super) request: SpawnRequest,
    role: Option<Role>,
    pub(super) isolation: Isolation,
    pub(super) session: SessionId,
    reply: ReplyTo<Result<Spawned, CallError<SpawnRefused>>>,
}

/// What a teammate begins with: read from the Lead's log, and its worktree if it is to have one.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(super) member: MemberName,
    pub(super) prefix: Result<Vec<Record>, String>,
    pub(super) worktree: Option<Result<GivenWorktree, WorktreeRefused>>,
}

/// Who may be made, and from what.
pub(super) struct Allowed {
    session: SessionId,
    role: Option<Role>,
    isolation: Isolation,
}

impl TeamActor {
    pub(super) fn spawn(
        &mut self,
        request: SpawnRequest,
        reply: ReplyTo<Result<Spawned, CallError<SpawnRefused>>>,
    ) {
        if self.closing {
            self.answer(reply, Err(TeamFault::Closed.into()));
            return;
        }
        let Allowed { session, role, isolation } = match self.may_spawn(&request) {
            Ok(allowed) => allowed,
            Err(refused) => {
                self.answer(reply, Err(CallError::Refused(refused)));
                return;
            }
        };
        let (lead, name) = (self.writer.lead().clone(), request.name.clone());
        let fork = request.context == MemberContext::Fork;
        let child = session.clone();
        let parent = self.session_of(&request.caller.name).unwrap_or(lead);
        let spawning = Spawning { request, role, isolation, session, reply };
        if isolation == Isolation::Worktree {
            self.branch_off(&spawning, parent, fork);
            self.spawning.insert(name, spawning);
            return;
        }
        // P12: the name is durable before anything of the child is made.
        self.take_name(&spawning, None);
        self.spawning.insert(name.clone(), spawning);
        let (store, inputs) = (Arc::clone(&self.parts.store), self.inputs.clone());
        let supervisor = self.supervisor.clone();
        self.after_commit(move |fault| {
            if fault.is_some() {
                return;
            }
            supervisor.spawn(async move {
                let prefix = prepare(&*store, &parent, &child, fork).await;
                let prepared = Prepared { member: name, prefix, worktree: None };
                // A team that is gone needs no member.
                drop(inputs.send(Input::Prepared(prepared)).await);
            });
        });
    }

    /// Writes that a name is taken and its owner is being made.
    fn take_name(&mut self, spawning: &Spawning, worktree: Option<Worktree>) {
        let Spawning { request, session, .. } = spawning;
        let (lead, team) = (self.writer.lead().clone(), self.team());
        let change = MemberChange::Provisioning {
            session: session.clone(),
            description: request.description.clone(),
            role: request.role.clone(),
            context: request.context,
            parent: Some(request.caller.name.clone()).filter(|by| !by.is_lead()),
            isolation: worktree,
        };
        let provisioning = Event::TeamMember { team, member: request.name.clone(), change };
        self.writer.append(&lead, Some(request.caller.key()), provisioning);
        self.remember(&request.caller, Effect::Member(request.name.clone()));
    }

    pub(super) fn may_spawn(&self, request: &SpawnRequest) -> Result<Allowed, SpawnRefused> {
        let SpawnRequest { caller, name, description, prompt, .. } = request;
        let (roster, limits) = (self.writer.team().roster(), &self.parts.settings.limits);
        decide_spawn(roster, limits, &caller.name, name, description, prompt)?;
        let session = self.writer.lead().teammate(name);
        let session = session.map_err(|_| SpawnRefused::NameTooLong { name: name.clone() })?;
        let role = match &request.role {
            None => None,
            Some(wanted) => match self.parts.settings.roles.get(wanted) {
                Some(role) => Some(role.clone()),
                None => {
                    let known = self.parts.settings.roles.keys().cloned().collect();
                    return Err(SpawnRefused::UnknownRole { role: wanted.clone(), known });
                }
            },
        };
        let isolation = request.isolation.or(role.as_ref().and_then(|role| role.isolation));
        let isolation = isolation.unwrap_or_default();
        if isolation == Isolation::Worktree && roster.scope() == Scope::Subagents {
            let reason = "only a team's teammates can; make it without a role that asks for one";
            return Err(SpawnRefused::NoWorktree { name: name.clone(), reason: reason.to_owned() });
        }
        Ok(Allowed { session, role, isolation })
    }

    pub(super) fn prepared(&mut self, prepared: Prepared) {
        let Prepared { member, prefix, worktree } = prepared;
        let Some(spawning) = self.spawning.remove(&member) else { return };
        if self.closing {
            // Dangling provisioning is settled from the child's log at the next start.
            self.answer(spawning.reply, Err(TeamFault::Closed.into()));
            return;
        }
        let given = match worktree.transpose() {
            Ok(given) => given,
            Err(refused) => {
                let refused =
                    SpawnRefused::NoWorktree { name: member, reason: refused.to_string() };
                self.answer(spawning.reply, Err(CallError::Refused(refused)));
                return;
            }
        };
        if spawning.isolation == Isolation::Worktree {
            match self.still_wanted(&spawning) {
                Ok(true) => {}
                Ok(false) => {
                    leave_behind(given.as_ref());
                    return;
                }
                Err(refused) => {
                    leave_behind(given.as_ref());
                    self.answer(spawning.reply, Err(CallError::Refused(refused)));
                    return;
                }
            }
            // P12: the name, the child and that it is active are in one commit.
            self.take_name(&spawning, given.as_ref().map(|given| given.worktree.clone()));
        }
        let made = prefix.and_then(|prefix| self.make(&spawning, prefix, given.as_ref()));
        let change = match &made {
            Ok(()) => MemberChange::Active,
            Err(reason) => MemberChange::Failed { reason: reason.clone() },
        };
        let (lead, team) = (self.writer.lead().clone(), self.team());
        self.writer.append(&lead, None, Event::TeamMember { team, member: member.clone(), change });
        match &made {
            Ok(()) => {
                self.seat(&spawning.session, member.clone(), BTreeSet::new());
                self.deliver_owed(&member);
            }
            Err(reason) => {
                self.defer(&member, reason);
                self.tell_owed(&member, reason);
            }
        }
        let revision = self.writer.team().revision_for(Some(&MemberName::lead()));
        let (session, failed) = (spawning.session, made.err());
        let spawned = Spawned { name: member, session, failed, worktree: given, revision };
        self.answer(spawning.reply, Ok(spawned));
    }

    /// Where a member stands.
    pub(super) fn place_of(&self, name: &MemberName) -> Place {
        let roster = self.writer.team().roster();
        Place { scope: roster.scope(), root: name.is_lead(), depth: roster.depth(name) }
    }

    /// Writes the child's log: who it is, what it begins with, and its first prompt.
    // P12: all of it is in the commit that makes the member active.
    fn make(
        &mut self,
        spawning: &Spawning,
        prefix: Vec<Record>,
        given: Option<&GivenWorktree>,
    ) -> Result<(), String> {
        let Spawning { request, role, session, .. } = spawning;
        let parent = self.session_of(&request.caller.name).ok_or("who spawned it is not there")?;
        let state = self.writer.session(&parent).ok_or("who spawned it is not in memory")?;
        let configuration = state.configuration().ok_or("who spawned it is not configured")?;
        let model = role.as_ref().and_then(|role| role.model.clone());
        let model = model.unwrap_or_else(|| configuration.model.clone());
        self.parts.models.find(&model).map_err(|missing| missing.to_string())?;
        let (shared, team) = (state.cwd().to_owned(), self.team());
        let cwd = given.map_or_else(|| shared.clone(), |given| given.cwd.clone());
        let (name, scope) = (request.name.clone(), self.writer.team().roster().scope());
        let kind = match scope {
            Scope::Team => SessionKind::Teammate { team: team.clone(), name },
            Scope::Subagents => SessionKind::Child { root: team.clone(), parent, name },
        };
        let place = self.place_of(&request.name);
        let created = Event::SessionCreated {
            session: session.clone(),
            kind,
            cwd: cwd.clone(),
            role: request.role.clone(),
        };
        let desk =
            policy::Desk { cwd: &cwd, shared: &shared, worktree: given.map(|g| &g.worktree) };
        let system = policy::child(&self.parts.settings, place, request, role.as_ref(), desk);
        let allowed = role.as_ref().and_then(|role| role.tools.clone());
        let member = (&request.name, request.role.as_deref());
        let tools = self.parts.offered(session, place, member, allowed.as_deref());
        self.writer.append(session, None, created);
        for record in prefix {
            self.writer.append_at(session, record.at, record.key, record.event);
        }
        let tail = self.writer.session(session).map(forked_tail).unwrap_or_default();
        self.append_all(session, tail);
        let configured = Event::SessionConfigured { model, system: system.into(), tools };
        self.writer.append(session, None, configured);
        let id = ItemId::first_prompt(session);
        let key = EventKey::inbox(&id);
        let source = Source::Spawn { team };
        let item = Arc::new(InboxItem { id, source, text: request.prompt.as_str().into() });
        let first = Event::InboxInserted { lane: Lane::NextTurn, item };
        self.writer.append(session, Some(key), first);
        Ok(())
    }

    /// Decides, from each half-made child's own log, whether it came to be; returns who did not.
    // P12: active iff lineage, descriptor and first prompt are there; otherwise failed.
    pub(super) async fn settle_provisioning(&mut self) -> Vec<(MemberName, String)> {
        let half_made: Vec<Member> = self
            .writer
            .team()
            .roster()
            .iter()
            .filter(|member| member.standing == Standing::Provisioning)
            .cloned()
            .collect();
        let (lead, team) = (self.writer.lead().clone(), self.team());
        let mut failed = Vec::new();
        for member in half_made {
            let change = match came_to_be(&*self.parts.store, &team, &member).await {
                Ok(()) => MemberChange::Active,
                Err(mut reason) => {
                    if let Some(Worktree { path, branch, .. }) = &member.worktree {
                        reason.push_str(&format!("; its worktree {path} on {branch} is left"));
                    }
                    failed.push((member.name.clone(), reason.clone()));
                    MemberChange::Failed { reason }
                }
            };
            let settled = Event::TeamMember { team: team.clone(), member: member.name, change };
            self.writer.append(&lead, None, settled);
        }
        failed
    }
}

async fn came_to_be(store: &dyn Store, team: &TeamId, member: &Member) -> Result<(), String> {
    let cut = "provisioning was cut off by a restart";
    let state: SessionState = load_session(store, &member.session)
        .await
        .map_err(|error| format!("{cut}: {}", error.line()))?;
    match state.kind() {
        kind if is_member(kind, team.lead(), &member.name) => {}
        _ => return Err(format!("{cut}: its log belongs to another")),
    }
    let Some(Configuration { .. }) = state.configuration() else {
        return Err(format!("{cut}: its log does not say how it is configured"));
    };
    let key = EventKey::inbox(&ItemId::first_prompt(&member.session));
    match store.find(&member.session, &key).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(format!("{cut}: its log has no first prompt")),
        Err(error) => Err(format!("{cut}: {error}")),
    }
}

/// Checks that the child's log is unwritten, and reads what it begins with.
pub(super) async fn prepare(
    store: &dyn Store,
    parent: &SessionId,
    child: &SessionId,
    fork: bool,
) -> Result<Vec<Record>, String> {
    match store.head(child).await {
        Ok(None) => {}
        Ok(Some(_)) => return Err(format!("there is a session {child} already")),
        Err(error) => return Err(error.to_string()),
    }
    if !fork {
        return Ok(Vec::new());
    }
    completed_turns(store, parent).await.map_err(|error| error.line())
}

/// The records of a session up to the end of its last ended turn, but for the first, which says who
/// it is.
pub(crate) async fn completed_turns(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Vec<Record>, LoadError> {
    let mut records: Vec<Record> = Vec::new();
    let mut ended = 0;
    read_log(store, session, &mut |record| {
        if record.seq > Seq(0) {
            let end = matches!(record.event, Event::TurnEnded { .. });
            records.push(record);
            if end {
                ended = records.len();
            }
        }
        Ok(())
    })
    .await?;
    records.truncate(ended);
    Ok(records)
}
