//! The tools an agent has on its checkout: read, write, edit, bash, glob, grep. All are confined to
//! the workspace; what they touch, they touch through `confine`. And the checkouts themselves, for
//! members that are to have a git worktree of their own.

mod arguments;
mod bash;
mod capture;
mod confine;
mod edit;
mod git;
mod glob;
mod grep;
mod marks;
mod output;
mod process;
mod read;
mod sandbox;
mod settings;
mod versions;
mod walk;
mod worktrees;
mod write;

pub use marks::end_orphans;
pub use sandbox::Confinement;
pub use settings::{WorkspaceSettings, looks_secret};
pub use worktrees::GitWorktrees;

use longboat_core::id::SessionId;
use longboat_engine::{Tool, Toolbox};
use std::sync::{Arc, Mutex};
use versions::Versions;

/// Opens the workspace tools for sessions.
#[derive(Debug)]
pub struct WorkspaceTools {
    settings: Arc<WorkspaceSettings>,
    /// Held while a file is compared and replaced, so that of two agents one wins.
    writing: Arc<Mutex<()>>,
}

impl WorkspaceTools {
    /// Tools with these settings.
    #[must_use]
    pub fn new(settings: WorkspaceSettings) -> Self {
        Self { settings: Arc::new(settings), writing: Arc::default() }
    }
}

impl Toolbox for WorkspaceTools {
    fn open(&self, _: &SessionId) -> Vec<Arc<dyn Tool>> {
        let versions = Versions::new(Arc::clone(&self.writing));
        vec![
            Arc::new(read::Read { versions: versions.clone() }),
            Arc::new(write::Write { versions: versions.clone() }),
            Arc::new(edit::Edit { versions }),
            Arc::new(bash::Bash { settings: Arc::clone(&self.settings) }),
            Arc::new(glob::Glob),
            Arc::new(grep::Grep),
        ]
    }
}
