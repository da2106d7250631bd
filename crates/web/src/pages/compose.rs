//! Saying something: to the Lead, to a member, or as the beginning of a new run. The page's script
//! sends it to the API.

use crate::region::{Item, Region};
use longboat_core::id::{MemberName, SessionId};
use longboat_core::limits::PROMPT_BYTES;
use maud::{Markup, html};

/// The form with which a person speaks to a member; `only` when there is no choice of whom.
pub(super) fn say(lead: &SessionId, only: Option<&MemberName>, targets: &[MemberName]) -> Markup {
    html! {
        form class="compose" data-say={ "/api/v1/sessions/" (lead) "/members/" } {
            div class="field" {
                label for="words" {
                    @if let Some(member) = only { "Say to " (member) } @else { "Say to the team" }
                }
                textarea id="words" name="text" rows="3" required maxlength=(PROMPT_BYTES)
                    placeholder="What is to be done?" {}
            }
            div class="row" {
                @match only {
                    Some(member) => { input type="hidden" name="member" value=(member); }
                    None => {
                        label class="inline" for="targets" { "To" }
                        select id="targets" name="member" {
                            @for target in targets { (option(target)) }
                        }
                    }
                }
                fieldset class="how" {
                    legend class="unseen" { "When it is read" }
                    label { input type="radio" name="how" value="prompt" checked; " As a turn of its own" }
                    label { input type="radio" name="how" value="steer"; " Steer now: at its next step" }
                }
                button class="main" type="submit" { "Send" }
            }
        }
    }
}

fn option(target: &MemberName) -> Markup {
    html! { option id={ "to-" (target) } value=(target) { (target) } }
}

/// The members that can be spoken to, as they change.
pub(super) fn targets_region(targets: &[MemberName]) -> Region {
    let item = |target: &MemberName| Item::new(format!("to-{target}"), option(target));
    Region::list("targets", targets.iter().map(item))
}

/// The form that begins a run.
pub(super) fn begin(default_model: Option<&str>) -> Markup {
    html! {
        form class="compose card" data-begin="/api/v1/sessions" {
            div class="field" {
                label for="prompt" { "Start a run" }
                textarea id="prompt" name="prompt" rows="3" required maxlength=(PROMPT_BYTES)
                    placeholder="What is to be done? Ask for a team when you want one." {}
            }
            div class="row" {
                label class="inline" for="model" { "Model" }
                input id="model" name="model" type="text" autocomplete="off" spellcheck="false"
                    placeholder=(default_model.unwrap_or("provider/model"))
                    required[default_model.is_none()];
                button class="main" type="submit" { "Start" }
            }
        }
    }
}

/// A button that asks the API for something.
pub(super) fn act(path: &str, label: &Markup, name: &str, done: &str) -> Markup {
    html! {
        button class="quiet" type="button" data-act=(path) data-done=(done) aria-label=(name) { (label) }
    }
}

/// A button that answers a question.
pub(super) fn answer(path: &str, answer: &str, label: &str, name: &str, done: &str) -> Markup {
    let body = format!("{{\"answer\":\"{answer}\"}}");
    html! {
        button class="quiet" type="button" data-act=(path) data-body=(body) data-done=(done) aria-label=(name) { (label) }
    }
}
