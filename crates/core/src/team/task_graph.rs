//! Dependencies between tasks: blockers exist, and there is no cycle. The decision and the fold of
//! the board ask here; nothing is changed here.

use super::task_board::TaskBoard;
use crate::id::TaskId;
use std::collections::{BTreeMap, VecDeque};

/// The shortest cycle that would be, were `id` blocked by these: `id`, what blocks it, and so on, to
/// `id` again. Every edge is followed once, whatever the number of ways through the graph.
pub(super) fn cycle(board: &TaskBoard, id: &TaskId, blocked_by: &[TaskId]) -> Option<Vec<TaskId>> {
    // Each blocker with the task that led to it first.
    let mut led_by: BTreeMap<&TaskId, &TaskId> = BTreeMap::new();
    let mut ahead: VecDeque<(&TaskId, &TaskId)> = blocked_by.iter().map(|on| (id, on)).collect();
    while let Some((blocked, blocker)) = ahead.pop_front() {
        if blocker == id {
            return Some(trail(&led_by, id, blocked));
        }
        if led_by.contains_key(blocker) {
            continue;
        }
        led_by.insert(blocker, blocked);
        if let Some(task) = board.get(blocker) {
            ahead.extend(task.blocked_by.iter().map(|on| (blocker, on)));
        }
    }
    None
}

/// From `id` to `last`, whose blocker is `id` again.
fn trail(led_by: &BTreeMap<&TaskId, &TaskId>, id: &TaskId, last: &TaskId) -> Vec<TaskId> {
    let mut trail = vec![id.clone()];
    let mut at = last;
    while at != id {
        trail.push(at.clone());
        let Some(before) = led_by.get(at) else { break };
        at = before;
    }
    trail.push(id.clone());
    trail.reverse();
    trail
}
