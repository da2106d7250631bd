//! One session's history, acted out by hand.

use longboat_core::content::{
    Block, FinishReason, Prompt, ReasoningSeal, Reply, ReplyBlock, ToolCall, ToolOutcome, ToolSpec,
    ToolStatus, Usage, Wire,
};
use longboat_core::id::{CallId, ItemId, MemberName, MessageId, Seq, SessionId, TeamId};
use longboat_core::log::{
    Event, InboxItem, Lane, Record, Sender, SessionKind, Source, Summarizer, TurnOutcome, decode,
    encode,
};
use longboat_core::permission::{Answer, Decider};
use longboat_core::session::{Next, Phase, Progress, SessionState, cut_short, forked_tail, repair};
use longboat_core::time::Timestamp;
use proptest::prelude::*;
use std::sync::Arc;

/// Something that happens.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Hear {
        kind: u8,
        text: String,
        lane: bool,
    },
    Reply(Spoken),
    /// A request gets no reply.
    Cut,
    Start,
    Ask,
    Permit(u8),
    Answer {
        place: usize,
        outcome: u8,
        text: String,
    },
    Interrupt,
    Restart,
    SumUp {
        told: bool,
        halved: bool,
    },
    Copy,
}

/// What a model says.
#[derive(Debug, Clone)]
pub(crate) struct Spoken {
    wire: u8,
    thought: Option<(String, u8)>,
    text: Option<String>,
    calls: Vec<(u8, u8, u8)>,
    last_text: Option<String>,
    finish: u8,
}

/// Texts that providers are known to mind: none, blank, long, and with anything in them.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("  \n\t ".to_owned()),
        Just("\u{a0}\u{200b}".to_owned()),
        Just("\u{0}\u{1b}[31m\u{feff}".to_owned()),
        "[a-z \"\\\\{}\u{e9}\u{1f600}]{1,24}",
    ]
}

fn spoken() -> impl Strategy<Value = Spoken> {
    let call = (0_u8..4, 0_u8..5, 0_u8..6);
    let thought = proptest::option::weighted(0.3, (words(), 0_u8..3));
    let parts = (
        0_u8..3,
        thought,
        proptest::option::of(words()),
        prop::collection::vec(call, 0..4),
        proptest::option::weighted(0.2, words()),
        0_u8..8,
    );
    parts.prop_map(|(wire, thought, text, calls, last_text, finish)| Spoken {
        wire,
        thought,
        text,
        calls,
        last_text,
        finish,
    })
}

pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (0_u8..4, words(), any::<bool>()).prop_map(|(kind, text, lane)| Act::Hear { kind, text, lane }),
        8 => spoken().prop_map(Act::Reply),
        1 => Just(Act::Cut),
        6 => Just(Act::Start),
        1 => Just(Act::Ask),
        1 => (0_u8..3).prop_map(Act::Permit),
        6 => (0_usize..4, 0_u8..6, words()).prop_map(|(place, outcome, text)| Act::Answer { place, outcome, text }),
        1 => Just(Act::Interrupt),
        1 => Just(Act::Restart),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(told, halved)| Act::SumUp { told, halved }),
        1 => Just(Act::Copy),
    ];
    prop::collection::vec(act, 1..60)
}

pub(crate) struct History {
    log: Vec<Record>,
    state: SessionState,
}

impl History {
    pub(crate) fn new() -> Self {
        let (log, state) = begin(SessionKind::Root);
        let mut history = Self { log, state };
        let schema = serde_json::json!({"type": "object", "properties": {}});
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: "does".to_owned(),
            schema: schema.clone(),
        };
        history.append(Event::SessionConfigured {
            model: "m".to_owned(),
            system: "system".into(),
            tools: [tool("read"), tool("bash")].into(),
        });
        history.hear(usize::MAX, 0, "begin", false);
        history
    }

    fn append(&mut self, event: Event) {
        // What is folded is what was stored.
        let stored = encode(&event).unwrap();
        let event = decode(event.kind(), &stored).unwrap();
        let at = Timestamp(self.log.len() as u64);
        let record = Record { seq: self.state.head(), at, key: None, event };
        self.state.apply(&record).unwrap();
        self.log.push(record);
    }

    fn append_all(&mut self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.append(event));
    }

    fn settle(&mut self) {
        while let Next::Append(events) = self.state.next() {
            self.append_all(events);
        }
    }

    /// Goes to the next request; false when none is due.
    pub(crate) fn begin_step(&mut self) -> bool {
        self.settle();
        matches!(self.state.phase(), Phase::Asking { .. })
    }

    pub(crate) fn prompt(&self) -> Prompt {
        self.state.prompt().unwrap()
    }

    /// Ends everything that is open.
    pub(crate) fn come_to_rest(&mut self) {
        self.interrupt();
        for _ in 0..1_000 {
            self.settle();
            match self.state.next() {
                Next::Rest => return,
                _ => self.interrupt(),
            }
        }
        panic!("it never comes to rest");
    }

    /// Acts, and returns the requests for a summary that this makes.
    pub(crate) fn act(&mut self, n: usize, act: &Act) -> Vec<Prompt> {
        match act {
            Act::Hear { kind, text, lane } => self.hear(n, *kind, text, *lane),
            Act::Reply(spoken) => self.reply(spoken),
            Act::Cut => {
                if matches!(self.state.phase(), Phase::Asking { .. }) {
                    self.append_all(repair(&self.state, &mut |_, _| None));
                }
            }
            Act::Start => self.call(Progress::Waiting, 0, &mut |step, index, call| {
                Event::ToolStarted { step, index, call }
            }),
            Act::Ask => self.call(Progress::Started, 0, &mut |step, index, call| {
                Event::PermissionAsked { step, index, call }
            }),
            Act::Permit(answer) => {
                let answer = [Answer::Once, Answer::Always, Answer::No][usize::from(*answer)];
                let by = Decider::Human;
                self.call(Progress::Asked, 0, &mut |step, index, call| Event::PermissionAnswered {
                    step,
                    index,
                    call,
                    answer,
                    by,
                });
            }
            Act::Answer { place, outcome, text } => {
                let outcome = Arc::new(came(*outcome, text));
                self.call(Progress::Started, *place, &mut |step, index, call| Event::ToolResult {
                    step,
                    index,
                    call,
                    outcome: Arc::clone(&outcome),
                });
            }
            Act::Interrupt => self.interrupt(),
            Act::Restart => self.restart(),
            Act::SumUp { told, halved } => return self.sum_up(*told, *halved),
            Act::Copy => self.copy(),
        }
        Vec::new()
    }

    fn hear(&mut self, n: usize, kind: u8, text: &str, next_step: bool) {
        let lane = if next_step { Lane::NextStep } else { Lane::NextTurn };
        let (team, sender) = (TeamId::of(session("s-1")), MemberName::new("scout").unwrap());
        let source = match kind {
            0 => Source::Human,
            1 => Source::Runtime,
            2 => Source::Spawn { team },
            _ => Source::Team {
                team,
                message: MessageId::nth(1),
                sender: Sender { name: sender, session: session("s-1.scout") },
                sent_at: Timestamp(0),
            },
        };
        // The engine takes no blank prompts; messages and notices may say what they like.
        let text = if kind == 0 && text.trim().is_empty() { "go" } else { text };
        let id = ItemId::new(format!("i{}", n.wrapping_add(1))).unwrap();
        let item = Arc::new(InboxItem { id, source, text: text.into() });
        self.append(Event::InboxInserted { lane, item });
    }

    fn reply(&mut self, spoken: &Spoken) {
        let Phase::Asking { step, .. } = *self.state.phase() else { return };
        let reply = Arc::new(self.state.admissible(spoken.reply()));
        self.append(Event::AssistantMessage { step, reply });
    }

    fn call(
        &mut self,
        progress: Progress,
        place: usize,
        event: &mut dyn FnMut(longboat_core::id::StepNo, u32, CallId) -> Event,
    ) {
        let Phase::Calling { step, calls, .. } = self.state.phase() else { return };
        let fits = calls.iter().zip(0..).filter(|(call, _)| call.progress == progress);
        let fits: Vec<(u32, CallId)> =
            fits.map(|(call, index)| (index, call.call.id.clone())).collect();
        let Some((index, call)) = fits.get(place % fits.len().max(1)).cloned() else { return };
        let event = event(*step, index, call);
        self.append(event);
    }

    fn interrupt(&mut self) {
        let outcome = TurnOutcome::Interrupted { by: "human".to_owned() };
        let events = cut_short(&self.state, outcome, &mut |_, _| ToolOutcome::error("interrupted"));
        self.append_all(events);
    }

    fn restart(&mut self) {
        self.state = replay(&self.log);
        let unknown = |call: &longboat_core::session::Call| {
            (call.progress != Progress::Asked).then(|| ToolOutcome {
                status: ToolStatus::Unknown,
                ..ToolOutcome::ok("outcome unknown")
            })
        };
        let events = repair(&self.state, &mut |_, call| unknown(call));
        self.append_all(events);
    }

    fn sum_up(&mut self, told: bool, halved: bool) -> Vec<Prompt> {
        // A summary is written between two steps.
        let window = if halved { self.state.transcript().tokens() / 2 } else { 400 };
        if !matches!(self.state.phase(), Phase::Between { .. }) {
            self.append_all(repair(&self.state, &mut |_, _| None));
        }
        if !matches!(self.state.phase(), Phase::Between { .. }) {
            return Vec::new();
        }
        let Some(compaction) = self.state.compaction(window, true) else { return Vec::new() };
        let (kept, by) =
            (compaction.kept, if told { Summarizer::Model } else { Summarizer::Runtime });
        let summary = self.state.summary(kept, told.then_some("so far"), "").into();
        self.append(Event::ContextCompacted { summary, kept, by, usage: Usage::default() });
        compaction.requests
    }

    /// Goes on as a copy of the ended turns.
    fn copy(&mut self) {
        let ended =
            self.log.iter().rposition(|record| matches!(record.event, Event::TurnEnded { .. }));
        let Some(ended) = ended else { return };
        let prefix: Vec<Event> =
            self.log[1..=ended].iter().map(|record| record.event.clone()).collect();
        let scope = longboat_core::log::Scope::Team;
        let kind = SessionKind::Fork { from: session("s-1"), records: ended as u64, scope };
        (self.log, self.state) = begin(kind);
        self.append_all(prefix);
        self.append_all(forked_tail(&self.state));
        self.hear(self.log.len() + 1_000, 0, "go on as a copy", false);
    }
}

impl Spoken {
    fn reply(&self) -> Reply {
        let wires = [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic];
        let wire = wires[usize::from(self.wire)];
        let mut blocks = Vec::new();
        if let Some((text, seal)) = &self.thought {
            let value = "c2VhbA==".to_owned();
            let seal = match seal {
                0 => None,
                1 if wire == Wire::OpenaiResponses => {
                    Some(ReasoningSeal::Item { id: "rs_1".to_owned(), sealed: value })
                }
                1 => Some(ReasoningSeal::Signature { value }),
                _ => Some(ReasoningSeal::Redacted { value }),
            };
            blocks.push(ReplyBlock::Reasoning { text: text.clone(), seal });
        }
        let text = |text: &Option<String>| {
            text.as_ref().map(|text| ReplyBlock::Text { text: text.clone() })
        };
        blocks.extend(text(&self.text));
        blocks.extend(self.calls.iter().map(|(id, name, arguments)| {
            // Providers repeat ids, and make ones of all lengths.
            let long = "chatcmpl-tool-0123456789abcdef0123456789abcdef";
            let id = ["same", "call_1", "functions.read:0", long][usize::from(*id)];
            let name = ["read", "bash", "no such tool!", "", "naïve"][usize::from(*name)];
            let arguments =
                ["{}", "", "{\"a\":1}", "{\"a\":", "[1]", "\"text\""][usize::from(*arguments)];
            ReplyBlock::ToolCall(ToolCall {
                id: CallId::new(id).unwrap(),
                name: name.to_owned(),
                arguments: arguments.to_owned(),
            })
        }));
        blocks.extend(text(&self.last_text));
        let finish = match self.finish {
            0 => FinishReason::Length,
            1 => FinishReason::ContentFilter,
            _ => FinishReason::Done,
        };
        let usage = Usage { input: 10, output: 5, ..Usage::default() };
        Reply { wire, blocks, finish, usage }
    }
}

fn came(kind: u8, text: &str) -> ToolOutcome {
    let image = || Block::Image { media_type: "image/png".to_owned(), data: "aGVsbG8=".to_owned() };
    match kind {
        0 => ToolOutcome::ok(text),
        1 => ToolOutcome::error(text),
        2 => ToolOutcome { status: ToolStatus::Ok, content: Vec::new() },
        3 => ToolOutcome { status: ToolStatus::Ok, content: vec![image(), Block::text(text)] },
        4 => ToolOutcome { status: ToolStatus::Error, content: vec![image()] },
        _ => ToolOutcome { status: ToolStatus::Interrupted, ..ToolOutcome::ok(text) },
    }
}

fn session(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

fn begin(kind: SessionKind) -> (Vec<Record>, SessionState) {
    let session = session(if matches!(kind, SessionKind::Root) { "s-1" } else { "s-2" });
    let created = Event::SessionCreated { session, kind, cwd: "/w".to_owned(), role: None };
    let first = Record { seq: Seq(0), at: Timestamp(0), key: None, event: created };
    let state = SessionState::begin(&first).unwrap();
    (vec![first], state)
}

fn replay(log: &[Record]) -> SessionState {
    let mut records = log.iter();
    let mut state = SessionState::begin(records.next().unwrap()).unwrap();
    records.for_each(|record| state.apply(record).unwrap());
    state
}
