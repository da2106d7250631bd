//! The mailbox: every message and its way, with its waits drawn to one scale.

use super::frame::Frame;
use super::icon::{Icon, chip};
use super::team::title;
use crate::region::{Item, Region};
use crate::text::{Moment, Said, count, duration, one_line};
use crate::watch::{TeamWatch, Way, WayState};
use longboat_core::id::MessageId;
use longboat_core::time::Timestamp;
use maud::{Markup, html};

/// Messages on the page of a team.
const SHOWN: usize = 30;
/// Messages on a page of older ones.
pub const MAIL_PAGE: usize = 100;
/// Characters of a text that is folded.
const GIST_CHARS: usize = 110;
/// The shortest way that a full bar can mean, in milliseconds: what is quicker looks quick.
const SCALE_MS: u64 = 1_000;
/// How wide a bar is drawn; the page stretches it.
const BAR: f64 = 1_000.0;

/// The mailbox on the page of a team.
pub(super) fn section(watch: &TeamWatch, moment: &Moment) -> Markup {
    let scale = scale(watch.mail().newest(None).take(SHOWN));
    html! {
        section aria-labelledby="mail-title" {
            h2 id="mail-title" { "Messages" }
            div id="mail-head" { (head(watch, scale)) }
            ol id="mail" class="mail" reversed {
                @for way in watch.mail().newest(None).take(SHOWN) { (item(watch, way, scale, moment)) }
            }
        }
    }
}

/// What changes of it.
pub(super) fn regions(watch: &TeamWatch, moment: &Moment) -> Vec<Region> {
    let scale = scale(watch.mail().newest(None).take(SHOWN));
    let items = watch
        .mail()
        .newest(None)
        .take(SHOWN)
        .map(|way| Item::new(format!("message-{}", way.id), item(watch, way, scale, moment)));
    vec![Region::whole("mail-head", head(watch, scale)), Region::list("mail", items)]
}

/// A page of messages: those before a number, or the newest.
#[must_use]
pub fn mail_page(watch: &TeamWatch, before: Option<u64>, moment: &Moment) -> Markup {
    let page: Vec<&Way> = watch.mail().newest(before).take(MAIL_PAGE).collect();
    let scale = scale(page.iter().copied());
    let lead = watch.lead();
    let way =
        [(format!("/sessions/{lead}"), lead.to_string()), (String::new(), "messages".to_owned())];
    let oldest = page.last().map(|way| way.id.number());
    let content = html! {
        div class="head" {
            h1 { "Messages" }
            p class="muted" { (title(watch)) }
        }
        (head(watch, scale))
        ol class="mail" reversed { @for way in &page { (item(watch, way, scale, moment)) } }
        nav class="pager" aria-label="More messages" {
            @if before.is_some() { a href={ "/sessions/" (lead) "/mail" } { "Newest" } }
            @if let Some(oldest) = oldest && oldest > 1 {
                a href={ "/sessions/" (lead) "/mail?before=" (oldest) } { "Older messages" }
            }
        }
    };
    Frame { title: "Messages", way: &way, live: None, moment }.around(&content)
}

/// A page with the whole text of one message.
#[must_use]
pub fn message_page(watch: &TeamWatch, id: &MessageId, text: &str, moment: &Moment) -> Markup {
    let lead = watch.lead();
    let way = [
        (format!("/sessions/{lead}"), lead.to_string()),
        (format!("/sessions/{lead}/mail"), "messages".to_owned()),
        (String::new(), id.to_string()),
    ];
    let content = html! {
        div class="head" {
            h1 { "Message " (id) }
            @if let Some(way) = watch.mail().get(id) { p class="facts" { (from_to(way)) (state(way)) (moment.clock(way.queued)) } }
        }
        div class="card text" { (Said(text)) }
    };
    Frame { title: id.as_str(), way: &way, live: None, moment }.around(&content)
}

fn head(watch: &TeamWatch, scale: u64) -> Markup {
    let all = watch.mail().len();
    let (owed, unread) = watch.mail().waiting();
    html! {
        @if all == 0 {
            p class="muted" { "No message yet. Each is drawn with its way: queued, accepted into its target's inbox, read at a step." }
        } @else {
            p class="facts" {
                span { (count(all, "message", "messages")) }
                @if owed > 0 { (chip(Icon::Mail, "failed", &format!("{owed} owed"))) }
                @if unread > 0 { (chip(Icon::Mail, "waiting", &format!("{unread} unread"))) }
                span class="key" { span class="swatch accept" aria-hidden="true" {} "queued to accepted" }
                span class="key" { span class="swatch read" aria-hidden="true" {} "accepted to read" }
                span { "full width " (duration(scale)) }
                @if all > SHOWN { a href={ "/sessions/" (watch.lead()) "/mail" } { "all messages" } }
            }
        }
    }
}

fn item(watch: &TeamWatch, way: &Way, scale: u64, moment: &Moment) -> Markup {
    let gist = one_line(&way.text, GIST_CHARS);
    html! {
        li id={ "message-" (way.id) } class="message" value=(way.id.number()) {
            p class="facts" {
                span class="mono faint" { (way.id) }
                (from_to(way))
                (state(way))
                span class="faint" { (moment.clock(way.queued)) }
            }
            (bar(way, scale))
            p class="waits" { (waits(watch, way, moment)) }
            details {
                summary { (gist) }
                div class="text" { (Said(&way.text)) @if way.cut { "…" } }
                @if way.cut { p { a href={ "/sessions/" (watch.lead()) "/mail/" (way.id) } { "The whole text of " (way.id) } } }
            }
        }
    }
}

fn from_to(way: &Way) -> Markup {
    html! { span class="way" { (way.from) " " span aria-hidden="true" { "→" } span class="unseen" { " to " } " " (way.to) } }
}

fn state(way: &Way) -> Markup {
    match way.state {
        WayState::Owed => chip(Icon::Mail, "failed", "owed"),
        WayState::Unread => chip(Icon::Mail, "waiting", "accepted, unread"),
        WayState::Read => chip(Icon::Done, "idle", "read"),
        WayState::Discarded => chip(Icon::Failed, "inactive", "discarded"),
    }
}

/// The waits in words.
fn waits(watch: &TeamWatch, way: &Way, moment: &Moment) -> Markup {
    let (first, second) = spans(way);
    html! {
        @match (first, way.state) {
            (Some(ms), _) => { "accepted after " (duration(ms)) }
            (None, WayState::Owed) => {
                span class="bad" {
                    "owed " (moment.since(way.queued))
                    @if let Some(cause) = watch.owed(&way.to).1 { ": " (one_line(cause, 200)) }
                }
            }
            (None, _) => {}
        }
        @match (second, way.state, way.accepted) {
            (Some(ms), _, _) => { ", read after " (duration(ms)) }
            (None, WayState::Unread, Some(at)) => { ", unread " (moment.since(at)) }
            (None, WayState::Discarded, _) => { ", discarded unread" }
            _ => {}
        }
    }
}

/// The two waits of a message in milliseconds, as far as they have ended.
fn spans(way: &Way) -> (Option<u64>, Option<u64>) {
    let since = |earlier: Timestamp| move |later: Timestamp| later.millis_since(earlier);
    let first = way.accepted.map(since(way.queued));
    let second = way.accepted.and_then(|accepted| way.read.map(since(accepted)));
    (first, second)
}

/// The longest way that has ended: what a full bar means.
fn scale<'a>(ways: impl Iterator<Item = &'a Way>) -> u64 {
    let whole = ways.map(|way| {
        let (first, second) = spans(way);
        first.unwrap_or(0) + second.unwrap_or(0)
    });
    whole.max().unwrap_or(0).max(SCALE_MS)
}

/// The waits as a bar. A wait that has not ended goes on to the end of it.
fn bar(way: &Way, scale: u64) -> Markup {
    let (first, second) = spans(way);
    let wide = |ms: u64| (ms.min(scale) as f64 / scale as f64 * BAR).max(3.0).round();
    let accept = first.map(wide);
    let begin = accept.unwrap_or(0.0);
    let (kind, width) = match (accept, second, way.state) {
        (_, Some(ms), _) => ("read", wide(ms).min(BAR - begin).max(3.0)),
        (Some(_), None, WayState::Unread) => ("open", BAR - begin),
        (None, None, WayState::Owed) => ("owed", BAR),
        _ => ("none", 0.0),
    };
    html! {
        svg class="bar" viewBox={ "0 0 " (BAR) " 8" } width="100%" height="8" preserveAspectRatio="none" aria-hidden="true" {
            rect class="ground" x="0" y="3" width=(BAR) height="2" {}
            @if let Some(accept) = accept { rect class="accept" x="0" y="0" width=(accept) height="8" {} }
            @if width > 0.0 { rect class=(kind) x=(begin) y="0" width=(width) height="8" {} }
        }
    }
}
