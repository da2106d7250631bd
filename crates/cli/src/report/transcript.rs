//! One member's conversation as its log has it: what it was told and by whom, what it thought, said
//! and did, and how its turns ended.

use super::log::{Damage, SessionLog};
use super::members::outcome_words;
use super::page::{Ink, Page, line};
use super::plain::{fit, one_line, plain};
use super::when::{as_rfc3339, time_of_day};
use longboat_core::content::{Block, Reply, ReplyBlock, ToolCall, ToolOutcome, ToolStatus, Usage};
use longboat_core::id::{ItemId, MemberName, MessageId, SessionId, StepNo, TurnNo};
use longboat_core::log::{
    Event, InboxItem, Record, Source, StepOutcome, Summarizer, Trigger, TurnOutcome,
};
use longboat_core::permission::{Answer, Decider};
use longboat_core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lines of a tool's result shown when not everything is asked for.
const RESULT_LINES: usize = 4;
/// Columns of one argument shown when not everything is asked for.
const ARGUMENT_COLUMNS: usize = 48;

/// A member's conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Transcript {
    pub(crate) session: SessionId,
    pub(crate) member: MemberName,
    pub(crate) entries: Vec<Entry>,
    /// Items in the inbox that no step has claimed.
    pub(crate) pending: Vec<Heard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damage: Option<Damage>,
}

/// One thing that happened in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entry {
    #[serde(serialize_with = "as_rfc3339")]
    pub(crate) time: Timestamp,
    #[serde(flatten)]
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum What {
    TurnStarted {
        turn: TurnNo,
        trigger: Trigger,
    },
    Heard(Heard),
    Thought {
        step: StepNo,
        text: String,
    },
    Said {
        step: StepNo,
        text: String,
    },
    /// A call, with its result once there is one.
    Called {
        step: StepNo,
        call: ToolCall,
        outcome: Option<Arc<ToolOutcome>>,
    },
    /// What a reply cost.
    Used {
        step: StepNo,
        tokens: Usage,
    },
    /// A step without a reply.
    Cut {
        step: StepNo,
    },
    /// A summary took the place of what stood before, but for the newest messages.
    SummedUp {
        kept: u64,
        by: Summarizer,
        summary: Arc<str>,
    },
    /// A call waits for a person's permission.
    Asked {
        step: StepNo,
        index: u32,
    },
    /// It is known whether the call may run.
    Answered {
        step: StepNo,
        answer: Answer,
        by: Decider,
    },
    Discarded {
        items: usize,
        reason: String,
    },
    TurnEnded {
        turn: TurnNo,
        outcome: TurnOutcome,
    },
}

/// An item that came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Heard {
    /// A member's name, or `human`.
    pub(crate) from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<MessageId>,
    pub(crate) text: Arc<str>,
}

/// How much of a conversation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Thoughts are folded, arguments and results cut.
    Short,
    /// Everything.
    Full,
}

impl Transcript {
    /// Reads it out of a log.
    pub(crate) fn of(log: &SessionLog) -> Self {
        let mut reader = Reader::default();
        log.records.iter().for_each(|record| reader.read(record));
        let pending = reader.order.iter().filter_map(|id| reader.inbox.get(id));
        Self {
            session: log.session.clone(),
            member: log.name(),
            pending: pending.map(|item| heard(item)).collect(),
            entries: reader.entries,
            damage: log.damage.clone(),
        }
    }

    /// The conversation for a person.
    pub(crate) fn text(&self, page: &Page, detail: Detail) -> String {
        let mut out = String::new();
        page.heading(&mut out, &format!("{} ({})", self.member, self.session));
        let mut before = None;
        for entry in &self.entries {
            // A blank line where somebody else begins to speak.
            if before.is_some_and(|before| before != entry.what.speaker()) {
                out.push('\n');
            }
            before = Some(entry.what.speaker());
            entry.write(page, &mut out, detail);
        }
        for item in &self.pending {
            out.push('\n');
            let from = format!("unread, from {}", sender(item));
            line(&mut out, &page.ink(Ink::Open, &fit(&from, page.width)));
            page.paragraph(&mut out, 2, None, &plain(&item.text));
        }
        if let Some(Damage { seq, what }) = &self.damage {
            let what = plain(&format!("the log is unreadable from seq {seq} on: {what}"));
            page.paragraph(&mut out, 0, Some(Ink::Bad), &what);
        }
        out
    }
}

/// Where a reading is.
#[derive(Debug, Default)]
struct Reader {
    entries: Vec<Entry>,
    inbox: BTreeMap<ItemId, Arc<InboxItem>>,
    order: Vec<ItemId>,
    /// The place among the entries of each call of the open step.
    calls: BTreeMap<u32, usize>,
}

impl Reader {
    fn read(&mut self, record: &Record) {
        let what = match &record.event {
            Event::InboxInserted { item, .. } => {
                self.order.push(item.id.clone());
                self.inbox.insert(item.id.clone(), Arc::clone(item));
                return;
            }
            Event::InboxClaimed { items, .. } => {
                for id in items {
                    if let Some(item) = self.inbox.remove(id) {
                        self.push(record, What::Heard(heard(&item)));
                    }
                }
                return;
            }
            Event::ContextCompacted { summary, kept, by, .. } => {
                What::SummedUp { kept: *kept, by: *by, summary: Arc::clone(summary) }
            }
            Event::InboxDiscarded { items, reason } => {
                items.iter().for_each(|id| drop(self.inbox.remove(id)));
                What::Discarded { items: items.len(), reason: reason.clone() }
            }
            Event::TurnStarted { turn, trigger } => {
                What::TurnStarted { turn: *turn, trigger: *trigger }
            }
            Event::TurnEnded { turn, outcome } => {
                What::TurnEnded { turn: *turn, outcome: outcome.clone() }
            }
            Event::AssistantMessage { step, reply } => {
                self.reply(record, *step, reply);
                return;
            }
            Event::ToolResult { index, outcome, .. } => {
                self.answer(*index, outcome);
                return;
            }
            Event::PermissionAsked { step, index, .. } => {
                What::Asked { step: *step, index: *index }
            }
            Event::PermissionAnswered { step, answer, by, .. } => {
                What::Answered { step: *step, answer: *answer, by: *by }
            }
            Event::StepEnded { step, outcome: StepOutcome::Cut } => What::Cut { step: *step },
            Event::SessionCreated { .. }
            | Event::SessionConfigured { .. }
            | Event::StepStarted { .. }
            | Event::StepEnded { outcome: StepOutcome::Whole, .. }
            | Event::ToolStarted { .. }
            | Event::TeamPermission { .. }
            | Event::TeamMember { .. }
            | Event::TeamActivity { .. }
            | Event::TeamTask { .. }
            | Event::TeamMessageQueued { .. }
            | Event::TeamMessageDelivered { .. }
            | Event::Ignored { .. } => return,
        };
        self.push(record, what);
    }

    fn push(&mut self, record: &Record, what: What) {
        self.entries.push(Entry { time: record.at, what });
    }

    fn reply(&mut self, record: &Record, step: StepNo, reply: &Reply) {
        self.calls.clear();
        let mut index = 0;
        for block in &reply.blocks {
            let what = match block {
                ReplyBlock::Text { text } => What::Said { step, text: text.clone() },
                ReplyBlock::Reasoning { text, .. } => What::Thought { step, text: text.clone() },
                ReplyBlock::ToolCall(call) => {
                    self.calls.insert(index, self.entries.len());
                    index += 1;
                    What::Called { step, call: call.clone(), outcome: None }
                }
            };
            self.push(record, what);
        }
        self.push(record, What::Used { step, tokens: reply.usage });
    }

    fn answer(&mut self, index: u32, result: &Arc<ToolOutcome>) {
        let entry = self.calls.get(&index).and_then(|place| self.entries.get_mut(*place));
        if let Some(Entry { what: What::Called { outcome, .. }, .. }) = entry {
            *outcome = Some(Arc::clone(result));
        }
    }
}

fn heard(item: &InboxItem) -> Heard {
    let (from, message) = match &item.source {
        Source::Human => ("human".to_owned(), None),
        Source::Runtime => ("longboat".to_owned(), None),
        Source::Spawn { .. } => (MemberName::lead().to_string(), None),
        Source::Team { message, sender, .. } | Source::Agent { message, sender, .. } => {
            (sender.name.to_string(), Some(message.clone()))
        }
    };
    Heard { from, message, text: Arc::clone(&item.text) }
}

fn sender(heard: &Heard) -> String {
    match &heard.message {
        Some(message) => format!("{} (message {message})", heard.from),
        None => heard.from.clone(),
    }
}

/// Whose entry it is: the runtime's, or that of those who speak to the member, or one step's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Runtime,
    Others,
    Step(StepNo),
}

impl What {
    fn speaker(&self) -> Speaker {
        match self {
            Self::TurnStarted { .. } | Self::TurnEnded { .. } | Self::SummedUp { .. } => {
                Speaker::Runtime
            }
            Self::Heard(_) | Self::Discarded { .. } => Speaker::Others,
            Self::Thought { step, .. }
            | Self::Said { step, .. }
            | Self::Called { step, .. }
            | Self::Used { step, .. }
            | Self::Asked { step, .. }
            | Self::Answered { step, .. }
            | Self::Cut { step } => Speaker::Step(*step),
        }
    }
}

impl Entry {
    fn write(&self, page: &Page, out: &mut String, detail: Detail) {
        let time = time_of_day(self.time, &page.zone);
        match &self.what {
            What::TurnStarted { turn, trigger } => {
                let trigger = match trigger {
                    Trigger::Prompt => "prompt",
                    Trigger::Steer => "message",
                };
                rule(page, out, Ink::Bold, &format!("turn {turn}, begun by a {trigger}, {time}"));
            }
            What::Heard(heard) => {
                line(
                    out,
                    &page.ink(Ink::Name, &fit(&format!("from {}", sender(heard)), page.width)),
                );
                page.paragraph(out, 2, None, &plain(&heard.text));
            }
            What::Thought { text, .. } => write_thought(page, out, detail, text),
            What::Said { text, .. } => page.paragraph(out, 0, None, &plain(text)),
            What::Called { call, outcome, .. } => {
                write_call(page, out, detail, call, outcome.as_deref());
            }
            What::Used { step, tokens } => {
                if detail == Detail::Full {
                    let used = format!(
                        "step {step}: {} tokens in ({} cached), {} out, {time}",
                        tokens.input, tokens.cached, tokens.output
                    );
                    page.cut(out, 0, Some(Ink::Dim), &used);
                }
            }
            What::Cut { step } => {
                let text = format!("step {step} was cut: there is no reply to its request");
                page.cut(out, 0, Some(Ink::Open), &text);
            }
            What::SummedUp { kept, by, summary } => {
                let by = match by {
                    Summarizer::Model => "",
                    Summarizer::Runtime => " by longboat, since the model could not",
                };
                let text = format!("summed up{by}; the newest {kept} messages stay");
                rule(page, out, Ink::Open, &format!("{text}, {time}"));
                match detail {
                    Detail::Full => page.paragraph(out, 2, Some(Ink::Dim), &plain(summary)),
                    Detail::Short => page.cut(out, 2, Some(Ink::Dim), &one_line(summary)),
                }
            }
            What::Asked { step, index } => {
                let text = format!("call {index} of step {step} waits for permission");
                line(out, &page.ink(Ink::Open, &text));
            }
            What::Answered { answer, by, .. } => {
                let text = format!("{} said {}", by.words(), answer.word());
                line(out, &page.ink(Ink::Open, &text));
            }
            What::Discarded { items, reason } => {
                let text = format!("{items} unread left out: {}", one_line(reason));
                page.paragraph(out, 0, Some(Ink::Open), &text);
            }
            What::TurnEnded { turn, outcome } => {
                let (words, ink) = outcome_words(outcome);
                rule(page, out, ink, &format!("turn {turn} {words}, {time}"));
                if let TurnOutcome::Failed { reason } = outcome {
                    page.paragraph(out, 2, Some(Ink::Bad), &plain(reason));
                }
            }
        }
    }
}

fn rule(page: &Page, out: &mut String, ink: Ink, text: &str) {
    let text = fit(text, page.width.saturating_sub(6));
    let used = 4 + text.chars().count();
    let rest = "─".repeat(page.width.saturating_sub(used));
    line(out, &page.ink(ink, &format!("── {text} {rest}")));
}

fn write_thought(page: &Page, out: &mut String, detail: Detail, text: &str) {
    if text.trim().is_empty() {
        page.cut(out, 2, Some(Ink::Dim), "thinking: sealed by the provider");
        return;
    }
    match detail {
        Detail::Full => page.paragraph(out, 2, Some(Ink::Dim), &plain(text)),
        Detail::Short => {
            page.cut(out, 2, Some(Ink::Dim), &format!("thinking: {}", one_line(text)));
        }
    }
}

fn write_call(
    page: &Page,
    out: &mut String,
    detail: Detail,
    call: &ToolCall,
    outcome: Option<&ToolOutcome>,
) {
    let name = fit(&one_line(&call.name), 40);
    let arguments = match detail {
        Detail::Short => short_arguments(&call.arguments),
        Detail::Full => String::new(),
    };
    let room = page.width.saturating_sub(name.chars().count() + 3);
    let head = format!("• {} {}", page.ink(Ink::Bold, &name), fit(&arguments, room));
    line(out, &head);
    if detail == Detail::Full {
        write_full_arguments(page, out, &call.arguments);
    }
    match outcome {
        Some(outcome) => write_outcome(page, out, detail, outcome),
        None => page.cut(out, 2, Some(Ink::Open), "no result yet"),
    }
}

/// The arguments on one line, each cut to a few words.
fn short_arguments(text: &str) -> String {
    let Ok(serde_json::Value::Object(arguments)) = serde_json::from_str(text) else {
        return one_line(text);
    };
    let shown = arguments.iter().map(|(name, value)| {
        let value = match value {
            serde_json::Value::String(text) => one_line(text),
            other => one_line(&other.to_string()),
        };
        format!("{}: {}", one_line(name), fit(&value, ARGUMENT_COLUMNS))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn write_full_arguments(page: &Page, out: &mut String, text: &str) {
    let Ok(serde_json::Value::Object(arguments)) = serde_json::from_str(text) else {
        page.paragraph(out, 4, None, &plain(text));
        return;
    };
    for (name, value) in &arguments {
        let value = match value {
            serde_json::Value::String(text) => plain(text),
            other => plain(&other.to_string()),
        };
        if value.contains('\n') {
            line(out, &format!("    {}:", one_line(name)));
            page.paragraph(out, 6, None, &value);
        } else {
            page.paragraph(out, 4, None, &format!("{}: {value}", one_line(name)));
        }
    }
}

fn write_outcome(page: &Page, out: &mut String, detail: Detail, outcome: &ToolOutcome) {
    let (mark, ink) = match outcome.status {
        ToolStatus::Ok => (None, Ink::Dim),
        ToolStatus::Error => (Some("error"), Ink::Bad),
        ToolStatus::Interrupted => (Some("interrupted"), Ink::Open),
        ToolStatus::Unknown => (Some("outcome unknown"), Ink::Open),
    };
    if let Some(mark) = mark {
        page.cut(out, 2, Some(ink), mark);
    }
    let mut lines: Vec<String> = Vec::new();
    for block in &outcome.content {
        match block {
            Block::Text { text } => lines.extend(plain(text).lines().map(str::to_owned)),
            Block::Image { media_type, data } => {
                let bytes = data.len() / 4 * 3;
                lines.push(format!("[{}, about {bytes} bytes]", one_line(media_type)));
            }
        }
    }
    let shown = match detail {
        Detail::Full => lines.len(),
        // One more line takes no more room than the remark that there is one more.
        Detail::Short if lines.len() == RESULT_LINES + 1 => lines.len(),
        Detail::Short => RESULT_LINES,
    };
    for text in lines.iter().take(shown) {
        match detail {
            Detail::Short => page.cut(out, 4, Some(ink), text.trim_end()),
            Detail::Full => page.paragraph(out, 4, Some(ink), text),
        }
    }
    if lines.len() > shown {
        page.cut(out, 4, Some(Ink::Dim), &format!("… {} more lines", lines.len() - shown));
    }
}
