//! Runs one command with the bash tool: the parent that a test kills to see what outlives it.

use longboat_core::id::{MemberName, Origin, SessionId, StepNo};
use longboat_engine::{ToolScope, Toolbox};
use longboat_workspace::{WorkspaceSettings, WorkspaceTools};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let command = std::env::args().nth(1).ok_or("usage: run_bash COMMAND [TAG]")?;
    let environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    let mut settings = WorkspaceSettings {
        bash_timeout: Duration::from_secs(600),
        ..WorkspaceSettings::allowed(environment.into_iter(), &[])
    };
    settings.tag = std::env::args().nth(2).unwrap_or(settings.tag);
    let session = SessionId::new("s-1")?;
    let scope = ToolScope {
        session: session.clone(),
        member: MemberName::lead(),
        origin: Origin { session: session.clone(), step: StepNo(1), index: 0 },
        cwd: std::env::current_dir()?,
        spill: std::env::temp_dir(),
        cancel: CancellationToken::new(),
    };
    let tools = WorkspaceTools::new(settings).open(&session);
    let bash = tools.into_iter().find(|tool| tool.spec().name == "bash").ok_or("no bash")?;
    bash.call(scope, serde_json::json!({"command": command})).await;
    Ok(())
}
