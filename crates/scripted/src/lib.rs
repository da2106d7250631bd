//! A real HTTP server on loopback that plays a script as a language model, over the wires of real
//! providers. Tests, the demo and benchmarks go through it, so the product's own client, parser and
//! retry code always run. It refuses what a real provider would refuse.
//!
//! The step of a script is chosen by the request alone: by who asks (a text in the system prompt) and
//! by how many replies the conversation holds. So the same request gets the same reply after a
//! retry, a crash and a resume.

mod anthropic;
mod asked;
mod openai;
mod recall;
mod script;
mod server;
mod validate;

pub use asked::WireName;
pub use script::{Agent, Call, Fault, Hold, Point, Script, Step, Until, When};
pub use server::{Seen, Server};
