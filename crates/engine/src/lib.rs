//! Making a team happen, in order: drivers, mailbox, roster, tools.

mod ports;

pub use ports::{Clock, Effect, Ids, Tool, ToolScope, Toolbox};
