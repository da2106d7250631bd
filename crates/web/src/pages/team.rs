//! The team: its members, its mail, its tasks, and a person's words to it.

use super::compose::{self, act};
use super::frame::Frame;
use super::icon::{Icon, chip};
use super::{mail, questions, roster, tasks};
use crate::region::{Item, Region};
use crate::text::{Moment, Said, count, one_line, tokens};
use crate::watch::{Shown, TeamWatch};
use longboat_core::id::MemberName;
use longboat_core::price::Cost;
use longboat_core::team::TaskState;
use longboat_engine::Status;
use maud::{Markup, html};

/// Characters of a title.
const TITLE_CHARS: usize = 140;

/// How a team is in the process that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Presence {
    /// It is in memory.
    pub open: bool,
    /// Why it takes nothing any more until it is resumed, as when a budget is used up.
    pub suspended: Option<String>,
}

/// The page of a team.
#[must_use]
pub fn team_page(watch: &TeamWatch, here: &Presence, moment: &Moment) -> Markup {
    let title = title(watch);
    let shown: Vec<_> = watch.members(here.open).collect();
    let way = [(String::new(), watch.lead().to_string())];
    let live = Some(format!("/sessions/{}/live", watch.lead()));
    let content = html! {
        div class="head" {
            h1 { (title) }
            p id="summary" class="facts" role="status" aria-live="polite" { (summary(watch, &shown, moment)) }
        }
        div id="banner" { (banner(watch, here)) }
        div id="questions" role="region" aria-live="polite" aria-label="Questions" { (questions::panel(watch, None, here.open, moment)) }
        div class="team" {
            section class="all" aria-labelledby="tasks-title" {
                h2 id="tasks-title" { "Tasks" }
                div id="graph" { (tasks::graph(watch.board())) }
                details class="tasks" {
                    summary { "The tasks as a table" }
                    (tasks::table(watch.board()))
                }
            }
            section aria-labelledby="members-title" {
                h2 id="members-title" { "Members" }
                ul id="roster" class="roster" {
                    @for member in &shown { (roster::card(watch, member, here, moment)) }
                }
                (compose::say(watch.lead(), None, &targets(&shown)))
            }
            (mail::section(watch, moment))
        }
    };
    Frame { title: &title, way: &way, live, moment }.around(&content)
}

/// What changes of the page.
#[must_use]
pub fn team_regions(watch: &TeamWatch, here: &Presence, moment: &Moment) -> Vec<Region> {
    let shown: Vec<_> = watch.members(here.open).collect();
    let card = |member: &Shown<'_>| {
        let html = roster::card(watch, member, here, moment);
        Item::new(format!("member-{}", member.name), html)
    };
    let mut regions = vec![
        Region::whole("summary", summary(watch, &shown, moment)),
        Region::whole("banner", banner(watch, here)),
        Region::whole("questions", questions::panel(watch, None, here.open, moment)),
        Region::list("roster", shown.iter().map(card)),
        compose::targets_region(&targets(&shown)),
        Region::whole("graph", tasks::graph(watch.board())),
        tasks::rows_region(watch.board()),
    ];
    regions.extend(mail::regions(watch, moment));
    regions
}

/// What a team is called: its first prompt.
pub(super) fn title(watch: &TeamWatch) -> String {
    let title = one_line(watch.first_prompt(), TITLE_CHARS);
    if title.is_empty() { "A session without a prompt".to_owned() } else { title }
}

/// Those who read what is said to them.
fn targets(shown: &[Shown<'_>]) -> Vec<MemberName> {
    let reads =
        |shown: &&Shown<'_>| !matches!(shown.status, Status::Failed { .. } | Status::Provisioning);
    shown.iter().filter(reads).map(|shown| shown.name.clone()).collect()
}

fn summary(watch: &TeamWatch, shown: &[Shown<'_>], moment: &Moment) -> Markup {
    let running = shown.iter().filter(|shown| shown.status == Status::Running).count();
    let usages = shown.iter().filter_map(|shown| shown.watch).map(|watch| watch.usage());
    let used: u64 = usages.map(|usage| usage.input + usage.output).sum();
    let spent = shown.iter().filter_map(|shown| shown.watch).map(|watch| watch.spending());
    let cost = spent.filter_map(|spent| spent.cost(&moment.prices)).reduce(Cost::plus);
    let live = watch.board().live_len();
    let done = watch.board().live();
    let done = done.filter(|task| matches!(task.state, TaskState::Completed { .. })).count();
    let (owed, unread) = watch.mail().waiting();
    html! {
        @if running > 0 {
            (chip(Icon::Running, "running", &format!("{running} of {} running", shown.len())))
        } @else {
            (chip(Icon::Idle, "idle", "nobody is running"))
        }
        @if live > 0 { span { (done) " of " (count(live, "task", "tasks")) " completed" } }
        @if !watch.mail().is_empty() { span { (count(watch.mail().len(), "message", "messages")) } }
        @if unread > 0 { span { (unread) " unread" } }
        @if owed > 0 { (chip(Icon::Mail, "failed", &format!("{owed} owed"))) }
        @if used > 0 { span { (tokens(used)) " tokens" } }
        @if let Some(cost) = cost { span { (cost) " in all" } }
        @if let Some(from) = watch.forked_from() { span { "forked from " a href={ "/sessions/" (from) } { (from) } } }
    }
}

/// What a person should know before all else.
pub(super) fn banner(watch: &TeamWatch, here: &Presence) -> Markup {
    let resume = format!("/api/v1/sessions/{}/resume", watch.lead());
    let button = || act(&resume, &html! { "Resume" }, "Resume this session", "The session goes on");
    html! {
        @if let Some(trouble) = watch.trouble() {
            p class="banner bad" { strong { "Trouble with the store: " } (Said(trouble)) }
        }
        @if let Some(reason) = &here.suspended {
            div class="banner warn" { p { strong { "Suspended: " } (Said(reason)) } (button()) }
        } @else if !here.open {
            div class="banner" {
                p { "This session is not loaded: you see what its logs say, and nobody works. Whatever you say to it loads it." }
                (button())
            }
        }
    }
}
