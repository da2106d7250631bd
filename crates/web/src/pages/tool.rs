//! Tool calls: folded, with what they were asked and what came of it.

use super::icon::{Icon, chip};
use super::step::{Amount, Whole, long};
use crate::text::{Moment, Said, duration, one_line};
use crate::watch::gist;
use longboat_core::content::{Block, ToolCall, ToolOutcome, ToolStatus};
use longboat_core::time::Timestamp;
use maud::{Markup, html};

/// Lines of a diff that are coloured; the rest follows plainly.
const DIFF_LINES: usize = 400;
/// Characters of what a call is about.
const GIST_CHARS: usize = 120;
/// Kinds of pictures that a browser may show.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A call and what came of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Ran<'a> {
    pub(super) started: Option<Timestamp>,
    /// It waits for a person's permission.
    pub(super) asked: bool,
    pub(super) ended: Option<Timestamp>,
    pub(super) outcome: Option<&'a ToolOutcome>,
}

/// A tool call with its result.
pub(super) fn call(
    id: &str,
    call: &ToolCall,
    ran: &Ran<'_>,
    whole: &Whole<'_>,
    moment: &Moment,
) -> Markup {
    let name = one_line(&call.name, 64);
    let open = whole.amount == Amount::Whole;
    html! {
        details class="tool" id=(id) open[open] {
            summary {
                (Icon::Tool.draw())
                code { (name) }
                " " span class="gist" { (one_line(&gist(&call.arguments), GIST_CHARS)) }
                " " (state(ran, moment))
            }
            h4 { "Asked" }
            (long(&readable(&call.arguments), "code", whole))
            @if let Some(outcome) = ran.outcome {
                h4 { "Came back" }
                @for block in &outcome.content { (block_markup(&call.name, block, whole)) }
            }
        }
    }
}

fn state(ran: &Ran<'_>, moment: &Moment) -> Markup {
    let took = match (ran.started, ran.ended) {
        (Some(started), Some(ended)) => format!(" in {}", duration(ended.millis_since(started))),
        _ => String::new(),
    };
    match (ran.outcome.map(|outcome| outcome.status), ran.started) {
        (Some(ToolStatus::Ok), _) => chip(Icon::Done, "done", &format!("done{took}")),
        (Some(ToolStatus::Error), _) => chip(Icon::Failed, "failed", &format!("error{took}")),
        (Some(ToolStatus::Interrupted), _) => chip(Icon::Stop, "waiting", "interrupted"),
        (Some(ToolStatus::Unknown), _) => chip(Icon::Runtime, "waiting", "outcome unknown"),
        (None, Some(_)) if ran.asked => chip(Icon::Person, "waiting", "waits for permission"),
        (None, Some(started)) => html! {
            span class="chip running" { (Icon::Running.draw()) "runs " (moment.since(started)) }
        },
        (None, None) => chip(Icon::Provisioning, "inactive", "next"),
    }
}

/// Arguments for people: a line each, texts as they are. As they are when they are no object.
pub(super) fn readable(arguments: &str) -> String {
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(arguments) else {
        return arguments.to_owned();
    };
    let long = |value: &serde_json::Value| value.as_str().is_some_and(|text| text.contains('\n'));
    let (last, first): (Vec<_>, Vec<_>) = object.iter().partition(|(_, value)| long(value));
    let lines = first.into_iter().chain(last).map(|(name, value)| match value {
        serde_json::Value::String(text) if text.contains('\n') => {
            format!("{name}:\n{}", text.trim_end_matches('\n'))
        }
        serde_json::Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() { "nothing".to_owned() } else { text }
}

fn block_markup(tool: &str, block: &Block, whole: &Whole<'_>) -> Markup {
    match block {
        Block::Text { text } if matches!(tool, "edit" | "write") && is_diff(text) => {
            let (shown, more) = whole.cut(text);
            html! { (diff(shown)) @if more { (whole.link(text)) } }
        }
        Block::Text { text } => long(text, "code", whole),
        Block::Image { media_type, data } => picture(media_type, data, whole),
    }
}

fn is_diff(text: &str) -> bool {
    text.starts_with("--- ") && text.contains("\n+++ ")
}

/// A diff, line by line: each has its sign, and a colour that says the same.
fn diff(text: &str) -> Markup {
    let mut lines = text.lines();
    html! {
        pre class="code diff" tabindex="0" {
            @for line in lines.by_ref().take(DIFF_LINES) {
                @let kind = match line.as_bytes().first() {
                    _ if line.starts_with("+++ ") || line.starts_with("--- ") => "file",
                    Some(b'+') => "plus",
                    Some(b'-') => "minus",
                    Some(b'@') => "place",
                    _ => "same",
                };
                span class=(kind) { (Said(line)) }
            }
            @for line in lines { span class="same" { (Said(line)) } }
        }
    }
}

fn picture(media_type: &str, data: &str, whole: &Whole<'_>) -> Markup {
    let safe = PICTURES.contains(&media_type)
        && data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    html! {
        @if safe && whole.amount == Amount::Whole {
            img class="picture" alt="A picture that the tool returned" src={ "data:" (media_type) ";base64," (data) };
        } @else {
            p class="muted" {
                "A picture (" (one_line(media_type, 40)) ", " (data.len() * 3 / 4 / 1024 + 1) " KB). "
                a href=(whole.href) { "Show it" }
            }
        }
    }
}
