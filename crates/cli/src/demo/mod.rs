//! The demo's parts: a scripted model, and a small real project that a team repairs. Everything else
//! of a demo is the product as it is: client, engine, tools, store.

mod place;
mod provider;
mod script;

pub(crate) use place::{Place, TestVerdict, Wires};
pub(crate) use provider::{lead_model, provide, revive};
pub(crate) use script::{PROMPT, Pace};
