//! The server over standard input and output: this same test binary, started again to be it. What
//! the test harness prints before is garbage to a client, and is passed over.

use crate::answers::{Answer, answer};
use longboat_mcp::{Reach, ServerName, ServerSettings};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

const CONDUCT: &str = "MCP_TEST_CONDUCT";
const SEEN: &str = "MCP_TEST_SEEN";

/// A server of that conduct, which writes its starts and the methods it sees into `seen`. Several
/// conducts, with `;` between them, are those of its lives, one after the other.
pub(crate) fn server(conduct: &str, seen: &Path) -> ServerSettings {
    let secret = |text: &str| SecretString::from(text.to_owned());
    let environment = BTreeMap::from([
        (CONDUCT.to_owned(), secret(conduct)),
        (SEEN.to_owned(), secret(&seen.display().to_string())),
        ("GIVEN_TOKEN".to_owned(), secret("hunter2-hunter2")),
    ]);
    let arguments = ["--exact", "child::a_server_of_another_test", "--nocapture"];
    ServerSettings {
        name: ServerName::new("hand").unwrap(),
        reach: Reach::Command {
            program: std::env::current_exe().unwrap().display().to_string(),
            arguments: arguments.map(str::to_owned).to_vec(),
            environment,
            directory: "/".into(),
        },
        timeout: Duration::from_secs(20),
        start_timeout: Duration::from_secs(20),
        tools: None,
        members: None,
        roles: None,
        secrets: vec![secret("hunter2-hunter2")],
    }
}

/// The conduct of this life: the conducts are separated by `;`, and the last one stays.
fn conduct_of_this_life(seen: &str) -> String {
    let all = std::env::var_os(CONDUCT).unwrap().into_string().unwrap();
    let lives = std::fs::read_to_string(seen).unwrap_or_default();
    let before = lives.lines().filter(|line| line.starts_with("start")).count();
    let conducts: Vec<&str> = all.split(';').collect();
    conducts[before.min(conducts.len() - 1)].to_owned()
}

fn note(seen: &str, line: &str) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(seen);
    file.unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Does nothing where it is not such a server.
#[test]
fn a_server_of_another_test() {
    let Some(seen) = std::env::var_os(SEEN) else { return };
    let seen = seen.to_str().unwrap();
    let conduct = conduct_of_this_life(seen);
    note(seen, &format!("start {}", std::process::id()));
    if conduct == "quits" {
        eprintln!("the password hunter2-hunter2 is wrong");
        std::process::exit(3);
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        if let Some(method) = message["method"].as_str() {
            note(seen, method);
        }
        if message["id"].is_null() {
            continue;
        }
        let id = &message["id"];
        let result = match answer(&conduct, &message) {
            Answer::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Answer::Error(code, text) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
            }
            Answer::Silence => continue,
            Answer::Deafness => loop {
                std::thread::park();
            },
            Answer::Death => {
                eprintln!("out of cheese");
                std::process::exit(7);
            }
            Answer::After(bytes, result) => {
                std::io::stdout().lock().write_all(&bytes).unwrap();
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
        };
        let mut line = result.to_string();
        line.push('\n');
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
        std::io::stdout().lock().flush().unwrap();
    }
    std::process::exit(0);
}
