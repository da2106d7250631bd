//! One step of a conversation: what was heard, said and done, in the order of its records.

use super::icon::{Icon, chip};
use super::tool::{self, Ran};
use crate::text::{Moment, Said, count, cut, one_line, tail, tokens};
use crate::watch::{Group, MemberWatch};
use longboat_core::content::{FinishReason, Reply, ReplyBlock};
use longboat_core::id::{MemberName, StepNo};
use longboat_core::log::{
    Event, InboxItem, Record, Source, StepOutcome, Summarizer, Trigger, TurnOutcome,
};
use longboat_core::time::Timestamp;
use maud::{Markup, html};

/// Characters of a text on a page of many steps.
const TEXT_CHARS: usize = 4_000;
/// Characters of one text on a page of its own: more than a log holds of most.
const WHOLE_CHARS: usize = 400_000;
/// Bytes of a reply in progress that are shown: its end.
const STREAM_BYTES: usize = 6_000;
/// Characters of a reason.
const REASON_CHARS: usize = 600;

/// How much of long texts is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Their beginnings, and where the rest is.
    Beginning,
    /// All of them, up to a bound.
    Whole,
}

/// How much is shown, and where the whole is.
#[derive(Debug, Clone)]
pub(super) struct Whole<'a> {
    pub(super) amount: Amount,
    pub(super) href: &'a str,
}

impl Whole<'_> {
    /// As much of a text as is shown, and whether there is more.
    pub(super) fn cut<'t>(&self, text: &'t str) -> (&'t str, bool) {
        let most = match self.amount {
            Amount::Beginning => TEXT_CHARS,
            Amount::Whole => WHOLE_CHARS,
        };
        cut(text, most)
    }

    /// Where the rest is.
    pub(super) fn link(&self, text: &str) -> Markup {
        let all = count(text.chars().count(), "character", "characters");
        html! {
            p class="more" {
                @match self.amount {
                    Amount::Beginning => a href=(self.href) { "Show all " (all) },
                    Amount::Whole => { "This is the beginning of " (all) "." }
                }
            }
        }
    }
}

/// A long text: its beginning, and where the rest is.
pub(super) fn long(text: &str, kind: &str, whole: &Whole<'_>) -> Markup {
    let (shown, more) = whole.cut(text);
    html! {
        @if kind == "code" { pre class="code" tabindex="0" { (Said(shown)) } }
        @else { div class=(kind) { (Said(shown)) @if more { "…" } } }
        @if more { (whole.link(text)) }
    }
}

/// What a step is shown with.
#[derive(Debug)]
pub(super) struct Around<'a> {
    pub(super) name: &'a MemberName,
    /// The address of the member's transcript.
    pub(super) href: &'a str,
    pub(super) amount: Amount,
    pub(super) moment: &'a Moment,
    /// The member, where the step may still be open.
    pub(super) live: Option<&'a MemberWatch>,
}

/// A step as an item of a list.
pub(super) fn item(group: &Group, around: &Around<'_>) -> Markup {
    let href = format!("{}?step={}", around.href, group.number);
    let whole = Whole { amount: around.amount, href: &href };
    let mut heard = group.heard.iter();
    html! {
        li id={ "step-" (group.number) } class="step" {
            @for record in &group.records {
                @if let Event::InboxClaimed { items, .. } = &record.event {
                    @for item in heard.by_ref().take(items.len()) { (said_to(item, record.at, &whole, around)) }
                } @else {
                    (entry(record, group, &whole, around))
                }
            }
            @if let Some(watch) = around.live { (coming(group, watch, around)) }
        }
    }
}

fn entry(record: &Record, group: &Group, whole: &Whole<'_>, around: &Around<'_>) -> Markup {
    let at = around.moment.clock(record.at);
    match &record.event {
        Event::TurnStarted { turn, trigger } => html! {
            h3 class="mark turn" {
                "Turn " (turn)
                span class="faint" {
                    @match trigger { Trigger::Prompt => " began with a prompt, ", Trigger::Steer => " began with what was sent to it, " }
                    (at)
                }
            }
        },
        Event::TurnEnded { turn, outcome } => html! {
            p class="mark" {
                "Turn " (turn) " "
                @match outcome {
                    TurnOutcome::Completed => (chip(Icon::Done, "done", "completed")),
                    TurnOutcome::Interrupted { by } => (chip(Icon::Stop, "waiting", &format!("interrupted by {}", one_line(by, 64)))),
                    TurnOutcome::Failed { .. } => (chip(Icon::Failed, "failed", "failed")),
                }
                " " span class="faint" { (at) }
            }
            @if let TurnOutcome::Failed { reason } = outcome { p class="mark bad" { (one_line(reason, REASON_CHARS)) } }
        },
        Event::AssistantMessage { step, reply } => {
            said(*step, reply, record.at, group, whole, around)
        }
        Event::StepEnded { outcome: StepOutcome::Cut, step } => html! {
            p class="mark warn" { "Step " (step) " was cut: there is no reply. " span class="faint" { (at) } }
        },
        Event::InboxDiscarded { items, reason } => html! {
            p class="mark" { (count(items.len(), "item", "items")) " left the inbox unread: " (one_line(reason, REASON_CHARS)) }
        },
        Event::ContextCompacted { summary, kept, by, .. } => html! {
            article class="heard runtime" {
                h4 {
                    (Icon::Runtime.draw())
                    @match by { Summarizer::Model => "Summed up", Summarizer::Runtime => "Summed up by longboat, since the model could not" }
                    "; the newest " (kept) " messages stay " span class="faint" { (at) }
                }
                (long(summary, "text", whole))
            }
        },
        _ => html! {},
    }
}

/// What a member heard: who said it is told by a word, a drawing and a place.
pub(super) fn said_to(
    item: &InboxItem,
    at: Timestamp,
    whole: &Whole<'_>,
    around: &Around<'_>,
) -> Markup {
    let (kind, icon, who) = who(item);
    html! {
        article class={ "heard " (kind) } {
            h4 { (icon.draw()) (who) " " span class="faint" { (around.moment.clock(at)) } }
            (long(&item.text, "text", whole))
        }
    }
}

pub(super) fn who(item: &InboxItem) -> (&'static str, Icon, String) {
    match &item.source {
        Source::Human => ("human", Icon::Person, "You".to_owned()),
        Source::Runtime => ("runtime", Icon::Runtime, "Notice of the runtime".to_owned()),
        Source::Spawn { .. } => ("spawn", Icon::Team, "First prompt, by lead".to_owned()),
        Source::Team { message, sender, .. } | Source::Agent { message, sender, .. } => {
            ("mail", Icon::Mail, format!("Message {message} from {}", sender.name))
        }
    }
}

fn said(
    step: StepNo,
    reply: &Reply,
    at: Timestamp,
    group: &Group,
    whole: &Whole<'_>,
    around: &Around<'_>,
) -> Markup {
    let mut index = 0..;
    html! {
        article class="said" {
            h4 {
                (around.name)
                " " span class="faint" {
                    "step " (step) ", " (around.moment.clock(at))
                    @if reply.usage.output > 0 { ", " (tokens(reply.usage.input)) " → " (tokens(reply.usage.output)) " tokens" }
                }
            }
            @if reply.blocks.is_empty() { p class="faint" { "It said nothing." } }
            @for block in &reply.blocks {
                @match block {
                    ReplyBlock::Text { text } => (long(text, "text", whole)),
                    ReplyBlock::Reasoning { text, .. } if text.is_empty() => {},
                    ReplyBlock::Reasoning { text, .. } => {
                        details class="thought" open[whole.amount == Amount::Whole] {
                            summary { (Icon::Thought.draw()) "Thought: " span class="gist" { (one_line(text, 90)) } }
                            (long(text, "text", whole))
                        }
                    }
                    ReplyBlock::ToolCall(call) => {
                        @let index = index.next().unwrap_or(0);
                        (tool::call(&format!("call-{}-{index}", group.number), call, &ran(group, index), whole, around.moment))
                    }
                }
            }
            @match reply.finish {
                FinishReason::Done => {}
                FinishReason::Length => p class="mark warn" { "The output limit cut this reply." },
                FinishReason::ContentFilter => p class="mark warn" { "The provider withheld the rest." },
            }
        }
    }
}

/// What came of the call at a place of a group's reply.
fn ran(group: &Group, place: u32) -> Ran<'_> {
    let mut ran = Ran::default();
    for record in &group.records {
        match &record.event {
            Event::ToolStarted { index, .. } if *index == place => ran.started = Some(record.at),
            Event::PermissionAsked { index, .. } if *index == place => ran.asked = true,
            Event::PermissionAnswered { index, .. } if *index == place => ran.asked = false,
            Event::ToolResult { index, outcome, .. } if *index == place => {
                (ran.ended, ran.outcome) = (Some(record.at), Some(&**outcome));
            }
            _ => {}
        }
    }
    ran
}

/// The reply that is coming in, when one is.
fn coming(group: &Group, watch: &MemberWatch, around: &Around<'_>) -> Markup {
    let replied =
        |record: &std::sync::Arc<Record>| matches!(record.event, Event::AssistantMessage { .. });
    let asked = group.records.iter().rev().find(|r| matches!(r.event, Event::StepStarted { .. }));
    let Some(asked) = asked.filter(|_| !group.records.iter().any(replied)) else { return html! {} };
    let stream = watch.stream();
    let (text, thought) = (tail(&stream.text, STREAM_BYTES), tail(&stream.reasoning, STREAM_BYTES));
    html! {
        article class="said coming" aria-busy="true" {
            h4 {
                (around.name) " "
                span class="faint" {
                    @if *stream == crate::watch::Stream::default() { "asks its model " } @else { "is writing, " }
                    (around.moment.since(asked.at))
                }
            }
            @if !thought.is_empty() {
                details class="thought" open[text.is_empty()] {
                    summary { (Icon::Thought.draw()) "Thinks" }
                    div class="text" { (Said(thought)) }
                }
            }
            @if !text.is_empty() {
                div class="text" { @if text.len() < stream.text.len() { "…" } (Said(text)) span class="caret" aria-hidden="true" {} }
            }
            @for call in &stream.calls { p class="tool" { (Icon::Tool.draw()) code { (call) } " …" } }
        }
    }
}
