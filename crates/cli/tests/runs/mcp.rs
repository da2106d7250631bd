//! Runs with an MCP server, from the configuration to the model and back.

use super::place::{Ended, Place, ended, spawn, step, wait};
use longboat_scripted::{Agent, Step};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use tokio::process::Command;

const SEEN: &str = "MCP_TEST_SEEN";

/// A small server: this same test binary, started again. It does nothing where it is not one.
#[test]
fn a_server_of_another_test() {
    let Some(seen) = std::env::var_os(SEEN) else { return };
    let note = |line: &str| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&seen);
        writeln!(file.unwrap(), "{line}").unwrap();
    };
    note(&format!("start {}", std::process::id()));
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let said = message["params"]["arguments"]["text"].clone();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny", "version": "1"},
            }),
            "tools/list" => json!({"tools": [tool("echo"), tool("hang")]}),
            "tools/call" if message["params"]["name"] == "hang" => {
                note("hangs");
                continue;
            }
            "tools/call" => json!({"content": [{"type": "text", "text": format!("echo: {said}")}]}),
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        println!("{answer}");
    }
    std::process::exit(0);
}

fn configuration(place: &Place) -> PathBuf {
    place.workspace().with_file_name("mcp.toml")
}

fn seen(place: &Place) -> Vec<String> {
    let text = std::fs::read_to_string(place.workspace().with_file_name("seen"));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The id of the server's last process.
fn server(place: &Place) -> String {
    let starts = seen(place);
    let last = starts.iter().rev().find_map(|line| line.strip_prefix("start "));
    last.unwrap().to_owned()
}

/// Writes a configuration with the server, and more of its section.
fn configure(place: &Place, more: &str) {
    let this = std::env::current_exe().unwrap().display().to_string();
    let seen = place.workspace().with_file_name("seen").display().to_string();
    let text = format!(
        "[mcp.tiny]\ncommand = {this:?}\nargs = [\"--exact\", \"mcp::a_server_of_another_test\", \"--nocapture\"]\nenv = {{ {SEEN} = {seen:?} }}\n{more}"
    );
    std::fs::write(configuration(place), text).unwrap();
}

fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(&["--config"]);
    command.arg(configuration(place)).args(arguments);
    command.env("LONGBOAT_BASE_URL", place.server.base_url());
    command
}

async fn run(place: &Place) -> Ended {
    place.end(command(place, &["run", "go", "--model", "openai/scripted"])).await
}

/// The names of the tools that each request offers.
fn offered(place: &Place) -> Vec<Vec<String>> {
    let requests = place.server.requests();
    let bodies = requests.iter().map(|seen| serde_json::from_str::<Value>(&seen.body).unwrap());
    let names = bodies.map(|body| {
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    });
    names.collect()
}

async fn until_dead(pid: &str) {
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().split_whitespace().next();
        state.is_some_and(|state| !matches!(state, "Z" | "X"))
    };
    while lives() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_model_calls_a_servers_tool_and_is_told_what_it_says() {
    let steps = vec![step("tiny__echo", json!({"text": "Grüße"})), Step::text("Done.")];
    let place = Place::of(vec![Agent::member("lead", steps)]).await;
    configure(&place, "");
    let ended = run(&place).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "Done.\n"), "{}", ended.err);
    assert!(!ended.err.contains("passed over"), "{}", ended.err);
    let last = place.server.requests().last().unwrap().body.clone();
    let last: Value = serde_json::from_str(&last).unwrap();
    let result = last["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(result["content"], json!("echo: \"Grüße\""));
    until_dead(&server(&place)).await;
    assert_eq!(place.wrong().await, Vec::<String>::new());
}

#[tokio::test]
async fn members_share_a_server_and_have_its_tools_as_they_are_allowed() {
    let reader = json!({"name": "reader", "description": "x", "prompt": "go", "role": "reader"});
    let lead = vec![
        step("spawn_teammate", reader),
        spawn("plain"),
        wait(),
        wait(),
        wait(),
        wait(),
        Step::text("Done."),
    ];
    let calls = || vec![step("tiny__echo", json!({"text": "x"})), Step::text("ok")];
    let place = Place::of(vec![
        Agent::member("lead", lead),
        Agent::member("reader", calls()),
        Agent::member("plain", calls()),
    ])
    .await;
    configure(&place, "members = [\"lead\"]\nroles = [\"reader\"]\n");
    let roles = place.workspace().join(".longboat/agents");
    std::fs::create_dir_all(&roles).unwrap();
    let role = "---\ndescription: reads\ntools: read, mcp__tiny\n---\nRead.\n";
    std::fs::write(roles.join("reader.md"), role).unwrap();
    let ended = run(&place).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let has = |names: &[String], name: &str| names.iter().any(|offered| offered == name);
    let mut kinds: Vec<(bool, bool, bool)> = offered(&place)
        .iter()
        .map(|names| (has(names, "spawn_teammate"), has(names, "write"), has(names, "tiny__echo")))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    // The reader, the plain one, and the lead.
    assert_eq!(kinds, [(false, false, true), (false, true, false), (true, true, true)]);
    assert_eq!(seen(&place).iter().filter(|line| line.starts_with("start")).count(), 1);
}

#[tokio::test]
async fn a_server_that_does_not_start_is_said_and_the_run_goes_on() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("Done.")])]).await;
    let quits = "[mcp.quits]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no key >&2; exit 3\"]\n";
    std::fs::write(configuration(&place), quits).unwrap();
    let ended = run(&place).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "Done.\n"), "{}", ended.err);
    let line = "MCP server quits: it ended (exit status: 3); its last words: no key";
    assert!(ended.err.contains(line), "{}", ended.err);
}

#[tokio::test]
async fn a_call_that_was_running_in_a_kill_is_unknown_and_no_server_outlives_it() {
    let hang = step("tiny__hang", json!({}));
    let place = Place::of(vec![Agent::member("lead", vec![hang, Step::text("Done.")])]).await;
    configure(&place, "");
    let mut child = command(&place, &["run", "go", "--model", "openai/scripted"]).spawn().unwrap();
    while !seen(&place).iter().any(|line| line == "hangs") {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let killed = server(&place);
    child.start_kill().unwrap();
    ended(child).await;
    until_dead(&killed).await;
    let resumed = place.end(command(&place, &["resume"])).await;
    assert_eq!((resumed.code, resumed.out.as_str()), (Some(0), "Done.\n"), "{}", resumed.err);
    let last = place.server.requests().last().unwrap().body.clone();
    assert!(last.contains("outcome unknown"), "{last}");
    assert_eq!(seen(&place).iter().filter(|line| *line == "hangs").count(), 1);
}

#[tokio::test]
async fn a_session_that_goes_on_without_its_server_is_told_why_its_tool_fails() {
    let echo = || step("tiny__echo", json!({"text": "x"}));
    let steps = vec![echo(), Step::text("One."), echo(), Step::text("Two.")];
    let place = Place::of(vec![Agent::member("lead", steps)]).await;
    configure(&place, "");
    assert_eq!(run(&place).await.out, "One.\n");
    let first = offered(&place);
    let quits = "[mcp.tiny]\ncommand = \"sh\"\nargs = [\"-c\", \"exit 3\"]\n";
    std::fs::write(configuration(&place), quits).unwrap();
    let resumed = place.end(command(&place, &["resume", "latest", "again"])).await;
    assert_eq!((resumed.code, resumed.out.as_str()), (Some(0), "Two.\n"), "{}", resumed.err);
    assert!(resumed.err.contains("MCP server tiny: it ended (exit status: 3)"), "{}", resumed.err);
    // P19: it is offered what it was offered before.
    assert!(offered(&place).iter().all(|names| *names == first[0]));
    let last = place.server.requests().last().unwrap().body.clone();
    let says =
        "the MCP server tiny cannot be used: it ended (exit status: 3). The call was not made";
    assert!(last.contains(says), "{last}");
    // Without any such server, the tool is not known at all.
    std::fs::write(configuration(&place), "").unwrap();
    let gone = place.end(command(&place, &["resume", "latest", "again"])).await;
    assert_eq!(gone.code, Some(0), "{}", gone.err);
}

#[tokio::test]
async fn a_checkout_cannot_have_programs_started() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("x")])]).await;
    let evil = "[mcp.evil]\ncommand = \"touch\"\nargs = [\"started\"]\n";
    std::fs::write(place.workspace().join("longboat.toml"), evil).unwrap();
    let ended = place.end(place.run(&[])).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("could start any program on your machine"), "{}", ended.err);
    assert!(!place.workspace().join("started").exists());
}

#[tokio::test]
async fn what_is_wrong_with_a_servers_section_is_said_before_anything_starts() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("x")])]).await;
    for (section, says) in [
        ("[mcp.a]\n", "[mcp.a] needs either command"),
        ("[mcp.a]\ncommand = \"x\"\nurl = \"http://x\"\n", "and not both"),
        ("[mcp.a__b]\ncommand = \"x\"\n", "cannot be named \"a__b\""),
        ("[mcp.a]\ncommand = \"x\"\nenv_from = [\"NOT_SET\"]\n", "takes NOT_SET from the"),
        ("[mcp.a]\nurl = \"http://me:hunter2@x/\"\n", "has credentials in it"),
        ("[mcp.a]\nurl = \"ftp://x\"\n", "must begin with http:// or https://"),
        ("[mcp.a]\nurl = \"http://x\"\nargs = [\"y\"]\n", "has args, which means nothing"),
        ("[mcp.a]\ncommand = \"x\"\n[mcp.A]\ncommand = \"x\"\n", "in capital letters only"),
        ("[mcp.a]\ncomand = \"x\"\n", "did you mean \"command\"?"),
    ] {
        std::fs::write(configuration(&place), section).unwrap();
        let ended = run(&place).await;
        assert_eq!(ended.code, Some(2), "{section}: {}", ended.err);
        assert!(ended.err.contains(says), "{section}: {}", ended.err);
        assert!(!ended.err.contains("hunter2"), "{}", ended.err);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    }
}

#[tokio::test]
async fn doctor_starts_each_server_and_says_how_it_is() {
    let place = Place::of(Vec::new()).await;
    configure(&place, "[mcp.gone]\ncommand = \"no-such-program\"\n");
    let ended = place.end(command(&place, &["doctor"])).await;
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.out.contains("ok    mcp tiny: tiny__echo, tiny__hang\n"), "{}", ended.out);
    assert!(
        ended.out.contains("WRONG mcp gone: no-such-program cannot be started"),
        "{}",
        ended.out
    );
    until_dead(&server(&place)).await;
}
