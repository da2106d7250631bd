//! The task board: its graph drawn in layers, and the same as a table.

use super::icon::{Icon, chip};
use crate::region::{Item, Region};
use crate::text::{Said, count, cut, one_line};
use longboat_core::id::TaskId;
use longboat_core::team::{Task, TaskBoard, TaskState};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tasks that are drawn; a drawing of more is read by nobody.
const DRAWN: usize = 48;
/// Rows of the table.
const ROWS: usize = 256;
const WIDTH: f64 = 190.0;
const HEIGHT: f64 = 74.0;
const GAP_X: f64 = 38.0;
/// Characters of a line in a box.
const LINE_CHARS: usize = 20;
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

/// A place in the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    fn middle(self) -> f64 {
        self.y() + HEIGHT / 2.0
    }
}

/// Where tasks stand, and where their lines pass the columns between.
#[derive(Debug, Default)]
struct Layout {
    tasks: BTreeMap<u64, Place>,
    /// The lines from a task that pass a column, by the task and the column.
    passing: BTreeMap<(u64, usize), Place>,
}

/// How far to the right each task stands: one column after the last of its blockers.
fn columns(tasks: &[&Arc<Task>]) -> BTreeMap<u64, usize> {
    let mut columns: BTreeMap<u64, usize> = tasks.iter().map(|t| (t.id.number(), 0)).collect();
    // A chain of as many tasks as there are takes as many rounds; there is no cycle.
    for _ in 0..tasks.len() {
        let before = columns.clone();
        for task in tasks {
            let blockers = task.blocked_by.iter().filter_map(|on| before.get(&on.number()));
            columns.insert(task.id.number(), blockers.map(|column| column + 1).max().unwrap_or(0));
        }
        if before == columns {
            break;
        }
    }
    columns
}

/// Columns from left to right, and in each what stands or passes there: near what it comes from.
fn layout(tasks: &[&Arc<Task>]) -> Layout {
    let columns = columns(tasks);
    let mut layout = Layout::default();
    for column in 0..=columns.values().copied().max().unwrap_or(0) {
        let mut here: Vec<(f64, u64, bool)> = Vec::new();
        for task in tasks {
            let id = task.id.number();
            if columns.get(&id) == Some(&column) {
                let blockers = task.blocked_by.iter().map(TaskId::number);
                let rows = blockers.filter_map(|on| layout.last(on, column)).map(|p| p.row as f64);
                let rows: Vec<f64> = rows.collect();
                let middle = rows.iter().sum::<f64>() / rows.len().max(1) as f64;
                here.push((middle, id, true));
            }
            // A line to a task further right passes here.
            let passes = |other: &&&Arc<Task>| {
                let to = columns.get(&other.id.number()).copied().unwrap_or(0);
                to > column && other.blocked_by.iter().any(|on| on.number() == id)
            };
            let from = columns.get(&id).copied().unwrap_or(0);
            if from < column && tasks.iter().any(|other| passes(&other)) {
                let row = layout.last(id, column).map_or(0.0, |place| place.row as f64);
                here.push((row, id, false));
            }
        }
        here.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)).then(a.1.cmp(&b.1)));
        for (row, (_, id, stands)) in here.into_iter().enumerate() {
            let place = Place { column, row };
            if stands {
                layout.tasks.insert(id, place);
            } else {
                layout.passing.insert((id, column), place);
            }
        }
    }
    layout
}

impl Layout {
    /// Where a task's line is just before a column.
    fn last(&self, id: u64, column: usize) -> Option<Place> {
        let passing = self.passing.range((id, 0)..(id, column)).next_back();
        passing.map(|(_, place)| *place).or_else(|| self.tasks.get(&id).copied())
    }

    /// The line from a task to another, as a path.
    fn line(&self, from: u64, to: u64) -> Option<String> {
        let (from, to) = (self.tasks.get(&from).map(|place| (from, *place))?, self.tasks.get(&to)?);
        let ((id, place), mut path) = (from, String::new());
        let (mut x, mut y) = (place.x() + WIDTH, place.middle());
        let passing = self.passing.range((id, 0)..(id, to.column)).map(|(_, place)| (*place, true));
        path.push_str(&format!("M{x} {y}"));
        for (place, passes) in passing.chain([(*to, false)]) {
            let (next, middle) = (place.x() - if passes { 0.0 } else { 5.0 }, place.middle());
            let bend = ((next - x) / 2.0).max(12.0);
            path.push_str(&format!("C{} {y} {} {middle} {next} {middle}", x + bend, next - bend));
            (x, y) = (next, middle);
            if passes {
                x += WIDTH;
                path.push_str(&format!("H{x}"));
            }
        }
        Some(path)
    }
}

/// The graph. Whoever cannot see it has the table.
pub(super) fn graph(board: &TaskBoard) -> Markup {
    let tasks = drawn(board);
    if tasks.is_empty() {
        return html! { p class="muted" { "No task yet. The members put them on the board, with what comes first." } };
    }
    let layout = layout(&tasks);
    let places = || layout.tasks.values().chain(layout.passing.values());
    let right = places().map(|place| place.x()).fold(0.0, f64::max) + WIDTH + EDGE;
    let bottom = places().map(|place| place.y()).fold(0.0, f64::max) + HEIGHT + EDGE;
    html! {
        @if board.live_len() > tasks.len() {
            p class="muted" { (tasks.len()) " of " (count(board.live_len(), "task", "tasks")) " are drawn; the table has all." }
        }
        div class="graph" tabindex="0" role="group" aria-label="Graph of the tasks; the table below says the same" {
            svg viewBox={ "0 0 " (right) " " (bottom) } width=(right) height=(bottom) aria-hidden="true" focusable="false" {
                @for task in &tasks { (edges(board, task, &layout)) }
                @for task in &tasks {
                    @if let Some(place) = layout.tasks.get(&task.id.number()) { (node(board, task, *place)) }
                }
            }
        }
    }
}

fn edges(board: &TaskBoard, task: &Task, layout: &Layout) -> Markup {
    let Some(to) = layout.tasks.get(&task.id.number()) else { return html! {} };
    html! {
        @for on in &task.blocked_by {
            @if let Some(line) = layout.line(on.number(), task.id.number()) {
                @let done = board.get(on).is_some_and(|on| matches!(on.state, TaskState::Completed { .. }));
                path class=(if done { "edge done" } else { "edge" }) d=(line) {}
                path class=(if done { "tip done" } else { "tip" })
                    d={ "M" (to.x() - 1.0) " " (to.middle()) "l-7 -4v8z" } {}
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
            @for (line, y) in two_lines(&task.subject).iter().zip([y + 22.0, y + 39.0]) {
                text class="subject" x=(x + 12.0) y=(y) { (line) }
            }
            (icon.draw_at(x + 10.0, y + 49.0))
            text class="state" x=(x + 31.0) y=(y + 61.0) { (task.id) " · " (one_line(&words, LINE_CHARS - 2)) }
        }
    }
}

/// A subject in the two lines of a box, broken where words end if that can be.
fn two_lines(subject: &str) -> Vec<String> {
    let line = one_line(subject, 2 * LINE_CHARS);
    if line.chars().count() <= LINE_CHARS {
        return vec![line];
    }
    let (first, _) = cut(&line, LINE_CHARS + 1);
    let end =
        first.rfind(' ').filter(|end| *end > 0).unwrap_or_else(|| cut(first, LINE_CHARS).0.len());
    let (first, rest) = line.split_at(end);
    vec![first.to_owned(), one_line(rest, LINE_CHARS)]
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
        let layout = layout(&tasks);
        for task in tasks {
            for on in &task.blocked_by {
                assert!(layout.tasks[&on.number()].column < layout.tasks[&task.id.number()].column);
            }
        }
        assert!(layout.passing.contains_key(&(1, 2)), "the line from t1 to t5 has its own way");
        let places = layout.tasks.values().chain(layout.passing.values());
        let mut taken: Vec<_> = places.map(|p| (p.column, p.row)).collect();
        let all = taken.len();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), all, "nothing stands or passes where another does");
    }

    #[test]
    fn a_long_board_is_drawn_in_part_and_says_so() {
        let many: Vec<&[u64]> = vec![&[]; 200];
        let markup = graph(&board(&many)).into_string();
        assert!(markup.contains("48 of 200 tasks are drawn"));
        assert_eq!(markup.matches("<rect").count(), DRAWN);
    }
}
