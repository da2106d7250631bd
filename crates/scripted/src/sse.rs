//! A reply's events as the bytes of a stream.

use crate::asked::WireName;
use crate::script::Step;
use bytes::Bytes;

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    /// Its name, where the wire names its events.
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// The events of a reply.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Up to the end of what is thought and said.
    pub(crate) said: Vec<Event>,
    /// The rest.
    pub(crate) rest: Vec<Event>,
}

/// The first of each, then the second of each, and so on.
pub(crate) fn in_turn<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let round: Vec<T> = lists.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return all;
        }
        all.extend(round);
    }
}

/// The bytes of events, in the pieces in which a step sends them.
pub(crate) fn pieces(wire: WireName, step: &Step, events: &[Event]) -> Vec<Bytes> {
    let events = events.iter().map(|event| encoded(wire, step, event));
    if step.gap_ms > 0 && step.bytes == 0 {
        return events.map(Bytes::from).collect();
    }
    let stream = Bytes::from(events.collect::<String>());
    let most = if step.bytes == 0 { stream.len().max(1) } else { step.bytes };
    let starts = (0..stream.len()).step_by(most);
    starts.map(|start| stream.slice(start..stream.len().min(start + most))).collect()
}

fn encoded(wire: WireName, step: &Step, event: &Event) -> String {
    let Event { kind, text } = event;
    let (mut encoded, alive) = match wire {
        WireName::OpenaiChat => (format!("data: {text}\n\n"), ": keep-alive\n\n"),
        WireName::OpenaiResponses => {
            (format!("event: {kind}\ndata: {text}\n\n"), ": keep-alive\n\n")
        }
        WireName::Anthropic => (
            format!("event: {kind}\ndata: {text}\n\n"),
            ": keep-alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n",
        ),
    };
    let last = ["message_stop", "response.completed", "response.incomplete"];
    if step.keep_alive && text != "[DONE]" && !last.contains(&kind.as_str()) {
        encoded.push_str(alive);
    }
    // JSON has no line breaks of its own.
    if step.crlf { encoded.replace('\n', "\r\n") } else { encoded }
}
