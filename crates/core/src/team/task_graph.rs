//! Dependencies between tasks: blockers exist, and there is no cycle.

use super::task_board::TaskBoard;
use crate::id::TaskId;
use std::collections::BTreeSet;

/// The path from `from` to `to` along `blocked_by`, both ends included, if there is one.
pub(super) fn path(board: &TaskBoard, from: &TaskId, to: &TaskId) -> Option<Vec<TaskId>> {
    let mut seen = BTreeSet::new();
    let mut trail = Vec::new();
    walk(board, from, to, &mut seen, &mut trail).then_some(trail)
}

/// Depth first; the live tasks are bounded, so the depth is.
fn walk(
    board: &TaskBoard,
    at: &TaskId,
    to: &TaskId,
    seen: &mut BTreeSet<TaskId>,
    trail: &mut Vec<TaskId>,
) -> bool {
    if !seen.insert(at.clone()) {
        return false;
    }
    trail.push(at.clone());
    if at == to {
        return true;
    }
    let blockers = board.get(at).map(|task| task.blocked_by.clone()).unwrap_or_default();
    if blockers.iter().any(|blocker| walk(board, blocker, to, seen, trail)) {
        return true;
    }
    trail.pop();
    false
}
