//! Processes that hold a store and are spoken to: by programs over HTTP, and by other commands.

use super::place::{Ended, Place, ended, send, spawn, step, wait};
use longboat_scripted::{Agent, Hold, Step};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A `longboat serve`, and the address it printed.
struct Serving {
    child: Child,
    address: String,
    token: String,
    client: reqwest::Client,
}

impl Serving {
    async fn begin(place: &Place) -> Self {
        let command = place.command(&["serve", "--model", "openai/scripted"]);
        Self::of(place, command).await
    }

    async fn of(place: &Place, mut command: Command) -> Self {
        let mut child = command.env("LONGBOAT_BASE_URL", place.server.base_url()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("an address");
        let (address, token) = url.split_once("/?token=").expect("a token");
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address: address.to_owned(), token: token.to_owned(), child, client }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let url = format!("{}/api/v1{path}", self.address);
        let mut request = self.client.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap())
    }

    async fn create(&self) -> String {
        let (status, team) = self.ask("POST", "/sessions", Some(json!({"prompt": "go"}))).await;
        assert_eq!(status, 201, "{team}");
        team["id"].as_str().unwrap().to_owned()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap());
        kill(pid, signal).unwrap();
    }

    async fn end(self, signal: Signal) -> Ended {
        self.signal(signal);
        ended(self.child).await
    }
}

/// Records by log and place, from a stream of events, and the last id.
struct Heard {
    seen: BTreeSet<(String, u64)>,
    last: Option<String>,
}

impl Heard {
    /// Reads a team's events after the last one heard, until `enough` of what is heard.
    async fn hear(&mut self, serving: &Serving, id: &str, enough: impl Fn(&Self, &Value) -> bool) {
        let url = format!("{}/api/v1/sessions/{id}/events", serving.address);
        let mut request = serving.client.get(url).bearer_auth(&serving.token);
        if let Some(last) = &self.last {
            request = request.header("last-event-id", last);
        }
        let mut response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let mut text = String::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            text.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some((block, rest)) = text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                text = rest;
                let value = self.take(&block);
                if enough(self, &value) {
                    return;
                }
            }
        }
        panic!("the stream ended early");
    }

    fn take(&mut self, block: &str) -> Value {
        let field = |name: &str| {
            let mut lines = block.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(field, _)| *field == name).map(|(_, value)| value.to_owned())
        };
        let data: Value =
            field("data").map(|data| serde_json::from_str(&data).unwrap()).unwrap_or_default();
        self.last = field("id").or(self.last.take());
        if field("event").as_deref() == Some("record") {
            let place =
                (data["session"].as_str().unwrap().to_owned(), data["seq"].as_u64().unwrap());
            assert!(self.seen.insert(place), "twice: {data}");
        }
        data
    }
}

fn note(place: &Place) -> PathBuf {
    let mut name = place.store().into_os_string();
    name.push(".api");
    PathBuf::from(name)
}

fn held_team() -> Vec<Agent> {
    vec![
        Agent {
            after: Some(Step::text("over")),
            ..Agent::member("lead", vec![spawn("worker"), wait(), wait(), wait()])
        },
        Agent {
            after: Some(Step::text("heard")),
            ..Agent::member(
                "worker",
                vec![
                    step("list_agents", json!({})).held(Hold::gate("first")),
                    send("lead", "all of it").held(Hold::gate("second")),
                    Step::text("done"),
                ],
            )
        },
    ]
}

#[tokio::test]
async fn a_served_store_answers_its_own_user_and_is_left_clean() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("summed up")])]).await;
    let serving = Serving::begin(&place).await;
    let mode = std::fs::metadata(note(&place)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let id = serving.create().await;
    let mut heard = Heard { seen: BTreeSet::new(), last: None };
    heard.hear(&serving, &id, |_, data| data["type"] == "turn/ended").await;
    let held = place.end(place.run(&[])).await;
    assert_eq!(held.code, Some(3), "{}", held.err);
    assert!(held.err.contains("in use by process"), "{}", held.err);
    let stopped = serving.end(Signal::SIGINT).await;
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    assert!(stopped.err.contains("serves "), "{}", stopped.err);
    assert!(!note(&place).exists());
    assert_eq!(place.wrong().await, Vec::<String>::new());
}

#[tokio::test]
async fn whoever_comes_back_after_a_kill_of_the_server_misses_nothing() {
    let place = Place::of(held_team()).await;
    let serving = Serving::begin(&place).await;
    let id = serving.create().await;
    let mut heard = Heard { seen: BTreeSet::new(), last: None };
    heard.hear(&serving, &id, |heard, _| heard.seen.len() > 8).await;
    place.server.arrived("worker", 0).await;
    serving.end(Signal::SIGKILL).await;
    assert!(note(&place).exists(), "a killed process takes nothing away");
    let nobody = place.end(place.command(&["send", "worker", "x"])).await;
    assert_eq!(nobody.code, Some(2), "{}", nobody.err);

    let serving = Serving::begin(&place).await;
    let (status, _) = serving.ask("POST", &format!("/sessions/{id}/resume"), None).await;
    assert_eq!(status, 200);
    place.server.open_gate("first");
    place.server.open_gate("second");
    let lead_ended = |data: &Value| data["type"] == "turn/ended" && data["member"] == "lead";
    heard.hear(&serving, &id, |_, data| lead_ended(data)).await;
    let total = |page: &Value| page["sessions"][0]["records"].as_u64().unwrap() as usize;
    let (_, page) = serving.ask("GET", "/sessions", None).await;
    if heard.seen.len() < total(&page) {
        heard.hear(&serving, &id, |heard, _| heard.seen.len() >= total(&page)).await;
    }
    let stopped = serving.end(Signal::SIGTERM).await;
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    assert_eq!(place.wrong().await, Vec::<String>::new());
}

#[tokio::test]
async fn other_commands_reach_a_run_at_work() {
    let place = Place::of(held_team()).await;
    let run = place.run(&[]).spawn().unwrap();
    place.server.arrived("worker", 0).await;
    let ask = async |arguments: &[&str]| {
        let done = place.end(place.command(arguments)).await;
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.err);
        done.out
    };
    assert!(
        ask(&["send", "worker", "look here", "--steer"]).await.starts_with("steered worker in s-")
    );
    // By another name it is the same store.
    let link = place.workspace().join("link.db");
    std::os::unix::fs::symlink(place.store(), &link).unwrap();
    let by_link = ["tasks", "create", "Find it", "--store", link.to_str().unwrap()];
    assert!(ask(&by_link).await.starts_with("t1 is open (revision 1)"));
    assert!(
        ask(&["tasks", "assign", "t1", "worker"]).await.starts_with("t1 is in progress, worker's")
    );
    let listed = ask(&["tasks"]).await;
    assert!(listed.contains("in progress  worker"), "{listed}");
    let tasks: Value = serde_json::from_str(&ask(&["tasks", "list", "--json"]).await).unwrap();
    assert_eq!(tasks[0]["created_by"], "human");
    for (arguments, code, said) in [
        (vec!["tasks", "complete", "t1", "--revision", "1"], 2, "revision"),
        (vec!["tasks", "claim", "t7"], 2, "t7"),
        (vec!["send", "ghost", "x"], 2, "ghost"),
        (vec!["send", "worker", "x", "--session", "s-none"], 2, "s-none"),
    ] {
        let done = place.end(place.command(&arguments)).await;
        assert_eq!(done.code, Some(code), "{arguments:?}: {}", done.err);
        assert!(done.err.contains(said), "{arguments:?}: {}", done.err);
    }
    let follow = place.command(&["show", "--follow", "--json"]).spawn().unwrap();
    place.server.open_gate("first");
    let steered = place.server.arrived("worker", 1).await.body;
    assert!(steered.contains("look here"), "{steered}");
    assert!(ask(&["send", "worker", "go on", "--id", "once"]).await.contains("queued for worker"));
    ask(&["send", "worker", "go on", "--id", "once"]).await;
    assert!(ask(&["interrupt", "worker"]).await.ends_with("goes on with 1 pending\n"));
    place.server.open_gate("second");
    let ran = ended(run).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "over\n"), "{}", ran.err);
    let followed = ended(follow).await;
    assert_eq!(followed.code, Some(0), "{}", followed.err);
    let exported = place.end(place.command(&["export"])).await.out;
    let kept: Vec<&str> = exported
        .lines()
        .filter(|line| line.contains("\"once\"") || line.contains("prompt/once"))
        .collect();
    assert!(!kept.is_empty());
    let inserted = |line: &&&str| line.contains("\"inbox/inserted\"");
    assert_eq!(kept.iter().filter(inserted).count(), 1);
    for line in followed.out.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["seq"].is_u64() && event["type"].is_string(), "{line}");
    }
    assert!(followed.out.contains("\"session/created\""));
    assert!(!note(&place).exists());
    assert_eq!(place.wrong().await, Vec::<String>::new());
}

#[tokio::test]
async fn where_nobody_holds_the_store_it_is_said_what_to_do() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("over")])]).await;
    assert_eq!(place.end(place.run(&[])).await.code, Some(0));
    for arguments in [
        vec!["send", "lead", "more"],
        vec!["interrupt", "lead"],
        vec!["tasks", "create", "x"],
        vec!["show", "--follow"],
    ] {
        let done = place.end(place.command(&arguments)).await;
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.err);
        assert!(done.err.contains("longboat serve"), "{arguments:?}: {}", done.err);
    }
    assert_eq!(place.end(place.command(&["tasks"])).await.code, Some(0));
    // A note of a process that is gone says nothing.
    std::fs::write(note(&place), r#"{"address":"127.0.0.1:9","token":"x","pid":1}"#).unwrap();
    let done = place.end(place.command(&["send", "lead", "more"])).await;
    assert_eq!(done.code, Some(2), "{}", done.err);
}

#[tokio::test]
async fn an_address_that_others_reach_is_listened_on_only_when_that_is_said() {
    let place = Place::of(Vec::new()).await;
    let refused = place.end(place.command(&["serve", "--listen", "0.0.0.0:0"])).await;
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--allow-remote"), "{}", refused.err);
    let serve = place.command(&["serve", "--listen", "0.0.0.0:0", "--allow-remote"]);
    let serving = Serving::of(&place, serve).await;
    assert!(serving.address.starts_with("http://127.0.0.1:"), "{}", serving.address);
    assert_eq!(serving.ask("GET", "/sessions", None).await.0, 200);
    let rebound =
        serving.client.get(format!("{}/", serving.address)).header("host", "evil.example");
    assert_eq!(rebound.send().await.unwrap().status(), 421);
    let stopped = serving.end(Signal::SIGTERM).await;
    assert!(stopped.err.contains("other machines can reach this"), "{}", stopped.err);
    let nonsense = place.end(place.command(&["serve", "--listen", "here"])).await;
    assert_eq!(nonsense.code, Some(2));
    let serving = Serving::begin(&place).await;
    let port = serving.address.rsplit(':').next().unwrap().to_owned();
    let taken = place.command(&["serve", "--listen", &port, "--store", "other.db"]);
    let taken = place.end(taken).await;
    assert_eq!(taken.code, Some(2), "{}", taken.err);
    assert!(taken.err.contains("another port"), "{}", taken.err);
    serving.end(Signal::SIGTERM).await;
}

#[tokio::test]
async fn a_closed_terminal_drains_as_ctrl_c_does() {
    let place = Place::of(held_team()).await;
    let run = place.run(&["--web"]).spawn().unwrap();
    place.server.arrived("worker", 0).await;
    kill(Pid::from_raw(i32::try_from(run.id().unwrap()).unwrap()), Signal::SIGHUP).unwrap();
    let stopped = ended(run).await;
    assert_eq!(stopped.code, Some(130), "{}", stopped.err);
    assert!(stopped.err.contains("see it at http://127.0.0.1:"), "{}", stopped.err);
    assert!(stopped.err.contains("/?token=") || stopped.err.contains("?token="), "{}", stopped.err);
    assert!(!note(&place).exists());
    place.server.open_gate("first");
    place.server.open_gate("second");
    assert_eq!(place.end(place.command(&["resume"])).await.code, Some(0));
}

#[tokio::test]
async fn whoever_is_started_with_hang_ups_ignored_goes_on_when_the_terminal_closes() {
    let place = Place::of(Vec::new()).await;
    let serve = place.command(&["serve"]);
    let mut command = Command::new("nohup");
    command.arg(serve.as_std().get_program()).args(serve.as_std().get_args());
    command.current_dir(place.workspace()).env("LONGBOAT_STORE", place.store());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let serving = Serving::of(&place, command).await;
    serving.signal(Signal::SIGHUP);
    for _ in 0..20 {
        assert_eq!(serving.ask("GET", "/sessions", None).await.0, 200);
    }
    assert_eq!(serving.end(Signal::SIGTERM).await.code, Some(0));
}
