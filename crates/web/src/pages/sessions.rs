//! The sessions of a workspace, and the beginning of a new run.

use super::compose;
use super::frame::Frame;
use super::icon::{Icon, chip};
use crate::region::{Item, Region};
use crate::text::{Moment, Said, count, one_line};
use longboat_core::id::SessionId;
use longboat_core::time::Timestamp;
use maud::{Markup, html};

/// Characters of a prompt in the list.
const PROMPT_CHARS: usize = 180;
/// Names in the list.
const NAMES: usize = 6;

/// A session in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The Lead's session.
    pub id: SessionId,
    /// What it does.
    pub state: SessionState,
    /// The beginning of its first prompt.
    pub first_prompt: String,
    /// The session it was forked from.
    pub forked_from: Option<String>,
    /// When a member last wrote.
    pub updated: Timestamp,
    /// The names of its teammates.
    pub teammates: Vec<String>,
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// Somebody has a turn.
    Running,
    /// It is in memory, and nobody has a turn.
    Idle,
    /// It is not in memory.
    Closed,
}

/// The page of sessions. `passed` says how many newer ones are on pages before this.
#[must_use]
pub fn sessions_page(
    rows: &[SessionRow],
    (passed, total): (usize, usize),
    default_model: Option<&str>,
    workspace: &str,
    moment: &Moment,
) -> Markup {
    let live = format!("/live?skip={passed}");
    let content = html! {
        div class="head" {
            h1 { "Sessions" }
            p class="muted mono" { (Said(workspace)) }
        }
        (compose::begin(default_model))
        section aria-labelledby="list-title" {
            h2 id="list-title" class="unseen" { "All sessions, the last used first" }
            p id="sessions-count" class="muted" { (summary(rows, passed, total)) }
            ul id="sessions" class="sessions" {
                @for row in rows { (item(row, moment)) }
            }
            (pager(rows.len(), passed, total))
        }
    };
    Frame { title: "Sessions", way: &[], live: Some(live), moment }.around(&content)
}

/// What changes of the page.
#[must_use]
pub fn sessions_regions(
    rows: &[SessionRow],
    (passed, total): (usize, usize),
    moment: &Moment,
) -> Vec<Region> {
    let items = rows.iter().map(|row| Item::new(format!("session-{}", row.id), item(row, moment)));
    vec![
        Region::whole("sessions-count", summary(rows, passed, total)),
        Region::list("sessions", items),
    ]
}

fn summary(rows: &[SessionRow], passed: usize, total: usize) -> Markup {
    html! {
        @if total == 0 {
            "No session yet in this workspace. What you start here stays in the list, and goes on where it was."
        } @else if rows.len() < total {
            (passed + 1) " to " (passed + rows.len()) " of " (count(total, "session", "sessions"))
        } @else {
            (count(total, "session", "sessions"))
        }
    }
}

fn item(row: &SessionRow, moment: &Moment) -> Markup {
    let (icon, tone, word) = match row.state {
        SessionState::Running => (Icon::Running, "running", "running"),
        SessionState::Idle => (Icon::Idle, "idle", "idle"),
        SessionState::Closed => (Icon::Inactive, "inactive", "not loaded"),
    };
    let title = one_line(&row.first_prompt, PROMPT_CHARS);
    html! {
        li id={ "session-" (row.id) } class="card session" {
            a class="title" href={ "/sessions/" (row.id) } {
                @if title.is_empty() { "A session without a prompt" } @else { (title) }
            }
            p class="facts" {
                (chip(icon, tone, word))
                span { "last used " (moment.since(row.updated)) }
                @if let Some(from) = &row.forked_from { span { "forked from " (from) } }
                @if !row.teammates.is_empty() {
                    span {
                        "with " (row.teammates.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", "))
                        @if row.teammates.len() > NAMES { " and " (row.teammates.len() - NAMES) " more" }
                    }
                }
                span class="mono faint" { (row.id) }
            }
        }
    }
}

fn pager(shown: usize, passed: usize, total: usize) -> Markup {
    html! {
        @if passed > 0 || passed + shown < total {
            nav class="pager" aria-label="More sessions" {
                @if passed > 0 { a href="/" { "Newest" } }
                @if passed + shown < total { a href={ "/?skip=" (passed + shown) } { "Older sessions" } }
            }
        }
    }
}
