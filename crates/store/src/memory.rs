//! The reference implementation.

/// Keeps logs in memory: for simulation and the contract suite only.
#[derive(Debug)]
pub struct MemoryStore;
