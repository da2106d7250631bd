//! Tools of MCP servers for members: servers that a person configures are started or reached once per
//! process, and their tools are offered under names of their own.
//!
//! Nothing a server does ends a turn. One that does not start, dies, hangs or talks nonsense makes a
//! call fail with an error that says so; the next call starts it again.

mod call;
mod connection;
mod keeper;
mod line_bound;
mod names;
mod offer;
mod outcome;
mod process;
mod servers;
mod settings;
mod tool;

pub use servers::{McpServers, ServerState};
pub use settings::{NAME_CHARS, NameRefused, Reach, ServerName, ServerSettings};
