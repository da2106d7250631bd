//! The logs of a team that is far larger than any is, written straight into a store.

use longboat_core::content::{FinishReason, Reply, ReplyBlock, ToolCall, ToolOutcome, Usage, Wire};
use longboat_core::id::{
    CallId, EventKey, ItemId, MemberName, MessageId, Seq, SessionId, StepNo, TeamId, TurnNo,
};
use longboat_core::log::{
    Event, InboxItem, Lane, MemberChange, MemberContext, Sender, SessionKind, Source, StepOutcome,
    Trigger, encode,
};
use longboat_core::time::Timestamp;
use longboat_store::{Append, NewRecord, Store};
use std::sync::Arc;

pub(crate) const MEMBERS: usize = 50;
pub(crate) const MESSAGES: u64 = 10_000;
pub(crate) const STEPS: u64 = 5_000;

/// One log in the making.
struct Log {
    session: SessionId,
    records: Vec<NewRecord>,
}

impl Log {
    fn of(session: &SessionId, kind: SessionKind) -> Self {
        let mut log = Self { session: session.clone(), records: Vec::new() };
        let (session, cwd) = (session.clone(), "/nowhere".to_owned());
        log.push(Event::SessionCreated { session, kind, cwd, role: None });
        let (system, tools) = (Arc::from("system"), Arc::from(Vec::new()));
        log.push(Event::SessionConfigured { model: "chat".to_owned(), system, tools });
        log
    }

    fn push(&mut self, event: Event) {
        let key = match &event {
            Event::InboxInserted { item, .. } => Some(EventKey::inbox(&item.id)),
            _ => None,
        };
        let data = encode(&event).unwrap();
        let at = Timestamp(1_000 + self.records.len() as u64);
        self.records.push(NewRecord { at, kind: event.kind().to_owned(), key, data });
    }

    async fn write(self, store: &dyn Store) {
        let session = self.session;
        let append = Append { session, expected_head: Some(Seq(0)), records: self.records };
        store.commit(vec![append]).await.unwrap();
    }
}

fn name(n: usize) -> MemberName {
    MemberName::new(format!("m-{n}")).unwrap()
}

/// Writes the team `s-large`: the first of its members has done all the steps, and the others have
/// read all the messages.
pub(crate) async fn write(store: &dyn Store) -> SessionId {
    let lead = SessionId::new("s-large").unwrap();
    let team = TeamId::of(lead.clone());
    let mut log = Log::of(&lead, SessionKind::Root);
    for n in 0..MEMBERS {
        let (member, session) = (name(n), lead.teammate(&name(n)).unwrap());
        let (description, role) = (format!("does part {n}"), None);
        let context = MemberContext::Fresh;
        let change = MemberChange::Provisioning {
            session,
            description,
            role,
            context,
            parent: None,
            isolation: None,
        };
        log.push(Event::TeamMember { team: team.clone(), member: member.clone(), change });
        log.push(Event::TeamMember { team: team.clone(), member, change: MemberChange::Active });
    }
    for n in 1..=MESSAGES {
        let (message, to) = (MessageId::nth(n), name(target(n)));
        let (team, from) = (team.clone(), MemberName::lead());
        let text = Arc::from(format!("{n}: {}", "words ".repeat(40)));
        let (queued, acked) = ((team.clone(), message.clone(), to.clone()), (team, message, to));
        let (team, message, to) = queued;
        log.push(Event::TeamMessageQueued { team, message, from, to, text });
        let (team, message, to) = acked;
        log.push(Event::TeamMessageDelivered { team, message, to });
    }
    log.write(store).await;
    for n in 0..MEMBERS {
        let session = lead.teammate(&name(n)).unwrap();
        let kind = SessionKind::Teammate { team: team.clone(), name: name(n) };
        let mut log = Log::of(&session, kind);
        log.push(Event::TurnStarted { turn: TurnNo(1), trigger: Trigger::Steer });
        let (steps, mail) = if n == 0 { (STEPS, Vec::new()) } else { (1, mail_of(&team, n)) };
        let claimed: Vec<ItemId> = mail.iter().map(|item| item.id.clone()).collect();
        for item in mail {
            log.push(Event::InboxInserted { lane: Lane::NextStep, item: Arc::new(item) });
        }
        if !claimed.is_empty() {
            log.push(Event::InboxClaimed { step: StepNo(1), items: claimed });
        }
        (1..=steps).for_each(|step| push_step(&mut log, step));
        log.write(store).await;
    }
    lead
}

/// Who gets a message: any but the first.
fn target(n: u64) -> usize {
    1 + usize::try_from(n).unwrap() % (MEMBERS - 1)
}

fn mail_of(team: &TeamId, member: usize) -> Vec<InboxItem> {
    let item = |n: u64| {
        let (message, name) = (MessageId::nth(n), MemberName::lead());
        let sender = Sender { name, session: team.lead().clone() };
        InboxItem {
            id: ItemId::message(team, &message),
            source: Source::Team { team: team.clone(), message, sender, sent_at: Timestamp(1_000) },
            text: Arc::from(format!("{n}")),
        }
    };
    (1..=MESSAGES).filter(|n| target(*n) == member).map(item).collect()
}

fn push_step(log: &mut Log, n: u64) {
    let step = StepNo(n);
    log.push(Event::StepStarted { turn: TurnNo(1), step });
    let id = CallId::new(format!("call-{n}")).unwrap();
    let arguments = "{\"path\":\"src/lib.rs\"}".to_owned();
    let call = ToolCall { id: id.clone(), name: "read".to_owned(), arguments };
    let text = format!("This is step {n}. {}", "It says a lot. ".repeat(100));
    let blocks = vec![ReplyBlock::Text { text }, ReplyBlock::ToolCall(call)];
    let (wire, finish, usage) = (Wire::OpenaiChat, FinishReason::Done, Usage::default());
    let reply = Arc::new(Reply { wire, blocks, finish, usage });
    log.push(Event::AssistantMessage { step, reply });
    log.push(Event::ToolStarted { step, index: 0, call: id.clone() });
    let outcome = Arc::new(ToolOutcome::ok("a line of the file\n".repeat(1_000)));
    log.push(Event::ToolResult { step, index: 0, call: id, outcome });
    log.push(Event::StepEnded { step, outcome: StepOutcome::Whole });
}
