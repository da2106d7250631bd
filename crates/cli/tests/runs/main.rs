//! Runs of the real binary against the scripted model: what it prints, what it ends with, and that
//! it goes on after anything.

mod kills;
mod place;
mod refusals;
mod runs;
mod stops;
