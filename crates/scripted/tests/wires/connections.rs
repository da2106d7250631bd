//! Pieces, headers, keys, what is remembered, and how the server ends.

use super::client::{
    WIRES, as_far_as_it_came, ask, events, post, reply, request, said, serving, stepping,
};
use longboat_scripted::{Agent, Fault, Hold, Refused, Script, Server, Step, WireName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn bytes_come_in_pieces_also_inside_characters() {
    for wire in WIRES {
        let whole = reply(&stepping(vec![Step::text("grüße 🚣")]).await, wire, "s", 0).await;
        for bytes in [1, 3, 7] {
            let server = stepping(vec![Step { bytes, ..Step::text("grüße 🚣") }]).await;
            let mut response = post(&server, wire, &request(wire, "s", 0)).send().await.unwrap();
            let mut pieces = Vec::new();
            while let Some(piece) = response.chunk().await.unwrap() {
                pieces.push(piece);
            }
            assert!(pieces.iter().all(|piece| piece.len() <= bytes));
            assert_eq!(pieces.concat(), whole.as_bytes());
            let inside = pieces.iter().any(|piece| std::str::from_utf8(piece).is_err());
            assert!(bytes > 1 || inside);
        }
    }
}

#[tokio::test]
async fn lines_can_end_with_cr_lf_and_connections_be_kept_alive() {
    for wire in WIRES {
        let plain = reply(&stepping(vec![Step::text("hi")]).await, wire, "s", 0).await;
        let server = stepping(vec![Step { crlf: true, ..Step::text("hi") }]).await;
        assert_eq!(reply(&server, wire, "s", 0).await, plain.replace('\n', "\r\n"));

        let server = stepping(vec![Step { keep_alive: true, ..Step::text("hi") }]).await;
        let alive = reply(&server, wire, "s", 0).await;
        let kept = ": keep-alive\n\n";
        let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
        assert!(alive.matches(kept).count() >= 3, "{alive}");
        let without = alive.replace(&format!("{kept}{ping}"), "").replace(kept, "");
        assert_eq!(without, plain);
    }
}

#[tokio::test]
async fn a_gap_between_events_sends_them_one_by_one() {
    for wire in WIRES {
        let server = stepping(vec![Step { gap_ms: 1, chunk_bytes: 1, ..Step::text("abc") }]).await;
        let mut response = post(&server, wire, &request(wire, "s", 0)).send().await.unwrap();
        let mut pieces = 0;
        while let Some(piece) = response.chunk().await.unwrap() {
            assert_eq!(std::str::from_utf8(&piece).unwrap().matches("\n\n").count(), 1);
            pieces += 1;
        }
        assert!(pieces >= 6);
    }
}

#[tokio::test]
async fn a_key_is_wanted_and_never_remembered() {
    let script = Script { key: Some("k1".to_owned()), ..Script::of(vec![Agent::default()]) };
    let server = Server::start(script, 0).await.unwrap();
    for wire in WIRES {
        let body = request(wire, "s", 0);
        let (status, error) = ask(&server, wire, &body).await;
        assert_eq!(status, 401);
        let error: Value = serde_json::from_str(&error).unwrap();
        match wire {
            WireName::OpenaiChat | WireName::OpenaiResponses => {
                assert_eq!(error["error"]["code"], "invalid_api_key");
            }
            WireName::Anthropic => assert_eq!(error["error"]["type"], "authentication_error"),
        }
        let (name, prefix) = match wire {
            WireName::OpenaiChat | WireName::OpenaiResponses => ("authorization", "Bearer "),
            WireName::Anthropic => ("x-api-key", ""),
        };
        for (key, expected) in [("k2", 401), ("k1", 200)] {
            let request = post(&server, wire, &body).header(name, format!("{prefix}{key}"));
            let request = request.header("x-other", "seen");
            assert_eq!(request.send().await.unwrap().status().as_u16(), expected);
        }
        let seen = server.requests().pop().unwrap();
        assert_eq!(seen.body, body.to_string());
        assert!(seen.headers.contains(&("x-other".to_owned(), "seen".to_owned())));
        assert!(!format!("{seen:?}").contains("k1"));
    }
}

#[tokio::test]
async fn what_no_provider_would_take_is_refused_and_remembered_apart() {
    let server = stepping(vec![]).await;
    for wire in WIRES {
        let mut body = request(wire, "s", 0);
        let said = if wire == WireName::OpenaiResponses { "input" } else { "messages" };
        body[said] = json!([{"role": "robot", "content": "x"}]);
        let (status, error) = ask(&server, wire, &body).await;
        assert_eq!(status, 400);
        let error: Value = serde_json::from_str(&error).unwrap();
        assert_eq!(error["error"]["type"], "invalid_request_error");
        let why = error["error"]["message"].as_str().unwrap().to_owned();
        let refused = Refused { wire, why, body: body.to_string() };
        assert_eq!(server.refusals().pop().unwrap(), refused);
    }
    let broken = post(&server, WireName::OpenaiChat, &json!({})).body("{").send().await.unwrap();
    assert_eq!(broken.status(), 400);
    let wire = WireName::Anthropic;
    let plain = post(&server, WireName::OpenaiChat, &request(wire, "s", 0));
    let url = format!("{}/messages", server.base_url());
    let (client, plain) = plain.build_split();
    let mut plain = plain.unwrap();
    *plain.url_mut() = url.parse().unwrap();
    let response = client.execute(plain).await.unwrap();
    assert_eq!(response.status(), 400);
    assert!(response.text().await.unwrap().contains("anthropic-version"));
    assert_eq!(server.requests(), []);
    assert_eq!(server.refusals().len(), 5);
}

#[tokio::test]
async fn models_are_listed_and_others_refused() {
    let script =
        Script { models: vec!["m".into(), "n".into()], ..Script::of(vec![Agent::default()]) };
    let server = Server::start(script, 0).await.unwrap();
    for wire in WIRES {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut get = client.get(format!("{}/models", server.base_url()));
        if wire == WireName::Anthropic {
            get = get.header("anthropic-version", "2023-06-01");
        }
        let models: Value =
            serde_json::from_str(&get.send().await.unwrap().text().await.unwrap()).unwrap();
        let ids: Vec<&str> =
            models["data"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["m", "n"]);
        assert_eq!(ask(&server, wire, &request(wire, "s", 0)).await.0, 200);
        let mut other = request(wire, "s", 0);
        other["model"] = json!("o");
        assert_eq!(ask(&server, wire, &other).await.0, 404);
    }
}

#[tokio::test]
async fn a_request_past_the_bound_is_refused() {
    let server = stepping(vec![]).await;
    let mut stream = TcpStream::connect(address(&server)).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 33554433\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

fn address(server: &Server) -> String {
    server.base_url().replace("http://", "").replace("/v1", "")
}

#[tokio::test]
async fn elsewhere_and_otherwise_is_refused() {
    let server = stepping(vec![]).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let elsewhere = client.post(format!("{}/completions", server.base_url())).send().await.unwrap();
    assert_eq!(elsewhere.status(), 404);
    let got = client.get(format!("{}/messages", server.base_url())).send().await.unwrap();
    assert_eq!(got.status(), 405);
}

#[tokio::test]
async fn stopping_ends_every_connection_and_frees_the_port() {
    let hold = Step::text("x").held(Hold::gate("never"));
    let stall = Step::text("y").failing(Fault::Stall { bytes: 1 });
    let server = serving(vec![Agent::when("a", "", vec![hold, stall])]).await;
    let wire = WireName::OpenaiChat;
    let port = address(&server).split(':').next_back().unwrap().parse().unwrap();
    let held = post(&server, wire, &request(wire, "s", 0)).send();
    let stalled = post(&server, wire, &request(wire, "s", 1)).send().await.unwrap();
    let stopping = async {
        server.withheld("a", 0).await;
        server.withheld("a", 1).await;
        server.stop().await;
    };
    let (held, ()) = tokio::join!(held, stopping);
    assert!(held.is_err());
    assert!(!as_far_as_it_came(stalled).await.1);
    let again = Server::start(Script::of(vec![Agent::default()]), port).await.unwrap();
    assert_eq!(said(wire, &reply(&again, wire, "s", 0).await), "Nothing more to do.");
}

#[tokio::test]
async fn many_ask_at_once_and_each_gets_its_own() {
    let agents = (0..20).map(|n| {
        let name = format!("agent-{n}-");
        Agent::when(&name, &name, vec![Step::text(&name)])
    });
    let server = serving(agents.collect()).await;
    let asking = (0..60).map(async |n| {
        let wire = if n % 2 == 0 { WireName::OpenaiChat } else { WireName::Anthropic };
        let name = format!("agent-{}-", n % 20);
        let stream = reply(&server, wire, &name, 0).await;
        assert!(!events(&stream).is_empty());
        assert_eq!(said(wire, &stream), name);
    });
    let asking: Vec<_> = asking.collect();
    futures::future::join_all(asking).await;
    assert_eq!(server.requests().len(), 60);
}
