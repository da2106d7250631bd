//! The tools of one activation, by name, and which of a reply's calls may start together.

use crate::ports::{Effect, Tool};
use crate::team::Begun;
use longboat_core::content::ToolCall;
use longboat_core::session::{Call, Progress};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tools one session can call.
#[derive(Debug)]
pub(crate) struct ToolSet {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl ToolSet {
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools: tools.into_iter().map(|tool| (tool.spec().name, tool)).collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.tools.keys().map(String::as_str).collect()
    }

    /// The calls to start now: of those that wait, the first, and with it those that follow it
    /// directly when all of them only read.
    pub(crate) fn startable(&self, calls: &[Call]) -> Vec<Begun> {
        let mut waiting = calls
            .iter()
            .zip(0..)
            .filter(|(call, _)| call.progress == Progress::Waiting)
            .map(|(call, index)| Begun { index, call: call.call.clone(), asked: false });
        let Some(first) = waiting.next() else { return Vec::new() };
        if self.effect(&first.call) == Effect::Ordered {
            return vec![first];
        }
        let more = waiting.take_while(|begun| self.effect(&begun.call) == Effect::ReadOnly);
        std::iter::once(first).chain(more).collect()
    }

    fn effect(&self, call: &ToolCall) -> Effect {
        // A tool that does not exist changes nothing.
        self.tools.get(&call.name).map_or(Effect::ReadOnly, |tool| tool.effect())
    }
}
