//! All wires without a socket: what goes out, byte for byte, and what a stream becomes wherever it
//! is cut.

use crate::anthropic::{MessageStream, body as anthropic_body};
use crate::http::{Assembler, Flow, StreamFault};
use crate::openai_chat::{ChatStream, body as chat_body};
use crate::openai_responses::{ResponseStream, body as responses_body};
use crate::sse::SseDecoder;
use crate::{Endpoint, FaultKind, Watcher};
use longboat_core::content::{
    AnsweredCall, Block, FinishReason, Message, Prompt, ReasoningSeal, Reply, ReplyBlock, ToolCall,
    ToolOutcome, ToolSpec, Usage, Wire,
};
use longboat_core::id::CallId;
use serde_json::json;
use std::sync::Arc;

struct Deaf;

impl Watcher for Deaf {
    fn text(&mut self, _: &str) {}
    fn reasoning(&mut self, _: &str) {}
    fn call(&mut self, _: &str) {}
}

fn play<A: Assembler>(pieces: &[&[u8]]) -> Result<Reply, StreamFault> {
    let (mut decoder, mut assembler) = (SseDecoder::default(), A::default());
    'stream: for piece in pieces {
        for event in decoder.push(piece).unwrap() {
            if assembler.event(&event, &mut Deaf)? == Flow::End {
                break 'stream;
            }
        }
    }
    assembler.finish()
}

/// The whole stream gives the reply however it is cut; a stream that ends too early gives none.
fn check<A: Assembler>(stream: &str, expected: &Reply) {
    let bytes = stream.as_bytes();
    for cut in 0..bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(play::<A>(&[head, tail]).as_ref(), Ok(expected), "cut at {cut}");
        match play::<A>(&[head]) {
            // Only what comes after the last word may be missing.
            Ok(reply) => assert_eq!(reply.blocks, expected.blocks, "ended at {cut}"),
            Err(fault) => assert_eq!(fault.kind, FaultKind::Retryable { after: None }),
        }
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(play::<A>(&single).as_ref(), Ok(expected));
}

fn sse(events: &[serde_json::Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> ReplyBlock {
    let (id, name, arguments) = (CallId::new(id).unwrap(), name.to_owned(), arguments.to_owned());
    ReplyBlock::ToolCall(ToolCall { id, name, arguments })
}

fn text(text: &str) -> ReplyBlock {
    ReplyBlock::Text { text: text.to_owned() }
}

fn chat(deltas: &[serde_json::Value], finish: &str) -> String {
    let mut events: Vec<_> =
        deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]})).collect();
    events.push(json!({"choices": [{"delta": {}, "finish_reason": finish}]}));
    events.push(json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 3}}}));
    format!("{}: keep-alive\n\ndata: [DONE]\n\n", sse(&events))
}

fn chat_reply(blocks: Vec<ReplyBlock>, finish: FinishReason) -> Reply {
    let usage = Usage { input: 9, cached: 3, output: 4, ..Usage::default() };
    Reply { wire: Wire::OpenaiChat, blocks, finish, usage }
}

#[test]
fn chat_text_reasoning_and_interleaved_calls_come_whole_wherever_the_stream_is_cut() {
    let stream = chat(
        &[
            json!({"role": "assistant", "content": ""}),
            json!({"reasoning_content": "denk"}),
            json!({"content": "grü"}),
            json!({"content": "ße 🚣"}),
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "grep", "arguments": "{\"p\":"}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":\"é\"}"}}]}),
            json!({"tool_calls": [{"index": 1, "function": {"arguments": "1}"}}]}),
        ],
        "tool_calls",
    );
    let thought = ReplyBlock::Reasoning { text: "denk".to_owned(), seal: None };
    let blocks = vec![
        thought,
        text("grüße 🚣"),
        call("a", "read", "{\"x\":\"é\"}"),
        call("b", "grep", "{\"p\":1}"),
    ];
    let (decoder, expected) =
        (stream.replace('\n', "\r\n"), chat_reply(blocks, FinishReason::Done));
    assert_eq!(play::<ChatStream>(&[stream.as_bytes()]).unwrap(), expected);
    assert_eq!(play::<ChatStream>(&[decoder.as_bytes()]).unwrap(), expected);
    // A cut after the finish reason loses the usage only.
    for cut in 0..stream.len() {
        let (head, tail) = stream.as_bytes().split_at(cut);
        assert_eq!(play::<ChatStream>(&[head, tail]).as_ref(), Ok(&expected));
        if let Ok(reply) = play::<ChatStream>(&[head]) {
            assert_eq!(reply.blocks, expected.blocks);
        }
    }
}

#[test]
fn chat_calls_of_sloppy_servers_stay_apart() {
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let same_index = chat(
        &[
            json!({"tool_calls": [{"index": 0, "id": "a", "function": function("x", "{}")}]}),
            json!({"tool_calls": [{"index": 0, "id": "b", "function": function("y", "{}")}]}),
        ],
        "stop",
    );
    let expected = vec![call("a", "x", "{}"), call("b", "y", "{}")];
    assert_eq!(play::<ChatStream>(&[same_index.as_bytes()]).unwrap().blocks, expected);

    let no_index_no_id = chat(
        &[
            json!({"tool_calls": [{"function": function("x", "")}, {"function": function("y", "{\"a\":1}")}]}),
        ],
        "tool_calls",
    );
    let expected = vec![call("call_0", "x", "{}"), call("call_1", "y", "{\"a\":1}")];
    assert_eq!(play::<ChatStream>(&[no_index_no_id.as_bytes()]).unwrap().blocks, expected);

    let same_id = chat(
        &[
            json!({"tool_calls": [{"index": 0, "id": "a", "function": function("x", "{}")}]}),
            json!({"tool_calls": [{"index": 1, "id": "a", "function": function("y", "{}")}]}),
        ],
        "tool_calls",
    );
    let ids: Vec<String> = play::<ChatStream>(&[same_id.as_bytes()])
        .unwrap()
        .calls()
        .map(|call| call.id.to_string())
        .collect();
    assert_eq!(ids, ["a", "call_1"]);
}

#[test]
fn chat_faults_in_the_stream_are_of_a_kind() {
    let fault =
        |data: serde_json::Value| play::<ChatStream>(&[sse(&[data]).as_bytes()]).unwrap_err();
    let overloaded = fault(json!({"error": {"message": "busy", "type": "overloaded_error"}}));
    assert_eq!(overloaded.kind, FaultKind::Retryable { after: None });
    let long = fault(json!({"error": {"message": "maximum context length is 8", "code": 400}}));
    assert_eq!(long.kind, FaultKind::ContextOverflow);
    let garbage = play::<ChatStream>(&[b"data: <html>\n\n"]).unwrap_err();
    assert_eq!(garbage.kind, FaultKind::Retryable { after: None });
    let many: Vec<_> = (0..1_100)
        .map(|n| json!({"tool_calls": [{"index": n, "id": format!("c{n}"), "function": {"name": "x", "arguments": ""}}]}))
        .collect();
    let useless = play::<ChatStream>(&[chat(&many, "stop").as_bytes()]).unwrap_err();
    assert_eq!(useless.kind, FaultKind::Fatal, "it would be paid for again");
}

#[test]
fn chat_length_and_content_filter_are_told_apart() {
    let finish = |reason: &str| {
        play::<ChatStream>(&[chat(&[json!({"content": "x"})], reason).as_bytes()]).unwrap().finish
    };
    assert_eq!(finish("length"), FinishReason::Length);
    assert_eq!(finish("content_filter"), FinishReason::ContentFilter);
    assert_eq!(finish("eos_token"), FinishReason::Done);
}

fn anthropic_stream() -> String {
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 10,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "SIG"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "XX"}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "süß"}}),
        json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "t1", "name": "read", "input": {}}}),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{\"p\":"}}),
        json!({"type": "content_block_start", "index": 4, "content_block": {"type": "tool_use", "id": "t2", "name": "list", "input": {}}}),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    let line = |event: &serde_json::Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    };
    events.iter().map(line).collect()
}

#[test]
fn anthropic_thoughts_seals_text_and_calls_come_whole_wherever_the_stream_is_cut() {
    let seal = |seal| Some(seal);
    let expected = Reply {
        wire: Wire::Anthropic,
        blocks: vec![
            ReplyBlock::Reasoning {
                text: "hm".to_owned(),
                seal: seal(ReasoningSeal::Signature { value: "SIG".to_owned() }),
            },
            ReplyBlock::Reasoning {
                text: String::new(),
                seal: seal(ReasoningSeal::Redacted { value: "XX".to_owned() }),
            },
            text("süß"),
            call("t1", "read", "{\"p\":1}"),
            call("t2", "list", "{}"),
        ],
        finish: FinishReason::Done,
        usage: Usage { input: 130, cached: 100, cache_write: 20, output: 7, reasoning: 0 },
    };
    check::<MessageStream>(&anthropic_stream(), &expected);
}

#[test]
fn anthropic_errors_in_the_stream_are_of_a_kind() {
    let fault = |kind: &str, message: &str| {
        let event = json!({"type": "error", "error": {"type": kind, "message": message}});
        play::<MessageStream>(&[sse(&[event]).as_bytes()]).unwrap_err().kind
    };
    assert_eq!(fault("overloaded_error", "busy"), FaultKind::Retryable { after: None });
    assert_eq!(fault("authentication_error", "no"), FaultKind::Fatal);
    assert_eq!(fault("invalid_request_error", "prompt is too long: 9"), FaultKind::ContextOverflow);
}

fn responses_stream() -> String {
    let item = |index: u64, state: &str, item: serde_json::Value| json!({"type": format!("response.output_item.{state}"), "output_index": index, "item": item});
    let piece = |index: u64, kind: &str, delta: &str| json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": delta});
    let call = |index: u64, id: &str, name: &str| {
        item(
            index,
            "added",
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": ""}),
        )
    };
    let events = [
        json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
        item(0, "added", json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        piece(0, "reasoning_summary_text", "h"),
        piece(0, "reasoning_summary_text", "m"),
        item(
            0,
            "done",
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "SEALED",
            "summary": [{"type": "summary_text", "text": "hm"}]}),
        ),
        item(1, "added", json!({"type": "message", "content": []})),
        json!({"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text", "text": ""}}),
        piece(1, "output_text", "sü"),
        piece(1, "output_text", "ß"),
        call(2, "c1", "read"),
        call(3, "c2", "list"),
        piece(2, "function_call_arguments", "{\"p\":"),
        piece(3, "function_call_arguments", "{}"),
        piece(2, "function_call_arguments", "1}"),
        json!({"type": "response.some_news", "about": "nothing"}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [],
            "usage": {"input_tokens": 130, "input_tokens_details": {"cached_tokens": 100},
                "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}}}}),
    ];
    events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
}

#[test]
fn responses_thoughts_text_and_calls_come_whole_wherever_the_stream_is_cut() {
    let seal = ReasoningSeal::Item { id: "rs_1".to_owned(), sealed: "SEALED".to_owned() };
    let expected = Reply {
        wire: Wire::OpenaiResponses,
        blocks: vec![
            ReplyBlock::Reasoning { text: "hm".to_owned(), seal: Some(seal) },
            text("süß"),
            call("c1", "read", "{\"p\":1}"),
            call("c2", "list", "{}"),
        ],
        finish: FinishReason::Done,
        usage: Usage { input: 130, cached: 100, cache_write: 0, output: 7, reasoning: 3 },
    };
    check::<ResponseStream>(&responses_stream(), &expected);
}

#[test]
fn responses_ends_and_errors_are_told_apart() {
    let over = |kind: &str, response: serde_json::Value| {
        let event = json!({"type": kind, "response": response});
        play::<ResponseStream>(&[sse(&[event]).as_bytes()])
    };
    let cut =
        |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    let finish = |reason| over("response.incomplete", cut(reason)).unwrap().finish;
    assert_eq!(finish("max_output_tokens"), FinishReason::Length);
    assert_eq!(finish("content_filter"), FinishReason::ContentFilter);
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "said"});
        over("response.failed", json!({"status": "failed", "error": error})).unwrap_err().kind
    };
    assert_eq!(failed("server_error"), FaultKind::Retryable { after: None });
    assert_eq!(failed("context_length_exceeded"), FaultKind::ContextOverflow);
    assert_eq!(failed("invalid_request_error"), FaultKind::Fatal);
    let plain = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"});
    let fault = play::<ResponseStream>(&[sse(&[plain]).as_bytes()]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Retryable { after: None });
    assert!(fault.what.contains("slow down"), "{}", fault.what);
    let nested = json!({"type": "error", "error": {"code": "insufficient_quota", "message": "no"}});
    let fault = play::<ResponseStream>(&[sse(&[nested]).as_bytes()]).unwrap_err();
    assert!(fault.what.contains("insufficient_quota"), "{}", fault.what);
}

fn rich_prompt() -> Prompt {
    let reply = |wire, blocks| {
        let (finish, usage) = (FinishReason::Done, Usage::default());
        Message::Assistant(Arc::new(Reply { wire, blocks, finish, usage }))
    };
    let answered = |id: &str, outcome: ToolOutcome| AnsweredCall {
        call: CallId::new(id).unwrap(),
        name: "read".to_owned(),
        outcome: Arc::new(outcome),
    };
    let signed = ReasoningSeal::Signature { value: "SIG".to_owned() };
    let picture = Block::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let tool = ToolSpec {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    Prompt {
        system: "You are `lead`.\n".into(),
        tools: Arc::new([tool]),
        messages: vec![
            Message::User(vec![Block::text("do \"it\"\n\t— süß 🚣")]),
            reply(
                Wire::Anthropic,
                vec![
                    ReplyBlock::Reasoning { text: "hm".to_owned(), seal: Some(signed) },
                    text("on it"),
                    call("c1", "read", "{ \"path\": \"a\" }"),
                    call("c2", "read", "{broken"),
                ],
            ),
            Message::ToolResults(vec![
                answered(
                    "c1",
                    ToolOutcome { content: vec![Block::text("1"), picture], ..ToolOutcome::ok("") },
                ),
                answered("c2", ToolOutcome::error("not valid JSON")),
            ]),
            Message::User(vec![
                Block::text("[message m1 from a]\nx"),
                Block::text("[message m2 from b]\ny"),
            ]),
            reply(
                Wire::OpenaiChat,
                vec![
                    ReplyBlock::Reasoning { text: "unsealed".to_owned(), seal: None },
                    text("done"),
                ],
            ),
            Message::User(vec![Block::text("more")]),
        ],
    }
}

fn endpoint(wire: Wire) -> Endpoint {
    Endpoint { echo_reasoning: true, ..Endpoint::new("p", wire, "http://x/v1", "model-1") }
}

fn pretty(body: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(body).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn the_chat_request_of_a_rich_prompt() {
    insta::assert_snapshot!(pretty(&chat_body(&endpoint(Wire::OpenaiChat), &rich_prompt())));
}

#[test]
fn the_responses_request_of_a_rich_prompt() {
    let endpoint = endpoint(Wire::OpenaiResponses);
    insta::assert_snapshot!(pretty(&responses_body(&endpoint, &rich_prompt())));
}

#[test]
fn the_anthropic_request_of_a_rich_prompt() {
    insta::assert_snapshot!(pretty(&anthropic_body(&endpoint(Wire::Anthropic), &rich_prompt())));
}

#[test]
fn p19_a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    let whole = rich_prompt();
    for most in 1..whole.messages.len() {
        let shorter = Prompt { messages: whole.messages[..most].to_vec(), ..whole.clone() };
        let shorter = chat_body(&endpoint(Wire::OpenaiChat), &shorter);
        let longer = chat_body(&endpoint(Wire::OpenaiChat), &whole);
        assert!(longer.starts_with(shorter.trim_end_matches("]}")), "at {most}");
    }
    for most in 1..whole.messages.len() {
        let shorter = Prompt { messages: whole.messages[..most].to_vec(), ..whole.clone() };
        let shorter = responses_body(&endpoint(Wire::OpenaiResponses), &shorter);
        let longer = responses_body(&endpoint(Wire::OpenaiResponses), &whole);
        assert!(longer.starts_with(shorter.trim_end_matches("]}")), "at {most}");
    }
    // On the other wire the breakpoint on the last block moves on; without it, the same holds.
    let without = |prompt: &Prompt| {
        anthropic_body(&endpoint(Wire::Anthropic), prompt)
            .replace("\"cache_control\":{\"type\":\"ephemeral\"},", "")
    };
    for most in [1, 4, 5] {
        let shorter = Prompt { messages: whole.messages[..most].to_vec(), ..whole.clone() };
        let shorter = without(&shorter);
        let shorter = shorter.trim_end_matches("]}").trim_end_matches("],\"role\":\"user\"}");
        let shorter = shorter.trim_end_matches("],\"role\":\"assistant\"}");
        assert!(without(&whole).starts_with(shorter), "at {most}");
    }
}

#[test]
fn names_that_models_make_up_and_trailing_thoughts_do_not_poison_the_next_request() {
    let signed = ReasoningSeal::Signature { value: "SIG".to_owned() };
    let thought = || ReplyBlock::Reasoning { text: "hm".to_owned(), seal: Some(signed.clone()) };
    let reply = |blocks| {
        let (wire, finish) = (Wire::Anthropic, FinishReason::Done);
        Message::Assistant(Arc::new(Reply { wire, blocks, finish, usage: Usage::default() }))
    };
    let answered = AnsweredCall {
        call: CallId::new("c1").unwrap(),
        name: "na me\u{1b}".to_owned(),
        outcome: Arc::new(ToolOutcome::error("there is no such tool")),
    };
    let prompt = Prompt {
        messages: vec![
            Message::User(vec![Block::text("go")]),
            reply(vec![thought()]),
            Message::User(vec![Block::text("and?")]),
            reply(vec![thought(), call("c1", "na me\u{1b}", "{}"), thought()]),
            Message::ToolResults(vec![answered]),
        ],
        ..rich_prompt()
    };
    for (wire, body) in [
        (Wire::OpenaiChat, chat_body(&endpoint(Wire::OpenaiChat), &prompt)),
        (Wire::Anthropic, anthropic_body(&endpoint(Wire::Anthropic), &prompt)),
    ] {
        assert!(body.contains("\"na_me_\"") && !body.contains("na me"), "{wire:?}: {body}");
    }
    let body = anthropic_body(&endpoint(Wire::Anthropic), &prompt);
    assert_eq!(body.matches("\"thinking\":\"hm\"").count(), 1, "only the one before the call");
}
