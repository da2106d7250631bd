//! The doors: who may come in, what a browser is told not to do, and how often one may ask.

mod guard;
mod harden;
mod hosts;
mod pace;
mod token;

pub(crate) use guard::guard;
pub(crate) use harden::harden;
pub(crate) use pace::Pace;
pub use token::{Access, NotLoopback};
