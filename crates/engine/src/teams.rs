//! Opening and closing teams: the only place that joins the parts.

use crate::load::{LoadError, load_lead};
use crate::log_writer::LogWriter;
use crate::notice::NOTICE_BACKLOG;
use crate::ports::{Clock, Ids, ModelMissing, Models, Toolbox, Worktrees};
use crate::settings::Settings;
use crate::supervise::Supervisor;
use crate::team::{TeamActor, TeamHandle, completed_turns, lead_system, runnable};
use crate::tools::ToolSet;
use crate::tools::team::Place;
use longboat_core::content::ToolSpec;
use longboat_core::id::{MemberName, SessionId, TeamId};
use longboat_core::log::{Event, Scope, SessionKind};
use longboat_core::session::{SessionState, forked_tail};
use longboat_core::team::TeamState;
use longboat_store::{Store, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc};

/// Inputs that may wait for a team: past this, whoever asks waits.
const INPUTS: usize = 1_024;

/// What every team of a process shares.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) toolbox: Arc<dyn Toolbox>,
    pub(crate) worktrees: Arc<dyn Worktrees>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) settings: Settings,
}

/// The parts a deployment brings.
#[derive(Debug)]
pub struct Ports {
    /// Where logs are kept.
    pub store: Arc<dyn Store>,
    /// Where models are found.
    pub models: Arc<dyn Models>,
    /// The tools of members, besides the team's own.
    pub toolbox: Arc<dyn Toolbox>,
    /// Git worktrees for members that are to have one.
    pub worktrees: Arc<dyn Worktrees>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn Ids>,
}

/// Says why a team cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// Its Lead's log cannot be read back.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store refused or failed.
    #[error("the session could not be written")]
    Write(#[source] crate::log_writer::WriteError),
    /// The store could not be read.
    #[error("the session could not be read")]
    Store(#[from] StoreError),
    /// The session is a teammate's; its Lead is to be resumed.
    #[error("{session} is a teammate; resume its lead {lead}")]
    NotLead {
        /// What was asked for.
        session: SessionId,
        /// What to ask for.
        lead: SessionId,
    },
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelMissing),
    /// Something it needs is gone.
    #[error("the session cannot run: {reason}")]
    NotRunnable {
        /// What, and what to do.
        reason: String,
    },
}

/// All teams of a process.
#[derive(Debug, Clone)]
pub struct Teams {
    parts: Arc<Parts>,
    supervisor: Supervisor,
}

impl Teams {
    /// Joins the parts.
    #[must_use]
    pub fn new(ports: Ports, settings: Settings) -> Self {
        let Ports { store, models, toolbox, worktrees, clock, ids } = ports;
        let parts = Parts { store, models, toolbox, worktrees, clock, ids, settings };
        Self { parts: Arc::new(parts), supervisor: Supervisor::new() }
    }

    /// Makes a root session, the Lead of a new team.
    ///
    /// # Durability
    /// Who it is and how it is configured is on disk when this returns.
    ///
    /// # Errors
    /// [`TeamError`].
    pub async fn create(&self, cwd: String, model: String) -> Result<TeamHandle, TeamError> {
        self.parts.models.find(&model)?;
        let session = self.parts.ids.session();
        let mut opening = self.opening(session.clone());
        let created = Event::SessionCreated {
            session: session.clone(),
            kind: match self.parts.settings.scope {
                Scope::Team => SessionKind::Root,
                Scope::Subagents => SessionKind::RootAgent,
            },
            cwd: cwd.clone(),
            role: None,
        };
        opening.events.push((None, created));
        opening.configure(&self.parts, &cwd, model);
        self.open_new(opening).await
    }

    /// Makes a new root session that begins with the ended turns of another. Its team is its own:
    /// what it inherits of the other team is ignored, and what was pending there stays there.
    ///
    /// # Errors
    /// [`TeamError`].
    // P13: a fork is a new root.
    pub async fn fork(&self, from: &SessionId) -> Result<TeamHandle, TeamError> {
        let parent = crate::load::load_session(&*self.parts.store, from).await?;
        let prefix = completed_turns(&*self.parts.store, from).await?;
        let configuration = parent.configuration().cloned();
        let reason = "its log has no session/configured record".to_owned();
        let configuration = configuration.ok_or(TeamError::NotRunnable { reason })?;
        let session = self.parts.ids.session();
        let mut opening = self.opening(session.clone());
        let (records, scope) = (prefix.len() as u64, self.parts.settings.scope);
        let kind = SessionKind::Fork { from: from.clone(), records, scope };
        let (cwd, role) = (parent.cwd().to_owned(), parent.role().map(str::to_owned));
        opening
            .events
            .push((None, Event::SessionCreated { session, kind, cwd: cwd.clone(), role }));
        let copied = prefix.into_iter().map(|record| (Some((record.at, record.key)), record.event));
        opening.events.extend(copied);
        opening.configure(&self.parts, &cwd, configuration.model);
        self.open_new(opening).await
    }

    /// Brings a team back from its Lead's log: what a crash cut is closed, what is owed is
    /// delivered, and whoever had work goes on with it.
    ///
    /// # Errors
    /// [`TeamError`].
    pub async fn resume(&self, session: &SessionId) -> Result<TeamHandle, TeamError> {
        let (state, team) = load_lead(&*self.parts.store, session).await?;
        if let Some((team, _)) = state.kind().child_of() {
            let (session, lead) = (session.clone(), team.lead().clone());
            return Err(TeamError::NotLead { session, lead });
        }
        runnable(&self.parts, &state).await.map_err(|reason| TeamError::NotRunnable { reason })?;
        let writer = self.writer(state, team);
        Ok(self.open(session.clone(), writer))
    }

    /// The time, as the records have it.
    #[must_use]
    pub fn now(&self) -> longboat_core::time::Timestamp {
        self.parts.clock.now()
    }

    /// Ids, for prompts.
    #[must_use]
    pub fn ids(&self) -> &dyn Ids {
        &*self.parts.ids
    }

    fn opening(&self, session: SessionId) -> Opening {
        Opening { session, events: Vec::new() }
    }

    async fn open_new(&self, opening: Opening) -> Result<TeamHandle, TeamError> {
        let Opening { session, events } = opening;
        let (store, clock) = (Arc::clone(&self.parts.store), Arc::clone(&self.parts.clock));
        let mut writer = LogWriter::unwritten(store, clock, session.clone());
        for (copied, event) in events {
            match copied {
                Some((at, key)) => writer.append_at(&session, at, key, event),
                None => writer.append(&session, None, event),
            }
        }
        let tail = writer.session(&session).map(forked_tail).unwrap_or_default();
        for event in tail {
            writer.append(&session, None, event);
        }
        writer.commit().await.map_err(TeamError::Write)?;
        Ok(self.open(session, writer))
    }

    fn writer(&self, state: SessionState, team: TeamState) -> LogWriter {
        let (store, clock) = (Arc::clone(&self.parts.store), Arc::clone(&self.parts.clock));
        LogWriter::new(store, clock, state, team)
    }

    fn open(&self, lead: SessionId, writer: LogWriter) -> TeamHandle {
        let (inputs, received) = mpsc::channel(INPUTS);
        let (notices, _) = broadcast::channel(NOTICE_BACKLOG);
        let store = Arc::clone(&self.parts.store);
        let handle = TeamHandle::new(TeamId::of(lead), inputs.clone(), notices.clone(), store);
        let actor = TeamActor::new(Arc::clone(&self.parts), writer, (inputs, received), notices);
        self.supervisor.spawn(actor.run());
        handle
    }
}

type Copied = Option<(longboat_core::time::Timestamp, Option<longboat_core::id::EventKey>)>;

struct Opening {
    session: SessionId,
    events: Vec<(Copied, Event)>,
}

impl Opening {
    fn configure(&mut self, parts: &Parts, cwd: &str, model: String) {
        let system = lead_system(&parts.settings, cwd).into();
        let (place, lead) = (Place::root(parts.settings.scope), MemberName::lead());
        let tools = parts.offered(&self.session, place, (&lead, None), None);
        self.events.push((None, Event::SessionConfigured { model, system, tools }));
    }
}

impl Parts {
    /// The tools a member is offered: the team's own and, of the others, those its role allows.
    pub(crate) fn offered(
        &self,
        session: &SessionId,
        place: Place,
        (name, role): (&MemberName, Option<&str>),
        allowed: Option<&[String]>,
    ) -> Arc<[ToolSpec]> {
        let own = crate::tools::team::specs(place);
        let others = self.toolbox.open(session).into_iter().map(|tool| tool.spec());
        let others = others
            .filter(|spec| self.toolbox.offers(&spec.name, name, role))
            .filter(|spec| allowed.is_none_or(|allowed| allows(allowed, &spec.name)));
        own.into_iter().chain(others).collect()
    }

    /// The tools of one activation: those the session's log offers, as far as there still are any
    /// of that name, or something that stands in for one.
    pub(crate) fn tools_for(
        &self,
        place: Place,
        state: &SessionState,
        team: TeamHandle,
    ) -> Arc<ToolSet> {
        let own = crate::tools::team::tools(place, team);
        let all = own.into_iter().chain(self.toolbox.open(state.id()));
        let mut all: BTreeMap<String, _> = all.map(|tool| (tool.spec().name, tool)).collect();
        let offered = state.configuration().map(|configuration| Arc::clone(&configuration.tools));
        let tools = offered.iter().flat_map(|offered| offered.iter());
        let tools =
            tools.filter_map(|spec| all.remove(&spec.name).or_else(|| self.toolbox.absent(spec)));
        Arc::new(ToolSet::new(tools.collect()))
    }
}

/// Whether a role's list names a tool, by its name or as `beginning*`.
fn allows(allowed: &[String], tool: &str) -> bool {
    // The lists are in small letters, whatever the tools' names are in.
    let tool = tool.to_ascii_lowercase();
    allowed.iter().any(|entry| match entry.strip_suffix('*') {
        Some(beginning) if !beginning.is_empty() => tool.starts_with(beginning),
        _ => *entry == tool,
    })
}

#[cfg(test)]
mod tests {
    use super::allows;

    #[test]
    fn a_role_names_tools_one_by_one_or_by_how_they_begin() {
        let allowed = ["read".to_owned(), "docs__*".to_owned(), "*".to_owned()];
        for tool in ["read", "docs__search", "docs__Find"] {
            assert!(allows(&allowed, tool), "{tool}");
        }
        for tool in ["reads", "docs", "docs_search", "write"] {
            assert!(!allows(&allowed, tool), "{tool}");
        }
    }
}
