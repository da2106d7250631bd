//! Servers that start, die, and come back or do not.

use crate::place::{Place, lives, shown, until_dead};
use longboat_core::content::{Block, ToolStatus};
use longboat_engine::Toolbox;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_told_with_its_last_words_and_started_again() {
    let place = Place::of("").await;
    let before = place.says("pid").await;
    let died = place.call("crash", json!({})).await;
    assert_eq!(died.status, ToolStatus::Error);
    let said = shown(&died);
    assert!(said.contains("it ended (exit status: 7); its last words: out of cheese"), "{said}");
    assert!(said.contains("whether it had an effect is unknown"), "{said}");
    assert_ne!(place.says("pid").await, before, "the next call has a new server");
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_its_call_and_its_server() {
    let place = Place::of("").await;
    let said = place.says("flood").await;
    assert!(said.contains("it sent a message of more than 8388608 bytes"), "{said}");
    assert_eq!(place.call("echo", json!({"text": "x"})).await.content, [Block::text("x")]);
}

#[tokio::test]
async fn a_server_that_does_not_even_answer_a_ping_is_started_again() {
    let place = Place::with("hangs whole;", |server| {
        server.timeout = Duration::from_millis(200);
    })
    .await;
    let before = place.says("pid").await;
    assert!(place.says("hang").await.contains("did not answer"));
    until_dead(&before).await;
    let after = place.says("pid").await;
    assert_ne!(before, after);
}

#[tokio::test]
async fn a_server_that_reads_nothing_any_more_holds_nobody_up() {
    let place = Place::with("", |server| server.timeout = Duration::from_millis(300)).await;
    let before = place.says("pid").await;
    place.says("deafen").await;
    // More than a pipe takes.
    let much = json!({"text": "x".repeat(900_000)});
    let (slow, scope) = (place.call("echo", much.clone()).await, place.scope());
    assert_eq!(slow.status, ToolStatus::Error, "{}", shown(&slow));
    scope.cancel.cancel();
    let cancelled = place.tool("echo").call(scope, much).await;
    assert_eq!(cancelled.status, ToolStatus::Interrupted);
    until_dead(&before).await;
    assert_ne!(place.says("pid").await, before);
}

#[tokio::test]
async fn a_server_that_does_not_start_is_told_without_its_secrets() {
    let place = Place::of("quits").await;
    let state = &place.servers.states()[0];
    assert!(!state.runs && state.tools.is_empty());
    assert_eq!(
        state.problems,
        ["it ended (exit status: 3); its last words: the password [secret] is wrong"]
    );
}

#[tokio::test]
async fn a_server_that_is_silent_or_refuses_does_not_hold_up_the_start() {
    let place = Place::with("silent", |server| server.start_timeout = Duration::from_secs(1)).await;
    assert_eq!(place.servers.states()[0].problems, ["it was not ready within 1 s"]);
    let started = place.seen()[0].strip_prefix("start ").unwrap().to_owned();
    until_dead(&started).await;
    let place = Place::of("refuses").await;
    assert_eq!(place.servers.states()[0].problems, ["it refused the session: come back later"]);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let place = Place::with("", |server| {
        let longboat_mcp::Reach::Command { program, .. } = &mut server.reach else { panic!() };
        *program = "no-such-program-anywhere".to_owned();
    })
    .await;
    let problem = &place.servers.states()[0].problems[0];
    assert!(problem.starts_with("no-such-program-anywhere cannot be started: "), "{problem}");
}

#[tokio::test]
async fn a_session_gets_its_tools_back_when_a_server_that_was_down_comes_up() {
    let place = Place::of("quits;quits;").await;
    let known = Place::of("").await.tool("pid").spec();
    assert!(place.servers.open(&place.scope().session).is_empty());
    let stand_in = place.servers.absent(&known).unwrap();
    let down = stand_in.call(place.scope(), json!({})).await;
    assert!(shown(&down).contains("The call was not made"), "{}", shown(&down));
    let up = stand_in.call(place.scope(), json!({})).await;
    assert_eq!(up.status, ToolStatus::Ok, "{}", shown(&up));
}

#[tokio::test]
async fn a_tool_that_is_gone_after_a_new_start_is_answered_with_an_error() {
    let place = Place::of(";fewer tools").await;
    place.says("crash").await;
    let gone = place.call("echo", json!({})).await;
    assert_eq!(gone.status, ToolStatus::Error);
    assert_eq!(shown(&gone), "hand__echo: the MCP server hand has no such tool now");
    assert_eq!(place.call("pid", json!({})).await.status, ToolStatus::Ok);
}

#[tokio::test]
async fn nothing_is_left_running_when_servers_are_closed_or_dropped() {
    let place = Place::of("").await;
    let (server, child) = (place.says("pid").await, place.says("child").await);
    assert!(lives(&server) && lives(&child));
    place.servers.close().await;
    assert!(!lives(&server));
    until_dead(&child).await;
    let closed = place.says("echo").await;
    assert!(closed.contains("this process is about to end"), "{closed}");
}

#[tokio::test]
async fn what_a_server_started_goes_with_it_when_it_dies() {
    let place = Place::of("").await;
    let child = place.says("child").await;
    place.says("crash").await;
    until_dead(&child).await;
}

#[tokio::test]
async fn a_server_sees_only_the_environment_it_is_given() {
    let place = Place::of("").await;
    let names = place.says("env").await;
    assert_eq!(names, "GIVEN_TOKEN MCP_TEST_CONDUCT MCP_TEST_SEEN");
}
