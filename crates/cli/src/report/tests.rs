//! Reports over records made by hand, and over stores that are damaged.

use super::log::{SessionLog, TeamLogs, read_team};
use super::page::{Page, test_page};
use super::{Detail, TeamStory, Transcript, export_session, list_sessions};
use longboat_core::content::{FinishReason, Reply, ReplyBlock, ToolCall, ToolOutcome, Usage, Wire};
use longboat_core::id::{
    CallId, EventKey, ItemId, MemberName, MessageId, Revision, Seq, SessionId, StepNo, TaskId,
    TeamId, TurnNo,
};
use longboat_core::log::{
    ActivityChange, Event, InboxItem, Lane, MemberChange, MemberContext, Record, Sender,
    SessionKind, Source, StepOutcome, Trigger, TurnOutcome, encode,
};
use longboat_core::team::{Task, TaskState};
use longboat_core::time::Timestamp;
use longboat_store::{Append, MemoryStore, NewRecord, Store};
use std::sync::Arc;

const START: u64 = 1_796_133_906_000;

fn session(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

fn name(name: &str) -> MemberName {
    MemberName::new(name).unwrap()
}

fn team() -> TeamId {
    TeamId::of(session("boat-1"))
}

/// A log of events, each with its milliseconds after the start.
fn log(id: &str, events: Vec<(u64, Event)>) -> SessionLog {
    let records = events.into_iter().zip(0..).map(|((ms, event), seq)| Record {
        seq: Seq(seq),
        at: Timestamp(START + ms),
        key: None,
        event,
    });
    SessionLog { session: session(id), records: records.collect(), damage: None }
}

fn created(id: &str, kind: SessionKind) -> Event {
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

fn step_started(turn: u64, step: u64) -> Event {
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
    member(of, MemberChange::Provisioning { session, description, role: None, context })
}

fn ended(turn: u64, outcome: TurnOutcome, excerpt: &str) -> ActivityChange {
    ActivityChange::TurnEnded { turn: TurnNo(turn), outcome, excerpt: excerpt.into() }
}

/// A team in the middle of its work: one message read, one unread, one owed.
fn lead_log() -> SessionLog {
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

fn implementer_log() -> SessionLog {
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

fn logs() -> TeamLogs {
    TeamLogs { lead: lead_log(), teammates: vec![implementer_log()] }
}

fn assert_fits(page: &Page, text: &str) {
    use unicode_width::UnicodeWidthStr as _;
    for line in text.lines() {
        assert!(line.width() <= page.width, "{} columns: {line}", line.width());
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    }
}

#[test]
fn a_team_is_shown_with_members_tasks_and_the_way_of_every_message() {
    let page = test_page();
    let shown = TeamStory::of(&logs()).text(&page, "longboat show boat-1 --member");
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_team_is_told_to_programs_with_whole_texts_and_times_in_utc() {
    insta::assert_json_snapshot!(TeamStory::of(&logs()));
}

#[test]
fn a_transcript_folds_thoughts_and_cuts_results() {
    let page = test_page();
    let shown = Transcript::of(&implementer_log()).text(&page, Detail::Short);
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_full_transcript_leaves_nothing_out() {
    let page = test_page();
    let shown = Transcript::of(&implementer_log()).text(&page, Detail::Full);
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn colours_are_the_only_escape_sequences_on_a_page_that_has_them() {
    let page = Page { colour: true, ..test_page() };
    let shown = TeamStory::of(&logs()).text(&page, "longboat show boat-1 --member");
    let transcript = Transcript::of(&implementer_log()).text(&page, Detail::Full);
    for sequence in format!("{shown}{transcript}").split('\u{1b}').skip(1) {
        let colour = sequence.split('m').next().unwrap_or_default();
        assert!(["[0", "[1", "[2", "[31", "[32", "[33", "[36"].contains(&colour), "{sequence:?}");
    }
    let without = format!("{shown}{transcript}");
    let without = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[36m"]
        .iter()
        .fold(without, |text, code| text.replace(&format!("\u{1b}{code}"), ""));
    let black = test_page();
    let expected = TeamStory::of(&logs()).text(&black, "longboat show boat-1 --member")
        + &Transcript::of(&implementer_log()).text(&black, Detail::Full);
    assert_eq!(without, expected);
}

/// Puts logs into a store, as they are.
async fn stored(logs: &[&SessionLog]) -> MemoryStore {
    let store = MemoryStore::default();
    for log in logs {
        let records = log.records.iter().map(|record| NewRecord {
            at: record.at,
            kind: record.event.kind().to_owned(),
            key: record.key.clone(),
            data: encode(&record.event).unwrap(),
        });
        let records = records.collect();
        let append = Append { session: log.session.clone(), expected_head: None, records };
        store.commit(vec![append]).await.unwrap();
    }
    store
}

#[tokio::test]
async fn sessions_are_listed_by_team_and_a_damaged_one_says_what_is_wrong() {
    let mut torn = log("boat-0", vec![(0, created("boat-0", SessionKind::Root))]);
    torn.records.push(Record {
        seq: Seq(1),
        at: Timestamp(START),
        key: None,
        event: step_started(1, 1),
    });
    let fork = SessionKind::Fork { from: session("boat-1"), records: 0 };
    let fork = log("fork-1", vec![(60_000, created("fork-1", fork))]);
    let store = stored(&[&lead_log(), &implementer_log(), &torn, &fork]).await;
    let (listed, left_out) = list_sessions(&store, 10).await.unwrap();
    assert_eq!(left_out, 0);
    let page = test_page();
    let mut shown = String::new();
    for all in [false, true] {
        listed.iter().for_each(|listed| listed.write(&page, &mut shown, all));
        shown.push_str("----\n");
    }
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
    let (newest, left_out) = list_sessions(&store, 1).await.unwrap();
    assert_eq!((newest.len(), left_out), (1, 2));
}

#[tokio::test]
async fn a_team_reads_back_from_a_store_as_it_was_written() {
    let store = stored(&[&lead_log(), &implementer_log()]).await;
    let read = read_team(&store, &session("boat-1")).await.unwrap();
    assert_eq!(read.lead.records, lead_log().records);
    assert_eq!(read.teammates.len(), 1);
    assert_eq!(TeamStory::of(&read), TeamStory::of(&logs()));
}

#[tokio::test]
async fn an_export_has_one_line_of_json_for_each_event_with_its_payload_as_stored() {
    let store = stored(&[&implementer_log()]).await;
    let odd = "{\n  \"ignorable\": true, \"n\": 1.00, \"big\": 123456789012345678901234567890 }";
    let record = NewRecord {
        at: Timestamp(START + 9),
        kind: "x/new".into(),
        key: Some(EventKey::new("k").unwrap()),
        data: odd.into(),
    };
    let id = session("boat-1.implementer");
    let append = Append { session: id.clone(), expected_head: None, records: vec![record] };
    store.commit(vec![append]).await.unwrap();
    let mut bytes = Vec::new();
    let exported = export_session(&store, &id, &mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let expected = implementer_log().records.len() + 1;
    assert_eq!((exported.records, exported.flaws), (expected as u64, Vec::new()));
    assert_eq!(text.lines().count(), expected);
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    assert_eq!(
        text.lines().last(),
        Some(
            "{\"session\":\"boat-1.implementer\",\"seq\":20,\"time\":\"2026-12-01T14:05:06.009Z\",\
             \"type\":\"x/new\",\"key\":\"k\",\"data\":{   \"ignorable\": true, \"n\": 1.00, \
             \"big\": 123456789012345678901234567890 }}"
        )
    );
}
