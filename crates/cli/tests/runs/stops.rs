//! Stopped by a person or killed by anything, a run goes on to the same end.

use super::place::{Place, ended, send, spawn, step, wait};
use longboat_scripted::{Agent, Hold, Step};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

fn held_team() -> Vec<Agent> {
    vec![
        Agent::member(
            "lead",
            vec![spawn("worker"), wait(), wait(), wait(), Step::text("summed up")],
        ),
        Agent::member(
            "worker",
            vec![
                send("lead", "half way"),
                step("bash", json!({"command": "echo x >> ran; echo started > flag; sleep 1000"})),
                send("lead", "all of it").held(Hold::gate("later")),
                Step::text("over"),
            ],
        ),
    ]
}

/// Waits until the worker's command runs, and signals the process.
async fn stop(place: &Place, signal: Signal) -> super::place::Ended {
    let child = place.run(&[]).spawn().unwrap();
    let flag = place.workspace().join("flag");
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(5));
    while !flag.exists() {
        tick.tick().await;
    }
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    kill(pid, signal).unwrap();
    ended(child).await
}

async fn goes_on(place: &Place) {
    place.server.open_gate("later");
    let resumed = place.end(place.command(&["resume"])).await;
    assert_eq!((resumed.code, resumed.out.as_str()), (Some(0), "summed up\n"), "{}", resumed.err);
    assert_eq!(place.wrong().await, Vec::<String>::new());
    let ran = std::fs::read_to_string(place.workspace().join("ran")).unwrap();
    assert_eq!(ran, "x\n", "nothing is run again silently");
    let exported = place.end(place.command(&["export"])).await.out;
    assert_eq!(exported.matches("\"team/message/queued\"").count(), 2);
}

#[tokio::test]
async fn ctrl_c_suspends_and_resume_goes_on_to_the_same_end() {
    let place = Place::of(held_team()).await;
    let stopped = stop(&place, Signal::SIGINT).await;
    assert_eq!(stopped.code, Some(130), "{}", stopped.err);
    assert!(stopped.err.contains("go on with: longboat resume s-"), "{}", stopped.err);
    goes_on(&place).await;
    let told = place.server.arrived("worker", 2).await.body;
    assert!(told.contains("outcome unknown: longboat was stopped while it ran"));
}

#[tokio::test]
async fn after_a_kill_inside_a_tool_call_resume_says_the_outcome_is_unknown_and_goes_on() {
    let place = Place::of(held_team()).await;
    let killed = stop(&place, Signal::SIGKILL).await;
    assert_eq!(killed.code, None);
    goes_on(&place).await;
    let told = place.server.arrived("worker", 2).await.body;
    assert!(told.contains("outcome unknown: interrupted by restart"));
}

#[tokio::test]
async fn a_second_ctrl_c_ends_it_at_once() {
    let place = Place::of(held_team()).await;
    let child = place.run(&[]).spawn().unwrap();
    place.server.arrived("worker", 0).await;
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    // The process may be gone already: then the first one was enough.
    kill(pid, Signal::SIGINT).ok();
    assert_eq!(ended(child).await.code, Some(130));
}
