//! What a stranger can make wait or grow, tried from outside.

use super::place::{Place, done};
use longboat_core::id::SessionId;
use longboat_http::Bounds;
use longboat_scripted::{Agent, Hold};
use longboat_testkit::{World, say};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn hasty(agents: Vec<Agent>) -> Place {
    let bounds = Bounds {
        head_within: Duration::from_millis(200),
        answered_within: Duration::from_millis(400),
        taken_within: Duration::from_millis(200),
        ..Bounds::default()
    };
    Place::bounded(World::of(agents).await.holding_pending(10_000), bounds).await
}

#[tokio::test]
async fn a_head_that_does_not_come_to_its_end_is_not_waited_for() {
    let place = hasty(Vec::new()).await;
    for begun in ["", "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "] {
        let back = place.raw(begun).await;
        assert!(back.is_empty() || back.starts_with("HTTP/1.1 408"), "{back}");
    }
    place.end().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_to_its_end_is_not_waited_for() {
    let place = hasty(vec![Agent::member("lead", vec![done()])]).await;
    let (token, address) = (&place.token, place.address);
    let begun = format!(
        "POST /api/v1/sessions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"prompt\": "
    );
    let back = place.raw(&begun).await;
    assert!(back.starts_with("HTTP/1.1 408") && back.contains("too_slow"), "{back}");
    place.end().await;
}

#[tokio::test]
async fn a_head_that_is_too_large_or_has_too_many_fields_is_refused() {
    let place = Place::of(Vec::new()).await;
    let begin = format!("GET / HTTP/1.1\r\nHost: {}\r\n", place.address);
    let large = format!("{begin}X-Large: {}\r\n\r\n", "x".repeat(300_000));
    let back = place.raw(&large).await;
    assert!(back.starts_with("HTTP/1.1 431"), "{back}");
    let many = format!("{begin}{}\r\n", "X-Many: x\r\n".repeat(100));
    assert!(place.raw(&many).await.starts_with("HTTP/1.1 431"));
    assert!(place.raw("nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    place.end().await;
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_ask_again() {
    let place = Place::of(Vec::new()).await;
    let one = format!("GET /x HTTP/1.1\r\nHost: {}\r\n", place.address);
    let mut all = format!("{one}\r\n").repeat(600);
    all.push_str(&format!("{one}Connection: close\r\n\r\n"));
    let back = place.raw(&all).await;
    assert!(back.contains("HTTP/1.1 401"), "{back}");
    let refused = back.split("HTTP/1.1 ").find(|answer| answer.starts_with("429")).unwrap();
    assert!(refused.contains("retry-after: 1") && refused.contains("too_many_requests"));
    place.end().await;
}

#[tokio::test]
async fn a_reader_that_takes_nothing_for_too_long_is_dropped() {
    let place = hasty(vec![Agent::member("lead", vec![done().held(Hold::gate("never"))])]).await;
    let id = place.create("go").await;
    let mut stream = TcpStream::connect(place.address).await.unwrap();
    let (token, address) = (&place.token, place.address);
    let ask = format!(
        "GET /api/v1/sessions/{id}/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let team = place.app.sessions().opened(&SessionId::new(&id).unwrap()).unwrap();
    // More than lies in sockets.
    let words = "x".repeat(200_000);
    for n in 0..100 {
        say(&team, "lead", &format!("prompt/{n}"), &words).await;
    }
    place.streams_are(0).await;
    drop((stream, team));
    place.end().await;
}
