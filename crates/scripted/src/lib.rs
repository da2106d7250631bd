//! A real HTTP server on loopback that plays a script as a language model, over the wires of real
//! providers. Tests, the demo and benchmarks go through it, so the product's own client, parser and
//! retry code always run. It refuses what a real provider would refuse. It shares no code with the
//! product, so the two cannot share a misunderstanding of a wire.
//!
//! The step of a script is chosen by the request alone: by who asks (a text in the system prompt) and
//! by how many replies the conversation holds. So the same request gets the same reply after a
//! retry, a crash and a resume.
//!
//! ```
//! # use longboat_scripted::Script;
//! let script = Script::from_json(r#"{
//!     "agents": [
//!         {"name": "lead", "when": {"system_contains": "You are `lead`"}, "steps": [
//!             {"text": "First the task.", "calls": [
//!                 {"name": "team_task_create", "arguments": {"subject": "s", "description": "d"}}]},
//!             {"hold": {"until": {"agent": "worker", "step": 0, "point": "answered"}},
//!              "calls": [{"name": "team_task_update", "arguments": {
//!                 "task_id": "{{result.team_task_create.0.task.id}}", "action": "claim",
//!                 "expected_revision": "{{result.team_task_create.0.task.revision}}"}}]}]},
//!         {"name": "worker", "steps": [
//!             {"text": "Done.", "faults": [
//!                 {"status": {"status": 429, "retry_after": "0"}}, {"cut": {"bytes": 200}}]}]}
//!     ]
//! }"#);
//! assert_eq!(script.unwrap().agents.len(), 2);
//! ```

mod answer;
mod anthropic;
mod asked;
mod exchange;
mod fill;
mod openai;
mod play;
mod recall;
mod responses;
mod script;
mod server;
mod sse;
mod stage;
mod validate;

pub use asked::WireName;
pub use script::{
    Agent, Call, Fault, Hold, Point, Script, ScriptError, Step, TokenCounts, Until, When,
};
pub use server::Server;
pub use stage::{Held, Refused, Seen};
