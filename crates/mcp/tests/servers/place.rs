//! A directory of a test's own, servers, and calls as the engine makes them.

use crate::child::server;
use longboat_core::content::{Block, ToolOutcome};
use longboat_core::id::{MemberName, Origin, SessionId, StepNo};
use longboat_engine::{Tool, ToolScope, Toolbox};
use longboat_mcp::{McpServers, ServerSettings};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Place {
    dir: TempDir,
    pub(crate) servers: McpServers,
}

impl Place {
    /// One server over standard input and output.
    pub(crate) async fn of(conduct: &str) -> Self {
        Self::with(conduct, |_| {}).await
    }

    pub(crate) async fn with(conduct: &str, change: impl FnOnce(&mut ServerSettings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = server(conduct, &dir.path().join("seen"));
        change(&mut settings);
        let servers = McpServers::start(vec![settings]).await;
        Self { dir, servers }
    }

    /// The methods that the server was sent, and its starts.
    pub(crate) fn seen(&self) -> Vec<String> {
        seen(&self.dir.path().join("seen"))
    }

    /// Waits until the server was sent it.
    pub(crate) async fn until_seen(&self, method: &str) {
        while !self.seen().iter().any(|line| line == method) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    pub(crate) fn spill(&self) -> PathBuf {
        self.dir.path().join("spill")
    }

    pub(crate) fn scope(&self) -> ToolScope {
        let session = SessionId::new("s-1").unwrap();
        ToolScope {
            session: session.clone(),
            member: MemberName::lead(),
            origin: Origin { session, step: StepNo(1), index: 0 },
            cwd: self.dir.path().to_owned(),
            spill: self.spill(),
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        tool(&self.servers, name)
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.tool(name).call(self.scope(), arguments).await
    }

    /// The text of a call's outcome.
    pub(crate) async fn says(&self, name: &str) -> String {
        shown(&self.call(name, serde_json::json!({})).await)
    }
}

fn seen(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A server's tool by the server's own name for it.
pub(crate) fn tool(servers: &McpServers, name: &str) -> Arc<dyn Tool> {
    let all = servers.open(&SessionId::new("s-1").unwrap());
    let name = format!("hand__{name}");
    all.into_iter().find(|tool| tool.spec().name == name).unwrap()
}

pub(crate) fn shown(outcome: &ToolOutcome) -> String {
    let texts = outcome.content.iter().map(|block| match block {
        Block::Text { text } => text.as_str(),
        Block::Image { .. } => "<picture>",
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether a process lives. One that is dead and not yet reaped does not.
pub(crate) fn lives(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().unwrap_or_default().split_whitespace().next();
    !matches!(state, Some("Z" | "X"))
}

pub(crate) async fn until_dead(pid: &str) {
    while lives(pid) {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
