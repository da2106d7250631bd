//! A plain HTTP client for the server under test, and requests as agents make them.

use longboat_scripted::{Agent, Script, Server, Step, WireName};
use serde_json::{Value, json};

pub(crate) const WIRES: [WireName; 3] =
    [WireName::OpenaiChat, WireName::OpenaiResponses, WireName::Anthropic];

pub(crate) async fn serving(agents: Vec<Agent>) -> Server {
    Server::start(Script::of(agents), 0).await.unwrap()
}

/// A server whose only agent, `a`, has these steps.
pub(crate) async fn stepping(steps: Vec<Step>) -> Server {
    serving(vec![Agent::when("a", "", steps)]).await
}

/// A streaming request of the agent with this system text, after so many replies.
pub(crate) fn request(wire: WireName, system: &str, replies: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    for _ in 0..replies {
        messages.push(json!({"role": "assistant", "content": "ok"}));
        messages.push(json!({"role": "user", "content": "on"}));
    }
    with_messages(wire, system, messages)
}

pub(crate) fn with_messages(wire: WireName, system: &str, mut messages: Vec<Value>) -> Value {
    match wire {
        WireName::OpenaiChat => {
            messages.insert(0, json!({"role": "system", "content": system}));
            json!({"model": "m", "stream": true, "messages": messages})
        }
        WireName::OpenaiResponses => {
            json!({"model": "m", "stream": true, "instructions": system, "input": messages})
        }
        WireName::Anthropic => json!({"model": "m", "max_tokens": 100, "stream": true,
            "system": system, "messages": messages,
            "tools": [{"name": "x", "input_schema": {"type": "object"}}]}),
    }
}

pub(crate) fn post(server: &Server, wire: WireName, body: &Value) -> reqwest::RequestBuilder {
    let path = match wire {
        WireName::OpenaiChat => "chat/completions",
        WireName::OpenaiResponses => "responses",
        WireName::Anthropic => "messages",
    };
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{}/{path}", server.base_url())).body(body.to_string());
    match wire {
        WireName::OpenaiChat | WireName::OpenaiResponses => request,
        WireName::Anthropic => request.header("anthropic-version", "2023-06-01"),
    }
}

/// The status and the whole body.
pub(crate) async fn ask(server: &Server, wire: WireName, body: &Value) -> (u16, String) {
    let response = post(server, wire, body).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// The reply of the agent with this system text, after so many replies.
pub(crate) async fn reply(server: &Server, wire: WireName, system: &str, n: usize) -> String {
    let (status, body) = ask(server, wire, &request(wire, system, n)).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// The body as far as it came, and whether it ended as it should.
pub(crate) async fn as_far_as_it_came(mut response: reqwest::Response) -> (Vec<u8>, bool) {
    let mut came = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) => came.extend_from_slice(&bytes),
            Ok(None) => return (came, true),
            Err(_) => return (came, false),
        }
    }
}

/// The data of a stream's events.
pub(crate) fn events(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The text that a stream's deltas say.
pub(crate) fn said(wire: WireName, stream: &str) -> String {
    let events = events(stream);
    let texts = events.iter().filter_map(|event| match wire {
        WireName::OpenaiChat => event["choices"][0]["delta"]["content"].as_str(),
        WireName::OpenaiResponses => event["delta"].as_str(),
        WireName::Anthropic => event["delta"]["text"].as_str(),
    });
    texts.collect()
}
