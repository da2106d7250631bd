//! The members: what each is, does and cost.

use super::compose::act;
use super::icon::{Icon, chip, status_chip};
use super::team::Presence;
use crate::text::{Moment, Said, count, duration, number, one_line, tail, tokens};
use crate::watch::{Doing, Shown, TeamWatch};
use longboat_core::log::TurnOutcome;
use longboat_engine::Status;
use maud::{Markup, html};

/// Characters of what a member says, thinks or does.
const DOING_CHARS: usize = 160;
/// Calls that are named.
const CALLS: usize = 3;

/// A member.
pub(super) fn card(
    watch: &TeamWatch,
    shown: &Shown<'_>,
    here: &Presence,
    moment: &Moment,
) -> Markup {
    let (lead, name) = (watch.lead(), &shown.name);
    let interrupt = format!("/api/v1/sessions/{lead}/members/{name}/interrupt");
    let label = html! { (Icon::Stop.draw()) "Interrupt" };
    html! {
        li id={ "member-" (name) } class={ "card member " (shown.status.word()) } {
            div class="line" {
                h3 { a href={ "/sessions/" (lead) "/m/" (name) } { (name) } }
                (status_chip(&shown.status))
                @if shown.status == Status::Running && here.open {
                    (act(&interrupt, &label, &format!("Interrupt {name}"), &format!("{name} was interrupted")))
                }
            }
            @if !shown.description.is_empty() {
                p class="muted about" { (one_line(shown.description, DOING_CHARS)) }
            }
            p class="doing" { (doing(shown, moment)) }
            (facts(watch, shown, moment))
        }
    }
}

fn facts(watch: &TeamWatch, shown: &Shown<'_>, moment: &Moment) -> Markup {
    let usage = shown.watch.map(|watch| watch.usage()).unwrap_or_default();
    let unread = shown.watch.map_or(0, |watch| watch.pending().len());
    let (owed, cause) = watch.owed(&shown.name);
    html! {
        p class="facts" {
            @if let Some(model) = shown.watch.and_then(|watch| watch.model()) {
                // Where it is asked is for those who want to know.
                span title=(one_line(model, 200)) { (one_line(model.split('@').next().unwrap_or(model), 48)) }
            }
            @if let Some(role) = shown.role { span { "role " (one_line(role, 48)) } }
            @if let Some(worktree) = shown.worktree {
                span title={ (one_line(&worktree.path, 400)) " from " (worktree.base) } { "branch " (one_line(&worktree.branch, 96)) }
            }
            @if usage.input + usage.output > 0 {
                span title={ (number(usage.input)) " in (" (number(usage.cached)) " cached), " (number(usage.output)) " out" } {
                    (tokens(usage.input + usage.output)) " tokens"
                }
            }
            @if let Some(cost) = shown.watch.and_then(|watch| watch.spending().cost(&moment.prices)) {
                span { (cost) }
            }
            @if unread > 0 { (chip(Icon::Mail, "waiting", &format!("{unread} unread"))) }
            @if owed > 0 { (chip(Icon::Mail, "failed", &format!("{owed} owed"))) }
            @if let (true, Some(cause)) = (owed > 0, cause) { span class="bad" { (one_line(cause, DOING_CHARS)) } }
        }
    }
}

/// What a member does at this moment, or how its last turn ended.
fn doing(shown: &Shown<'_>, moment: &Moment) -> Markup {
    if let Status::Failed { reason } = &shown.status {
        return html! { span class="bad" { "Could not be made: " (one_line(reason, DOING_CHARS)) } };
    }
    let Some(watch) = shown.watch else { return html! { span class="faint" { "Nothing yet" } } };
    match watch.doing() {
        Doing::Retrying { reason, at, wait } => html! {
            span class="warn" {
                "Asks again in " (duration(millis(*wait))) ": " (one_line(reason, DOING_CHARS)) " (" (moment.since(*at)) ")"
            }
        },
        Doing::Unreachable { cause, at, wait } => html! {
            span class="bad" {
                "Cannot be reached: " (one_line(cause, DOING_CHARS)) ". Tried again in " (duration(millis(*wait))) " (" (moment.since(*at)) ")"
            }
        },
        _ if shown.status != Status::Running => rest(shown),
        Doing::Asking { since } => {
            let stream = watch.stream();
            html! {
                @if let Some(call) = stream.calls.last() { "Calls " code { (call) } }
                @else if !stream.text.is_empty() { "Writes: " (end(&stream.text)) }
                @else if !stream.reasoning.is_empty() { "Thinks: " (end(&stream.reasoning)) }
                @else { "Asks its model " span class="faint" { "· " (moment.since(*since)) } }
            }
        }
        Doing::SummingUp { since } => html! { "Sums up its conversation " (moment.since(*since)) },
        Doing::Calling { .. } => calls(shown, moment),
        Doing::Nothing => html! { "Between two steps" },
    }
}

fn calls(shown: &Shown<'_>, moment: &Moment) -> Markup {
    let open = shown.watch.map(|watch| watch.calls()).unwrap_or_default();
    let running: Vec<_> = open.iter().filter(|call| call.outcome.is_none()).collect();
    html! {
        @if running.is_empty() { "Between two steps" }
        @for (n, call) in running.iter().take(CALLS).enumerate() {
            @if n > 0 { br; }
            @if call.asked { "Waits for permission: " }
            @if call.name == "wait_agent" { "Waits for the team" } @else {
                code { (call.name) } " " (one_line(&call.arguments, DOING_CHARS))
            }
            @if let Some(started) = call.started { " " span class="faint" { "· " (moment.since(started)) } } @else { span class="faint" { " next" } }
        }
        @if running.len() > CALLS { br; "and " (count(running.len() - CALLS, "more call", "more calls")) }
    }
}

fn rest(shown: &Shown<'_>) -> Markup {
    if let Some(cause) = &shown.activity.unreachable {
        return html! { span class="bad" { "Cannot be reached: " (one_line(cause, DOING_CHARS)) } };
    }
    if shown.watch.is_some_and(|watch| watch.turn().is_some()) {
        return html! { span class="warn" { "Stopped in the middle of a turn; it goes on when the session is resumed" } };
    }
    let Some(last) = &shown.activity.last else {
        return html! { span class="faint" { "Nothing yet" } };
    };
    html! {
        @match &last.outcome {
            TurnOutcome::Completed => {}
            TurnOutcome::Interrupted { by } => span class="warn" { "Interrupted by " (Said(by)) ". " },
            TurnOutcome::Failed { reason } => span class="bad" { "Failed: " (one_line(reason, DOING_CHARS)) " " },
        }
        @if !last.excerpt.is_empty() { (one_line(&last.excerpt, DOING_CHARS)) }
        @else if last.outcome == TurnOutcome::Completed { span class="faint" { "Said nothing at the end of its turn" } }
    }
}

fn end(text: &str) -> String {
    let near = tail(text, DOING_CHARS * 4);
    let line = one_line(near, DOING_CHARS * 4);
    let chars = line.chars().count();
    let begin = chars.saturating_sub(DOING_CHARS);
    let end: String = line.chars().skip(begin).collect();
    if begin > 0 || near.len() < text.len() { format!("…{end}") } else { end }
}

fn millis(wait: std::time::Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}
