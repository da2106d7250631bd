//! Replies that wait for events.

use super::client::{WIRES, ask, post, reply, request, said, serving, stepping};
use longboat_scripted::{Agent, Held, Hold, Point, Server, Step, WireName};

const CHAT: WireName = WireName::OpenaiChat;

fn held(agent: &str, step: usize) -> Held {
    Held { agent: agent.to_owned(), step, attempt: 0 }
}

#[tokio::test]
async fn a_gate_withholds_a_reply_until_it_is_opened() {
    for wire in WIRES {
        let server = stepping(vec![Step::text("free").held(Hold::gate("g"))]).await;
        let asking = reply(&server, wire, "s", 0);
        let opening = async {
            assert_eq!(server.arrived("a", 0).await.step, 0);
            assert_eq!(server.withheld("a", 0).await, held("a", 0));
            assert_eq!(server.held(), [held("a", 0)]);
            server.open_gate("g");
        };
        let (stream, ()) = tokio::join!(asking, opening);
        assert_eq!(said(wire, &stream), "free");
        server.answered("a", 0).await;
        assert_eq!(server.held(), []);
        assert_eq!(said(wire, &reply(&server, wire, "s", 0).await), "free", "it stays open");
    }
}

async fn two(hold: Hold, after_text: bool) -> Server {
    let waiting = if after_text {
        Step::text("said").and_call("x", serde_json::json!({})).held_after_text(hold)
    } else {
        Step::text("said").held(hold)
    };
    serving(vec![
        Agent::when("a", "I am a", vec![waiting]),
        Agent::when("b", "I am b", vec![Step::text("b0"), Step::text("b1").held(Hold::gate("b"))]),
    ])
    .await
}

#[tokio::test]
async fn a_reply_waits_until_another_agents_request_arrived() {
    for wire in WIRES {
        let server = two(Hold::until("b", 1, Point::Arrived), false).await;
        let asking = reply(&server, wire, "I am a", 0);
        let others = async {
            server.withheld("a", 0).await;
            reply(&server, wire, "I am b", 0).await;
            assert_eq!(server.held(), [held("a", 0)], "step 0 of b is not step 1");
            tokio::select! {
                _ = reply(&server, wire, "I am b", 1) => panic!("nobody opened b's gate"),
                () = server.answered("a", 0) => {}
            }
        };
        assert_eq!(said(wire, &tokio::join!(asking, others).0), "said");
    }
}

#[tokio::test]
async fn a_reply_waits_until_another_agents_request_was_answered() {
    let server = two(Hold::until("b", 1, Point::Answered), false).await;
    let asking = reply(&server, CHAT, "I am a", 0);
    let others = async {
        server.withheld("a", 0).await;
        let b = reply(&server, CHAT, "I am b", 1);
        let opening = async {
            server.withheld("b", 1).await;
            assert_eq!(server.held(), [held("a", 0), held("b", 1)]);
            server.open_gate("b");
        };
        tokio::join!(b, opening)
    };
    tokio::join!(asking, others);
}

#[tokio::test]
async fn an_agent_that_is_past_a_point_has_come_to_it() {
    let server = two(Hold::until("b", 0, Point::Answered), false).await;
    server.open_gate("b");
    reply(&server, CHAT, "I am b", 1).await;
    reply(&server, CHAT, "I am a", 0).await;
}

#[tokio::test]
async fn a_reply_can_be_held_in_flight_after_its_text() {
    for wire in WIRES {
        let server = two(Hold::gate("g"), true).await;
        let body = request(wire, "I am a", 0);
        let mut response = post(&server, wire, &body).send().await.unwrap();
        let mut came = String::new();
        while !came.contains("said") {
            came += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
        }
        server.withheld("a", 0).await;
        assert!(!came.contains("call_a_0_0"));
        server.open_gate("g");
        let rest = response.text().await.unwrap();
        assert!(rest.contains("call_a_0_0"), "{rest}");
        server.answered("a", 0).await;
    }
}

#[tokio::test]
async fn a_hold_ends_after_its_bound() {
    let hold = Hold { at_most_ms: 20, ..Hold::until("b", 5, Point::Answered) };
    let server = two(hold, false).await;
    assert_eq!(said(CHAT, &reply(&server, CHAT, "I am a", 0).await), "said");
}

#[tokio::test]
async fn a_held_request_ends_when_its_client_leaves() {
    for wire in WIRES {
        let server = stepping(vec![Step::text("x").held(Hold::gate("never"))]).await;
        let body = request(wire, "s", 0);
        tokio::select! {
            _ = ask(&server, wire, &body) => panic!("the gate is shut"),
            _ = server.withheld("a", 0) => {}
        }
        server.let_go("a", 0).await;
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn faults_are_neither_held_nor_delayed() {
    let step = Step { delay_ms: 3_600_000, ..Step::text("x").held(Hold::gate("never")) };
    let server = stepping(vec![step.failing(longboat_scripted::Fault::Hangup)]).await;
    assert!(post(&server, CHAT, &request(CHAT, "s", 0)).send().await.is_err());
}
