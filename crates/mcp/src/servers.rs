//! All servers of a process: started once, shared by all members.

use crate::keeper::Keeping;
use crate::names::server_of;
use crate::settings::ServerSettings;
use crate::tool::ServerTool;
use futures::future::join_all;
use longboat_core::content::ToolSpec;
use longboat_core::id::{MemberName, SessionId};
use longboat_engine::{Effect, Supervisor, Tool, Toolbox};
use std::sync::Arc;
use std::time::Duration;

/// Tools of all servers together: wires take 128, and the team's and the workspace's have their
/// place.
const TOOLS: usize = 100;
/// How long servers may take to leave before nobody waits for them any more.
const LEAVING: Duration = Duration::from_secs(6);

/// The servers of the configuration, and what they offer.
#[derive(Debug)]
pub struct McpServers {
    keepers: Vec<Keeping>,
    tools: Vec<Arc<dyn Tool>>,
    states: Vec<ServerState>,
    supervisor: Supervisor,
}

/// What came of a server's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// The tools it offers, by the names that models use; empty when it did not start.
    pub tools: Vec<String>,
    /// What is wrong: why it did not start, or which tools are not offered.
    pub problems: Vec<String>,
    /// Whether it runs.
    pub runs: bool,
}

impl McpServers {
    /// Starts all servers at once and waits for each as long as its settings say. One that does not
    /// start is told in [`states`](Self::states), and is tried again when somebody calls one of its
    /// tools in a session that knows them from before.
    pub async fn start(settings: Vec<ServerSettings>) -> Self {
        let supervisor = Supervisor::new();
        let mut settings = settings;
        settings.sort_by(|one, other| one.name.cmp(&other.name));
        let keepers: Vec<Keeping> = settings
            .into_iter()
            .map(|settings| Keeping::new(settings, supervisor.child()))
            .collect();
        let started = join_all(keepers.iter().map(Keeping::live)).await;
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let mut states = Vec::new();
        for (keeping, started) in keepers.iter().zip(started) {
            let name = keeping.settings.name.to_string();
            let mut state = ServerState { name, tools: vec![], problems: vec![], runs: false };
            match started {
                Err(down) => state.problems.push(down.reason),
                Ok(live) => {
                    state.runs = true;
                    state.problems.clone_from(&live.offer.problems);
                    let room = TOOLS.saturating_sub(tools.len());
                    let left_out = live.offer.tools.len().saturating_sub(room);
                    if left_out > 0 {
                        state.problems.push(format!(
                            "{left_out} of its tools are left out, for all servers together may have {TOOLS}; name those that are needed with tools = [\"…\"]"
                        ));
                    }
                    for (name, offered) in live.offer.tools.iter().take(room) {
                        state.tools.push(name.clone());
                        tools.push(Arc::new(ServerTool::of(keeping, offered)));
                    }
                }
            }
            states.push(state);
        }
        Self { keepers, tools, states, supervisor }
    }

    /// What came of each server's start, in the order of their names.
    #[must_use]
    pub fn states(&self) -> &[ServerState] {
        &self.states
    }

    /// Ends all servers and all they started. Nothing can be called from here on.
    pub async fn close(&self) {
        if !self.supervisor.quiet(LEAVING).await {
            tracing::warn!("an MCP server did not end in time");
        }
    }

    fn keeper_of(&self, tool: &str) -> Option<&Keeping> {
        let server = server_of(tool)?;
        self.keepers.iter().find(|keeping| keeping.settings.name.as_str() == server)
    }
}

impl Toolbox for McpServers {
    fn open(&self, _: &SessionId) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    fn offers(&self, tool: &str, member: &MemberName, role: Option<&str>) -> bool {
        self.keeper_of(tool).is_none_or(|keeping| keeping.settings.serves(member, role))
    }

    fn absent(&self, offered: &ToolSpec) -> Option<Arc<dyn Tool>> {
        let keeping = self.keeper_of(&offered.name)?.clone();
        Some(Arc::new(ServerTool { keeping, spec: offered.clone(), effect: Effect::Ordered }))
    }
}
