//! A session's fold: whatever happens, in whatever order, its log makes a legal request and no item
//! is lost, doubled or reordered.

use longboat_core::content::{
    FinishReason, Message, Reply, ReplyBlock, ToolCall, ToolOutcome, Usage, Wire,
};
use longboat_core::id::{CallId, ItemId, Seq, SessionId, TurnNo};
use longboat_core::log::{
    Event, InboxItem, Lane, Record, SessionKind, Source, TurnOutcome, decode, encode,
};
use longboat_core::permission::{Answer, Decider};
use longboat_core::session::{Next, Phase, Progress, SessionState, cut_short, repair};
use longboat_core::time::Timestamp;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// A session with its whole log, driven by hand.
struct Played {
    log: Vec<Record>,
    state: SessionState,
}

impl Played {
    fn new() -> Self {
        let session = SessionId::new("s-1").unwrap();
        let created = Event::SessionCreated {
            session,
            kind: SessionKind::Root,
            cwd: "/w".to_owned(),
            role: None,
        };
        let first = Record { seq: Seq(0), at: Timestamp(0), key: None, event: created };
        let state = SessionState::begin(&first).unwrap();
        let mut played = Self { log: vec![first], state };
        played.append(Event::SessionConfigured {
            model: "m".to_owned(),
            system: "system".into(),
            tools: Arc::new([]),
        });
        played
    }

    fn append(&mut self, event: Event) {
        let at = Timestamp(self.log.len() as u64);
        let record = Record { seq: self.state.head(), at, key: None, event };
        self.state.apply(&record).unwrap();
        self.log.push(record);
    }

    fn append_all(&mut self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.append(event));
    }

    fn insert(&mut self, lane: Lane, n: usize) {
        let id = ItemId::new(format!("i{n}")).unwrap();
        let item = InboxItem { id, source: Source::Human, text: format!("text {n}").into() };
        self.append(Event::InboxInserted { lane, item: Arc::new(item) });
    }

    /// Appends what stands between here and the next effect.
    fn settle(&mut self) {
        while let Next::Append(events) = self.state.next() {
            self.append_all(events);
        }
    }

    fn reply(&mut self, calls: usize) {
        self.settle();
        let Phase::Asking { step, .. } = *self.state.phase() else { return };
        let text = ReplyBlock::Text { text: format!("reply {step}") };
        let calls = (0..calls).map(|_| {
            // Providers repeat ids; the log must not.
            let id = CallId::new("same").unwrap();
            ReplyBlock::ToolCall(ToolCall { id, name: "read".to_owned(), arguments: String::new() })
        });
        let reply = Reply {
            wire: Wire::OpenaiChat,
            blocks: std::iter::once(text).chain(calls).collect(),
            finish: FinishReason::Done,
            usage: Usage { input: 1, output: 1, ..Usage::default() },
        };
        let reply = Arc::new(self.state.admissible(reply));
        self.append(Event::AssistantMessage { step, reply });
    }

    fn waiting(&self, progress: Progress) -> Vec<(u32, CallId)> {
        let Phase::Calling { calls, .. } = self.state.phase() else { return Vec::new() };
        let numbered = calls.iter().zip(0..).filter(|(call, _)| call.progress == progress);
        numbered.map(|(call, index)| (index, call.call.id.clone())).collect()
    }

    fn start_call(&mut self, pick: usize) {
        let waiting = self.waiting(Progress::Waiting);
        let Phase::Calling { step, .. } = *self.state.phase() else { return };
        if let Some((index, call)) = waiting.get(pick % waiting.len().max(1)).cloned() {
            self.append(Event::ToolStarted { step, index, call });
        }
    }

    /// A person is asked about a call, or answers.
    fn ask_or_permit(&mut self, pick: usize) {
        let Phase::Calling { step, .. } = *self.state.phase() else { return };
        if let Some((index, call)) = self.waiting(Progress::Asked).first().cloned() {
            let answer = [Answer::Once, Answer::Always, Answer::No][pick % 3];
            let by = Decider::Human;
            self.append(Event::PermissionAnswered { step, index, call, answer, by });
        } else if let Some((index, call)) = self.waiting(Progress::Started).first().cloned() {
            self.append(Event::PermissionAsked { step, index, call });
        }
    }

    fn answer_call(&mut self, pick: usize) {
        let mut started = self.waiting(Progress::Started);
        started.extend(self.waiting(Progress::Refused));
        let Phase::Calling { step, .. } = *self.state.phase() else { return };
        if let Some((index, call)) = started.get(pick % started.len().max(1)).cloned() {
            let outcome = Arc::new(ToolOutcome::ok(format!("result of {call}")));
            self.append(Event::ToolResult { step, index, call, outcome });
        }
    }

    fn interrupt(&mut self) {
        let outcome = TurnOutcome::Interrupted { by: "lead".to_owned() };
        let events = cut_short(&self.state, outcome, &mut |_, _| ToolOutcome::error("interrupted"));
        self.append_all(events);
    }

    /// Dies, and comes back from what is on disk.
    fn restart(&mut self) {
        self.state = replay(&self.log);
        let events = repair(&self.state, &mut |_, _| Some(ToolOutcome::error("outcome unknown")));
        self.append_all(events);
    }
}

/// Folds a log from its stored bytes.
fn replay(log: &[Record]) -> SessionState {
    let mut state: Option<SessionState> = None;
    for record in log {
        let bytes = encode(&record.event).unwrap();
        let event = decode(record.event.kind(), &bytes).unwrap();
        assert_eq!(event, record.event);
        let record = Record { event, ..record.clone() };
        match &mut state {
            Some(state) => state.apply(&record).unwrap(),
            None => state = Some(SessionState::begin(&record).unwrap()),
        }
    }
    state.unwrap()
}

#[derive(Debug, Clone)]
enum Act {
    Steer,
    Queue,
    Settle,
    Reply(usize),
    StartCall(usize),
    AskOrPermit(usize),
    AnswerCall(usize),
    Interrupt,
    Restart,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => Just(Act::Steer),
        2 => Just(Act::Queue),
        4 => Just(Act::Settle),
        5 => (0_usize..4).prop_map(Act::Reply),
        5 => (0_usize..4).prop_map(Act::StartCall),
        3 => (0_usize..3).prop_map(Act::AskOrPermit),
        5 => (0_usize..4).prop_map(Act::AnswerCall),
        1 => Just(Act::Interrupt),
        1 => Just(Act::Restart),
    ];
    prop::collection::vec(act, 0..120)
}

fn play(acts: &[Act]) -> Played {
    let mut played = Played::new();
    for (n, act) in acts.iter().enumerate() {
        match act {
            Act::Steer => played.insert(Lane::NextStep, n),
            Act::Queue => played.insert(Lane::NextTurn, n),
            Act::Settle => played.settle(),
            Act::Reply(calls) => played.reply(*calls),
            Act::StartCall(pick) => played.start_call(*pick),
            Act::AskOrPermit(pick) => played.ask_or_permit(*pick),
            Act::AnswerCall(pick) => played.answer_call(*pick),
            Act::Interrupt => played.interrupt(),
            Act::Restart => played.restart(),
        }
    }
    played
}

/// Answers everything until nothing is left to do.
fn finish(played: &mut Played) {
    loop {
        played.settle();
        match played.state.next() {
            Next::Rest => return,
            Next::AskModel { .. } => played.reply(0),
            Next::RunCalls { .. } => {
                played.start_call(0);
                // A call that still waits for a person is permitted.
                if !played.waiting(Progress::Asked).is_empty() {
                    played.ask_or_permit(0);
                }
                played.answer_call(0);
            }
            Next::Append(_) => {}
        }
    }
}

/// What every provider demands of a conversation.
fn assert_legal(messages: &[Message]) {
    let mut open: Vec<CallId> = Vec::new();
    let mut used: HashMap<CallId, usize> = HashMap::new();
    for message in messages {
        match message {
            Message::Assistant(reply) => {
                assert!(open.is_empty(), "a reply follows unanswered calls");
                open = reply.calls().map(|call| call.id.clone()).collect();
                for id in &open {
                    *used.entry(id.clone()).or_default() += 1;
                }
            }
            Message::ToolResults(results) => {
                let answered: Vec<CallId> = results.iter().map(|r| r.call.clone()).collect();
                assert_eq!(answered, open, "every call is answered once, in order, right after");
                open.clear();
            }
            Message::User(blocks) => {
                assert!(!blocks.is_empty());
                assert!(open.is_empty(), "a message stands between a call and its result");
            }
        }
    }
    assert!(used.values().all(|uses| *uses == 1), "call ids are unique in a session");
}

fn heard(log: &[Record]) -> Vec<ItemId> {
    let claims = log.iter().filter_map(|record| match &record.event {
        Event::InboxClaimed { items, .. } => Some(items.clone()),
        _ => None,
    });
    claims.flatten().collect()
}

fn inserted(log: &[Record], wanted: Lane) -> Vec<ItemId> {
    let inserts = log.iter().filter_map(|record| match &record.event {
        Event::InboxInserted { lane, item } if *lane == wanted => Some(item.id.clone()),
        _ => None,
    });
    inserts.collect()
}

proptest! {
    #[test]
    fn p14_p20_any_history_makes_a_legal_request(acts in acts()) {
        let played = play(&acts);
        assert_legal_prefix(&played);
    }

    #[test]
    fn p3_p6_every_item_is_read_once_and_in_order_once_the_agent_rests(acts in acts()) {
        let mut played = play(&acts);
        finish(&mut played);
        let heard = heard(&played.log);
        for lane in [Lane::NextStep, Lane::NextTurn] {
            let sent = inserted(&played.log, lane);
            let read: Vec<ItemId> = heard.iter().filter(|id| sent.contains(id)).cloned().collect();
            prop_assert_eq!(read, sent);
        }
        prop_assert!(played.state.inbox().is_empty());
        prop_assert_eq!(played.state.phase(), &Phase::Idle);
    }

    #[test]
    fn p19_a_later_request_begins_with_the_earlier_one(acts in acts(), more in acts()) {
        let early = play(&acts);
        let all: Vec<Act> = acts.into_iter().chain(more).collect();
        let late = play(&all);
        let (early, late) = (early.state.transcript().messages(), late.state.transcript().messages());
        prop_assert_eq!(early, &late[..early.len()]);
    }

    #[test]
    fn p19_the_request_is_the_same_when_rebuilt_from_the_log(acts in acts()) {
        let played = play(&acts);
        let again = replay(&played.log);
        prop_assert_eq!(played.state.prompt(), again.prompt());
        prop_assert_eq!(played.state.phase(), again.phase());
        prop_assert_eq!(played.state.usage(), again.usage());
    }
}

/// Checks the conversation as it would be sent: with the open calls, if any, left out, since no
/// request is made while they are open.
fn assert_legal_prefix(played: &Played) {
    let messages = played.state.transcript().messages();
    let open = matches!(played.state.phase(), Phase::Calling { calls, .. } if !calls.is_empty());
    let sent = if open { &messages[..messages.len() - 1] } else { messages };
    assert_legal(sent);
}

#[test]
fn p4_a_message_that_arrives_during_a_reply_without_calls_keeps_the_turn_going() {
    let mut played = Played::new();
    played.insert(Lane::NextTurn, 1);
    played.settle();
    played.insert(Lane::NextStep, 2);
    played.reply(0);
    played.settle();
    assert!(matches!(played.state.phase(), Phase::Asking { turn: TurnNo(1), .. }));
    assert!(played.state.inbox().is_empty());
}

#[test]
fn p3_all_pending_steers_are_read_together_at_one_boundary() {
    let mut played = Played::new();
    (1..=5).for_each(|n| played.insert(Lane::NextStep, n));
    played.settle();
    let Some(Message::User(blocks)) = played.state.transcript().messages().last() else {
        panic!("nothing was read");
    };
    assert_eq!(blocks.len(), 5);
}

#[test]
fn queued_prompts_become_turns_of_their_own() {
    let mut played = Played::new();
    played.insert(Lane::NextTurn, 1);
    played.insert(Lane::NextTurn, 2);
    finish(&mut played);
    assert_eq!(played.state.last_turn(), TurnNo(2));
}

#[test]
fn p14_an_interrupt_answers_open_calls_and_keeps_the_inbox() {
    let mut played = Played::new();
    played.insert(Lane::NextTurn, 1);
    played.reply(3);
    played.start_call(0);
    played.answer_call(0);
    played.start_call(0);
    played.insert(Lane::NextStep, 2);
    played.interrupt();
    assert_eq!(played.state.phase(), &Phase::Idle);
    assert_eq!(played.state.inbox().len(), 1);
    assert_legal(played.state.transcript().messages());
}

#[test]
fn p20_a_record_that_cannot_follow_is_refused_with_its_place() {
    let mut played = Played::new();
    let record = Record {
        seq: played.state.head(),
        at: Timestamp(0),
        key: None,
        event: Event::TurnEnded { turn: TurnNo(7), outcome: TurnOutcome::Completed },
    };
    let corrupt = played.state.apply(&record).unwrap_err();
    assert_eq!(corrupt.to_string(), "the log contradicts itself at seq 2: turn 7 cannot end here");
}

#[test]
fn p20_unknown_events_are_refused_unless_they_are_marked() {
    assert!(decode("future/thing", "{\"x\":1}").is_err());
    assert!(decode("future/thing", "{\"ignorable\":true,\"x\":1}").is_ok());
    assert!(decode("turn/started", "{\"turn\":1,\"trigger\":\"prompt\",\"more\":1}").is_err());
}
