//! What goes wrong when a script says so, on both wires.

use super::client::{WIRES, as_far_as_it_came, ask, post, reply, request, said, stepping};
use longboat_scripted::{Fault, Script, Server, Step, WireName};
use serde_json::{Value, json};

fn status(status: u16, retry_after: Option<&str>) -> Fault {
    Fault::Status { status, retry_after: retry_after.map(str::to_owned), body: String::new() }
}

#[tokio::test]
async fn faults_come_one_an_attempt_and_then_the_reply() {
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    let cases = [
        (429, Some("0"), "requests", "rate_limit_error"),
        (500, Some(date), "server_error", "api_error"),
        (503, None, "server_error", "api_error"),
        (529, None, "server_error", "overloaded_error"),
    ];
    for wire in WIRES {
        let step = cases.iter().fold(Step::text("at last"), |step, (code, after, ..)| {
            step.failing(status(*code, *after))
        });
        let server = stepping(vec![step]).await;
        for (code, after, chat, anthropic) in cases {
            let response = post(&server, wire, &request(wire, "s", 0)).send().await.unwrap();
            assert_eq!(response.status().as_u16(), code);
            let told = response.headers().get("retry-after").map(|v| v.to_str().unwrap());
            assert_eq!(told, after);
            let error: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
            let kind = if wire == WireName::Anthropic { anthropic } else { chat };
            assert_eq!(error["error"]["type"], kind);
        }
        for attempt in 4..6 {
            assert_eq!(said(wire, &reply(&server, wire, "s", 0).await), "at last");
            assert_eq!(server.requests()[attempt].attempt, attempt);
        }
    }
}

#[tokio::test]
async fn a_fault_can_last_for_ever_with_a_body_of_its_own() {
    let fault = Fault::Status { status: 502, retry_after: None, body: "<html>".to_owned() };
    let step = Step { forever: true, ..Step::text("never").failing(status(500, None)) };
    let server = stepping(vec![step.failing(fault)]).await;
    for wire in WIRES {
        let expected = if wire == WireName::OpenaiChat { vec![500, 502, 502] } else { vec![502] };
        for code in expected {
            assert_eq!(ask(&server, wire, &request(wire, "s", 0)).await.0, code);
        }
    }
    let (_, body) =
        ask(&server, WireName::OpenaiChat, &request(WireName::OpenaiChat, "s", 0)).await;
    assert_eq!(body, "<html>");
}

#[tokio::test]
async fn a_stream_is_cut_at_exactly_the_byte() {
    for wire in WIRES {
        let server = stepping(vec![Step::text("grüße 🚣")]).await;
        let whole = reply(&server, wire, "s", 0).await;
        for bytes in [0, 1, 40, whole.find('ü').unwrap() + 1, whole.len()] {
            let step = Step::text("grüße 🚣").failing(Fault::Cut { bytes });
            let server = stepping(vec![step]).await;
            let response = post(&server, wire, &request(wire, "s", 0)).send().await.unwrap();
            assert_eq!(response.status(), 200);
            let (came, ended) = as_far_as_it_came(response).await;
            assert!(!ended, "a cut at {bytes} is no end");
            // The answer's id names the attempt; all else is the same.
            assert_eq!(came, &whole.as_bytes()[..bytes]);
        }
    }
}

#[tokio::test]
async fn a_stream_can_break_after_an_error_event() {
    for wire in WIRES {
        let fault = Fault::ErrorEvent {
            kind: "overloaded_error".to_owned(),
            message: "Overloaded".to_owned(),
        };
        let step = Step::text("so far").and_call("x", json!({})).failing(fault.clone());
        let server = stepping(vec![step.failing(fault)]).await;
        let stream = reply(&server, wire, "s", 0).await;
        assert_eq!(said(wire, &stream), "so far");
        let end = match wire {
            WireName::OpenaiChat => {
                "data: {\"error\":{\"code\":null,\"message\":\"Overloaded\",\"param\":null,\
                 \"type\":\"overloaded_error\"}}\n\n"
            }
            WireName::OpenaiResponses => {
                "event: error\ndata: {\"code\":\"overloaded_error\",\"message\":\"Overloaded\",\
                 \"param\":null,\"type\":\"error\"}\n\n"
            }
            WireName::Anthropic => {
                "event: error\ndata: {\"error\":{\"message\":\"Overloaded\",\
                 \"type\":\"overloaded_error\"},\"type\":\"error\"}\n\n"
            }
        };
        assert!(stream.ends_with(end), "{stream}");
        assert!(!stream.contains("call_a_0_0"));
        let mut whole = request(wire, "s", 0);
        whole["stream"] = json!(false);
        assert_eq!(ask(&server, wire, &whole).await.0, 529);
    }
}

#[tokio::test]
async fn a_stalled_stream_ends_when_the_client_leaves() {
    for wire in WIRES {
        let server = stepping(vec![Step::text("hello").failing(Fault::Stall { bytes: 30 })]).await;
        let mut response = post(&server, wire, &request(wire, "s", 0)).send().await.unwrap();
        let mut came = 0;
        while came < 30 {
            came += response.chunk().await.unwrap().unwrap().len();
        }
        assert_eq!(came, 30);
        assert_eq!(server.withheld("a", 0).await.attempt, 0);
        drop(response);
        server.let_go("a", 0).await;
        assert_eq!(said(wire, &reply(&server, wire, "s", 0).await), "hello");
    }
}

#[tokio::test]
async fn a_connection_can_be_closed_without_an_answer() {
    for wire in WIRES {
        let server = stepping(vec![Step::text("hello").failing(Fault::Hangup)]).await;
        let sent = post(&server, wire, &request(wire, "s", 0)).send().await;
        assert!(sent.is_err_and(|error| error.is_request()));
        assert_eq!(said(wire, &reply(&server, wire, "s", 0).await), "hello");
    }
}

#[tokio::test]
async fn any_bytes_can_come_instead_of_a_reply() {
    for wire in WIRES {
        let fault = Fault::Raw { content_type: "text/html".to_owned(), body: "<p>ü".to_owned() };
        let server = stepping(vec![Step::default().failing(fault)]).await;
        let response = post(&server, wire, &request(wire, "s", 0)).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/html");
        assert_eq!(response.text().await.unwrap(), "<p>ü");
    }
}

#[tokio::test]
async fn a_request_can_be_too_long_for_the_model() {
    for wire in WIRES {
        let words = match wire {
            WireName::OpenaiChat | WireName::OpenaiResponses => "context_length_exceeded",
            WireName::Anthropic => "prompt is too long",
        };
        let server = stepping(vec![Step::text("x").failing(Fault::ContextOverflow)]).await;
        let (status, error) = ask(&server, wire, &request(wire, "s", 0)).await;
        assert!(status == 400 && error.contains(words), "{error}");
        assert_eq!(said(wire, &reply(&server, wire, "s", 0).await), "x");

        let agents = vec![longboat_scripted::Agent::default()];
        let script = Script { context_tokens: Some(200), ..Script::of(agents) };
        let server = Server::start(script, 0).await.unwrap();
        assert_eq!(ask(&server, wire, &request(wire, "s", 0)).await.0, 200);
        let (status, error) = ask(&server, wire, &request(wire, &"long ".repeat(400), 0)).await;
        assert!(status == 400 && error.contains(words), "{error}");
        assert_eq!(server.refusals(), [], "too long is not malformed");
    }
}
