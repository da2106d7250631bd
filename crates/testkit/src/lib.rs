//! Parts for tests: a clock and ids that repeat, a store that can die, a model that plays along.
//! Never shipped.

mod checker;
mod dying_store;
mod sim_model;
mod sim_ports;
mod world;

pub use checker::TeamCheck;
pub use dying_store::{Death, DyingStore};
pub use sim_model::{SimModel, SimReply, Turn, assert_legal};
pub use sim_ports::{NoTools, SimClock, SimIds};
pub use world::{Life, Logs, World, follow, say, until, until_released};
