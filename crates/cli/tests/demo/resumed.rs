//! A demo whose process is killed goes on, and ends as it would have ended.

use crate::place::Place;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde_json::Value;
use std::process::Child;

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

fn signal(child: &Child, signal: Signal) {
    kill(pid(child), signal).unwrap();
}

fn is(event: &Value, member: &str, kind: &str) -> bool {
    event["member"] == member && event["type"] == kind
}

fn message(event: &Value, kind: &str, id: &str) -> bool {
    event["type"] == kind && event["data"]["message"] == id
}

/// Kills a demo at an event, and resumes it.
fn killed_at(fits: impl Fn(&Value) -> bool) {
    let place = Place::new();
    let mut child = place.demo_until(fits);
    signal(&child, Signal::SIGKILL);
    child.wait().unwrap();
    let done = place.run(&["resume"]);
    assert_eq!(done.code, Some(0), "{done:?}");

    let story = place.json(&["show", "--json"]);
    let messages = story["messages"].as_array().unwrap();
    let way = |message: &Value| {
        ["message", "from", "to", "state"].map(|field| message[field].as_str().unwrap().to_owned())
    };
    let ways: Vec<_> = messages.iter().map(way).collect();
    assert_eq!(
        ways,
        [
            ["m1", "researcher", "implementer", "read"],
            ["m2", "researcher", "lead", "read"],
            ["m3", "implementer", "lead", "read"],
        ]
    );
    for task in story["tasks"].as_array().unwrap() {
        assert_eq!(task["state"]["status"], "completed", "{task}");
    }
    let test = std::process::Command::new("./test.sh").current_dir(place.workspace()).output();
    assert!(test.unwrap().status.success());
}

// P2, P8: what was decided before the kill is there after it, and what was owed arrives.

#[test]
fn p8_killed_before_there_are_teammates() {
    killed_at(|event| is(event, "lead", "team/task"));
}

#[test]
fn p2_killed_when_a_message_was_just_queued() {
    killed_at(|event| message(event, "team/message/queued", "m1"));
}

#[test]
fn p8_killed_when_a_message_was_delivered_and_not_read() {
    killed_at(|event| message(event, "team/message/delivered", "m2"));
}

#[test]
fn p19_killed_in_the_middle_of_a_step() {
    killed_at(|event| is(event, "implementer", "inbox/claimed") && event["data"]["step"] == 3);
}

#[test]
fn p8_killed_when_the_repair_was_done() {
    killed_at(|event| {
        let data = &event["data"];
        is(event, "implementer", "tool/result") && data["step"] == 4 && data["index"] == 1
    });
}

#[test]
fn a_demo_that_ended_can_be_resumed_and_ends_at_once() {
    let place = Place::new();
    assert_eq!(place.demo(&["-q"]).code, Some(0));
    let before = place.run(&["export"]).out;
    let done = place.run(&["resume", "-q"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(place.run(&["export"]).out, before);
}

#[test]
fn looking_needs_no_ownership_beside_a_live_owner_and_after_a_kill() {
    let place = Place::new();
    let mut child = place.demo_until(|event| message(event, "team/message/delivered", "m1"));
    signal(&child, Signal::SIGSTOP);
    let stopped = waitpid(pid(&child), Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(pid(&child), Signal::SIGSTOP));
    let looks = || {
        ["sessions --json", "show --json", "show --member implementer --json", "export"].map(
            |look| {
                let done = place.run(&look.split(' ').collect::<Vec<_>>());
                assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{look}");
                done.out
            },
        )
    };
    let beside = looks();
    let story: Value = serde_json::from_str(&beside[1]).unwrap();
    assert_eq!(story["members"][0]["status"], "open_turn");
    assert!(story["messages"][0]["accepted"].is_string());
    signal(&child, Signal::SIGKILL);
    child.wait().unwrap();
    // A commit that was under way when the process was stopped may be seen after its death; what
    // was seen before it is there all the same.
    let after = looks();
    let kept = |line: &str| after[3].lines().any(|other| other == line);
    assert!(beside[3].lines().all(kept), "{beside:?}");
}
