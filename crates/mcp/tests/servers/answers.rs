//! A small MCP server written by hand, without transport: what it answers to each message. Its tools
//! are named for what they do to a client.

use serde_json::{Value, json};

/// What a server does about a message.
pub(crate) enum Answer {
    /// Answers it.
    Result(Value),
    /// Refuses it.
    Error(i64, String),
    /// Says nothing, ever.
    Silence,
    /// Reads nothing any more.
    Deafness,
    /// Dies.
    Death,
    /// Writes this before the answer.
    After(Vec<u8>, Value),
}

pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// The smallest picture there is.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

const NAMES: [&str; 16] = [
    "echo",
    "deafen",
    "pid",
    "env",
    "crash",
    "hang",
    "flood",
    "garbage",
    "wrong",
    "new",
    "mixed",
    "long",
    "structured",
    "failing",
    "refuse",
    "child",
];

fn listed(conduct: &str, params: &Value) -> Value {
    let all: Vec<Value> = NAMES.iter().map(|name| tool(name)).collect();
    match conduct {
        "endless pages" => json!({"tools": [tool("echo")], "nextCursor": "more"}),
        "two pages" if params["cursor"].is_null() => {
            json!({"tools": [tool("echo")], "nextCursor": "more"})
        }
        "two pages" => json!({"tools": [tool("pid")]}),
        "many tools" => {
            let many: Vec<Value> = (0..130).map(|n| tool(&format!("t{n:03}"))).collect();
            json!({"tools": many})
        }
        "odd tools" => json!({"tools": [
            tool("a.b"), tool("a/b"), tool("a_b"), tool(&"x".repeat(100)), tool("a_b"),
            {"name": "look", "annotations": {"readOnlyHint": true, "title": "Look around"},
             "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#"}},
            {"name": "list", "inputSchema": {"type": "array"}},
            {"name": "huge", "inputSchema": {"type": "object", "description": "y".repeat(40_000)}},
            {"name": "wordy", "description": "z".repeat(9_000), "inputSchema": {"type": "object"}},
        ]}),
        "fewer tools" => json!({"tools": [tool("pid")]}),
        _ => json!({"tools": all}),
    }
}

/// What a server of this conduct does about a request.
pub(crate) fn answer(conduct: &str, request: &Value) -> Answer {
    let params = &request["params"];
    match request["method"].as_str().unwrap_or_default() {
        "initialize" if conduct == "silent" => Answer::Silence,
        "initialize" if conduct == "refuses" => Answer::Error(-32_000, "come back later".into()),
        "initialize" => {
            let capabilities = if conduct == "no tools" { json!({}) } else { json!({"tools": {}}) };
            Answer::Result(json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": capabilities,
                "serverInfo": {"name": "hand-made", "version": "1"},
            }))
        }
        "ping" if conduct == "hangs whole" => Answer::Silence,
        "ping" => Answer::Result(json!({})),
        "tools/list" => Answer::Result(listed(conduct, params)),
        "tools/call" => call(params["name"].as_str().unwrap_or_default(), &params["arguments"]),
        other => Answer::Error(-32_601, format!("no method {other}")),
    }
}

fn call(name: &str, arguments: &Value) -> Answer {
    Answer::Result(match name {
        "echo" => text(arguments["text"].as_str().unwrap_or_default()),
        "pid" => text(&std::process::id().to_string()),
        "env" => {
            let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            names.sort();
            text(&names.join(" "))
        }
        "crash" => return Answer::Death,
        "hang" => return Answer::Silence,
        "deafen" => return Answer::Deafness,
        "flood" => {
            let mut line = vec![b'x'; 9 * 1_048_576];
            line.push(b'\n');
            return Answer::After(line, text("never read"));
        }
        "garbage" => {
            let lines = b"hello?\n{\"jsonrpc\": \"2.0\", \"id\n\xff\xfe\n[]\n{}\n".to_vec();
            return Answer::After(lines, text("after the garbage"));
        }
        "wrong" => json!({"unexpected": true}),
        "new" => json!({"content": [{"type": "text", "text": "old"}, {"type": "smell", "x": 1}]}),
        "mixed" => json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "image", "data": PIXEL, "mimeType": "image/tiff"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "file:///c.txt", "name": "c", "mimeType": "text/plain"},
        ]}),
        "long" => {
            let lines: Vec<String> = (0..20_000).map(|n| format!("líne {n}")).collect();
            text(&lines.join("\n"))
        }
        "structured" => json!({
            "content": [{"type": "text", "text": "{\"a\": 1}"}],
            "structuredContent": {"a": if arguments["other"] == json!(true) { 2 } else { 1 }},
        }),
        "failing" => json!({"content": [{"type": "text", "text": "disk full"}], "isError": true}),
        "refuse" => return Answer::Error(-32_602, "no such file: x".into()),
        "child" => {
            #[expect(clippy::zombie_processes, reason = "it is left to whoever ends this server")]
            let child = std::process::Command::new("/bin/sleep").arg("1000").spawn().unwrap();
            text(&child.id().to_string())
        }
        other => return Answer::Error(-32_602, format!("no tool {other}")),
    })
}
