//! Reading logs to look at them: as far as they can be read, and what is wrong where they cannot.
//! Needs no ownership of the store, so it works beside a live owner and after a crash.

use longboat_core::id::{MemberName, Seq, SessionId, StepNo, TurnNo};
use longboat_core::log::{Event, MemberChange, Record, SessionKind, TurnOutcome};
use longboat_core::price::Spending;
use longboat_core::session::SessionState;
use longboat_core::time::Timestamp;
use longboat_engine::decode_stored;
use longboat_store::{SessionHead, Store, StoreError, StoredRecord};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Records read at once.
pub(super) const PAGE: usize = 500;

/// Says why there is nothing to look at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store has no session.
    #[error("the store has no sessions yet; start one with `longboat run`")]
    Empty,
    /// No session's id begins like this.
    #[error("there is no session {asked:?}{}", nearest.as_ref().map_or(String::new(), |id| format!("; the nearest is {id}")))]
    Unknown {
        /// What was asked for.
        asked: String,
        /// The id most like it.
        nearest: Option<SessionId>,
    },
    /// Several sessions' ids begin like this.
    #[error("{asked:?} begins the ids of {} sessions: {}", found.len(), several(found))]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// The ids that begin with it.
        found: Vec<SessionId>,
    },
    /// The team has no such member.
    #[error("there is no member {asked:?} in team {team}; the members are {}", known.join(", "))]
    NoMember {
        /// The team.
        team: SessionId,
        /// What was asked for.
        asked: String,
        /// Who there is.
        known: Vec<String>,
    },
}

fn several(found: &[SessionId]) -> String {
    let shown: Vec<&str> = found.iter().take(5).map(SessionId::as_str).collect();
    let more = if found.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Where a log stops being readable, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Damage {
    /// The first record that cannot be read or cannot be right.
    pub(crate) seq: Seq,
    /// What is wrong.
    pub(crate) what: String,
}

/// One session's log, as far as it can be read.
#[derive(Debug, Clone)]
pub(crate) struct SessionLog {
    /// Whose.
    pub(crate) session: SessionId,
    /// The records before the damage; all of them when there is none.
    pub(crate) records: Vec<Record>,
    /// What stopped the reading.
    pub(crate) damage: Option<Damage>,
}

impl SessionLog {
    /// The member's name, which a teammate's id ends with.
    pub(super) fn name(&self) -> MemberName {
        let name = self.session.as_str().split_once('.').map(|(_, name)| name);
        name.and_then(|name| MemberName::new(name).ok()).unwrap_or_else(MemberName::lead)
    }
}

/// The logs of a Lead and of its teammates, in the order in which they were named.
#[derive(Debug, Clone)]
pub(crate) struct TeamLogs {
    /// The Lead's.
    pub(crate) lead: SessionLog,
    /// The teammates'.
    pub(crate) teammates: Vec<SessionLog>,
}

/// What a walk over a log counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(super) kind: Option<SessionKind>,
    pub(super) first_prompt: Option<Arc<str>>,
    pub(super) model: Option<String>,
    pub(super) turns: u64,
    pub(super) open: Option<TurnNo>,
    pub(super) last: Option<TurnOutcome>,
    pub(super) steps: u64,
    /// The calls of the open step that wait for a person's permission.
    pub(super) asked: BTreeSet<(StepNo, u32)>,
    pub(super) spending: Spending,
}

impl Tally {
    /// Counts a record.
    pub(super) fn count(&mut self, record: &Record) {
        match &record.event {
            Event::SessionCreated { kind, .. } => self.kind = Some(kind.clone()),
            Event::SessionConfigured { model, .. } => self.model = Some(model.clone()),
            Event::InboxInserted { item, .. } => {
                if item.source.mail().is_none() {
                    self.first_prompt.get_or_insert_with(|| Arc::clone(&item.text));
                }
            }
            Event::TurnStarted { turn, .. } => {
                self.turns += 1;
                self.open = Some(*turn);
            }
            Event::TurnEnded { outcome, .. } => {
                self.open = None;
                self.last = Some(outcome.clone());
            }
            Event::StepStarted { .. } => self.steps += 1,
            Event::PermissionAsked { step, index, .. } => drop(self.asked.insert((*step, *index))),
            Event::PermissionAnswered { step, index, .. }
            | Event::ToolResult { step, index, .. } => drop(self.asked.remove(&(*step, *index))),
            Event::StepEnded { .. } => self.asked.clear(),
            Event::AssistantMessage { reply, .. } => {
                self.spending.add(self.model.as_deref().unwrap_or_default(), reply.usage);
            }
            Event::ContextCompacted { usage, .. } => {
                self.spending.add(self.model.as_deref().unwrap_or_default(), *usage);
            }
            Event::InboxClaimed { .. }
            | Event::InboxDiscarded { .. }
            | Event::ToolStarted { .. }
            | Event::TeamPermission { .. }
            | Event::TeamMember { .. }
            | Event::TeamActivity { .. }
            | Event::TeamTask { .. }
            | Event::TeamMessageQueued { .. }
            | Event::TeamMessageDelivered { .. }
            | Event::Ignored { .. } => {}
        }
    }

    pub(super) fn of(records: &[Record]) -> Self {
        let mut tally = Self::default();
        records.iter().for_each(|record| tally.count(record));
        tally
    }
}

/// Shows every readable record of a log to `each`, in order, and says where and why it stops before
/// the end. A log that contradicts itself is shown up to the contradiction.
pub(super) async fn walk(
    store: &dyn Store,
    session: &SessionId,
    each: &mut (dyn FnMut(Record) + Send),
) -> Option<Damage> {
    let mut state: Option<SessionState> = None;
    let mut from = Seq(0);
    loop {
        let (page, stop) = read_page(store, session, from).await;
        for stored in page.records {
            let seq = stored.seq;
            let record = match decode_stored(stored) {
                Ok(record) => record,
                Err(error) => return Some(Damage { seq, what: with_source(&error) }),
            };
            let folded = match &mut state {
                Some(state) => state.apply(&record),
                None => SessionState::begin(&record).map(|begun| state = Some(begun)),
            };
            if let Err(corrupt) = folded {
                return Some(Damage { seq: corrupt.seq, what: corrupt.what });
            }
            each(record);
            from = seq.next();
        }
        if stop.is_some() || page.last {
            return stop;
        }
    }
}

struct RecordPage {
    records: Vec<StoredRecord>,
    last: bool,
}

/// One page, or what of it lies before a damaged record.
async fn read_page(
    store: &dyn Store,
    session: &SessionId,
    from: Seq,
) -> (RecordPage, Option<Damage>) {
    let failed = |seq, error: &StoreError| Some(Damage { seq, what: damage_text(error) });
    let error = match store.read(session, from, PAGE).await {
        Ok(records) => {
            let last = records.len() < PAGE;
            return (RecordPage { records, last }, None);
        }
        Err(error) => error,
    };
    let at = match &error {
        StoreError::Damaged { seq, .. } => *seq,
        StoreError::HeadMoved { .. }
        | StoreError::Invalid { .. }
        | StoreError::Io { .. }
        | StoreError::Closed => from,
    };
    let whole = usize::try_from(at.0.saturating_sub(from.0)).unwrap_or(0);
    let records = match whole {
        0 => Vec::new(),
        whole => store.read(session, from, whole).await.unwrap_or_default(),
    };
    (RecordPage { records, last: true }, failed(at, &error))
}

pub(super) fn damage_text(error: &StoreError) -> String {
    match error {
        StoreError::Damaged { what, .. } => what.clone(),
        other => other.to_string(),
    }
}

fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Reads one log, as far as that goes.
pub(super) async fn read_session(store: &dyn Store, session: &SessionId) -> SessionLog {
    let mut records = Vec::new();
    let damage = walk(store, session, &mut |record| records.push(record)).await;
    SessionLog { session: session.clone(), records, damage }
}

/// Reads the logs of a Lead and of all its teammates that have one.
///
/// # Errors
/// [`LookError`] when the store cannot say which sessions there are.
pub(crate) async fn read_team(store: &dyn Store, lead: &SessionId) -> Result<TeamLogs, LookError> {
    let log = read_session(store, lead).await;
    let mut teammates = Vec::new();
    for session in sessions_of_team(store, lead, &log.records).await?.into_iter().skip(1) {
        teammates.push(read_session(store, &session).await);
    }
    Ok(TeamLogs { lead: log, teammates })
}

/// The records of a Lead's log that say who is on its roster, as far as they can be read.
pub(crate) async fn read_roster(store: &dyn Store, lead: &SessionId) -> Vec<Record> {
    let mut roster = Vec::new();
    let keep = |record: &Record| matches!(record.event, Event::TeamMember { .. });
    // The damage is told by whoever reads the whole log.
    drop(
        walk(store, lead, &mut |record| {
            if keep(&record) {
                roster.push(record)
            }
        })
        .await,
    );
    roster
}

/// The workspace and the model of the Lead of a session's team, as its log has them.
pub(crate) async fn lead_and_model(
    store: &dyn Store,
    session: &SessionId,
) -> Option<(String, String)> {
    let lead = session.as_str().split('.').next().unwrap_or_default();
    let lead = SessionId::new(lead).ok()?;
    let (mut cwd, mut model) = (None, None);
    let mut each = |record: Record| match record.event {
        Event::SessionCreated { cwd: of, .. } => cwd = Some(of),
        Event::SessionConfigured { model: of, .. } => model = Some(of),
        _ => {}
    };
    // A log that is damaged later on says this all the same.
    drop(walk(store, &lead, &mut each).await);
    cwd.zip(model)
}

/// The sessions of a team that have records: the Lead's, then those of its roster, then those whose
/// ids say so, for a Lead's log that is damaged before it names them.
///
/// # Errors
/// [`LookError::Store`].
pub(crate) async fn sessions_of_team(
    store: &dyn Store,
    lead: &SessionId,
    records: &[Record],
) -> Result<Vec<SessionId>, LookError> {
    let mut there: Vec<SessionHead> = store.sessions().await?;
    there.sort_by(|a, b| (a.created, &a.session).cmp(&(b.created, &b.session)));
    let mut found = vec![lead.clone()];
    let named =
        records.iter().filter_map(|record| match &record.event {
            Event::TeamMember {
                team, change: MemberChange::Provisioning { session, .. }, ..
            } if team.lead() == lead => Some(session.clone()),
            _ => None,
        });
    let prefix = format!("{lead}.");
    let by_id = there.iter().map(|head| &head.session);
    let by_id = by_id.filter(|session| session.as_str().starts_with(&prefix)).cloned();
    for session in named.chain(by_id) {
        if there.iter().any(|head| head.session == session) && !found.contains(&session) {
            found.push(session);
        }
    }
    Ok(found)
}

/// The session that a person means: an id, the beginning of one, or `latest`.
///
/// # Errors
/// [`LookError`] when it is none or several.
pub(crate) async fn find_session(store: &dyn Store, asked: &str) -> Result<SessionId, LookError> {
    let heads = store.sessions().await?;
    pick_session(&heads, asked)
}

fn pick_session(heads: &[SessionHead], asked: &str) -> Result<SessionId, LookError> {
    let Some(latest) = heads.iter().max_by_key(|head| head.updated) else {
        return Err(LookError::Empty);
    };
    if asked == "latest" {
        let lead = latest.session.as_str().split('.').next().unwrap_or_default();
        let found = heads.iter().find(|head| head.session.as_str() == lead);
        return Ok(found.unwrap_or(latest).session.clone());
    }
    let ids = || heads.iter().map(|head| &head.session);
    if let Some(exact) = ids().find(|id| id.as_str() == asked) {
        return Ok(exact.clone());
    }
    // A Lead's id begins the ids of its teammates: those are meant only past the dot.
    let mut found: Vec<SessionId> = ids()
        .filter(|_| !asked.is_empty())
        .filter(|id| id.as_str().strip_prefix(asked).is_some_and(|rest| !rest.contains('.')))
        .cloned()
        .collect();
    found.sort();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(LookError::Unknown { asked: asked.to_owned(), nearest: nearest(heads, asked) }),
        _ => Err(LookError::Ambiguous { asked: asked.to_owned(), found }),
    }
}

fn nearest(heads: &[SessionHead], asked: &str) -> Option<SessionId> {
    let likeness = |id: &SessionId| strsim::jaro_winkler(id.as_str(), asked);
    let ids = heads.iter().map(|head| &head.session);
    ids.max_by(|a, b| likeness(a).total_cmp(&likeness(b))).cloned()
}

/// When a log was written to last, as far as it can be read.
pub(super) fn last_time(records: &[Record]) -> Option<Timestamp> {
    records.last().map(|record| record.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(id: &str, updated: u64) -> SessionHead {
        SessionHead {
            session: SessionId::new(id).unwrap(),
            head: Seq(1),
            created: Timestamp(1),
            updated: Timestamp(updated),
        }
    }

    fn pick(asked: &str) -> Result<String, String> {
        let heads = [head("abc1", 5), head("abc1.implementer", 9), head("abd2", 7)];
        let picked = pick_session(&heads, asked);
        picked.map(|id| id.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_session_is_meant_by_its_id_or_the_beginning_of_it() {
        assert_eq!(pick("abd"), Ok("abd2".to_owned()));
        assert_eq!(pick("abc"), Ok("abc1".to_owned()));
        assert_eq!(pick("abc1"), Ok("abc1".to_owned()));
        assert_eq!(pick("abc1.imp"), Ok("abc1.implementer".to_owned()));
    }

    #[test]
    fn latest_is_the_lead_of_the_team_that_moved_last() {
        assert_eq!(pick("latest"), Ok("abc1".to_owned()));
    }

    #[test]
    fn what_is_unknown_or_ambiguous_is_answered_with_what_there_is() {
        assert_eq!(pick("ab"), Err("\"ab\" begins the ids of 2 sessions: abc1, abd2".to_owned()));
        assert_eq!(
            pick("abd3"),
            Err("there is no session \"abd3\"; the nearest is abd2".to_owned())
        );
        assert_eq!(
            pick_session(&[], "x").map_err(|error| error.to_string()),
            Err("the store has no sessions yet; start one with `longboat run`".to_owned())
        );
    }
}
