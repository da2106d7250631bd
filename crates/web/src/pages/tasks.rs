//! The task board: its graph drawn in layers, and the same as a table.

use super::icon::{Icon, chip};
use crate::region::{Item, Region};
use crate::text::{Said, count, one_line};
use longboat_core::id::TaskId;
use longboat_core::team::{Task, TaskBoard, TaskState};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tasks that are drawn; a drawing of more is read by nobody.
const DRAWN: usize = 48;
/// Rows of the table.
const ROWS: usize = 256;
const WIDTH: f64 = 204.0;
const HEIGHT: f64 = 58.0;
const GAP_X: f64 = 44.0;
const GAP_Y: f64 = 14.0;
const EDGE: f64 = 4.0;

/// How a task stands: its drawing, tone and words.
fn standing(board: &TaskBoard, task: &Task) -> (Icon, &'static str, String) {
    match &task.state {
        TaskState::Open if board.is_ready(task) => (Icon::Ready, "ready", "ready".to_owned()),
        TaskState::Open => (Icon::Blocked, "blocked", "blocked".to_owned()),
        TaskState::InProgress { owner } => (Icon::Running, "running", owner.to_string()),
        TaskState::Completed { owner } => {
            let who = owner.as_ref().map(|owner| format!(" by {owner}")).unwrap_or_default();
            (Icon::Done, "done", format!("done{who}"))
        }
        TaskState::Deleted => (Icon::Failed, "inactive", "deleted".to_owned()),
    }
}

/// Which tasks are drawn: those that are not done, and then the newest of the others.
fn drawn(board: &TaskBoard) -> Vec<&Arc<Task>> {
    let mut tasks: Vec<&Arc<Task>> = board.live().collect();
    if tasks.len() > DRAWN {
        tasks.sort_by_key(|task| {
            (matches!(task.state, TaskState::Completed { .. }), std::cmp::Reverse(task.id.number()))
        });
        tasks.truncate(DRAWN);
        tasks.sort_by_key(|task| task.id.number());
    }
    tasks
}

/// A task's place in the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    column: usize,
    row: usize,
}

impl Place {
    fn x(self) -> f64 {
        EDGE + self.column as f64 * (WIDTH + GAP_X)
    }

    fn y(self) -> f64 {
        EDGE + self.row as f64 * (HEIGHT + GAP_Y)
    }
}

/// Each task one column to the right of the last of its blockers, and near them from top to bottom.
fn places(tasks: &[&Arc<Task>]) -> BTreeMap<u64, Place> {
    let known: BTreeMap<u64, &Arc<Task>> = tasks.iter().map(|t| (t.id.number(), *t)).collect();
    let mut columns: BTreeMap<u64, usize> = BTreeMap::new();
    // A chain of as many tasks as there are takes as many rounds; there is no cycle.
    for _ in 0..tasks.len() {
        let before = columns.clone();
        for task in tasks {
            let blockers = task.blocked_by.iter().map(TaskId::number);
            let deepest = blockers.filter(|on| known.contains_key(on));
            let column = deepest.map(|on| before.get(&on).map_or(0, |c| c + 1)).max().unwrap_or(0);
            columns.insert(task.id.number(), column);
        }
        if before == columns {
            break;
        }
    }
    let mut places: BTreeMap<u64, Place> = BTreeMap::new();
    let last = columns.values().copied().max().unwrap_or(0);
    for column in 0..=last {
        let mut here: Vec<(f64, u64)> = Vec::new();
        for (id, _) in columns.iter().filter(|(_, at)| **at == column) {
            let Some(task) = known.get(id) else { continue };
            let rows: Vec<f64> = task
                .blocked_by
                .iter()
                .filter_map(|on| places.get(&on.number()))
                .map(|place| place.row as f64)
                .collect();
            let middle = rows.iter().sum::<f64>() / rows.len().max(1) as f64;
            here.push((middle, *id));
        }
        here.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (row, (_, id)) in here.into_iter().enumerate() {
            places.insert(id, Place { column, row });
        }
    }
    places
}

/// The graph. Whoever cannot see it has the table.
pub(super) fn graph(board: &TaskBoard) -> Markup {
    let tasks = drawn(board);
    if tasks.is_empty() {
        return html! { p class="muted" { "No task yet. The members put them on the board, with what comes first." } };
    }
    let places = places(&tasks);
    let right = places.values().map(|place| place.x()).fold(0.0, f64::max) + WIDTH + EDGE;
    let bottom = places.values().map(|place| place.y()).fold(0.0, f64::max) + HEIGHT + EDGE;
    html! {
        @if board.live_len() > tasks.len() {
            p class="muted" { (tasks.len()) " of " (count(board.live_len(), "task", "tasks")) " are drawn; the table has all." }
        }
        div class="graph" tabindex="0" role="group" aria-label="Graph of the tasks; the table below says the same" {
            svg viewBox={ "0 0 " (right) " " (bottom) } width=(right) height=(bottom) aria-hidden="true" focusable="false" {
                @for task in &tasks { (edges(board, task, &places)) }
                @for task in &tasks {
                    @if let Some(place) = places.get(&task.id.number()) { (node(board, task, *place)) }
                }
            }
        }
    }
}

fn edges(board: &TaskBoard, task: &Task, places: &BTreeMap<u64, Place>) -> Markup {
    let Some(to) = places.get(&task.id.number()) else { return html! {} };
    html! {
        @for on in &task.blocked_by {
            @if let Some(from) = places.get(&on.number()) {
                @let (x, y) = (from.x() + WIDTH, from.y() + HEIGHT / 2.0);
                @let (end, mid) = (to.x() - 5.0, to.y() + HEIGHT / 2.0);
                @let bend = ((end - x) / 2.0).max(12.0);
                @let done = board.get(on).is_some_and(|on| matches!(on.state, TaskState::Completed { .. }));
                path class=(if done { "edge done" } else { "edge" })
                    d={ "M" (x) " " (y) "C" (x + bend) " " (y) " " (end - bend) " " (mid) " " (end) " " (mid) } {}
                path class=(if done { "tip done" } else { "tip" })
                    d={ "M" (end + 4.0) " " (mid) "l-7 -4v8z" } {}
            }
        }
    }
}

fn node(board: &TaskBoard, task: &Task, place: Place) -> Markup {
    let (icon, tone, words) = standing(board, task);
    let (x, y) = (place.x(), place.y());
    html! {
        g class={ "task " (tone) } {
            rect x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="8" {}
            text class="subject" x=(x + 12.0) y=(y + 24.0) { (one_line(&task.subject, 23)) }
            (icon.draw_at(x + 10.0, y + 33.0))
            text class="state" x=(x + 31.0) y=(y + 45.0) { (task.id) " · " (one_line(&words, 21)) }
        }
    }
}

/// The table.
pub(super) fn table(board: &TaskBoard) -> Markup {
    html! {
        div class="wide" tabindex="0" role="group" aria-label="Table of the tasks" {
            table {
                thead { tr {
                    th scope="col" { "Task" }
                    th scope="col" { "Status" }
                    th scope="col" { "After" }
                    th scope="col" { "Writes" }
                } }
                tbody id="tasks" { @for task in rows(board) { (row(board, task)) } }
            }
        }
    }
}

/// What changes of the table.
pub(super) fn rows_region(board: &TaskBoard) -> Region {
    let items = rows(board).map(|task| Item::new(format!("task-{}", task.id), row(board, task)));
    Region::list("tasks", items)
}

fn rows(board: &TaskBoard) -> impl Iterator<Item = &Arc<Task>> {
    board.live().take(ROWS)
}

fn row(board: &TaskBoard, task: &Task) -> Markup {
    let (icon, tone, words) = standing(board, task);
    let word = if tone == "running" { format!("in progress, {words}") } else { words };
    let after: Vec<&str> = task.blocked_by.iter().map(TaskId::as_str).collect();
    html! {
        tr id={ "task-" (task.id) } {
            th scope="row" {
                span class="mono faint" { (task.id) } " " (one_line(&task.subject, 120))
                @if !task.description.is_empty() {
                    details { summary { "What is to be done" } div class="text" { (Said(&task.description)) } }
                }
            }
            td { (chip(icon, tone, &word)) }
            td { (after.join(", ")) }
            td { @for scope in &task.write_scopes { code { (Said(scope)) } " " } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longboat_core::id::{MemberName, Revision};

    fn board(blockers: &[&[u64]]) -> TaskBoard {
        let mut board = TaskBoard::default();
        for (n, blocked_by) in blockers.iter().enumerate() {
            let task = Task {
                id: TaskId::nth(n as u64 + 1),
                revision: Revision(1),
                subject: format!("task {n}"),
                description: String::new(),
                state: TaskState::Open,
                blocked_by: blocked_by.iter().map(|on| TaskId::nth(*on)).collect(),
                write_scopes: Vec::new(),
                created_by: MemberName::lead(),
            };
            board.apply(Arc::new(task)).unwrap();
        }
        board
    }

    #[test]
    fn a_task_stands_to_the_right_of_all_that_comes_first() {
        let board = board(&[&[], &[1], &[], &[2, 3], &[4, 1]]);
        let tasks = drawn(&board);
        let places = places(&tasks);
        for task in tasks {
            for on in &task.blocked_by {
                assert!(places[&on.number()].column < places[&task.id.number()].column);
            }
        }
        let mut taken: Vec<_> = places.values().map(|p| (p.column, p.row)).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 5, "no two tasks stand in one place");
    }

    #[test]
    fn a_long_board_is_drawn_in_part_and_says_so() {
        let many: Vec<&[u64]> = vec![&[]; 200];
        let markup = graph(&board(&many)).into_string();
        assert!(markup.contains("48 of 200 tasks are drawn"));
        assert_eq!(markup.matches("<rect").count(), DRAWN);
    }
}
