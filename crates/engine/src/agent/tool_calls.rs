//! One tool call: the checks that hold for every tool, and the run.

use crate::ports::ToolScope;
use crate::tools::ToolSet;
use futures::FutureExt;
use longboat_core::content::{Block, ToolCall, ToolOutcome};
use longboat_core::limits::{ARGUMENT_BYTES, CALLS_PER_REPLY, TOOL_RESULT_BYTES};
use std::panic::AssertUnwindSafe;

/// Runs a call. Whatever is wrong with it, or goes wrong in it, is an outcome that tells the model
/// what to do.
// P20: bad input is answered, and a tool that panics takes nothing down with it.
pub(crate) async fn run_call(tools: &ToolSet, scope: ToolScope, call: &ToolCall) -> ToolOutcome {
    if scope.origin.index as usize >= CALLS_PER_REPLY {
        return ToolOutcome::error(format!(
            "not run: a reply may have {CALLS_PER_REPLY} calls at most; make the rest in the next one"
        ));
    }
    let Some(tool) = tools.get(&call.name) else {
        let known = tools.names().join(", ");
        return ToolOutcome::error(format!(
            "there is no tool {:?}; the tools are {known}",
            call.name
        ));
    };
    let arguments = match parse(&call.arguments) {
        Ok(arguments) => arguments,
        Err(problem) => return ToolOutcome::error(format!("{}: {problem}", call.name)),
    };
    let run = AssertUnwindSafe(tool.call(scope, arguments)).catch_unwind();
    match run.await {
        Ok(outcome) => bounded(outcome),
        Err(_) => ToolOutcome::error(format!(
            "{} failed inside and whether it had an effect is unknown; check before you call it again",
            call.name
        )),
    }
}

fn parse(text: &str) -> Result<serde_json::Value, String> {
    if text.len() > ARGUMENT_BYTES {
        return Err(format!(
            "the arguments have {} bytes and the limit is {ARGUMENT_BYTES}",
            text.len()
        ));
    }
    let text = if text.trim().is_empty() { "{}" } else { text };
    match serde_json::from_str(text) {
        Ok(value @ serde_json::Value::Object(_)) => Ok(value),
        Ok(_) => Err("the arguments are not a JSON object".to_owned()),
        Err(error) => Err(format!(
            "the arguments are not valid JSON ({error}); send them again whole, or less at once if \
                 the reply was cut at its limit"
        )),
    }
}

/// Holds every result to what a conversation can carry: a tool with more to say writes a file.
fn bounded(mut outcome: ToolOutcome) -> ToolOutcome {
    for block in &mut outcome.content {
        if let Block::Text { text } = block
            && text.len() > TOOL_RESULT_BYTES * 4
        {
            let most = TOOL_RESULT_BYTES * 4;
            let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            let cut = text.len() - end;
            text.truncate(end);
            text.push_str(&format!("\n[{cut} more bytes were cut]"));
        }
    }
    outcome
}
