//! Members with a git worktree of their own. The worktree is made before the name is taken: a spawn
//! that cannot have one leaves nothing behind, and one that is cut off has had no effect on record,
//! so it is made again and takes the same worktree.

use super::actor::TeamActor;
use super::handle::By;
use super::input::Input;
use super::residency::open_call;
use super::roster::{Prepared, Spawning, prepare};
use crate::ports::{GivenWorktree, WantedWorktree};
use longboat_core::id::SessionId;
use longboat_core::log::Worktree;
use longboat_core::team::{Member, SpawnRefused};
use std::sync::Arc;

impl TeamActor {
    /// Begins to make a member's worktree, and to read what the member begins with.
    pub(super) fn branch_off(&mut self, spawning: &Spawning, parent: SessionId, fork: bool) {
        let (child, member) = (spawning.session.clone(), spawning.request.name.clone());
        let workspace = self.writer.session(&parent).map(|state| state.cwd().into());
        let lead = self.writer.lead().clone();
        let wanted =
            workspace.map(|workspace| WantedWorktree { lead, member: member.clone(), workspace });
        // P14: an interrupt of the turn ends git too.
        let cancel = self.turn_token(&parent);
        let (parts, inputs) = (Arc::clone(&self.parts), self.inputs.clone());
        self.supervisor.spawn(async move {
            let prefix = prepare(&*parts.store, &parent, &child, fork).await;
            let worktree = match wanted.filter(|_| prefix.is_ok()) {
                Some(wanted) => Some(parts.worktrees.provide(wanted, cancel).await),
                None => None,
            };
            // A team that is gone needs no member.
            drop(inputs.send(Input::Prepared(Prepared { member, prefix, worktree })).await);
        });
    }

    /// Whether the call that asked for a member still waits for it, after git took its time.
    pub(super) fn still_wanted(&self, spawning: &Spawning) -> Result<bool, SpawnRefused> {
        let open = match &spawning.request.caller.by {
            By::Call(origin) => self
                .writer
                .session(&origin.session)
                .is_some_and(|state| open_call(state, origin.step, origin.index).is_some()),
            By::Outside(_) => true,
        };
        if open {
            self.may_spawn(&spawning.request)?;
        }
        Ok(open)
    }
}

/// Says where a worktree is that nobody works in. It stays: the next spawn of its name takes it.
pub(super) fn leave_behind(given: Option<&GivenWorktree>) {
    if let Some(GivenWorktree { worktree: Worktree { path, branch, .. }, .. }) = given {
        tracing::warn!(path, branch, "a worktree was made for a spawn that was cut off");
    }
}

/// Checks that a member's worktree, if it has one, is there; says how to make it again.
pub(super) async fn there(member: &Member, checkout: &str) -> Result<(), String> {
    let Some(Worktree { path, branch, .. }) = &member.worktree else { return Ok(()) };
    match tokio::fs::metadata(path).await {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) | Err(_) => Err(format!(
            "its git worktree {path} is gone; make it again in {checkout} with `git worktree prune` \
             and then `git worktree add {path} {branch}`"
        )),
    }
}
