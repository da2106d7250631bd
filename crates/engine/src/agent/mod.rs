//! The agent that runs one session: it does what the team orders, and reports what came of it.

mod driver;
mod tool_calls;

pub(crate) use driver::Driver;
