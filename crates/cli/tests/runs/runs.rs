//! A run to its end: what it prints, and where.

use super::place::{Place, send, spawn, step, wait};
use longboat_scripted::{Agent, Hold, Step, WireName};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn team() -> Vec<Agent> {
    let write = json!({"path": "hello.txt", "content": "hello\n"});
    vec![
        Agent::member(
            "lead",
            vec![spawn("worker"), wait(), wait(), wait(), Step::text("All done.")],
        ),
        Agent::member(
            "worker",
            vec![
                step("write", write).and_call("bash", json!({"command": "cat hello.txt"})),
                send("lead", "it is there"),
                Step::text("I wrote it."),
            ],
        ),
    ]
}

#[tokio::test]
async fn the_answer_goes_to_standard_output_and_progress_to_standard_error() {
    let place = Place::of(team()).await;
    let ended = place.end(place.run(&[])).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "All done.\n"), "{}", ended.err);
    for line in ["lead makes worker: works", "worker → lead: m1 queued", "lead: m1 read"] {
        assert!(ended.err.contains(line), "{}", ended.err);
    }
    assert!(ended.err.contains("look at it with: longboat show s-"));
    let written = std::fs::read_to_string(place.workspace().join("hello.txt")).unwrap();
    assert_eq!(written, "hello\n");
    assert_eq!(place.wrong().await, Vec::<String>::new());
    let quiet = place.end(place.run(&["--quiet"])).await;
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("All done.\n", ""));
}

#[tokio::test]
async fn every_wire_does_the_same_job() {
    for (model, wire) in [
        ("anthropic/scripted", WireName::Anthropic),
        ("openai-responses/scripted", WireName::OpenaiResponses),
    ] {
        let place = Place::of(team()).await;
        let mut command = place.command(&["run", "go", "--model", model]);
        command.env("LONGBOAT_BASE_URL", place.server.base_url());
        let ended = place.end(command).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), "All done.\n"), "{}", ended.err);
        assert!(place.server.requests().iter().all(|seen| seen.wire == wire));
    }
}

#[tokio::test]
async fn json_prints_every_event_of_every_session_once_and_nothing_else() {
    let place = Place::of(team()).await;
    let ended = place.end(place.run(&["--json"])).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let mut seqs: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut events = Vec::new();
    for line in ended.out.lines() {
        let event: Value = serde_json::from_str(line).expect("every line is JSON");
        let session = event["session"].as_str().unwrap().to_owned();
        seqs.entry(session).or_default().push(event["seq"].as_u64().unwrap());
        events.push((
            event["session"].clone(),
            event["seq"].clone(),
            event["type"].clone(),
            event["data"].clone(),
        ));
    }
    assert_eq!(seqs.len(), 2);
    for seqs in seqs.values() {
        let dense: Vec<u64> = (0..seqs.len() as u64).collect();
        assert_eq!(*seqs, dense);
    }
    let exported = place.end(place.command(&["export"])).await;
    assert_eq!(exported.out.lines().count(), events.len(), "it is all there is");
}

#[tokio::test]
async fn a_prompt_can_come_from_standard_input() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("ok")])]).await;
    let mut command = place.command(&["run", "-", "--model", "openai/scripted"]);
    command.env("LONGBOAT_BASE_URL", place.server.base_url()).stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"do\tthis\n").await.unwrap();
    drop(stdin);
    assert_eq!(super::place::ended(child).await.code, Some(0));
    let request: Value = serde_json::from_str(&place.server.requests()[0].body).unwrap();
    assert_eq!(request["messages"][1]["content"], json!("do\tthis\n"));
}

#[tokio::test]
async fn a_lead_whose_turn_fails_ends_the_run_with_the_reason() {
    let fault =
        longboat_scripted::Fault::Status { status: 404, retry_after: None, body: String::new() };
    let broken = Step { forever: true, ..Step::text("x").failing(fault) };
    let place = Place::of(vec![Agent::member("lead", vec![broken])]).await;
    let ended = place.end(place.run(&["--quiet"])).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("the lead's turn failed: openai: HTTP 404"), "{}", ended.err);
}

#[tokio::test]
async fn reading_commands_work_beside_a_run_and_a_second_run_is_told_who_holds_the_store() {
    let held = Step::text("done").held(Hold::gate("go"));
    let place = Place::of(vec![Agent::member("lead", vec![held])]).await;
    let first = place.run(&[]).spawn().unwrap();
    place.server.arrived("lead", 0).await;
    let shown = place.end(place.command(&["show"])).await;
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let second = place.end(place.run(&[])).await;
    assert_eq!(second.code, Some(3));
    let pid = first.id().unwrap().to_string();
    assert!(second.err.contains(&pid) && second.err.lines().count() == 1, "{}", second.err);
    place.server.open_gate("go");
    assert_eq!(super::place::ended(first).await.code, Some(0));
}

#[tokio::test]
async fn a_resumed_session_takes_one_more_prompt() {
    let place =
        Place::of(vec![Agent::member("lead", vec![Step::text("one"), Step::text("two")])]).await;
    assert_eq!(place.end(place.run(&[])).await.out, "one\n");
    let more = place.end(place.command(&["resume", "latest", "and then?"])).await;
    assert_eq!((more.code, more.out.as_str()), (Some(0), "two\n"), "{}", more.err);
    let request = place.server.arrived("lead", 1).await.body;
    assert!(request.contains("and then?") && request.contains("\"one\""));
    let forked = place.end(place.command(&["fork"])).await;
    assert!(forked.out.starts_with("s-"), "{}", forked.err);
}

#[tokio::test]
async fn with_mode_subagents_a_run_makes_agents_of_its_own_and_says_what_it_cost() {
    let make = json!({"name": "scout", "description": "looks", "prompt": "begin"});
    let place = Place::of(vec![
        Agent::when(
            "root",
            "You are an agent that works on the user's task",
            vec![step("spawn_agent", make), wait(), wait(), Step::text("Found.")],
        ),
        Agent::member("scout", vec![send("parent", "it is there"), Step::text("I looked.")]),
    ])
    .await;
    let settings = "[agents]\nmode = \"subagents\"\n[prices]\n\
                    \"openai/scripted\" = { input = 1000.0, output = 1000.0 }\n";
    std::fs::write(place.workspace().join("longboat.toml"), settings).unwrap();
    let ended = place.end(place.run(&[])).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "Found.\n"), "{}", ended.err);
    assert_eq!(place.wrong().await, Vec::<String>::new());
    let shown = place.end(place.command(&["show"])).await;
    assert!(shown.out.contains("scout → lead"), "{}", shown.out);
    assert!(shown.out.contains("in all, at the prices that are set"), "{}", shown.out);
    let bounded = place.end(place.run(&["--max-cost", "0.01"])).await;
    assert_eq!(bounded.code, Some(1));
    assert!(bounded.err.contains("the budget of $0.0100 is used up"), "{}", bounded.err);
}
