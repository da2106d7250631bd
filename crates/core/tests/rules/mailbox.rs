//! Who may write to whom, within which bounds, and in which order mail leaves the mailbox.

use longboat_core::id::{MemberName, MessageId, Seq, SessionId, TeamId};
use longboat_core::limits::Limits;
use longboat_core::log::{Event, MemberChange, MemberContext, Record};
use longboat_core::team::{SendRefused, TeamState, decide_send};
use longboat_core::time::Timestamp;

pub(crate) fn name(text: &str) -> MemberName {
    MemberName::new(text).unwrap()
}

fn lead() -> SessionId {
    SessionId::new("s-1").unwrap()
}

pub(crate) fn given(events: &[Event]) -> TeamState {
    let mut state = TeamState::new(TeamId::of(lead()));
    for (event, seq) in events.iter().zip(0..) {
        let record = Record { seq: Seq(seq), at: Timestamp(seq), key: None, event: event.clone() };
        state.apply(&record).unwrap();
    }
    state
}

pub(crate) fn member(who: &str, change: MemberChange) -> Event {
    Event::TeamMember { team: TeamId::of(lead()), member: name(who), change }
}

pub(crate) fn provisioning(who: &str) -> Event {
    let session = lead().teammate(&name(who)).unwrap();
    let description = "works".to_owned();
    let context = MemberContext::Fresh;
    member(
        who,
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

fn team_of(names: &[&str]) -> Vec<Event> {
    let made = names.iter().flat_map(|n| [provisioning(n), member(n, MemberChange::Active)]);
    made.collect()
}

fn queued(n: u64, from: &str, to: &str) -> Event {
    let (team, message) = (TeamId::of(lead()), MessageId::nth(n));
    Event::TeamMessageQueued { team, message, from: name(from), to: name(to), text: "hi".into() }
}

fn delivered(n: u64, to: &str) -> Event {
    let (team, message) = (TeamId::of(lead()), MessageId::nth(n));
    Event::TeamMessageDelivered { team, message, to: name(to) }
}

fn send(state: &TeamState, from: &str, target: &str, text: &str) -> Result<String, SendRefused> {
    send_with(state, from, target, text, 0)
}

fn send_with(
    state: &TeamState,
    from: &str,
    target: &str,
    text: &str,
    unread: usize,
) -> Result<String, SendRefused> {
    let lead = lead();
    let parts = (&lead, state.roster(), state.mailbox());
    let limits = Limits::default();
    decide_send(parts, &limits, &name(from), target, text, &|_| unread)
        .map(|(message, to)| format!("{message} to {to}"))
}

#[test]
fn p1_members_address_each_other_and_the_lead_by_name_or_session() {
    let state = given(&team_of(&["a", "b"]));
    assert_eq!(send(&state, "lead", "a", "x"), Ok("m1 to a".to_owned()));
    assert_eq!(send(&state, "a", "b", "x"), Ok("m1 to b".to_owned()));
    assert_eq!(send(&state, "a", "lead", "x"), Ok("m1 to lead".to_owned()));
    assert_eq!(send(&state, "a", "s-1", "x"), Ok("m1 to lead".to_owned()));
    assert_eq!(send(&state, "a", "s-1.b", "x"), Ok("m1 to b".to_owned()));
}

#[test]
fn a_message_to_oneself_is_refused_by_name_and_by_id() {
    let state = given(&team_of(&["a"]));
    for (from, target) in [("a", "a"), ("a", "s-1.a"), ("lead", "lead"), ("lead", "s-1")] {
        let refused = send(&state, from, target, "x").unwrap_err();
        assert_eq!(refused, SendRefused::ToItself { name: name(from) });
    }
}

#[test]
fn p20_an_unknown_target_is_answered_with_who_there_is() {
    let state = given(&team_of(&["a"]));
    let refused = send(&state, "lead", "bob", "x").unwrap_err();
    assert_eq!(refused.to_string(), "there is no member \"bob\"; the members are lead, a");
}

#[test]
fn a_target_that_failed_is_refused_with_the_reason() {
    let reason = "disk full".to_owned();
    let state = given(&[provisioning("a"), member("a", MemberChange::Failed { reason })]);
    let refused = send(&state, "lead", "a", "x").unwrap_err();
    assert_eq!(refused.code(), "target_failed");
    assert!(refused.to_string().contains("disk full"));
}

#[test]
fn p11_unread_and_owed_messages_count_together_against_the_limit() {
    let mut events = team_of(&["a"]);
    events.extend((1..=40).map(|n| queued(n, "lead", "a")));
    let state = given(&events);
    assert!(send_with(&state, "lead", "a", "x", 23).is_ok());
    let refused = send_with(&state, "lead", "a", "x", 24).unwrap_err();
    let full = SendRefused::MailboxFull { name: name("a"), pending: 64, limit: 64 };
    assert_eq!(refused, full);
}

#[test]
fn p11_the_frame_counts_against_the_size_limit() {
    let state = given(&team_of(&["a"]));
    let frame = "[message m1 from lead]\n".len();
    assert!(send(&state, "lead", "a", &"x".repeat(65_536 - frame)).is_ok());
    let refused = send(&state, "lead", "a", &"x".repeat(65_537 - frame)).unwrap_err();
    assert_eq!(refused, SendRefused::TooLong { bytes: 65_537, limit: 65_536 });
}

#[test]
fn p20_an_empty_message_is_refused() {
    let state = given(&team_of(&["a"]));
    assert_eq!(send(&state, "lead", "a", " \n"), Err(SendRefused::Empty));
}

#[test]
fn p7_delivery_out_of_order_is_not_a_history() {
    let mut events = team_of(&["a", "b"]);
    events.extend([queued(1, "lead", "a"), queued(2, "b", "a"), queued(3, "lead", "b")]);
    let mut state = given(&events);
    let seq = Seq(events.len() as u64);
    let at = Timestamp(9);
    let out_of_order = Record { seq, at, key: None, event: delivered(2, "a") };
    assert!(state.apply(&out_of_order).is_err());
    let mut state = given(&events);
    let other_target = Record { seq, at, key: None, event: delivered(3, "b") };
    assert_eq!(state.apply(&other_target), Ok(()));
}

#[test]
fn delivered_messages_leave_memory() {
    let mut events = team_of(&["a"]);
    events.extend([queued(1, "lead", "a"), queued(2, "lead", "a"), delivered(1, "a")]);
    let state = given(&events);
    let owed: Vec<_> = state.mailbox().owed_to(&name("a")).map(|m| m.id.clone()).collect();
    assert_eq!(owed, [MessageId::nth(2)]);
    assert_eq!(state.mailbox().next_id(), MessageId::nth(3));
}

#[test]
fn p13_records_of_another_team_are_ignored() {
    let other = TeamId::of(SessionId::new("s-0").unwrap());
    let inherited =
        Event::TeamMember { team: other, member: name("a"), change: MemberChange::Active };
    let state = given(&[inherited]);
    assert_eq!(state.roster().iter().count(), 0);
    assert_eq!(state.revision_for(None).0, 0);
}

#[test]
fn a_million_delivered_messages_leave_nothing_in_memory() {
    let mut state = given(&team_of(&["a"]));
    let mut seq = 2;
    let mut apply = |state: &mut TeamState, event: Event| {
        let record = Record { seq: Seq(seq), at: Timestamp(seq), key: None, event };
        seq += 1;
        state.apply(&record).unwrap();
    };
    for n in 1..=1_000_000 {
        apply(&mut state, queued(n, "lead", "a"));
        apply(&mut state, delivered(n, "a"));
    }
    assert_eq!(state.mailbox().debtors().count(), 0);
    assert_eq!(state.mailbox().next_id(), MessageId::nth(1_000_001));
    assert_eq!(send(&state, "lead", "a", "x"), Ok("m1000001 to a".to_owned()));
}
