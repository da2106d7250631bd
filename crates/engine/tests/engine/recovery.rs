//! Coming back: what is owed is delivered in order, once, and what was open goes on.

use super::delivery::{done, look, send, spawn, wait};
use longboat_core::content::{FinishReason, Reply, ReplyBlock, ToolCall, Usage, Wire};
use longboat_core::id::{
    CallId, EventKey, ItemId, MemberName, MessageId, Origin, SessionId, TeamId,
};
use longboat_core::log::{ActivityChange, Event, InboxItem, Lane, Sender, Source, Trigger, encode};
use longboat_core::time::Timestamp;
use longboat_engine::Notice;
use longboat_scripted::{Agent, Hold, Point};
use longboat_store::{Append, NewRecord, Store};
use longboat_testkit::{Life, World, follow, say, until_released};
use std::time::Duration;

async fn write(store: &dyn Store, session: &str, key: Option<EventKey>, event: &Event) {
    let record = NewRecord {
        at: Timestamp(1),
        kind: event.kind().to_owned(),
        key,
        data: encode(event).unwrap(),
    };
    let session = SessionId::new(session).unwrap();
    let append = Append { session, expected_head: None, records: vec![record] };
    store.commit(vec![append]).await.unwrap();
}

/// A team of two that rests, with its process gone.
async fn rested(world: &World) -> Life {
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    team.quiescent().await.unwrap();
    team.close().await;
    life
}

fn team() -> TeamId {
    TeamId::of(SessionId::new("s-1").unwrap())
}

fn queued(n: u64) -> Event {
    let (from, to) = (MemberName::lead(), MemberName::new("worker").unwrap());
    let text = format!("text {n}").into();
    Event::TeamMessageQueued { team: team(), message: MessageId::nth(n), from, to, text }
}

fn inserted(n: u64) -> (EventKey, Event) {
    let id = ItemId::message(&team(), &MessageId::nth(n));
    let sender = Sender { name: MemberName::lead(), session: SessionId::new("s-1").unwrap() };
    let source =
        Source::Team { team: team(), message: MessageId::nth(n), sender, sent_at: Timestamp(1) };
    let key = EventKey::inbox(&id);
    let item = InboxItem { id, source, text: format!("text {n}").into() };
    (key, Event::InboxInserted { lane: Lane::NextStep, item: item.into() })
}

fn two() -> Vec<Agent> {
    vec![
        Agent::member("lead", vec![spawn("worker"), wait(), wait(), done(), done()]),
        Agent::member("worker", vec![done(), done(), done()]),
    ]
}

#[tokio::test]
async fn p8_what_was_queued_and_not_delivered_is_delivered_in_order_at_resume() {
    let world = World::of(two()).await;
    let life = rested(&world).await;
    for n in 1..=3 {
        write(&*life.store, "s-1", None, &queued(n)).await;
    }
    let team = life.resume("s-1").await;
    let end = team.quiescent().await.unwrap();
    life.end(&team).await;
    assert_eq!(end.owed, []);
    let request = world.request("worker", 1);
    let places = [1, 2, 3].map(|n| request.find(&format!("text {n}")).unwrap());
    assert!(places.is_sorted());
}

#[tokio::test]
async fn p5_p6_death_between_insertion_and_acknowledgement_doubles_nothing() {
    let world = World::of(two()).await;
    let life = rested(&world).await;
    write(&*life.store, "s-1", None, &queued(1)).await;
    let (key, insert) = inserted(1);
    write(&*life.store, "s-1.worker", Some(key.clone()), &insert).await;
    let team = life.resume("s-1").await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let logs = world.logs().await;
    assert_eq!(logs.with_key("s-1.worker", &key), 1);
    assert_eq!(logs.with_key("s-1", &EventKey::delivered(&MessageId::nth(1))), 1);
    assert_eq!(world.request("worker", 1).matches("text 1").count(), 1);
}

#[tokio::test]
async fn p8_an_unreachable_target_gets_its_mail_when_the_cause_is_gone() {
    // The workspace goes away while the worker is out of memory, and comes back later.
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![
                spawn("worker"),
                send("worker", "first").held(Hold::gate("away")),
                send("worker", "second"),
                look(),
                done(),
            ],
        ),
        Agent::member("worker", vec![done(), done()]),
    ])
    .await
    .releasing_after(Duration::from_millis(20));
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    until_released(&mut follower).await;
    let (here, away) = (world.workspace(), world.workspace().with_extension("away"));
    std::fs::rename(&here, &away).unwrap();
    world.server.open_gate("away");
    loop {
        match follower.next().await.unwrap() {
            Notice::Unreachable { cause, .. } => {
                assert!(cause.contains("its workspace"), "{cause}");
                break;
            }
            _ => continue,
        }
    }
    world.server.answered("lead", 3).await;
    std::fs::rename(&away, &here).unwrap();
    let end = team.quiescent().await.unwrap();
    life.end(&team).await;
    assert_eq!(end.owed, [], "nobody sent anything again");
    let results = world.logs().await.results("s-1");
    assert!(results[1].contains("\"status\":\"queued\"") && results[1].contains("its workspace"));
    assert!(results[3].contains("\"owed\":2"), "list_agents shows it: {}", results[3]);
    let request = world.request("worker", 1);
    assert!(request.find("]\\nfirst").unwrap() < request.find("]\\nsecond").unwrap());
}

#[tokio::test]
async fn p8_a_turn_that_was_open_goes_on_after_a_stop() {
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), wait(), wait(), wait(), done()]),
        Agent::member(
            "worker",
            vec![look(), send("lead", "ready").held(Hold::gate("later")), done()],
        ),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    world.server.arrived("worker", 1).await;
    life.end(&team).await;

    world.server.open_gate("later");
    let life = world.live();
    let team = life.resume("s-1").await;
    let end = team.quiescent().await.unwrap();
    life.end(&team).await;
    assert_eq!(end.final_text, "done");
    let logs = world.logs().await;
    assert_eq!(logs.events("s-1", "team/message/queued").len(), 1);
    // P19: what was asked before the stop and again after it is the same, byte for byte.
    let asked: Vec<String> = world
        .requests("worker")
        .into_iter()
        .filter(|seen| seen.step == 1)
        .map(|seen| seen.body)
        .collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1]);
}

#[tokio::test]
async fn p3_mail_sent_while_its_target_was_being_made_waits_for_it() {
    // Both calls are in one reply: the second is sent before the teammate has run a step.
    let both = spawn("worker")
        .and_call("send_message", serde_json::json!({"target": "worker", "message": "also this"}));
    let world = World::of(vec![
        Agent::member("lead", vec![both, wait(), wait(), done()]),
        Agent::member("worker", vec![done().held(Hold::until("lead", 1, Point::Arrived)), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    assert!(logs.results("s-1")[1].contains("accepted"));
    assert!(world.requests("worker").iter().any(|seen| seen.body.contains("also this")));
}

#[tokio::test]
async fn p20_a_target_whose_log_is_damaged_is_reported_to_sender_and_lead_with_what_is_owed() {
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![
                spawn("worker"),
                wait(),
                wait(),
                send("worker", "are you there").held(Hold::gate("damaged")),
                done(),
                done(),
            ],
        ),
        Agent::member("worker", vec![done()]),
    ])
    .await
    .releasing_after(Duration::from_millis(20));
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    until_released(&mut follower).await;
    // An event that cannot follow what is there.
    let wrong = Event::TurnEnded {
        turn: longboat_core::id::TurnNo(9),
        outcome: longboat_core::log::TurnOutcome::Completed,
    };
    write(&*life.store, "s-1.worker", None, &wrong).await;
    world.server.open_gate("damaged");
    let end = team.quiescent().await.unwrap();
    let view = team.look().await.unwrap();
    life.end(&team).await;
    assert_eq!(end.owed.len(), 1, "{end:?}");
    assert!(end.owed[0].2.contains("turn 9 cannot end here"), "{end:?}");
    assert!(view.members[1].unreachable.as_ref().unwrap().contains("contradicts itself at seq"));
    let logs = world.logs().await;
    assert!(logs.results("s-1").iter().any(|text| text.contains("\"status\":\"queued\"")));
    let told = world.requests("lead").pop().unwrap().body;
    assert!(
        told.contains("[notice]\\nworker cannot read its mail")
            && told.contains("Still owed to it: m1")
    );
}

#[tokio::test]
async fn p2_a_team_call_that_was_begun_and_had_no_effect_is_made_by_the_next_process_once() {
    for had_effect in [false, true] {
        let world = World::of(two()).await;
        let life = rested(&world).await;
        let lead = SessionId::new("s-1").unwrap();
        let state = longboat_engine::load_session(&*life.store, &lead).await.unwrap();
        let (turn, step) = (state.last_turn().next(), state.last_step().next());
        let id = ItemId::new("by hand").unwrap();
        let item = InboxItem { id: id.clone(), source: Source::Human, text: "again".into() };
        let call = CallId::new("c").unwrap();
        let arguments = r#"{"target":"worker","message":"by hand"}"#.to_owned();
        let blocks = vec![ReplyBlock::ToolCall(ToolCall {
            id: call.clone(),
            name: "send_message".to_owned(),
            arguments,
        })];
        let usage = Usage::default();
        let reply = Reply { wire: Wire::OpenaiChat, blocks, finish: FinishReason::Done, usage };
        let events = [
            Event::InboxInserted { lane: Lane::NextTurn, item: item.into() },
            Event::TurnStarted { turn, trigger: Trigger::Prompt },
            Event::TeamActivity {
                team: team(),
                member: MemberName::lead(),
                change: ActivityChange::TurnStarted { turn },
            },
            Event::InboxClaimed { step, items: vec![id] },
            Event::StepStarted { turn, step },
            Event::AssistantMessage { step, reply: reply.into() },
            Event::ToolStarted { step, index: 0, call },
        ];
        for event in &events {
            write(&*life.store, "s-1", None, event).await;
        }
        if had_effect {
            let key = Origin { session: lead.clone(), step, index: 0 }.key();
            let text = "by hand".into();
            let (from, to) = (MemberName::lead(), MemberName::new("worker").unwrap());
            let message = MessageId::nth(1);
            let queued = Event::TeamMessageQueued { team: team(), message, from, to, text };
            write(&*life.store, "s-1", Some(key), &queued).await;
        }
        let team = life.resume("s-1").await;
        let end = team.quiescent().await.unwrap();
        life.end(&team).await;
        assert!(end.owed.is_empty());
        let logs = world.logs().await;
        assert_eq!(logs.events("s-1", "team/message/queued").len(), 1, "{had_effect}");
        let results = logs.results("s-1");
        let status = if had_effect { "queued" } else { "accepted" };
        assert!(results.last().unwrap().contains(status), "{had_effect}: {results:?}");
        let read = world.requests("worker").last().unwrap().body.clone();
        assert!(read.contains("[message m1 from lead]\\nby hand"), "{read}");
    }
}
