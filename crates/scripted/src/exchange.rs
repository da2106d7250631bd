//! One request and its place in the script: what the wires need to know besides the step.

use crate::asked::Asked;
use crate::script::{Call, Step};
use serde_json::Value;
use std::collections::BTreeSet;

/// Bytes of one delta when a step does not say.
const CHUNK_BYTES: usize = 24;
/// Characters of an id that every provider takes.
const CALL_ID_CHARS: usize = 40;

/// One request and its place in the script.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) agent: String,
    pub(crate) step: usize,
    /// How many requests for that step came before.
    pub(crate) attempt: usize,
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    /// Bytes of what the model reads.
    pub(crate) prompt_bytes: usize,
    /// Bytes with which an earlier request of the agent began, too.
    pub(crate) known_bytes: usize,
    /// Bytes that the client wants cached.
    pub(crate) marked_bytes: usize,
    /// Ids of calls that the conversation has.
    pub(crate) call_ids: BTreeSet<String>,
}

/// The tokens of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) cache_write: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

impl Exchange {
    pub(crate) fn new(asked: &Asked, agent: &str, step: usize, attempt: usize) -> Self {
        Self {
            agent: agent.to_owned(),
            step,
            attempt,
            model: asked.model.clone(),
            stream: asked.stream,
            include_usage: asked.include_usage,
            prompt_bytes: asked.prompt.bytes(),
            known_bytes: 0,
            marked_bytes: asked.prompt.marked,
            call_ids: asked.call_ids.clone(),
        }
    }

    /// The id of the response, the same for the same place in the script.
    pub(crate) fn response_id(&self) -> String {
        format!("{}-{}-{}", self.agent, self.step, self.attempt)
    }

    /// The id of a call: the script's, or one made of its place. A conversation that was shortened,
    /// and so comes to the same place again, gets a new one.
    pub(crate) fn call_id(&self, call: &Call, index: usize) -> String {
        if !call.id.is_empty() {
            return call.id.clone();
        }
        let place = format!("_{}_{index}", self.step);
        let room = CALL_ID_CHARS.saturating_sub("call_".len() + place.len() + "_999".len());
        let agent: String = self.agent.chars().take(room).collect();
        let first = format!("call_{agent}{place}");
        if !self.call_ids.contains(&first) {
            return first;
        }
        let more = (2_usize..).map(|n| format!("{first}_{n}"));
        more.into_iter().find(|id| !self.call_ids.contains(id)).unwrap_or(first)
    }

    /// What a reply used, with the numbers of the script before estimates.
    pub(crate) fn used(&self, step: &Step) -> Used {
        let calls: usize =
            step.calls.iter().map(|call| call.name.len() + arguments(&call.arguments).len()).sum();
        let thought = tokens(step.reasoning.len() + step.redacted.len());
        let says = &step.usage;
        let reasoning = says.reasoning.unwrap_or(thought);
        Used {
            input: says.input.unwrap_or(tokens(self.prompt_bytes)),
            cached: says.cached.unwrap_or(tokens(self.known_bytes)),
            cache_write: says.cache_write.unwrap_or(0),
            output: says.output.unwrap_or(reasoning + tokens(step.text.len() + calls)),
            reasoning,
        }
    }
}

/// Tokens, roughly, as providers count them.
pub(crate) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// A call's arguments as text: a string goes out as it is.
pub(crate) fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_owned(),
        value => value.to_string(),
    }
}

/// A text in deltas of about as many bytes as the step says, never inside a character.
pub(crate) fn deltas<'a>(text: &'a str, step: &Step) -> Vec<&'a str> {
    let most = if step.chunk_bytes == 0 { CHUNK_BYTES } else { step.chunk_bytes };
    let mut deltas = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.ceil_char_boundary(most));
        deltas.push(head);
        rest = tail;
    }
    deltas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::WireName;
    use serde_json::json;

    fn exchange(agent: &str, ids: &[&str]) -> Exchange {
        let asked = Asked::read(WireName::OpenaiChat, &json!({}));
        let mut exchange = Exchange::new(&asked, agent, 3, 0);
        exchange.call_ids = ids.iter().map(|id| (*id).to_owned()).collect();
        exchange
    }

    #[test]
    fn a_call_has_an_id_of_its_own_in_its_conversation_within_forty_characters() {
        let call = Call::default();
        assert_eq!(exchange("lead", &[]).call_id(&call, 1), "call_lead_3_1");
        let again = exchange("lead", &["call_lead_3_1", "call_lead_3_1_2"]);
        assert_eq!(again.call_id(&call, 1), "call_lead_3_1_3");
        assert_eq!(exchange(&"a".repeat(64), &[]).call_id(&call, 10).len(), 36);
        let own = Call { id: "mine".to_owned(), ..Call::default() };
        assert_eq!(exchange("lead", &[]).call_id(&own, 0), "mine");
    }

    #[test]
    fn deltas_are_cut_between_characters() {
        let step = Step { chunk_bytes: 2, ..Step::default() };
        assert_eq!(deltas("aé🚣b", &step), ["aé", "🚣", "b"]);
        assert_eq!(deltas("", &step), Vec::<&str>::new());
        assert_eq!(deltas(&"x".repeat(30), &Step::default()), ["x".repeat(24), "x".repeat(6)]);
    }
}
