//! The parsers of what providers send, fed with anything: streams that were damaged, put together wrong,
//! or never were streams. Whatever comes, they answer the same however it is cut, and never panic.

use crate::Watcher;
use crate::anthropic::MessageStream;
use crate::http::{Assembler, Flow, StreamFault};
use crate::openai_chat::ChatStream;
use crate::openai_responses::ResponseStream;
use crate::sse::SseDecoder;
use longboat_core::content::Reply;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

struct Deaf;

impl Watcher for Deaf {
    fn text(&mut self, _: &str) {}
    fn reasoning(&mut self, _: &str) {}
    fn call(&mut self, _: &str) {}
}

fn play<'a, A: Assembler>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Reply, StreamFault> {
    let (mut decoder, mut assembler) = (SseDecoder::default(), A::default());
    'stream: for piece in pieces {
        for event in decoder.push(piece).unwrap_or_default() {
            if assembler.event(&event, &mut Deaf)? == Flow::End {
                break 'stream;
            }
        }
    }
    assembler.finish()
}

fn check<A: Assembler>(stream: &[u8], size: usize) -> TestCaseResult {
    let whole = play::<A>(std::iter::once(stream));
    prop_assert_eq!(&whole, &play::<A>(stream.chunks(size)));
    if let Ok(reply) = whole {
        let ids: Vec<_> = reply.calls().map(|call| &call.id).collect();
        prop_assert!((1..ids.len()).all(|n| !ids[..n].contains(&ids[n])), "ids are unique");
    }
    let text = String::from_utf8_lossy(stream);
    // Also as an answer without a stream.
    let mut assembler = A::default();
    if assembler.whole(&text, &mut Deaf).is_ok() {
        drop(assembler.finish());
    }
    Ok(())
}

/// Values as they stand in providers' events, and where they should not.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z{}\\\\\" \u{e9}\u{1f6a3}]{0,12}".prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = prop::collection::vec((prop::sample::select(WORDS), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| {
                Value::Object(
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}

/// The words of all wires: fields, kinds and states.
const WORDS: &[&str] = &[
    "choices",
    "delta",
    "message",
    "content",
    "tool_calls",
    "index",
    "id",
    "function",
    "name",
    "arguments",
    "finish_reason",
    "usage",
    "error",
    "type",
    "code",
    "text",
    "reasoning_content",
    "stop",
    "length",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block",
    "message_delta",
    "message_stop",
    "thinking",
    "signature",
    "input_json_delta",
    "partial_json",
    "tool_use",
    "input",
    "stop_reason",
    "response",
    "output",
    "output_index",
    "item",
    "status",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.completed",
    "response.failed",
    "completed",
    "function_call",
    "reasoning",
    "call_id",
    "encrypted_content",
    "summary",
    "incomplete_details",
];

fn valid() -> Vec<Value> {
    vec![
        json!({"choices": [{"index": 0, "delta": {"content": "sü", "reasoning_content": "hm"}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{"}}]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "read"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "message_stop"}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "a", "name": "read"}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "reasoning", "id": "r", "encrypted_content": "s"}}),
        json!({"type": "response.output_text.delta", "output_index": 2, "delta": "x"}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
    ]
}

/// A stream of events, most of them valid in some wire, with damage done to its bytes.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let event = prop_oneof![4 => prop::sample::select(valid()), 1 => value()];
    let end = prop::sample::select(&["\n\n", "\r\n\r\n", "\r\r", "\n", "\n: alive\n\n"][..]);
    let events = prop::collection::vec((event, end), 0..24);
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 0..3);
    (events, damage).prop_map(|(events, damage)| {
        let text: String =
            events.iter().map(|(event, end)| format!("data: {event}{end}")).collect();
        let mut bytes = text.into_bytes();
        for (place, byte, how) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn damaged_streams_are_read_the_same_however_they_are_cut(bytes in stream(), size in 1_usize..40) {
        check::<ChatStream>(&bytes, size)?;
        check::<ResponseStream>(&bytes, size)?;
        check::<MessageStream>(&bytes, size)?;
    }

    #[test]
    fn what_is_no_stream_is_no_reply_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), size in 1_usize..40) {
        check::<ChatStream>(&bytes, size)?;
        check::<ResponseStream>(&bytes, size)?;
        check::<MessageStream>(&bytes, size)?;
    }

    #[test]
    fn any_json_is_taken_for_what_it_is(values in prop::collection::vec(value(), 1..8), size in 1_usize..40) {
        let text: String = values.iter().map(|value| format!("data: {value}\n\n")).collect();
        check::<ChatStream>(text.as_bytes(), size)?;
        check::<ResponseStream>(text.as_bytes(), size)?;
        check::<MessageStream>(text.as_bytes(), size)?;
    }
}
