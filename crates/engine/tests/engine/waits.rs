//! Waiting: it ends at the next change, at mail for the waiter, at once when nobody runs, or at its
//! timeout.

use super::delivery::{done, look, send, spawn, wait};
use longboat_scripted::{Agent, Hold, Point, Step};
use longboat_testkit::World;
use serde_json::json;

/// Why the waits of a session ended, in order.
fn ends(results: &[String]) -> Vec<&str> {
    let ended = results.iter().filter_map(|text| text.split("\"ended_by\":\"").nth(1));
    ended.filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn p16_a_wait_ends_with_mail_for_the_waiter_which_it_reads_at_that_boundary() {
    // The worker waits; the Lead writes to it when it does.
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![
                spawn("worker"),
                send("worker", "look here").held(Hold::until("worker", 0, Point::Answered)),
                wait(),
                wait(),
                done(),
            ],
        ),
        Agent::member("worker", vec![wait(), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let worker = logs.results("s-1.worker");
    assert!(["message", "change"].contains(&ends(&worker)[0]), "{worker:?}");
    let read = world
        .requests("worker")
        .iter()
        .any(|seen| seen.step <= 2 && seen.body.contains("look here"));
    assert!(read);
}

#[tokio::test]
async fn p16_since_returns_at_once_when_the_awaited_has_finished_meanwhile() {
    // The Lead lists, then the worker ends its turn, then the Lead waits from that list on.
    let since = json!({"since": 0, "timeout_ms": 3_600_000});
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![
                spawn("worker"),
                look(),
                Step::call("wait_agent", since).held(Hold::until("worker", 0, Point::Answered)),
                done(),
            ],
        ),
        Agent::member("worker", vec![done().held(Hold::until("lead", 2, Point::Arrived))]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    assert_eq!(ends(&logs.results("s-1")), ["change"]);
}

#[tokio::test]
async fn p16_with_nobody_else_running_a_wait_says_so_at_once() {
    let hour = Step::call("wait_agent", json!({"timeout_ms": 3_600_000}));
    let world = World::of(vec![Agent::member("lead", vec![hour, done()])]).await;
    let (_, logs) = world.run("chat").await;
    assert_eq!(ends(&logs.results("s-1")), ["nobody_running"]);
}

#[tokio::test]
async fn p16_a_wait_ends_with_a_change_of_status_roster_mailbox_or_task() {
    let create = json!({"subject": "s", "description": "d"});
    let acts: [(&str, Step); 3] = [
        ("task", Step::call("team_task_create", create)),
        ("mailbox", send("b", "x")),
        ("status", done()),
    ];
    for (what, act) in acts {
        let hour = Step::call("wait_agent", json!({"timeout_ms": 3_600_000}));
        let act = act.held(Hold::gate("act"));
        let busy = || done().held(Hold::gate("end"));
        let world = World::of(vec![
            Agent::member("lead", vec![spawn("a"), spawn("b"), hour, done()]),
            Agent::member("a", vec![act, busy()]),
            Agent::member("b", vec![busy()]),
        ])
        .await;
        let life = world.live();
        let team = life.create(&world.workspace(), "chat").await;
        let mut follower = longboat_testkit::follow(&team).await;
        longboat_testkit::say(&team, "lead", "p1", "go").await;
        longboat_testkit::until(&mut follower, |session, event| {
            let waiting = longboat_core::id::StepNo(3);
            session.as_str() == "s-1"
                && matches!(event, longboat_core::log::Event::ToolStarted { step, .. } if *step == waiting)
        })
        .await;
        world.server.open_gate("act");
        longboat_testkit::until(&mut follower, |session, event| {
            session.as_str() == "s-1"
                && matches!(event, longboat_core::log::Event::TurnEnded { .. })
        })
        .await;
        world.server.open_gate("end");
        team.quiescent().await.unwrap();
        life.end(&team).await;
        let results = world.logs().await.results("s-1");
        assert_eq!(ends(&results), ["change"], "{what}");
    }
}

#[tokio::test]
async fn p16_a_wait_without_news_ends_at_its_timeout() {
    let short = Step::call("wait_agent", json!({"timeout_ms": 10_000}));
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), short, done()]),
        Agent::member("worker", vec![done().held(Hold { at_most_ms: 12_000, ..Hold::gate("x") })]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let ended = ends(&logs.results("s-1")).join(" ");
    assert_eq!(ended, "timeout");
}
