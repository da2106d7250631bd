//! A line per member: what it does now.

use super::spoken;
use crate::report::one_line;
use longboat_core::content::ToolCall;
use longboat_core::id::MemberName;
use longboat_core::log::{ActivityChange, Event, MemberChange, Record};
use longboat_core::price::{Cost, Prices, Spending};
use longboat_engine::Delta;
use std::time::Duration;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Bytes of a text in progress that are kept: more than any terminal is wide.
const TAIL_BYTES: usize = 2_000;

/// All members, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Board {
    members: Vec<Line>,
    prices: Prices,
}

#[derive(Debug)]
struct Line {
    name: MemberName,
    status: &'static str,
    doing: String,
    calls: Vec<ToolCall>,
    model: String,
    spending: Spending,
    unread: usize,
}

impl Board {
    pub(super) fn new(prices: Prices) -> Self {
        Self { members: Vec::new(), prices }
    }

    fn line(&mut self, name: &MemberName) -> &mut Line {
        let place = self.members.iter().position(|line| line.name == *name);
        let place = place.unwrap_or_else(|| {
            self.members.push(Line {
                name: name.clone(),
                status: "idle",
                doing: String::new(),
                calls: Vec::new(),
                model: String::new(),
                spending: Spending::default(),
                unread: 0,
            });
            self.members.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed just above")]
        &mut self.members[place]
    }

    /// Takes a record of a member's own log.
    pub(super) fn event(&mut self, member: &MemberName, record: &Record) {
        match &record.event {
            Event::ContextCompacted { usage, .. } => {
                let line = self.line(member);
                line.spending.add(&line.model, *usage);
            }
            Event::TeamMember { member, change, .. } => {
                let line = self.line(member);
                line.status = match change {
                    MemberChange::Provisioning { .. } => "provisioning",
                    MemberChange::Active => "idle",
                    MemberChange::Failed { .. } => "failed",
                };
            }
            Event::TeamActivity { member, change, .. } => {
                let line = self.line(member);
                line.doing.clear();
                line.status = match change {
                    ActivityChange::TurnStarted { .. } => "running",
                    ActivityChange::TurnEnded { .. } | ActivityChange::Resumed => "idle",
                    ActivityChange::Released | ActivityChange::Unreachable { .. } => "inactive",
                };
            }
            Event::InboxInserted { .. } => self.line(member).unread += 1,
            Event::InboxClaimed { items, .. } | Event::InboxDiscarded { items, .. } => {
                let line = self.line(member);
                line.unread = line.unread.saturating_sub(items.len());
            }
            Event::StepStarted { .. } => "asks the model".clone_into(&mut self.line(member).doing),
            Event::AssistantMessage { reply, .. } => {
                let line = self.line(member);
                line.spending.add(&line.model, reply.usage);
                line.calls = reply.calls().cloned().collect();
            }
            Event::ToolStarted { index, .. } => {
                let line = self.line(member);
                if let Some(call) = line.calls.get(*index as usize) {
                    line.doing = format!("{} {}", call.name, one_line(&call.arguments));
                }
            }
            Event::PermissionAsked { index, .. } => {
                let line = self.line(member);
                if let Some(call) = line.calls.get(*index as usize) {
                    line.doing = format!(
                        "waits for permission: {} {}",
                        call.name,
                        one_line(&call.arguments)
                    );
                }
            }
            Event::SessionConfigured { model, .. } => self.line(member).model.clone_from(model),
            Event::SessionCreated { .. }
            | Event::TurnStarted { .. }
            | Event::TurnEnded { .. }
            | Event::StepEnded { .. }
            | Event::PermissionAnswered { .. }
            | Event::ToolResult { .. }
            | Event::TeamPermission { .. }
            | Event::TeamTask { .. }
            | Event::TeamMessageQueued { .. }
            | Event::TeamMessageDelivered { .. }
            | Event::Ignored { .. } => {}
        }
    }

    /// Takes a piece of a reply that is coming in.
    pub(super) fn streaming(&mut self, member: &MemberName, delta: &Delta) {
        let line = self.line(member);
        let (verb, text) = spoken(delta);
        let begin = format!("{verb}: ");
        let so_far = line.doing.strip_prefix(&begin).unwrap_or_default();
        let mut text = format!("{so_far}{}", text.replace('\n', " "));
        if text.len() > TAIL_BYTES {
            let from = (text.len() - TAIL_BYTES..).find(|from| text.is_char_boundary(*from));
            text.drain(..from.unwrap_or(0));
        }
        line.doing = format!("{begin}{text}");
    }

    /// Says that a member's conversation is being summed up.
    pub(super) fn summing_up(&mut self, member: &MemberName) {
        "sums up its conversation".clone_into(&mut self.line(member).doing);
    }

    /// Says that a member waits to ask again.
    pub(super) fn retrying(&mut self, member: &MemberName, wait: Duration) {
        self.line(member).doing = format!("asks again in {:.0} s", wait.as_secs_f64());
    }

    /// The lines, each within the width.
    pub(super) fn lines(&self, width: usize, colour: bool) -> Vec<String> {
        let names = self.members.iter().map(|line| line.name.as_str().len()).max().unwrap_or(0);
        let costs: Vec<Option<Cost>> =
            self.members.iter().map(|line| line.spending.cost(&self.prices)).collect();
        let lines = self.members.iter().zip(&costs);
        let mut lines: Vec<String> =
            lines.map(|(line, cost)| line.text(names, *cost, width, colour)).collect();
        if let Some(sum) = costs.into_iter().flatten().reduce(Cost::plus) {
            lines.push(format!("{:names$}  {sum} in all", ""));
        }
        lines
    }
}

impl Line {
    fn text(&self, names: usize, cost: Option<Cost>, width: usize, colour: bool) -> String {
        let usage = self.spending.usage();
        let tokens = usage.input + usage.output;
        let cost = cost.map_or(String::new(), |cost| format!(" {cost}"));
        let mail = if self.unread > 0 { format!(" ✉{}", self.unread) } else { String::new() };
        let head = format!(
            "{:names$}  {:12}{:>7}{cost}{mail}  ",
            self.name.as_str(),
            self.status,
            short(tokens)
        );
        let room = width.saturating_sub(head.width() + 1);
        let text = format!("{head}{}", tail(&one_line(&self.doing), room));
        let code = match (colour, self.status) {
            (true, "running") => "33",
            (true, "failed") => "31",
            (true, _) => "2",
            (false, _) => return text,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A number of tokens in a few characters.
fn short(tokens: u64) -> String {
    match tokens {
        0 => String::new(),
        1..=9_999 => format!("{tokens}t"),
        10_000..=999_999 => format!("{}kt", tokens / 1_000),
        _ => format!("{:.1}Mt", tokens as f64 / 1e6),
    }
}

/// The end of a text in so many columns: the newest is at the end. What a call does stands at its
/// beginning, and is short enough.
fn tail(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let begins = !text.starts_with("says: ") && !text.starts_with("thinks: ");
    let mut used = 1;
    let mut fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    if begins {
        let kept: String = text.chars().take_while(|c| fits(c)).collect();
        return format!("{kept}…");
    }
    let kept: Vec<char> = text.chars().rev().take_while(|c| fits(c)).collect();
    format!("…{}", kept.into_iter().rev().collect::<String>())
}
