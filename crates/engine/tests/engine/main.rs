//! The engine's promises, through its public surface.

mod checker;
mod simulation;
