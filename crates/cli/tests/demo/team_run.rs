//! A demo from its beginning to its end.

use crate::normal::story;
use crate::place::Place;
use serde_json::Value;

/// The demo's own words for what must not differ: all records of all sessions.
fn told(place: &Place) -> String {
    let export = place.run(&["export"]);
    assert_eq!((export.code, export.err.as_str()), (Some(0), ""));
    let workspace = place.workspace().display().to_string();
    story(&export.out, &[(workspace, "<workspace>")])
}

#[test]
fn a_team_repairs_a_project_and_leaves_the_same_logs_on_every_machine() {
    let place = Place::new();
    let done = place.demo(&[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    insta::assert_snapshot!(told(&place));
}

#[test]
fn a_demo_shows_the_team_at_work_and_then_the_way_of_every_message() {
    let place = Place::new();
    let done = place.demo(&[]);
    for line in [
        "lead makes implementer: changes the code and runs the test",
        "researcher: task t1 is completed, researcher: Find the cause",
        "implementer: m1 read",
        "implementer: task t2 is completed, implementer: Repair it",
    ] {
        assert!(done.err.contains(line), "{line}\n{}", done.err);
    }
    let last = done.err.lines().last().unwrap();
    let (lead, store) = (place.lead(), place.store());
    assert_eq!(last, format!("look at it with: longboat show {lead} --store {}", store.display()));
    for part in
        ["Members\n", "Tasks\n", "Messages (3 queued, 3 read)\n", "researcher → implementer"]
    {
        assert!(done.out.contains(part), "{part}\n{}", done.out);
    }
    assert!(!done.out.contains('\u{1b}'), "no colours where there is no terminal");
    let code = std::fs::read_to_string(place.workspace().join("src/lib.rs")).unwrap();
    assert!(code.contains("left_over"), "{code}");
}

#[test]
fn every_wire_carries_the_same_story() {
    for wire in ["openai-chat", "anthropic"] {
        let place = Place::new();
        let done = place.demo(&["--wire", wire]);
        assert_eq!(done.code, Some(0), "{wire}: {done:?}");
        let story = told(&place);
        assert!(story.contains(&format!("\"wire\":\"{wire}\"")), "{wire}");
        let other = if wire == "anthropic" { "openai-chat" } else { "anthropic" };
        assert!(!story.contains(&format!("\"wire\":\"{other}\"")), "{wire}");
    }
}

#[test]
fn a_demo_in_json_prints_each_event_once_and_nothing_else() {
    let place = Place::new();
    let done = place.demo(&["--json"]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let key = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        (event["session"].to_string(), event["seq"].as_u64().unwrap(), event["data"].to_string())
    };
    let mut printed: Vec<_> = done.out.lines().map(key).collect();
    let mut stored: Vec<_> = place.run(&["export"]).out.lines().map(key).collect();
    printed.sort();
    stored.sort();
    assert_eq!(printed, stored);
}

#[test]
fn a_demo_whose_place_cannot_be_made_says_so() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_longboat"));
    let output = command.arg("demo").arg("--within").arg(file.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("longboat: making the demo's directory: "), "{err}");
}
