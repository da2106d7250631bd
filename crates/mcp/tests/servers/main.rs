//! MCP servers of all kinds of conduct, and the client that must live with them.

mod answers;
mod calls;
mod child;
mod http;
mod lives;
mod offers;
mod place;
