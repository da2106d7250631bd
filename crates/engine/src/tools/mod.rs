//! What the runtime offers a model: the team's tools, and the set a session has.

mod registry;
pub(crate) mod team;

pub(crate) use registry::ToolSet;
