//! A home and a workspace of a test's own, and the binary in them.

use longboat_core::id::SessionId;
use longboat_scripted::{Agent, Script, Server, Step};
use longboat_store::{SqliteStore, Store};
use longboat_testkit::TeamCheck;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use tempfile::TempDir;
use tokio::process::{Child, Command};

pub(crate) struct Place {
    dir: TempDir,
    pub(crate) server: Server,
}

/// What a command ended with.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) async fn of(agents: Vec<Agent>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        let server = Server::start(Script::of(agents), 0).await.unwrap();
        Self { dir, server }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join("store/longboat.db")
    }

    /// The binary with its arguments, and an environment that is the test's own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longboat"));
        command
            .args(arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.dir.path())
            .env("LONGBOAT_STORE", self.store())
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// `longboat run` against the test's server.
    pub(crate) fn run(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["run", "go", "--model", "openai/scripted"]);
        command.args(more).env("LONGBOAT_BASE_URL", self.server.base_url());
        command
    }

    pub(crate) async fn end(&self, mut command: Command) -> Ended {
        ended(command.spawn().unwrap()).await
    }

    /// The promises, checked in the logs of the only team.
    pub(crate) async fn wrong(&self) -> Vec<String> {
        let store = SqliteStore::open_read_only(self.store()).unwrap();
        let mut wrong = Vec::new();
        for head in store.sessions().await.unwrap() {
            if !head.session.as_str().contains('.') {
                wrong.extend(TeamCheck::read(&store, &head.session).await.check());
            }
        }
        wrong
    }

    /// The lead's session of the only team.
    pub(crate) async fn lead(&self) -> SessionId {
        let store = SqliteStore::open_read_only(self.store()).unwrap();
        let heads = store.sessions().await.unwrap();
        let lead = heads.into_iter().find(|head| !head.session.as_str().contains('.'));
        lead.unwrap().session
    }
}

pub(crate) async fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().await.unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn step(name: &str, arguments: Value) -> Step {
    Step::call(name, arguments)
}

pub(crate) fn spawn(name: &str) -> Step {
    step("spawn_teammate", json!({"name": name, "description": "works", "prompt": "begin"}))
}

pub(crate) fn send(target: &str, message: &str) -> Step {
    step("send_message", json!({"target": target, "message": message}))
}

pub(crate) fn wait() -> Step {
    step("wait_agent", json!({}))
}
