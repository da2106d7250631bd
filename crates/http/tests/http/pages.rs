//! The pages from outside: what they show, how they follow, and that they stay small.

use super::large::{self, MEMBERS, STEPS};
use super::place::{Place, answer, done, send, spawn, wait};
use super::stream::{Sent, Stream};
use longboat_scripted::{Agent, Hold, Step};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;

async fn page(place: &Place, path: &str) -> String {
    let response = place.ask("GET", path).header(ACCEPT, "text/html").send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(response.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
    response.text().await.unwrap()
}

/// What one update says of an element, by its id.
fn changed(sent: &Sent, id: &str) -> Option<String> {
    let changes = sent.data["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["id"] == id)?;
    Some(change["html"].as_str().unwrap_or_default().to_owned())
}

/// Reads updates until an element says something.
async fn until_says(stream: &mut Stream, id: &str, text: &str) -> Vec<Sent> {
    let says = |sent: &Sent| {
        sent.event == "update" && changed(sent, id).is_some_and(|html| html.contains(text))
    };
    stream.until(says).await
}

#[tokio::test]
async fn whoever_is_refused_in_a_browser_reads_why() {
    let place = Place::of(Vec::new()).await;
    let refused =
        place.client.get(place.url("/")).header(ACCEPT, "text/html").send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert!(refused.headers().contains_key("content-security-policy"));
    let text = refused.text().await.unwrap();
    assert!(text.contains("open the address that longboat printed"), "{text}");
    let missing =
        place.ask("GET", "/sessions/s-none").header(ACCEPT, "text/html").send().await.unwrap();
    assert_eq!(missing.status(), 404);
    assert!(missing.text().await.unwrap().contains("s-none"));
    for path in ["/sessions/s-none", "/sessions/s-none/live", "/assets/none", "/sessions/S/m/x"] {
        let (status, problem) = place.get(path).await;
        assert_eq!(status, 404, "{path}");
        assert!(problem["code"].is_string(), "a program gets a problem: {problem}");
    }
    place.end().await;
}

#[tokio::test]
async fn pages_ask_for_nothing_inline_and_nothing_from_elsewhere() {
    let place =
        Place::of(vec![Agent::member("lead", vec![Step::text("<b onclick=x>bold</b>")])]).await;
    let id = place.create("<script>alert(1)</script>").await;
    place.rest(&id).await;
    for path in [
        "/".to_owned(),
        format!("/sessions/{id}"),
        format!("/sessions/{id}/m/lead"),
        format!("/sessions/{id}/mail"),
    ] {
        let html = page(&place, &path).await;
        for bad in [
            "<script>",
            "<style",
            " style=",
            "onclick=x>",
            "href=\"http",
            "src=\"http",
            "javascript:",
        ] {
            assert!(!html.contains(bad), "{bad} in {path}");
        }
        for link in html.split("src=\"").skip(1).chain(html.split("<link").skip(1)) {
            assert!(link.contains("/assets/"), "{link:.60}");
        }
    }
    for asset in ["longboat.css", "longboat.js", "idiomorph.min.js", "icon.svg"] {
        let response = place.ask("GET", &format!("/assets/{asset}")).send().await.unwrap();
        assert_eq!(response.status(), 200, "{asset}");
    }
    place.end().await;
}

#[tokio::test]
async fn a_page_is_sent_only_what_differs_and_everything_when_it_comes_back() {
    let slow = |gate: &str| Step { hold_after_text: Some(Hold::gate(gate)), ..done() };
    let place = Place::of(vec![
        Agent::member("lead", vec![spawn("worker"), wait(), done(), slow("end"), done()]),
        Agent::member("worker", vec![send("lead", "found it").held(Hold::gate("begin")), done()]),
    ])
    .await;
    let id = place.create("go").await;
    let path = format!("/sessions/{id}/live");
    let mut stream = Stream::at(&place, &path, None).await;
    until_says(&mut stream, "member-worker", "running").await;
    place.world.server.open_gate("begin");
    let updates = until_says(&mut stream, "message-m1", "read after").await;
    let last = updates.last().unwrap();
    assert!(changed(last, "member-worker").is_none_or(|html| !html.contains("<ul")));
    let size = last.data.to_string().len();
    place.world.server.open_gate("end");
    place.rest(&id).await;

    drop(stream);
    let mut again = Stream::at(&place, &path, None).await;
    let first = again.next().await.unwrap();
    for region in ["summary", "roster", "graph", "mail", "banner", "targets", "tasks"] {
        assert!(changed(&first, region).is_some(), "{region}");
    }
    assert!(changed(&first, "mail").unwrap().contains("found it"));
    assert!(size < first.data.to_string().len(), "less than all was sent");
    place.end().await;
}

#[tokio::test]
async fn a_member_s_page_tells_a_reply_while_it_comes_in() {
    let slow = Step { hold_after_text: Some(Hold::gate("end")), ..Step::text("half of it") };
    let place = Place::of(vec![Agent::member("lead", vec![slow])]).await;
    let id = place.create("go").await;
    let mut stream = Stream::at(&place, &format!("/sessions/{id}/m/lead/live"), None).await;
    let streaming = |sent: &Sent| sent.data.to_string().contains("half of it");
    let came = stream.until(streaming).await;
    assert!(came.last().unwrap().data.to_string().contains("aria-busy"));
    place.world.server.open_gate("end");
    let ended = |sent: &Sent| sent.data.to_string().contains("completed");
    let came = stream.until(ended).await;
    assert!(came.iter().all(|sent| sent.event == "update" && sent.id.is_none()));
    place.end().await;
}

#[tokio::test]
async fn updates_come_at_most_five_times_a_second() {
    let text = "word ".repeat(400);
    let chatty = Step { gap_ms: 2, chunk_bytes: 5, ..Step::text(&text) };
    let place = Place::of(vec![Agent::member("lead", vec![chatty])]).await;
    let id = place.create("go").await;
    let begin = tokio::time::Instant::now();
    let mut stream = Stream::at(&place, &format!("/sessions/{id}/m/lead/live"), None).await;
    let updates = stream.until(|sent| sent.data.to_string().contains("completed")).await.len();
    let most = begin.elapsed().as_millis() / 200 + 2;
    assert!(updates as u128 <= most, "{updates} updates, {most} at most");
    place.end().await;
}

#[tokio::test]
async fn a_team_of_fifty_with_ten_thousand_messages_and_five_thousand_steps_is_shown_in_pages() {
    let place = Place::of(Vec::new()).await;
    let lead = large::write(&*place.life.store).await;
    let first = tokio::time::Instant::now();
    let team = page(&place, &format!("/sessions/{lead}")).await;
    let (read, again) = (first.elapsed(), tokio::time::Instant::now());
    assert_eq!(team.matches("class=\"card member ").count(), MEMBERS + 1);
    assert_eq!(team.matches("class=\"message\"").count(), 30);
    assert!(team.contains("10\u{202f}000 messages"), "all are counted");
    assert!(team.len() < 200_000, "{} bytes", team.len());
    page(&place, &format!("/sessions/{lead}")).await;
    let known = again.elapsed();
    assert!(known < read, "read in {read:?}, known in {known:?}");

    let member = format!("/sessions/{lead}/m/m-0");
    let html = page(&place, &member).await;
    assert_eq!(html.matches("class=\"step\"").count(), 30);
    assert!(
        html.contains(&format!("This is step {STEPS}.")) && !html.contains("This is step 4970.")
    );
    assert!(html.len() < 400_000, "{} bytes", html.len());
    let older = page(&place, &format!("{member}?before=30")).await;
    assert!(older.contains("This is step 1.") && older.contains("This is step 30."));
    assert_eq!(older.matches("class=\"step\"").count(), 30);
    let one = page(&place, &format!("{member}?step=7")).await;
    assert!(one.contains("This is step 8.") && one.matches("a line of the file").count() == 1_000);
    assert_eq!(answer(place.ask("GET", &format!("{member}?step=9999"))).await.0, 404);

    let mail = page(&place, &format!("/sessions/{lead}/mail?before=5001")).await;
    assert_eq!(mail.matches("class=\"message\"").count(), 100);
    assert!(mail.contains("id=\"message-m5000\"") && mail.contains("id=\"message-m4901\""));
    let mut live = Stream::at(&place, &format!("{member}/live"), None).await;
    let update = live.next().await.unwrap();
    assert!(update.data.to_string().len() < 400_000);
    assert!(matches!(update.data["changes"], Value::Array(_)));
    place.end().await;
}
