//! One tool call: the checks that hold for every tool, what is asked about it, and the run.

use crate::ports::{Tool, ToolScope};
use crate::tools::ToolSet;
use futures::FutureExt;
use longboat_core::content::{Block, ToolCall, ToolOutcome};
use longboat_core::id::Origin;
use longboat_core::limits::{ARGUMENT_BYTES, CALLS_PER_REPLY, TOOL_RESULT_BYTES};
use longboat_core::permission::Request;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// A call that can be made.
#[derive(Debug)]
pub(crate) struct Prepared {
    name: String,
    tool: Arc<dyn Tool>,
    scope: ToolScope,
    arguments: serde_json::Value,
}

/// Checks what can be checked of a call without making it.
///
/// # Errors
/// The outcome that tells the model what is wrong with it.
// P20: bad input is answered.
pub(crate) fn prepare(
    tools: &ToolSet,
    scope: ToolScope,
    call: &ToolCall,
) -> Result<Prepared, ToolOutcome> {
    if scope.origin.index as usize >= CALLS_PER_REPLY {
        return Err(ToolOutcome::error(format!(
            "not run: a reply may have {CALLS_PER_REPLY} calls at most; make the rest in the next one"
        )));
    }
    let Some(tool) = tools.get(&call.name) else {
        let known = tools.names().join(", ");
        return Err(ToolOutcome::error(format!(
            "there is no tool {:?}; the tools are {known}",
            call.name
        )));
    };
    let arguments = parse(&call.arguments)
        .map_err(|problem| ToolOutcome::error(format!("{}: {problem}", call.name)))?;
    let (name, tool) = (call.name.clone(), Arc::clone(tool));
    Ok(Prepared { name, tool, scope, arguments })
}

impl Prepared {
    /// What is to be decided on.
    pub(crate) fn request(&self) -> Request {
        Request {
            tool: self.name.clone(),
            reach: self.tool.reach(),
            subject: self.tool.subject(&self.scope, &self.arguments),
        }
    }

    /// Which call it is.
    pub(crate) fn origin(&self) -> &Origin {
        &self.scope.origin
    }

    /// Makes the call. Whatever goes wrong in it is an outcome that tells the model what to do.
    // P20: a tool that panics takes nothing down with it.
    pub(crate) async fn run(self) -> ToolOutcome {
        let Self { name, tool, scope, arguments } = self;
        let run = AssertUnwindSafe(tool.call(scope, arguments)).catch_unwind();
        match run.await {
            Ok(outcome) => bounded(outcome),
            Err(_) => ToolOutcome::error(format!(
                "{name} failed inside and whether it had an effect is unknown; check before you call it again"
            )),
        }
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
