//! A member's transcript: its newest steps as they happen, and pages of older ones.

use super::compose;
use super::frame::Frame;
use super::step::{Amount, Around, item, who};
use super::team::{Presence, banner, title};
use super::{questions, roster};
use crate::region::{Item, Region};
use crate::text::{Moment, count, one_line};
use crate::watch::{Group, TeamWatch};
use longboat_core::id::MemberName;
use longboat_core::log::Lane;
use maud::{Markup, PreEscaped, html};

/// Steps on one page.
pub const GROUPS: usize = 30;
/// Items of an inbox that are shown.
const PENDING: usize = 20;

/// A member, and some of its steps.
#[derive(Debug)]
pub struct Conversation<'a> {
    /// The team.
    pub watch: &'a TeamWatch,
    /// The member.
    pub name: &'a MemberName,
    /// How the team is here.
    pub here: &'a Presence,
    /// Steps in order, the newest page or an older one: what [`step_item`] made of them.
    pub steps: &'a [Item],
    /// The number of the first of them.
    pub first: usize,
    /// When it is shown.
    pub moment: &'a Moment,
}

impl Conversation<'_> {
    fn href(&self) -> String {
        format!("/sessions/{}/m/{}", self.watch.lead(), self.name)
    }

    fn card(&self) -> Markup {
        let shown = self.watch.member(self.name, self.here.open);
        html! { @if let Some(shown) = shown { (roster::card(self.watch, &shown, self.here, self.moment)) } }
    }

    fn questions(&self) -> Markup {
        questions::panel(self.watch, Some(self.name), self.here.open, self.moment)
    }

    /// The way to older steps than those shown.
    fn older(&self) -> Markup {
        html! {
            @if self.first > 0 { a href={ (self.href()) "?before=" (self.first) } { "Older steps (" (self.first) ")" } }
            @else { span class="faint" { "The beginning" } }
        }
    }

    fn pending(&self) -> Markup {
        let pending = self.watch.watch(self.name).map(|watch| watch.pending()).unwrap_or_default();
        html! {
            @if !pending.is_empty() {
                h2 { (count(pending.len(), "item", "items")) " in the inbox, not read yet" }
                ul class="pending" {
                    @for (lane, at, item) in pending.iter().take(PENDING) {
                        @let (_, icon, who) = who(item);
                        li {
                            (icon.draw()) strong { (who) } " " (one_line(&item.text, 160)) " "
                            span class="faint" {
                                @match lane { Lane::NextStep => "at its next step", Lane::NextTurn => "as a turn of its own" }
                                ", waits " (self.moment.since(*at))
                            }
                        }
                    }
                    @if pending.len() > PENDING { li class="faint" { "and " (pending.len() - PENDING) " more" } }
                }
            }
        }
    }

    fn way(&self, last: Option<String>) -> Vec<(String, String)> {
        let lead = self.watch.lead();
        let mut way = vec![
            (format!("/sessions/{lead}"), lead.to_string()),
            (self.href(), self.name.to_string()),
        ];
        way.extend(last.map(|last| (String::new(), last)));
        way
    }
}

/// A step as an item of the list of steps. One that ended never changes again.
#[must_use]
pub fn step_item(
    (team, name): (&TeamWatch, &MemberName),
    here: &Presence,
    group: &Group,
    amount: Amount,
    moment: &Moment,
) -> Item {
    let href = format!("/sessions/{}/m/{name}", team.lead());
    let watch = team.watch(name);
    // Only the last one goes on.
    let live = watch.filter(|watch| here.open && watch.ended() == group.number);
    let around = Around { name, href: &href, amount, moment, live };
    Item::new(format!("step-{}", group.number), item(group, &around))
}

/// The page of a member: `newest` says whether its last steps are among those shown, and it changes.
#[must_use]
pub fn transcript_page(shown: &Conversation<'_>, newest: bool) -> Markup {
    let href = shown.href();
    let names = format!("{}: {}", shown.name, title(shown.watch));
    let ended = shown.watch.watch(shown.name).map_or(0, |watch| watch.ended());
    let next = shown.first + shown.steps.len() + GROUPS;
    let content = html! { div class="talk" {
        div class="head" {
            h1 { (shown.name) }
            p class="muted" { (title(shown.watch)) }
        }
        @if newest {
            div id="banner" { (banner(shown.watch, shown.here)) }
            div id="questions" role="region" aria-live="polite" aria-label="Questions" { (shown.questions()) }
        }
        @if newest { ul id="self" class="roster" { (shown.card()) } }
        section aria-labelledby="steps-title" {
            h2 id="steps-title" { "Steps" }
            p id="older" class="pager" { (shown.older()) }
            ol id="steps" class="steps" data-follow[newest] {
                @for step in shown.steps { (PreEscaped(&step.html)) }
            }
            @if !newest {
                nav class="pager" aria-label="More steps" {
                    @if next <= ended { a href={ (href) "?before=" (next) } { "Newer steps" } }
                    a href=(href) { "The newest steps" }
                }
            }
        }
        @if newest {
            div id="pending" { (shown.pending()) }
            (compose::say(shown.watch.lead(), Some(shown.name), &[]))
        }
    } };
    let live = newest.then(|| format!("{href}/live"));
    Frame { title: &names, way: &shown.way(None), live, moment: shown.moment }.around(&content)
}

/// What changes of the page.
#[must_use]
pub fn transcript_regions(shown: &Conversation<'_>) -> Vec<Region> {
    vec![
        Region::whole("banner", banner(shown.watch, shown.here)),
        Region::whole("questions", shown.questions()),
        Region::whole("self", shown.card()),
        Region::whole("older", shown.older()),
        Region::list("steps", shown.steps.iter().cloned()),
        Region::whole("pending", shown.pending()),
    ]
}

/// A page with one step, whole.
#[must_use]
pub fn step_page(shown: &Conversation<'_>) -> Markup {
    let number = shown.first;
    let names = format!("{}, step {number}", shown.name);
    let href = shown.href();
    let content = html! { div class="talk" {
        div class="head" { h1 { (shown.name) ", one step" } }
        ol class="steps" { @for step in shown.steps { (PreEscaped(&step.html)) } }
        nav class="pager" aria-label="More steps" {
            a href={ (href) "?before=" (number + 1) } { "This step among others" }
        }
    } };
    let way = shown.way(Some("one step".to_owned()));
    Frame { title: &names, way: &way, live: None, moment: shown.moment }.around(&content)
}
