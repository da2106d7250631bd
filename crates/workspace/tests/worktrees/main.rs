//! Git worktrees for members, by a real git in real repositories.

mod given;
mod refused;
mod repository;
