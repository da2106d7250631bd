//! Which step a request gets, and what it may take from the request.

use super::client::{WIRES, ask, reply, request, said, serving, stepping, with_messages};
use longboat_scripted::{Agent, Step, When, WireName};
use serde_json::{Value, json};

const CHAT: WireName = WireName::OpenaiChat;

#[tokio::test]
async fn the_request_alone_chooses_agent_and_step() {
    let lead = Agent::member("lead", vec![Step::text("l0"), Step::text("l1")]);
    let others = Agent { after: Some(Step::text("over")), ..Agent::when("others", "", vec![]) };
    let server = serving(vec![lead, others]).await;
    for wire in WIRES {
        for _ in 0..2 {
            for (system, replies, expected) in [
                ("You are `lead`.", 1, "l1"),
                ("You are `lead`.", 0, "l0"),
                ("You are `lead`.", 2, "Nothing more to do."),
                ("You are `lead`.", 9, "Nothing more to do."),
                ("someone", 0, "over"),
            ] {
                assert_eq!(said(wire, &reply(&server, wire, system, replies).await), expected);
            }
        }
    }
    let seen = server.requests();
    let places: Vec<(&str, usize, usize)> =
        seen.iter().take(10).map(|s| (s.agent.as_str(), s.step, s.attempt)).collect();
    let first = [("lead", 1, 0), ("lead", 0, 0), ("lead", 2, 0), ("lead", 9, 0), ("others", 0, 0)];
    let second = first.map(|(agent, step, _)| (agent, step, 1));
    assert_eq!(places, [first, second].concat());
}

#[tokio::test]
async fn an_agent_can_count_from_a_text_and_be_chosen_by_one() {
    let counted = Agent {
        when: When { message_contains: "fork here".to_owned(), ..When::default() },
        count_from: "fork here".to_owned(),
        ..Agent::when("fork", "", vec![Step::text("f0"), Step::text("f1")])
    };
    let server = serving(vec![counted, Agent::when("all", "", vec![Step::text("a0")])]).await;
    for wire in WIRES {
        let user = |text: &str| json!({"role": "user", "content": text});
        let reply = json!({"role": "assistant", "content": "fork here, said the model"});
        let mut messages =
            vec![user("go"), reply.clone(), user("now fork here"), reply, user("on")];
        let said_to = async |messages: &[Value]| {
            said(wire, &ask(&server, wire, &with_messages(wire, "s", messages.to_vec())).await.1)
        };
        assert_eq!(said_to(&messages).await, "f1");
        messages.truncate(3);
        assert_eq!(said_to(&messages).await, "f0");
        messages.truncate(1);
        assert_eq!(said_to(&messages).await, "a0");
    }
}

#[tokio::test]
async fn texts_and_arguments_take_what_the_request_tells_or_say_what_is_missing() {
    let claim = json!({"id": "{{result.x.0.task.id}}", "expected": "{{result.x.0.task.revision}}"});
    let steps = vec![Step::text("s0"), Step::text("got {{message.0.id}}").and_call("claim", claim)];
    let server = stepping(steps).await;
    for wire in WIRES {
        let result = "{\"task\":{\"id\":\"t7\",\"revision\":3}}";
        let messages = match wire {
            WireName::OpenaiChat => vec![
                json!({"role": "user", "content": "[message m5 from b]\nhi"}),
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c",
                    "type": "function", "function": {"name": "x", "arguments": "{}"}}]}),
                json!({"role": "tool", "tool_call_id": "c", "content": result}),
            ],
            WireName::OpenaiResponses => vec![
                json!({"role": "user", "content": "[message m5 from b]\nhi"}),
                json!({"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}),
                json!({"type": "function_call_output", "call_id": "c", "output": result}),
            ],
            WireName::Anthropic => vec![
                json!({"role": "user", "content": "[message m5 from b]\nhi"}),
                json!({"role": "assistant", "content":
                    [{"type": "tool_use", "id": "c", "name": "x", "input": {}}]}),
                json!({"role": "user", "content":
                    [{"type": "tool_result", "tool_use_id": "c", "content": result}]}),
            ],
        };
        let mut body = with_messages(wire, "s", messages);
        body["stream"] = json!(false);
        let (status, answer) = ask(&server, wire, &body).await;
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let (text, arguments) = match wire {
            WireName::OpenaiChat => {
                let message = &answer["choices"][0]["message"];
                let arguments = message["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
                (message["content"].clone(), serde_json::from_str(arguments).unwrap())
            }
            WireName::OpenaiResponses => {
                let output = &answer["output"];
                let arguments = output[1]["arguments"].as_str().unwrap();
                (output[0]["content"][0]["text"].clone(), serde_json::from_str(arguments).unwrap())
            }
            WireName::Anthropic => {
                (answer["content"][0]["text"].clone(), answer["content"][1]["input"].clone())
            }
        };
        assert_eq!(text, "got m5");
        assert_eq!(arguments, json!({"id": "t7", "expected": 3}));

        let (status, error) = ask(&server, wire, &request(wire, "s", 1)).await;
        assert_eq!(status, 500);
        assert!(error.contains("{{message.0.id}}"), "{error}");
    }
}

#[tokio::test]
async fn what_a_request_shares_with_the_one_before_counts_as_cached() {
    let server = stepping(vec![]).await;
    let cached = async |system: &str, replies: usize| {
        let mut body = request(CHAT, system, replies);
        body["stream"] = json!(false);
        let answer: Value = serde_json::from_str(&ask(&server, CHAT, &body).await.1).unwrap();
        let usage = &answer["usage"];
        let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
        (usage["prompt_tokens"].as_u64().unwrap(), cached)
    };
    let (first, none) = cached(&"s".repeat(400), 0).await;
    assert!(first > 100 && none == 0);
    let (second, known) = cached(&"s".repeat(400), 1).await;
    assert!(second > first && known == first, "{second} {known} {first}");
    let (_, other) = cached(&"t".repeat(400), 1).await;
    assert_eq!(other, 0);
}
