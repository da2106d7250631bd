//! When a conversation outgrows its model: which messages a summary replaces, how the summary is
//! asked for, and what stands in their place. Everything that a model is shown of it is in the log.

use super::SessionState;
use super::transcript::Transcript;
use crate::content::{Block, Message, Prompt, Reply, ReplyBlock};
use crate::limits::SUMMARY_BYTES;
use std::sync::Arc;

/// A conversation is summed up once it takes this many of ten parts of the window.
const FULL_TENTHS: u64 = 8;
/// The newest messages that stay as they are: at most this many of ten parts of the window.
const KEPT_TENTHS: u64 = 2;
/// The share of the window that a request for a summary may carry, so that the summary fits too.
const SUMMED_TENTHS: u64 = 7;
/// How often the request for a summary is halved when it does not fit.
const HALVINGS: u32 = 4;
/// Bytes of the first prompt that stay word for word.
const FIRST_PROMPT_BYTES: usize = 4_096;
/// Replies of which a summary without a model shows the beginning.
const EXCERPTS: usize = 40;
/// Bytes of each.
const EXCERPT_BYTES: usize = 300;

const ASK: &str = "\
[notice]
This conversation is becoming too long and its beginning is about to be replaced by a summary that you write now. \
You will go on from the summary and the newest messages alone. Call no tool; write only the summary. State: what was \
asked for, word for word where that matters; what was decided and why; what was done, with the names of files, \
commands and results; what failed; what is under way and what comes next; what other members said and what you owe them.";

const LEFT_OUT: &str = "\
[notice]
The beginning of this conversation is left out here, because it is too long.";

/// What a summary will replace.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// How many of the newest messages stay.
    pub kept: u64,
    /// Requests for the summary, each shorter than the one before, for a model to which the first
    /// is too long.
    pub requests: Vec<Prompt>,
}

impl SessionState {
    /// Says whether the next request should not be made before the conversation is summed up:
    /// `window` is what the model takes, in tokens.
    #[must_use]
    pub fn is_full(&self, window: u64) -> bool {
        !self.just_compacted() && self.context() >= window / 10 * FULL_TENTHS
    }

    /// Says whether a summary can replace anything. With `refused`, the provider has said that the
    /// conversation is too long, whatever the window seems to be.
    #[must_use]
    pub fn can_compact(&self, window: u64, refused: bool) -> bool {
        self.cut(window, refused).is_some()
    }

    /// What a summary will replace; `None` when there is nothing that it could.
    #[must_use]
    pub fn compaction(&self, window: u64, refused: bool) -> Option<Compaction> {
        let from = self.cut(window, refused)?;
        let configuration = self.configuration()?;
        let messages = self.transcript().messages();
        let replaced = messages.get(..from)?;
        let last = (0..from).rev().find(|place| may_begin(messages, *place))?;
        let mut requests = Vec::new();
        let mut room = self.room(window, refused) / 10 * SUMMED_TENTHS;
        for shorter in 0..=HALVINGS {
            let begin = if shorter == 0 { 0 } else { tail(replaced, room).min(last) };
            let mut said = Vec::new();
            if begin > 0 {
                // Providers want a conversation to begin with what was said to the model.
                said.push(Message::User(vec![Block::text(LEFT_OUT)]));
            }
            said.extend_from_slice(replaced.get(begin..).unwrap_or_default());
            said.push(Message::User(vec![Block::text(ASK)]));
            let (system, tools) =
                (Arc::clone(&configuration.system), Arc::clone(&configuration.tools));
            requests.push(Prompt { system, tools, messages: said });
            room = if shorter == 0 { room } else { room / 2 };
        }
        requests.dedup();
        Some(Compaction { kept: (messages.len() - from) as u64, requests })
    }

    /// Where what a summary does not replace begins.
    fn cut(&self, window: u64, refused: bool) -> Option<usize> {
        if self.just_compacted() {
            return None;
        }
        let messages = self.transcript().messages();
        let from = tail(messages, self.room(window, refused) / 10 * KEPT_TENTHS);
        // A prompt that does not fit by itself is not helped by a summary of it.
        let mut replaced = messages.get(..from)?.iter();
        replaced.any(|message| matches!(message, Message::Assistant(_))).then_some(from)
    }

    fn room(&self, window: u64, refused: bool) -> u64 {
        if refused { window.min(self.transcript().tokens()) } else { window }
    }

    /// What stands in the place of what was summed up: `told` is the model's summary, or `None` for
    /// one that no model had to write; `restated` is what the runtime knows and must not be lost.
    #[must_use]
    pub fn summary(&self, kept: u64, told: Option<&str>, restated: &str) -> String {
        let messages = self.transcript().messages();
        let replaced = messages.len().saturating_sub(usize::try_from(kept).unwrap_or(usize::MAX));
        let mut text = format!(
            "[notice]\nThe {replaced} messages that stood here were replaced by this summary, because the \
             conversation became too long.\n"
        );
        if let Some(first) = self.first_prompt() {
            text.push_str(&format!(
                "\n# The first prompt\n{}\n",
                begins(first, FIRST_PROMPT_BYTES)
            ));
        }
        match told {
            Some(told) => {
                text.push_str(&format!(
                    "\n# Your summary\n{}\n",
                    begins(told.trim(), SUMMARY_BYTES)
                ));
            }
            None => {
                text.push_str("\n# What you said, from the oldest\n");
                let replies = messages.get(..replaced).unwrap_or_default().iter();
                let said: Vec<String> = replies.filter_map(excerpt).collect();
                for line in said.iter().skip(said.len().saturating_sub(EXCERPTS)) {
                    text.push_str(&format!("- {line}\n"));
                }
            }
        }
        if !restated.is_empty() {
            text.push_str(&format!("\n{restated}\n"));
        }
        text
    }
}

impl Prompt {
    /// Says whether this asks for a summary rather than for the next step.
    #[must_use]
    pub fn asks_for_summary(&self) -> bool {
        let last = self.messages.last();
        matches!(last, Some(Message::User(blocks)) if *blocks == [Block::text(ASK)])
    }
}

impl Transcript {
    /// Puts a summary in the place of all but the newest messages.
    pub(super) fn replaced(&mut self, summary: &str, kept: u64) -> Result<(), String> {
        let from =
            usize::try_from(kept).ok().and_then(|kept| self.messages().len().checked_sub(kept));
        let from = from.ok_or("a summary keeps more messages than there are")?;
        if !may_begin(self.messages(), from) {
            return Err("a summary parts a call from its result".to_owned());
        }
        let newest = self.messages().get(from..).unwrap_or_default().to_vec();
        self.restart(Message::User(vec![Block::text(summary)]), newest);
        Ok(())
    }
}

/// Where the longest tail of at most so many tokens begins that may stand behind a summary.
fn tail(messages: &[Message], most: u64) -> usize {
    let mut size = 0;
    let mut from = messages.len();
    for (place, message) in messages.iter().enumerate().rev() {
        size += tokens(message);
        if size > most {
            break;
        }
        if may_begin(messages, place) {
            from = place;
        }
    }
    from
}

/// Results never stand without their calls.
fn may_begin(messages: &[Message], place: usize) -> bool {
    !matches!(messages.get(place), Some(Message::ToolResults(_)))
}

/// About how many tokens a message takes: providers count otherwise, and the next reply's usage
/// says how many it really was.
pub(super) fn tokens(message: &Message) -> u64 {
    let bytes: usize = match message {
        Message::User(blocks) => blocks.iter().map(block_bytes).sum(),
        Message::Assistant(reply) => reply.blocks.iter().map(reply_bytes).sum(),
        Message::ToolResults(results) => results
            .iter()
            .flat_map(|answered| &answered.outcome.content)
            .map(|block| block_bytes(block) + 32)
            .sum(),
    };
    bytes_in_tokens(bytes)
}

/// Three and a half bytes a token, and a little for what surrounds them.
pub(super) fn bytes_in_tokens(bytes: usize) -> u64 {
    bytes as u64 * 2 / 7 + 8
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        // Pictures are counted by their size on the screen, a few thousand tokens at most.
        Block::Image { .. } => 6_000,
    }
}

fn reply_bytes(block: &ReplyBlock) -> usize {
    match block {
        ReplyBlock::Text { text } | ReplyBlock::Reasoning { text, .. } => text.len(),
        ReplyBlock::ToolCall(call) => call.name.len() + call.arguments.len() + 32,
    }
}

fn excerpt(message: &Message) -> Option<String> {
    let Message::Assistant(reply) = message else { return None };
    let (text, calls) = (reply.text(), calls(reply));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = match (text.is_empty(), calls.is_empty()) {
        (true, true) => return None,
        (true, false) => calls,
        (false, true) => text,
        (false, false) => format!("{text} {calls}"),
    };
    Some(begins(&line, EXCERPT_BYTES))
}

fn calls(reply: &Reply) -> String {
    let calls: Vec<String> =
        reply.calls().map(|call| format!("[{} {}]", call.name, call.arguments)).collect();
    calls.join(" ")
}

/// The beginning of a text, cut at a character's end.
fn begins(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
