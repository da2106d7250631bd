//! The roster: provisioning is a transaction, only the Lead spawns, a fork is a new root.

use super::delivery::{done, send, spawn, wait};
use longboat_core::id::{EventKey, ItemId, MemberName, SessionId, TeamId};
use longboat_core::log::{
    Event, InboxItem, Lane, MemberChange, MemberContext, SessionKind, Source, encode,
};
use longboat_core::time::Timestamp;
use longboat_engine::Status;
use longboat_scripted::{Agent, Step};
use longboat_store::{Append, NewRecord, Store};
use longboat_testkit::{World, say};
use serde_json::json;
use std::sync::Arc;

async fn write(store: &dyn Store, session: &str, events: Vec<(Option<EventKey>, Event)>) {
    let records = events.into_iter().map(|(key, event)| NewRecord {
        at: Timestamp(1),
        kind: event.kind().to_owned(),
        key,
        data: encode(&event).unwrap(),
    });
    let session = SessionId::new(session).unwrap();
    let append = Append { session, expected_head: None, records: records.collect() };
    store.commit(vec![append]).await.unwrap();
}

/// What of a child is in its log when the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    Nothing,
    Lineage,
    OtherTeam,
    Descriptor,
    FirstPrompt,
}

fn child(made: Made) -> Vec<(Option<EventKey>, Event)> {
    let session = SessionId::new("s-1.worker").unwrap();
    let lead = if made == Made::OtherTeam { "s-9" } else { "s-1" };
    let team = TeamId::of(SessionId::new(lead).unwrap());
    let name = MemberName::new("worker").unwrap();
    let kind = SessionKind::Teammate { team: team.clone(), name };
    let created = Event::SessionCreated {
        session: session.clone(),
        kind,
        cwd: "/tmp".to_owned(),
        role: None,
    };
    let configured = Event::SessionConfigured {
        model: "chat".to_owned(),
        system: "You are `worker`".into(),
        tools: Arc::new([]),
    };
    let id = ItemId::first_prompt(&session);
    let key = EventKey::inbox(&id);
    let item = Arc::new(InboxItem { id, source: Source::Spawn { team }, text: "begin".into() });
    let first = Event::InboxInserted { lane: Lane::NextTurn, item };
    let all = vec![(None, created), (None, configured), (Some(key), first)];
    let keep = match made {
        Made::Nothing => 0,
        Made::Lineage => 1,
        Made::Descriptor => 2,
        Made::OtherTeam | Made::FirstPrompt => 3,
    };
    all.into_iter().take(keep).collect()
}

#[tokio::test]
async fn p12_half_made_teammates_are_settled_from_their_own_logs() {
    for made in [Made::Nothing, Made::Lineage, Made::OtherTeam, Made::Descriptor, Made::FirstPrompt]
    {
        let world = World::of(vec![
            Agent::member("lead", vec![done()]),
            Agent::member("worker", vec![Step::text("I am here")]),
        ])
        .await;
        let life = world.live();
        let team = life.create(&world.workspace(), "chat").await;
        team.close().await;
        let session = SessionId::new("s-1.worker").unwrap();
        let provisioning = Event::TeamMember {
            team: TeamId::of(SessionId::new("s-1").unwrap()),
            member: MemberName::new("worker").unwrap(),
            change: MemberChange::Provisioning {
                session,
                description: "works".to_owned(),
                role: None,
                context: MemberContext::Fresh,
                parent: None,
                isolation: None,
            },
        };
        write(&*life.store, "s-1", vec![(None, provisioning)]).await;
        if made != Made::Nothing {
            write(&*life.store, "s-1.worker", child(made)).await;
        }
        let team = life.resume("s-1").await;
        team.quiescent().await.unwrap();
        let view = team.look().await.unwrap();
        let status = view.members[1].status.clone();
        match made {
            Made::FirstPrompt => {
                assert_eq!(status, Status::Idle);
                let last = view.members[1].last.clone().unwrap();
                assert_eq!(last.excerpt, "I am here", "its first turn was run");
            }
            _ => assert!(matches!(status, Status::Failed { .. }), "{made:?}: {status:?}"),
        }
        life.end(&team).await;
    }
}

#[tokio::test]
async fn p12_a_spawn_that_fails_is_durable_and_keeps_the_name() {
    let world = World::of(vec![Agent::member(
        "lead",
        vec![spawn("worker"), spawn("worker"), send("worker", "x"), done()],
    )])
    .await;
    let life = world.live();
    // Somebody else's log is where the child's should be.
    write(&*life.store, "s-1.worker", child(Made::Lineage)).await;
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let results = world.logs().await.results("s-1");
    assert!(results[0].contains("could not be made and its name stays taken"), "{results:?}");
    assert!(results[1].contains("names are never reused"));
    assert!(results[2].contains("will never read mail"));
}

#[tokio::test]
async fn p13_a_teammate_has_no_tool_to_spawn_or_interrupt() {
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), wait(), wait(), done()]),
        Agent::member(
            "worker",
            vec![
                spawn("another"),
                Step::call("interrupt_agent", json!({"target": "lead"})),
                done(),
            ],
        ),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    for result in logs.results("s-1.worker") {
        assert!(result.starts_with("there is no tool"), "{result}");
    }
    assert_eq!(logs.sessions().len(), 2);
}

#[tokio::test]
async fn p13_a_fork_is_a_new_root_that_ignores_the_old_team() {
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![
                spawn("worker"),
                wait(),
                wait(),
                Step::text("first turn over"),
                spawn("worker"),
                wait(),
                wait(),
                done(),
            ],
        ),
        Agent::member("worker", vec![done()]),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    team.quiescent().await.unwrap();
    let fork = life.teams.fork(team.team().lead()).await.unwrap();
    let view = fork.look().await.unwrap();
    assert_eq!(view.members.len(), 1, "it has no members");
    say(&fork, "lead", "p2", "go on in the fork").await;
    fork.quiescent().await.unwrap();
    fork.close().await;
    life.end(&team).await;
    let logs = world.logs().await;
    assert!(logs.sessions().contains(&"s-2.worker"), "the name is free in the new team");
    let (before, after) = (world.request("lead", 3), world.request("lead", 4));
    assert!(
        after.starts_with(before.trim_end_matches("]}")),
        "it begins with the same conversation"
    );
}

#[tokio::test]
async fn a_teammate_forked_from_the_lead_begins_with_its_ended_turns() {
    let forked =
        json!({"name": "worker", "description": "d", "prompt": "your part", "context": "fork"});
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![
                Step::text("the plan is X"),
                Step::call("spawn_teammate", forked),
                wait(),
                wait(),
                done(),
            ],
        ),
        Agent::member("worker", vec![done(), done(), done()]),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "make a plan").await;
    team.quiescent().await.unwrap();
    say(&team, "lead", "p2", "now make a team").await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let request = &world.requests("worker")[0].body;
    assert!(request.contains("make a plan") && request.contains("the plan is X"));
    assert!(!request.contains("now make a team"), "the open turn is not copied");
    assert!(request.contains("your part"));
}
