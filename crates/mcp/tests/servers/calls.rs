//! What calls come to.

use crate::place::{Place, shown};
use longboat_core::content::{Block, ToolStatus};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_call_brings_the_servers_text() {
    let place = Place::of("").await;
    let outcome = place.call("echo", json!({"text": "Grüße\nfrom afar"})).await;
    assert_eq!(outcome.status, ToolStatus::Ok);
    assert_eq!(outcome.content, [Block::text("Grüße\nfrom afar")]);
}

#[tokio::test]
async fn all_members_share_one_server() {
    let place = Place::of("").await;
    let calls = (0..20).map(|_| place.says("pid"));
    let pids = futures::future::join_all(calls).await;
    assert!(pids.iter().all(|pid| pid == &pids[0]), "{pids:?}");
    assert_eq!(place.seen().iter().filter(|line| line.starts_with("start")).count(), 1);
}

#[tokio::test]
async fn a_servers_error_and_its_refusal_are_errors_with_its_words() {
    let place = Place::of("").await;
    let failing = place.call("failing", json!({})).await;
    assert_eq!((failing.status, shown(&failing).as_str()), (ToolStatus::Error, "disk full"));
    let refused = place.call("refuse", json!({})).await;
    assert_eq!(refused.status, ToolStatus::Error);
    assert_eq!(shown(&refused), "hand__refuse: its server refused the call: no such file: x");
}

#[tokio::test]
async fn every_kind_of_block_is_shown_or_named() {
    let place = Place::of("").await;
    let outcome = place.call("mixed", json!({})).await;
    assert!(
        matches!(&outcome.content[1], Block::Image { media_type, .. } if media_type == "image/png")
    );
    assert_eq!(
        shown(&outcome),
        "one\n<picture>\n[a picture that is no image/png]\n[a picture of image/tiff, which cannot be shown]\n[a sound of audio/wav, which cannot be played]\n[the resource file:///a.txt]\ninside\n[the resource file:///b.bin: about 3 bytes, not text]\n[a resource: c at file:///c.txt (text/plain)]"
    );
}

#[tokio::test]
async fn structured_content_is_told_once() {
    let place = Place::of("").await;
    assert_eq!(place.says("structured").await, "{\"a\": 1}");
    let other = place.call("structured", json!({"other": true})).await;
    assert_eq!(shown(&other), "{\"a\": 1}\n{\"a\":2}");
}

#[tokio::test]
async fn a_long_result_is_cut_and_kept_in_a_file() {
    let place = Place::of("").await;
    let said = place.says("long").await;
    assert!(said.len() < 26_000, "{}", said.len());
    assert!(said.starts_with("líne 0\n") && said.ends_with("\nlíne 19999"), "{said}");
    let file = place.spill().join("1-0.txt");
    assert!(said.contains(&format!("all of it is in {}", file.display())));
    let all = std::fs::read_to_string(file).unwrap();
    assert_eq!(all.lines().count(), 20_000);
}

#[tokio::test]
async fn what_is_no_result_is_an_error_and_what_is_newer_is_named() {
    let place = Place::of("").await;
    let wrong = place.call("wrong", json!({})).await;
    assert_eq!(wrong.status, ToolStatus::Error);
    assert!(shown(&wrong).contains("no tool's result"), "{}", shown(&wrong));
    assert_eq!(place.says("new").await, "old\n[a block of smell cannot be shown]");
}

#[tokio::test]
async fn garbage_between_messages_is_passed_over() {
    let place = Place::of("").await;
    assert_eq!(place.says("garbage").await, "after the garbage");
    assert_eq!(place.call("echo", json!({"text": "still"})).await.content, [Block::text("still")]);
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_and_the_server_is_told() {
    let place = Place::with("", |server| server.timeout = Duration::from_millis(300)).await;
    let slow = place.call("hang", json!({})).await;
    assert_eq!(slow.status, ToolStatus::Error);
    assert!(shown(&slow).contains("was told to stop; whether it had an effect is unknown"));
    place.until_seen("notifications/cancelled").await;
    place.until_seen("ping").await;
    assert_eq!(place.call("echo", json!({"text": "here"})).await.content, [Block::text("here")]);
    assert_eq!(place.seen().iter().filter(|line| line.starts_with("start")).count(), 1);
}

#[tokio::test]
async fn a_cancelled_call_returns_at_once_and_the_server_is_told() {
    let place = Place::of("").await;
    let scope = place.scope();
    let cancel = scope.cancel.clone();
    let tool = place.tool("hang");
    let (outcome, ()) = tokio::join!(tool.call(scope, json!({})), async {
        place.until_seen("tools/call").await;
        cancel.cancel();
    });
    assert_eq!(outcome.status, ToolStatus::Interrupted);
    place.until_seen("notifications/cancelled").await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let place = Place::of("").await;
    let tool = place.tool("hang");
    tokio::select! {
        _ = tool.call(place.scope(), json!({})) => panic!("it hangs"),
        () = place.until_seen("tools/call") => {}
    }
    place.until_seen("notifications/cancelled").await;
}
