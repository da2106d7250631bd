//! The conversation as a model is shown it: derived from the log and nothing else.

use super::compaction::tokens;
use crate::content::{AnsweredCall, Block, Message, Prompt, Reply, ToolOutcome, ToolSpec};
use crate::id::CallId;
use crate::log::InboxItem;
use crate::team::framed;
use std::sync::Arc;

/// A session's conversation so far. It only ever grows at its end, so a later request begins with
/// the bytes of the earlier one; but for a summary, which replaces its beginning once.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    messages: Vec<Message>,
    tokens: u64,
}

impl Transcript {
    /// The conversation, from the oldest.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// About how many tokens it takes.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Begins anew with a summary and the newest messages.
    pub(super) fn restart(&mut self, summary: Message, newest: Vec<Message>) {
        *self = Self::default();
        self.push(summary);
        newest.into_iter().for_each(|message| self.push(message));
    }

    fn push(&mut self, message: Message) {
        self.tokens += tokens(&message);
        self.messages.push(message);
    }

    /// The request that this conversation makes.
    #[must_use]
    pub fn prompt(&self, system: &Arc<str>, tools: &Arc<[ToolSpec]>) -> Prompt {
        Prompt {
            system: Arc::clone(system),
            tools: Arc::clone(tools),
            messages: self.messages.clone(),
        }
    }

    /// Adds what one boundary claimed: one message, a block per item.
    pub(super) fn heard(&mut self, items: &[Arc<InboxItem>]) {
        let blocks: Vec<Block> = items.iter().map(|item| Block::text(framed(item))).collect();
        if !blocks.is_empty() {
            self.push(Message::User(blocks));
        }
    }

    /// Adds a reply. One that says nothing is left out: providers refuse it.
    pub(super) fn replied(&mut self, reply: &Arc<Reply>) {
        if !reply.blocks.is_empty() {
            self.push(Message::Assistant(Arc::clone(reply)));
        }
    }

    /// Adds the results of all calls of the last reply, in the calls' order.
    pub(super) fn answered(&mut self, results: Vec<AnsweredCall>) {
        if !results.is_empty() {
            self.push(Message::ToolResults(results));
        }
    }
}

/// The results of the open step as they come in, in any order.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenResults {
    results: Vec<Option<AnsweredCall>>,
}

impl OpenResults {
    pub(super) fn expecting(calls: usize) -> Self {
        Self { results: vec![None; calls] }
    }

    pub(super) fn set(
        &mut self,
        place: usize,
        call: CallId,
        name: String,
        outcome: &Arc<ToolOutcome>,
    ) {
        if let Some(slot) = self.results.get_mut(place) {
            *slot = Some(AnsweredCall { call, name, outcome: Arc::clone(outcome) });
        }
    }

    pub(super) fn take(&mut self) -> Vec<AnsweredCall> {
        std::mem::take(&mut self.results).into_iter().flatten().collect()
    }
}
