//! A workspace of a test's own, and an agent in it.

use longboat_core::content::{Block, ToolOutcome, ToolStatus};
use longboat_core::id::{MemberName, Origin, SessionId, StepNo};
use longboat_engine::{Tool, ToolScope, Toolbox};
use longboat_workspace::{Confinement, WorkspaceSettings, WorkspaceTools};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Place {
    dir: TempDir,
    tools: WorkspaceTools,
}

/// One agent with its own memory of file versions.
pub(crate) struct Agent {
    tools: Vec<Arc<dyn Tool>>,
    scope: ToolScope,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        let environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let settings = WorkspaceSettings {
            bash_timeout: Duration::from_secs(60),
            ..WorkspaceSettings::allowed(environment.into_iter(), &[])
        };
        Self::with(dir, settings)
    }

    /// A place whose commands the system confines: `of` is told where the place is, which is also the
    /// home.
    pub(crate) fn confined(of: impl FnOnce(&Path) -> Confinement) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        let environment = BTreeMap::from([("PATH".to_owned(), path)]);
        let mut settings = WorkspaceSettings::allowed(environment.into_iter(), &[]);
        settings.confinement = Some(of(dir.path()));
        settings.tag = dir.path().display().to_string();
        Self::with(dir, settings)
    }

    fn with(dir: TempDir, settings: WorkspaceSettings) -> Self {
        Self { dir, tools: WorkspaceTools::new(settings) }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    /// Beside the workspace: where nothing may be read or written.
    pub(crate) fn outside(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) fn agent(&self) -> Agent {
        let session = SessionId::new("s-1").unwrap();
        let scope = ToolScope {
            session: session.clone(),
            member: MemberName::lead(),
            origin: Origin { session: session.clone(), step: StepNo(1), index: 0 },
            cwd: self.root(),
            spill: self.dir.path().join("spill"),
            cancel: CancellationToken::new(),
        };
        Agent { tools: self.tools.open(&session), scope }
    }
}

impl Agent {
    /// Cancels every call of this agent.
    pub(crate) fn cancel(&self) {
        self.scope.cancel.cancel();
    }

    /// The same agent, with another directory for long output.
    pub(crate) fn spilling_to(mut self, spill: PathBuf) -> Self {
        self.scope.spill = spill;
        self
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap()
    }

    pub(crate) fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.tool(name).call(self.scope.clone(), arguments).await
    }

    /// The text of a call that must succeed.
    pub(crate) async fn ok(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert_eq!(outcome.status, ToolStatus::Ok, "{outcome:?}");
        text(&outcome)
    }

    /// The text of a call that must be refused or fail.
    pub(crate) async fn refused(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert_eq!(outcome.status, ToolStatus::Error, "{outcome:?}");
        text(&outcome)
    }
}

pub(crate) fn text(outcome: &ToolOutcome) -> String {
    let texts = outcome.content.iter().map(|block| match block {
        Block::Text { text } => text.clone(),
        Block::Image { media_type, .. } => format!("[{media_type}]"),
    });
    texts.collect()
}
