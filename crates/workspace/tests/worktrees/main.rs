//! Git worktrees for members, by a real git in real repositories.

mod crash;
mod given;
mod gone;
mod refused;
mod repository;
mod roles;
mod team;
