//! Several boxes of tools as one.

use longboat_core::content::ToolSpec;
use longboat_core::id::{MemberName, SessionId};
use longboat_engine::{Tool, Toolbox};
use std::sync::Arc;

/// The tools of all boxes, in the boxes' order. Their names differ.
#[derive(Debug)]
pub(crate) struct Toolboxes(pub(crate) Vec<Arc<dyn Toolbox>>);

impl Toolbox for Toolboxes {
    fn open(&self, session: &SessionId) -> Vec<Arc<dyn Tool>> {
        self.0.iter().flat_map(|toolbox| toolbox.open(session)).collect()
    }

    fn offers(&self, tool: &str, member: &MemberName, role: Option<&str>) -> bool {
        self.0.iter().all(|toolbox| toolbox.offers(tool, member, role))
    }

    fn absent(&self, offered: &ToolSpec) -> Option<Arc<dyn Tool>> {
        self.0.iter().find_map(|toolbox| toolbox.absent(offered))
    }
}
