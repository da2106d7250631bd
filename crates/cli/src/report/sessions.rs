//! The list of sessions, the last used first; teammates under their Lead.

use super::log::{Damage, LookError, Tally, walk};
use super::page::{Ink, Page, line};
use super::plain::{fit, left, one_line};
use super::when::{ago, as_rfc3339, day};
use longboat_core::id::SessionId;
use longboat_core::log::SessionKind;
use longboat_core::time::Timestamp;
use longboat_store::{SessionHead, Store};
use serde::Serialize;
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// Bytes of a first prompt kept for the list.
const PROMPT_CHARS: usize = 200;

/// One session in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Listed {
    pub(crate) session: SessionId,
    pub(crate) kind: ListedKind,
    #[serde(serialize_with = "as_rfc3339")]
    pub(crate) created: Timestamp,
    #[serde(serialize_with = "as_rfc3339")]
    pub(crate) updated: Timestamp,
    /// Records its log has.
    pub(crate) records: u64,
    pub(crate) turns: u64,
    pub(crate) state: ListedState,
    /// The beginning of its first prompt.
    pub(crate) first_prompt: String,
    /// What is wrong with its log; the rest is as of the damage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damage: Option<Damage>,
    /// Its teammates, for a Lead.
    pub(crate) teammates: Vec<Listed>,
}

/// What a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListedKind {
    Root,
    Fork,
    Teammate,
    /// Its first record cannot be read.
    Unknown,
}

/// Whether a turn is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListedState {
    OpenTurn,
    Idle,
}

/// Reads the sessions of a store: at most `most` Leads, the last used first, with their teammates,
/// and the number of Leads that are left out. A team is as fresh as its freshest member.
///
/// # Errors
/// [`LookError::Store`] when the store cannot say which sessions there are. One that cannot be read
/// is listed with what is wrong.
pub(crate) async fn list_sessions(
    store: &dyn Store,
    most: usize,
) -> Result<(Vec<Listed>, usize), LookError> {
    let heads = store.sessions().await?;
    let mut teams: BTreeMap<SessionId, Vec<SessionHead>> = BTreeMap::new();
    for head in &heads {
        teams.entry(lead_of(head, &heads)).or_default().push(head.clone());
    }
    let mut teams: Vec<(SessionId, Vec<SessionHead>)> = teams.into_iter().collect();
    let freshest = |members: &[SessionHead]| members.iter().map(|head| head.updated).max();
    teams.sort_by(|(a, a_heads), (b, b_heads)| {
        freshest(b_heads).cmp(&freshest(a_heads)).then_with(|| a.cmp(b))
    });
    let left_out = teams.len().saturating_sub(most);
    let mut listed = Vec::new();
    for (lead, mut members) in teams.into_iter().take(most) {
        members.sort_by(|a, b| {
            (a.session != lead, a.created, &a.session).cmp(&(
                b.session != lead,
                b.created,
                &b.session,
            ))
        });
        let mut all = Vec::new();
        for head in members {
            all.push(look_at(store, head).await);
        }
        let mut all = all.into_iter();
        if let Some(mut first) = all.next() {
            first.teammates = all.collect();
            listed.push(first);
        }
    }
    Ok((listed, left_out))
}

/// The Lead of a session: what stands before the dot in its id, when there is such a session.
fn lead_of(head: &SessionHead, heads: &[SessionHead]) -> SessionId {
    let lead = head.session.as_str().split_once('.').map(|(lead, _)| lead);
    let lead = lead.and_then(|lead| heads.iter().find(|head| head.session.as_str() == lead));
    lead.unwrap_or(head).session.clone()
}

async fn look_at(store: &dyn Store, head: SessionHead) -> Listed {
    let mut tally = Tally::default();
    let damage = walk(store, &head.session, &mut |record| tally.count(&record)).await;
    let kind = match &tally.kind {
        Some(SessionKind::Root | SessionKind::RootAgent) => ListedKind::Root,
        Some(SessionKind::Fork { .. }) => ListedKind::Fork,
        Some(SessionKind::Teammate { .. } | SessionKind::Child { .. }) => ListedKind::Teammate,
        None => ListedKind::Unknown,
    };
    let prompt = tally.first_prompt.map(|text| one_line(&text)).unwrap_or_default();
    Listed {
        session: head.session,
        kind,
        created: head.created,
        updated: head.updated,
        records: head.head.0,
        turns: tally.turns,
        state: if tally.open.is_some() { ListedState::OpenTurn } else { ListedState::Idle },
        first_prompt: prompt.chars().take(PROMPT_CHARS).collect(),
        damage,
        teammates: Vec::new(),
    }
}

impl Listed {
    /// The session for a person, on two or three lines; with its teammates when `all`.
    pub(crate) fn write(&self, page: &Page, out: &mut String, all: bool) {
        self.write_one(page, out, 0, self.session.as_str(), all);
        if all {
            for teammate in &self.teammates {
                let id = teammate.session.as_str();
                let name = id.strip_prefix(self.session.as_str()).unwrap_or(id);
                teammate.write_one(page, out, 2, name, all);
            }
        }
    }

    fn write_one(&self, page: &Page, out: &mut String, indent: usize, id: &str, all: bool) {
        let when = format!("{}  {}", day(self.updated, &page.zone), ago(self.updated, page.now));
        let room = page.width.saturating_sub(indent + when.width() + 2);
        let kind = self.kind_words(all);
        let id_room = room.saturating_sub(kind.width() + 2).max(12);
        let id = fit(id, id_room);
        let kind = left(&kind, room.saturating_sub(id.width() + 2));
        let id = page.ink(Ink::Bold, &id);
        let head = format!("{}{id}  {kind}  {}", " ".repeat(indent), page.ink(Ink::Dim, &when));
        line(out, &head);
        let (state, ink) = match self.state {
            ListedState::OpenTurn => ("open turn", Ink::Open),
            ListedState::Idle => ("idle", Ink::Good),
        };
        let turns = match self.turns {
            1 => "1 turn".to_owned(),
            turns => format!("{turns} turns"),
        };
        let facts = format!("{turns}, {state}");
        let room = page.width.saturating_sub(indent + 4 + 20 + 2);
        let facts = page.ink(ink, &left(&facts, 20));
        let prompt = page.ink(Ink::Dim, &fit(&self.first_prompt, room));
        line(out, &format!("{}{facts}  {prompt}", " ".repeat(indent + 4)));
        if let Some(Damage { seq, what }) = &self.damage {
            let what = one_line(&format!("damaged at seq {seq}: {what}"));
            page.paragraph(out, indent + 4, Some(Ink::Bad), &what);
        }
    }

    fn kind_words(&self, all: bool) -> String {
        let kind = match self.kind {
            ListedKind::Root => "root",
            ListedKind::Fork => "fork",
            ListedKind::Teammate => "teammate",
            ListedKind::Unknown => "unreadable",
        };
        let damaged = self.teammates.iter().filter(|teammate| teammate.damage.is_some()).count();
        let count = match self.teammates.len() {
            0 => String::new(),
            1 => ", 1 teammate".to_owned(),
            some => format!(", {some} teammates"),
        };
        let damaged =
            if damaged > 0 && !all { format!(" ({damaged} damaged)") } else { String::new() };
        format!("{kind}{count}{damaged}")
    }
}
