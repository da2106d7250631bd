//! Records made by hand: a team in the middle of its work, with everything a report has a line for.

use super::super::log::SessionLog;
use longboat_core::content::{FinishReason, Reply, ReplyBlock, ToolCall, ToolOutcome, Usage, Wire};
use longboat_core::id::{
    CallId, ItemId, MemberName, MessageId, Revision, Seq, SessionId, StepNo, TaskId, TeamId, TurnNo,
};
use longboat_core::log::{
    ActivityChange, Event, InboxItem, Lane, MemberChange, MemberContext, Record, Sender,
    SessionKind, Source, StepOutcome, Trigger, TurnOutcome,
};
use longboat_core::team::{Task, TaskState};
use longboat_core::time::Timestamp;
use std::sync::Arc;

pub(super) const START: u64 = 1_796_133_906_000;

pub(super) fn session(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

fn name(name: &str) -> MemberName {
    MemberName::new(name).unwrap()
}

fn team() -> TeamId {
    TeamId::of(session("boat-1"))
}

/// A log of events, each with its milliseconds after the start.
pub(super) fn log(id: &str, events: Vec<(u64, Event)>) -> SessionLog {
    let records = events.into_iter().zip(0..).map(|((ms, event), seq)| Record {
        seq: Seq(seq),
        at: Timestamp(START + ms),
        key: None,
        event,
    });
    SessionLog { session: session(id), records: records.collect(), damage: None }
}

pub(super) fn created(id: &str, kind: SessionKind) -> Event {
    Event::SessionCreated { session: session(id), kind, cwd: "/home/ada/bridge".into(), role: None }
}

fn configured(model: &str) -> Event {
    Event::SessionConfigured { model: model.into(), system: "You are …".into(), tools: [].into() }
}

fn inserted(lane: Lane, id: &ItemId, source: Source, text: &str) -> Event {
    Event::InboxInserted {
        lane,
        item: Arc::new(InboxItem { id: id.clone(), source, text: text.into() }),
    }
}

fn from_member(n: u64, sender: &str, session_id: &str, sent: u64) -> Source {
    Source::Team {
        team: team(),
        message: MessageId::nth(n),
        sender: Sender { name: name(sender), session: session(session_id) },
        sent_at: Timestamp(START + sent),
    }
}

fn queued(n: u64, from: &str, to: &str, text: &str) -> Event {
    let (from, to, text) = (name(from), name(to), text.into());
    Event::TeamMessageQueued { team: team(), message: MessageId::nth(n), from, to, text }
}

fn delivered(n: u64, to: &str) -> Event {
    Event::TeamMessageDelivered { team: team(), message: MessageId::nth(n), to: name(to) }
}

fn member(member: &str, change: MemberChange) -> Event {
    Event::TeamMember { team: team(), member: name(member), change }
}

fn activity(member: &str, change: ActivityChange) -> Event {
    Event::TeamActivity { team: team(), member: name(member), change }
}

fn turn_started(turn: u64, trigger: Trigger) -> Event {
    Event::TurnStarted { turn: TurnNo(turn), trigger }
}

pub(super) fn step_started(turn: u64, step: u64) -> Event {
    Event::StepStarted { turn: TurnNo(turn), step: StepNo(step) }
}

fn step_ended(step: u64) -> Event {
    Event::StepEnded { step: StepNo(step), outcome: StepOutcome::Whole }
}

fn claimed(step: u64, items: &[&ItemId]) -> Event {
    Event::InboxClaimed {
        step: StepNo(step),
        items: items.iter().map(|id| (*id).clone()).collect(),
    }
}

fn replied(step: u64, blocks: Vec<ReplyBlock>) -> Event {
    let usage = Usage { input: 12_345, cached: 12_000, output: 67, ..Usage::default() };
    let reply = Reply { wire: Wire::OpenaiChat, blocks, finish: FinishReason::Done, usage };
    Event::AssistantMessage { step: StepNo(step), reply: Arc::new(reply) }
}

fn text(text: &str) -> ReplyBlock {
    ReplyBlock::Text { text: text.into() }
}

fn call(id: &str, name: &str, arguments: &str) -> ReplyBlock {
    let id = CallId::new(id).unwrap();
    ReplyBlock::ToolCall(ToolCall { id, name: name.into(), arguments: arguments.into() })
}

fn result(step: u64, index: u32, id: &str, outcome: ToolOutcome) -> Event {
    let call = CallId::new(id).unwrap();
    Event::ToolResult { step: StepNo(step), index, call, outcome: Arc::new(outcome) }
}

fn tool_started(step: u64, index: u32, id: &str) -> Event {
    Event::ToolStarted { step: StepNo(step), index, call: CallId::new(id).unwrap() }
}

fn task(id: u64, state: TaskState, subject: &str, blocked_by: &[u64]) -> Event {
    let task = Task {
        id: TaskId::nth(id),
        revision: Revision(1),
        subject: subject.into(),
        description: String::new(),
        state,
        blocked_by: blocked_by.iter().copied().map(TaskId::nth).collect(),
        write_scopes: Vec::new(),
        created_by: name("lead"),
    };
    Event::TeamTask { team: team(), by: name("lead"), task: Arc::new(task) }
}

fn provisioning(of: &str, description: &str) -> Event {
    let session = session(&format!("boat-1.{of}"));
    let (description, context) = (description.into(), MemberContext::Fresh);
    member(
        of,
        MemberChange::Provisioning {
            session,
            description,
            role: None,
            context,
            parent: None,
            isolation: None,
        },
    )
}

fn ended(turn: u64, outcome: TurnOutcome, excerpt: &str) -> ActivityChange {
    ActivityChange::TurnEnded { turn: TurnNo(turn), outcome, excerpt: excerpt.into() }
}

/// A team in the middle of its work: one message read, one unread, one owed.
pub(super) fn lead_log() -> SessionLog {
    let prompt = ItemId::new("human/1").unwrap();
    log(
        "boat-1",
        vec![
            (0, created("boat-1", SessionKind::Root)),
            (0, configured("large")),
            (3, inserted(Lane::NextTurn, &prompt, Source::Human, "Fix the\ttest with a team.")),
            (3, turn_started(1, Trigger::Prompt)),
            (3, activity("lead", ActivityChange::TurnStarted { turn: TurnNo(1) })),
            (3, claimed(1, &[&prompt])),
            (3, step_started(1, 1)),
            (900, replied(1, vec![text("I will."), call("c1", "spawn_teammate", "{}")])),
            (900, tool_started(1, 0, "c1")),
            (901, provisioning("implementer", "changes the\u{1b}[31m code")),
            (902, member("implementer", MemberChange::Active)),
            (902, result(1, 0, "c1", ToolOutcome::ok("{}"))),
            (903, provisioning("scout", "looks")),
            (904, member("scout", MemberChange::Failed { reason: "no model \"tiny\"".into() })),
            (905, task(1, TaskState::Completed { owner: Some(name("implementer")) }, "find", &[])),
            (906, task(2, TaskState::Open, "fix \u{202e}it", &[1])),
            (906, task(3, TaskState::Open, "release the thing that was fixed before", &[1, 2])),
            (906, task(4, TaskState::Deleted, "", &[])),
            (1_000, queued(1, "lead", "implementer", "the cause\nis known")),
            (1_000, delivered(1, "implementer")),
            (
                2_000,
                queued(
                    2,
                    "lead",
                    "implementer",
                    "and more: \u{1b}]0;owned\u{7}日本語の長い文章がここにあります、そしてまだまだ続きますので切られます",
                ),
            ),
            (2_000, delivered(2, "implementer")),
            (3_500, queued(3, "implementer", "lead", "owed to you")),
            (3_600, activity("implementer", ActivityChange::TurnStarted { turn: TurnNo(1) })),
            (
                3_700,
                activity(
                    "implementer",
                    ended(1, TurnOutcome::Failed { reason: "429 for too long".into() }, "so far"),
                ),
            ),
            (3_800, activity("implementer", ActivityChange::Released)),
        ],
    )
}

pub(super) fn implementer_log() -> SessionLog {
    let id = "boat-1.implementer";
    let kind = SessionKind::Teammate { team: team(), name: name("implementer") };
    let first = ItemId::first_prompt(&session(id));
    let message = |n| ItemId::message(&team(), &MessageId::nth(n));
    let (m1, m2) = (message(1), message(2));
    let reasoning = ReplyBlock::Reasoning {
        text: "The function rounds twice.\nSo the sum is off by one, and this thought is long \
               enough that it does not fit on one line of the page."
            .into(),
        seal: None,
    };
    let long = (1..=9).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let calls = vec![
        reasoning,
        text(
            "I read the file, then run the test. \u{1b}[2JThis sentence is long enough to be wrapped at the page's edge.",
        ),
        call("c1", "read", "{\"path\":\"src/lib.rs\"}"),
        call("c2", "bash", "{\"command\":\"cargo test\\nls\",\"timeout_ms\":1000}"),
        call("c3", "edit", "not json"),
    ];
    log(
        id,
        vec![
            (902, created(id, kind)),
            (902, configured("small")),
            (902, inserted(Lane::NextTurn, &first, Source::Spawn { team: team() }, "Fix it.")),
            (910, turn_started(1, Trigger::Prompt)),
            (910, claimed(1, &[&first])),
            (910, step_started(1, 1)),
            (
                1_000,
                inserted(
                    Lane::NextStep,
                    &m1,
                    from_member(1, "lead", "boat-1", 1_000),
                    "the cause\nis known",
                ),
            ),
            (1_500, replied(1, calls)),
            (1_500, tool_started(1, 0, "c1")),
            (1_510, result(1, 0, "c1", ToolOutcome::ok(long))),
            (1_510, tool_started(1, 1, "c2")),
            (1_990, result(1, 1, "c2", ToolOutcome::error("exit code 101\n\u{9b}31mFAILED"))),
            (1_990, tool_started(1, 2, "c3")),
            (1_991, result(1, 2, "c3", ToolOutcome::error("the arguments are not valid JSON"))),
            (1_991, step_ended(1)),
            (2_250, claimed(2, &[&m1])),
            (2_250, step_started(1, 2)),
            (
                2_300,
                inserted(Lane::NextStep, &m2, from_member(2, "lead", "boat-1", 2_000), "and more"),
            ),
            (3_700, Event::StepEnded { step: StepNo(2), outcome: StepOutcome::Cut }),
            (
                3_700,
                Event::TurnEnded {
                    turn: TurnNo(1),
                    outcome: TurnOutcome::Failed { reason: "429 for too long".into() },
                },
            ),
        ],
    )
}
