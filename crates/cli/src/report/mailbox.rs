//! Every message of a team and its way: queued in the Lead's log, accepted into the target's inbox,
//! read at one of the target's step boundaries.

use super::log::{SessionLog, TeamLogs};
use super::page::{Ink, Page, line};
use super::plain::{left, one_line, right};
use super::when::{as_rfc3339, as_rfc3339_or_null, duration, time_of_day};
use longboat_core::id::{ItemId, MemberName, MessageId, TeamId};
use longboat_core::log::{Event, Mail};
use longboat_core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One message and its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MessageWay {
    pub(crate) message: MessageId,
    pub(crate) from: MemberName,
    pub(crate) to: MemberName,
    pub(crate) state: MessageState,
    #[serde(serialize_with = "as_rfc3339")]
    pub(crate) queued: Timestamp,
    /// When the target's inbox durably held it.
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub(crate) accepted: Option<Timestamp>,
    /// When a step boundary of the target claimed it.
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub(crate) read: Option<Timestamp>,
    /// Milliseconds from queued to accepted.
    pub(crate) accepted_after_ms: Option<u64>,
    /// Milliseconds from accepted to read.
    pub(crate) read_after_ms: Option<u64>,
    pub(crate) text: Arc<str>,
}

/// How far a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageState {
    /// Queued; the target's log does not hold it.
    Owed,
    /// In the target's inbox.
    Unread,
    /// In the target's conversation.
    Read,
    /// Taken out of the target's inbox without being read.
    Discarded,
}

/// Follows every message through the logs, in queued order.
pub(super) fn follow(logs: &TeamLogs) -> Vec<MessageWay> {
    let team = TeamId::of(logs.lead.session.clone());
    let mut ways: BTreeMap<u64, MessageWay> = BTreeMap::new();
    for record in &logs.lead.records {
        if record.event.team() != Some(&team) {
            continue;
        }
        if let Event::TeamMessageQueued { message, from, to, text, .. } = &record.event {
            let way = MessageWay::queued(message, (from, to), record.at, text);
            ways.insert(message.number(), way);
        } else if let Event::TeamMessageDelivered { message, .. } = &record.event
            && let Some(way) = ways.get_mut(&message.number())
        {
            way.state = MessageState::Unread;
        }
    }
    for log in std::iter::once(&logs.lead).chain(&logs.teammates) {
        arrivals(log, &team, &mut ways);
    }
    ways.into_values().collect()
}

impl MessageWay {
    fn queued(
        message: &MessageId,
        (from, to): (&MemberName, &MemberName),
        at: Timestamp,
        text: &Arc<str>,
    ) -> Self {
        Self {
            message: message.clone(),
            from: from.clone(),
            to: to.clone(),
            state: MessageState::Owed,
            queued: at,
            accepted: None,
            read: None,
            accepted_after_ms: None,
            read_after_ms: None,
            text: Arc::clone(text),
        }
    }
}

/// Notes what a target's own log says of the messages to it.
fn arrivals(log: &SessionLog, team: &TeamId, ways: &mut BTreeMap<u64, MessageWay>) {
    let mut held: BTreeMap<&ItemId, u64> = BTreeMap::new();
    let to = log.name();
    for record in &log.records {
        match &record.event {
            Event::InboxInserted { item, .. } => {
                if let Some(Mail { root, message, sender, sent_at }) = item.source.mail()
                    && root == team
                {
                    // A damaged Lead's log may not say that it was queued; the item does.
                    let way = ways.entry(message.number()).or_insert_with(|| {
                        MessageWay::queued(message, (&sender.name, &to), sent_at, &item.text)
                    });
                    held.insert(&item.id, message.number());
                    way.state = MessageState::Unread;
                    way.accepted = Some(record.at);
                    way.accepted_after_ms = Some(record.at.millis_since(way.queued));
                }
            }
            Event::InboxClaimed { items, .. } => {
                for number in items.iter().filter_map(|item| held.get(item)) {
                    let Some(way) = ways.get_mut(number) else { continue };
                    way.state = MessageState::Read;
                    way.read = Some(record.at);
                    way.read_after_ms = way.accepted.map(|at| record.at.millis_since(at));
                }
            }
            Event::InboxDiscarded { items, .. } => {
                for number in items.iter().filter_map(|item| held.get(item)) {
                    let Some(way) = ways.get_mut(number) else { continue };
                    way.state = MessageState::Discarded;
                }
            }
            _ => {}
        }
    }
}

/// Writes the table of messages and their waits.
pub(super) fn write(page: &Page, out: &mut String, ways: &[MessageWay]) {
    page.heading(out, &title(ways));
    if ways.is_empty() {
        line(out, &page.ink(Ink::Dim, "  none"));
        return;
    }
    let names = |way: &MessageWay| format!("{} → {}", way.from, way.to);
    let widest = ways.iter().map(|way| names(way).chars().count()).max().unwrap_or(0);
    let columns = widest.clamp(9, page.width.saturating_sub(46).max(9));
    let head = format!(
        "  {}  {}  {}  {}  {}",
        left("id", 5),
        left("from → to", columns),
        left("queued", 12),
        right("→ accepted", 10),
        right("→ read", 10)
    );
    line(out, &page.ink(Ink::Dim, &head));
    for way in ways {
        let (accepted, read) = waits(page, way);
        let shown = format!(
            "  {}  {}  {}  {accepted}  {read}",
            left(way.message.as_str(), 5),
            page.ink(Ink::Name, &left(&names(way), columns)),
            time_of_day(way.queued, &page.zone),
        );
        line(out, &shown);
        page.cut(out, 9, Some(Ink::Dim), &one_line(&way.text));
    }
}

fn waits(page: &Page, way: &MessageWay) -> (String, String) {
    let accepted = match (way.accepted_after_ms, way.state) {
        (Some(ms), _) => right(&duration(ms), 10),
        (None, MessageState::Owed) => page.ink(Ink::Bad, &right("owed", 10)),
        (None, _) => right("yes", 10),
    };
    let read = match (way.read_after_ms, way.state) {
        (Some(ms), _) => page.ink(Ink::Good, &right(&duration(ms), 10)),
        (None, MessageState::Owed) => right("-", 10),
        (None, MessageState::Discarded) => page.ink(Ink::Bad, &right("discarded", 10)),
        (None, MessageState::Unread | MessageState::Read) => {
            page.ink(Ink::Open, &right("unread", 10))
        }
    };
    (accepted, read)
}

fn title(ways: &[MessageWay]) -> String {
    let count = |state| ways.iter().filter(|way| way.state == state).count();
    let mut title = format!("Messages ({} queued", ways.len());
    for (state, word) in [
        (MessageState::Read, "read"),
        (MessageState::Unread, "unread"),
        (MessageState::Owed, "owed"),
        (MessageState::Discarded, "discarded"),
    ] {
        if count(state) > 0 {
            title.push_str(&format!(", {} {word}", count(state)));
        }
    }
    title.push(')');
    title
}
