//! Reads the logs a team left behind, and nothing else, and checks every promise about mail,
//! members and calls.

use longboat_core::id::{EventKey, ItemId, MemberName, MessageId, Origin, Seq, SessionId, TeamId};
use longboat_core::log::{Event, Record, SessionKind};
use longboat_core::session::{Phase, SessionState};
use longboat_core::team::{Standing, TeamState};
use longboat_engine::decode_stored;
use longboat_store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// A team's logs, read back, to be checked.
#[derive(Debug)]
pub struct TeamCheck {
    lead: SessionId,
    logs: BTreeMap<SessionId, Vec<Record>>,
}

#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a log that cannot be read ends its test"
)]
impl TeamCheck {
    /// Reads all logs of a store, of which one is the Lead's.
    pub async fn read(store: &dyn Store, lead: &SessionId) -> Self {
        let mut logs = BTreeMap::new();
        let prefix = format!("{lead}.");
        let all = store.sessions().await.unwrap().into_iter();
        let ours =
            all.filter(|head| head.session == *lead || head.session.as_str().starts_with(&prefix));
        for head in ours {
            let stored = store.read(&head.session, Seq(0), usize::MAX).await.unwrap();
            let records = stored.into_iter().map(|record| decode_stored(record).unwrap()).collect();
            logs.insert(head.session, records);
        }
        Self { lead: lead.clone(), logs }
    }

    fn of(&self, session: &SessionId) -> &[Record] {
        self.logs.get(session).map_or(&[], Vec::as_slice)
    }

    /// Checks every promise that logs can show; returns what is wrong.
    #[must_use]
    pub fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let team = self.fold(&mut wrong);
        self.check_mail(&team, &mut wrong);
        self.check_calls(&mut wrong);
        wrong
    }

    /// Every log folds, every agent rests with an empty inbox, every request is legal.
    fn fold(&self, wrong: &mut Vec<String>) -> TeamState {
        let mut team = TeamState::new(TeamId::of(self.lead.clone()));
        for (session, records) in &self.logs {
            let mut state = SessionState::begin(&records[0]).unwrap();
            for record in &records[1..] {
                if let Err(corrupt) = state.apply(record) {
                    wrong.push(format!("{session}: {corrupt}"));
                    break;
                }
            }
            if *state.phase() != Phase::Idle || !state.inbox().is_empty() {
                wrong.push(format!("P4 {session} rests in {:?} with mail unread", state.phase()));
            }
            if let Err(illegal) = crate::assert_legal(state.transcript().messages()) {
                wrong.push(format!("P14 {session}: {illegal}"));
            }
        }
        for record in self.of(&self.lead) {
            if let Err(corrupt) = team.apply(record) {
                wrong.push(format!("P7 {corrupt}"));
            }
        }
        for member in team.roster().iter() {
            let made = self.logs.contains_key(&member.session);
            if (member.standing == Standing::Active) != made {
                wrong
                    .push(format!("P12 {} is {:?}, its log: {made}", member.name, member.standing));
            }
        }
        team
    }

    fn session_of(&self, team: &TeamState, name: &MemberName) -> SessionId {
        team.roster().get(name).map_or_else(|| self.lead.clone(), |member| member.session.clone())
    }

    fn check_mail(&self, team: &TeamState, wrong: &mut Vec<String>) {
        let mut order: BTreeMap<MemberName, Vec<ItemId>> = BTreeMap::new();
        let mut keys: BTreeSet<EventKey> = BTreeSet::new();
        for record in self.of(&self.lead) {
            let Event::TeamMessageQueued { message, from, to, text, .. } = &record.event else {
                continue;
            };
            if record.key.clone().is_none_or(|key| !keys.insert(key)) {
                wrong.push(format!("P6 {message} was queued twice for one call"));
            }
            let failed = team.roster().get(to).is_some_and(|m| m.standing != Standing::Active);
            if failed {
                // It was queued while its target was being made; it stays owed, for all to see.
                if !team.mailbox().owed_to(to).any(|owed| owed.id == *message) {
                    wrong.push(format!("P5 {message} to {to}, who never came to be, is gone"));
                }
                continue;
            }
            let item = ItemId::message(team.team(), message);
            order.entry(to.clone()).or_default().push(item.clone());
            let target = self.of(&self.session_of(team, to));
            let inserts: Vec<&Record> = target
                .iter()
                .filter(
                    |r| matches!(&r.event, Event::InboxInserted { item: i, .. } if i.id == item),
                )
                .collect();
            let claims = target.iter().filter(
                |r| matches!(&r.event, Event::InboxClaimed { items, .. } if items.contains(&item)),
            );
            if inserts.len() != 1 || claims.count() != 1 {
                wrong.push(format!("P6 {message} to {to} entered {} times", inserts.len()));
            }
            for insert in inserts {
                let Event::InboxInserted { item, .. } = &insert.event else { continue };
                let true_sender = item.source.mail().is_some_and(|mail| {
                    mail.sender.name == *from && mail.sender.session == self.session_of(team, from)
                });
                if !true_sender || item.text != *text {
                    wrong.push(format!("P9 {message} is not what {from} sent: {item:?}"));
                }
            }
            self.check_acknowledged(message, wrong);
        }
        for (to, sent) in order {
            let target = self.of(&self.session_of(team, &to));
            let read = target.iter().filter_map(|record| match &record.event {
                Event::InboxClaimed { items, .. } => Some(items.clone()),
                _ => None,
            });
            let read: Vec<ItemId> = read.flatten().filter(|id| sent.contains(id)).collect();
            if read != sent {
                wrong.push(format!("P7 {to} was sent {sent:?} and read {read:?}"));
            }
        }
    }

    fn check_acknowledged(&self, wanted: &MessageId, wrong: &mut Vec<String>) {
        let acknowledged = self.of(&self.lead).iter().filter(|record| {
            matches!(&record.event, Event::TeamMessageDelivered { message, .. } if message == wanted)
        });
        let count = acknowledged.count();
        if count != 1 {
            wrong.push(format!("P5 {wanted} was acknowledged {count} times"));
        }
    }

    /// A result that says a message was taken has the message behind it.
    fn check_calls(&self, wrong: &mut Vec<String>) {
        let queued: BTreeSet<EventKey> =
            self.of(&self.lead).iter().filter_map(|record| record.key.clone()).collect();
        for (session, records) in &self.logs {
            if matches!(
                &records[0].event,
                Event::SessionCreated { kind: SessionKind::Fork { .. }, .. }
            ) {
                continue;
            }
            for record in records {
                let Event::ToolResult { step, index, outcome, .. } = &record.event else {
                    continue;
                };
                let text = format!("{:?}", outcome.content);
                let taken = text.contains("message_id");
                // A teammate that began with the Lead's turns has the Lead's results too.
                let known = [session, &self.lead].into_iter().any(|session| {
                    let (session, step, index) = (session.clone(), *step, *index);
                    queued.contains(&Origin { session, step, index }.key())
                });
                if taken && !known {
                    wrong.push(format!("P2 {session} was told of a message nobody has: {text}"));
                }
            }
        }
    }
}
