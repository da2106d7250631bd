//! The stream of events: everything durable exactly once, wherever a reader begins or breaks off.

use super::place::{Place, answer, done, send, spawn, wait};
use super::stream::{Sent, Stream};
use longboat_core::id::SessionId;
use longboat_scripted::{Agent, Hold};
use longboat_testkit::{World, say};
use std::collections::BTreeSet;

fn team() -> Vec<Agent> {
    vec![
        Agent::member("lead", vec![spawn("worker"), send("worker", "x"), wait(), done(), done()]),
        Agent::member("worker", vec![send("lead", "y").held(Hold::gate("later")), done(), done()]),
    ]
}

fn places(came: &[Sent]) -> Vec<(String, u64)> {
    came.iter().filter(|sent| sent.event == "record").map(Sent::place).collect()
}

/// Says whether this is the end of the lead's turn in which it was told what the worker did.
fn lead_ended(sent: &Sent) -> bool {
    sent.is("turn/ended") && sent.data["member"] == "lead"
}

#[tokio::test]
async fn whoever_comes_back_after_any_event_misses_nothing_and_hears_nothing_twice() {
    let place = Place::of(team()).await;
    let id = place.create("go").await;
    let mut whole = Stream::open(&place, &id, None).await;
    place.world.server.open_gate("later");
    let mut came = whole.until(lead_ended).await;
    place.rest(&id).await;
    let total = place.records(&id).await;
    while places(&came).len() < total {
        came.push(whole.next().await.unwrap());
    }
    assert_eq!(came[0].event, "position");
    let all: BTreeSet<_> = places(&came).into_iter().collect();
    assert_eq!((all.len(), places(&came).len()), (total, total), "each exactly once");
    assert!(
        came.iter()
            .all(|sent| (sent.event == "record" || sent.event == "position") == sent.id.is_some())
    );

    let mut known = BTreeSet::new();
    for sent in &came {
        if sent.event == "record" {
            known.insert(sent.place());
        }
        let Some(last) = &sent.id else { continue };
        let mut again = Stream::open(&place, &id, Some(last)).await;
        let mut rest = BTreeSet::new();
        while known.len() + rest.len() < total {
            let sent = again.next().await.unwrap();
            if sent.event == "record" {
                assert!(!known.contains(&sent.place()), "{sent:?} came twice after {last}");
                assert!(rest.insert(sent.place()), "{sent:?} came twice");
            }
        }
    }
    place.end().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_again_and_again_while_the_team_works_has_everything_once() {
    let place = Place::of(team()).await;
    let id = place.create("go").await;
    place.world.server.open_gate("later");
    let (mut last, mut came) = (None, Vec::new());
    loop {
        let mut stream = Stream::open(&place, &id, last.as_deref()).await;
        // The first says where it begins; then two more, and it breaks off.
        for _ in 0..3 {
            came.push(stream.next().await.unwrap());
        }
        last = stream.last.clone();
        if came.iter().any(lead_ended) {
            break;
        }
    }
    place.rest(&id).await;
    let total = place.records(&id).await;
    let mut stream = Stream::open(&place, &id, last.as_deref()).await;
    while places(&came).len() < total {
        came.push(stream.next().await.unwrap());
    }
    let all: BTreeSet<_> = places(&came).into_iter().collect();
    assert_eq!(all.len(), total);
    place.end().await;
}

#[tokio::test]
async fn a_stream_goes_on_over_the_closing_and_coming_back_of_its_team() {
    let place = Place::of(vec![Agent::member("lead", vec![done(), done(), done()])]).await;
    let id = place.create("go").await;
    let mut stream = Stream::open(&place, &id, None).await;
    stream.until(lead_ended).await;
    let (_, closed) = place.post(&format!("/api/v1/sessions/{id}/close"), ().into()).await;
    assert_eq!(closed["closed"], true);
    stream.until(|sent| sent.event == "team" && sent.data["open"] == false).await;
    let (_, closed) = place.post(&format!("/api/v1/sessions/{id}/close"), ().into()).await;
    assert_eq!(closed["closed"], false);
    assert_eq!(place.get(&format!("/api/v1/sessions/{id}")).await.1["open"], false);
    // What is said to a team that is not in memory brings it back.
    place.say(&id, "lead", "prompt", "more").await;
    let came = stream.until(lead_ended).await;
    let opened = came.iter().position(|sent| sent.event == "team" && sent.data["open"] == true);
    assert!(opened.is_some(), "{came:?}");
    let mut seen = BTreeSet::new();
    let mut again = Stream::open(&place, &id, None).await;
    let total = place.records(&id).await;
    while seen.len() < total {
        let sent = again.next().await.unwrap();
        assert!(sent.event != "record" || seen.insert(sent.place()));
    }
    place.end().await;
}

#[tokio::test]
async fn a_reader_that_reads_nothing_for_long_catches_up_from_the_store() {
    // More notices than anybody keeps for a reader, and more bytes than lie in sockets.
    let prompts = 5_000;
    let world = World::of(vec![Agent::member("lead", vec![done().held(Hold::gate("never"))])]);
    let place = Place::in_world(world.await.holding_pending(prompts + 1)).await;
    let id = place.create("go").await;
    let mut slow = Stream::open(&place, &id, None).await;
    slow.until(|sent| sent.is("step/started")).await;
    let team = place.app.sessions().opened(&SessionId::new(&id).unwrap()).unwrap();
    let words = "x".repeat(4_000);
    let ids: Vec<String> = (0..prompts).map(|n| format!("prompt/{n}")).collect();
    futures::future::join_all(ids.iter().map(|id| say(&team, "lead", id, &words))).await;
    let total = place.records(&id).await;
    let mut seen = BTreeSet::new();
    let mut again = Stream::open(&place, &id, slow.last.clone().as_deref()).await;
    let known = total - 5_000;
    while known + seen.len() < total {
        let sent = slow.next().await.unwrap();
        assert!(sent.event != "record" || seen.insert(sent.place()), "{sent:?}");
    }
    while !seen.is_empty() {
        let sent = again.next().await.unwrap();
        assert!(sent.event != "record" || seen.remove(&sent.place()), "{sent:?}");
    }
    drop(team);
    place.end().await;
}

#[tokio::test]
async fn what_is_only_of_the_moment_comes_too_without_an_id() {
    let place =
        Place::of(vec![Agent::member("lead", vec![done().held(Hold::gate("later"))])]).await;
    let id = place.create("go").await;
    let mut stream = Stream::open(&place, &id, None).await;
    stream.until(|sent| sent.is("step/started")).await;
    place.world.server.open_gate("later");
    let came = stream.until(|sent| sent.is("assistant/message")).await;
    let deltas: Vec<_> = came.iter().filter(|sent| sent.event == "delta").collect();
    assert!(!deltas.is_empty(), "{came:?}");
    assert!(deltas.iter().all(|sent| sent.id.is_none() && sent.data["member"] == "lead"));
    place.end().await;
}

#[tokio::test]
async fn an_id_that_is_none_or_reaches_too_far_is_refused_and_streams_are_so_many() {
    let place = Place::of(vec![Agent::member("lead", vec![done()])]).await;
    let id = place.create("go").await;
    let path = format!("/api/v1/sessions/{id}/events");
    for (last, status, code) in [
        ("nonsense", 400, "invalid_position"),
        ("lead:9999", 409, "unknown_position"),
        ("lead:1,ghost:1", 409, "unknown_position"),
    ] {
        let request = place.ask("GET", &path).header("Last-Event-ID", last);
        let (got, problem) = answer(request).await;
        assert_eq!((got, problem["code"].as_str()), (status, Some(code)), "{last}");
    }
    let (status, problem) = place.get("/api/v1/sessions/s-none/events").await;
    assert_eq!((status, problem["code"].as_str()), (404, Some("unknown_session")));
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(Stream::open(&place, &id, None).await);
    }
    let (status, problem) = place.get(&path).await;
    assert_eq!((status, problem["code"].as_str()), (503, Some("too_many_streams")));
    drop(open);
    // The place is given back when the other side sees that the reader left.
    place.streams_are(0).await;
    place.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_is_in_memory_once_however_many_open_and_close_it_at_once() {
    let lead = Agent { after: Some(done()), ..Agent::member("lead", vec![done()]) };
    let place = Place::of(vec![lead]).await;
    let id = place.create("go").await;
    let mut stream = Stream::open(&place, &id, None).await;
    let ask = async |n: u32| {
        let session = format!("/api/v1/sessions/{id}");
        let (path, body) = match n % 3 {
            0 => (format!("{session}/close"), serde_json::json!({})),
            1 => (format!("{session}/resume"), serde_json::json!({})),
            _ => (format!("{session}/members/lead/prompt"), serde_json::json!({"text": "more"})),
        };
        let (status, answer) = place.post(&path, body).await;
        // A team that is closed while it is spoken to says so; nothing worse is said.
        let closed = status == 409 && answer["code"] == "team_closed";
        assert!(status < 300 || closed, "{path}: {answer}");
    };
    futures::future::join_all((0..90).map(ask)).await;
    let words = serde_json::json!({"text": "last", "id": "last"});
    let path = format!("/api/v1/sessions/{id}/members/lead/prompt");
    assert_eq!(place.post(&path, words).await.0, 202);
    place.rest(&id).await;
    let total = place.records(&id).await;
    let mut seen = BTreeSet::new();
    while seen.len() < total {
        let sent = stream.next().await.unwrap();
        // Two writers of one log would have made it read itself anew.
        assert_ne!(sent.event, "recovering", "{sent:?}");
        assert!(sent.event != "record" || seen.insert(sent.place()), "{sent:?}");
    }
    place.end().await;
}
