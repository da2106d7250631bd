//! The engine's promises, through its public surface: real files, real HTTP.

mod delivery;
mod recovery;
mod roster;
mod simulation;
mod tools;
mod turns;
mod waits;
