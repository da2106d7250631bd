//! Closing records: for a tail that a crash cut, for a turn that is cancelled, for a copied prefix.

use super::SessionState;
use super::turn::{Call, Phase, Progress};
use crate::content::ToolOutcome;
use crate::id::{Origin, StepNo};
use crate::log::{Event, StepOutcome, TurnOutcome};
use std::sync::Arc;

/// The records that a session needs before it can go on after its process died. A request without
/// a reply is closed, to be made again; a call that had begun is answered with what `settle` finds
/// out, or left open where it finds that the call may simply be made again; a call that had not begun
/// is left to be run. The turn stays open and goes on.
pub fn repair(
    state: &SessionState,
    settle: &mut dyn FnMut(&Origin, &Call) -> Option<ToolOutcome>,
) -> Vec<Event> {
    match state.phase() {
        Phase::Idle | Phase::Between { .. } => Vec::new(),
        Phase::Asking { step, .. } => {
            vec![Event::StepEnded { step: *step, outcome: StepOutcome::Cut }]
        }
        Phase::Calling { step, calls, .. } => calls
            .iter()
            .zip(0..)
            .filter(|(call, _)| call.progress.is_open())
            .filter_map(|(call, index)| {
                let outcome = settle(&origin(state, *step, index), call)?;
                Some(answer(*step, index, call, outcome))
            })
            .collect(),
    }
}

/// The records that cancel the open turn: every call without a result gets one. Pending input
/// stays. Empty when no turn is open.
// P14: every open tool call gets a result, and the inbox is not touched.
pub fn cut_short(
    state: &SessionState,
    outcome: TurnOutcome,
    settle: &mut dyn FnMut(&Origin, &Call) -> ToolOutcome,
) -> Vec<Event> {
    let Some(turn) = state.phase().turn() else { return Vec::new() };
    let mut events = match state.phase() {
        Phase::Idle | Phase::Between { .. } => Vec::new(),
        Phase::Asking { step, .. } => {
            vec![Event::StepEnded { step: *step, outcome: StepOutcome::Cut }]
        }
        Phase::Calling { step, calls, .. } => {
            let mut events: Vec<Event> = calls
                .iter()
                .zip(0..)
                .filter(|(call, _)| call.progress != Progress::Answered)
                .map(|(call, index)| {
                    let outcome = settle(&origin(state, *step, index), call);
                    answer(*step, index, call, outcome)
                })
                .collect();
            events.push(Event::StepEnded { step: *step, outcome: StepOutcome::Whole });
            events
        }
    };
    events.push(Event::TurnEnded { turn, outcome });
    events
}

/// The records that follow a copied prefix: what was pending there stays there.
#[must_use]
pub fn forked_tail(state: &SessionState) -> Vec<Event> {
    let items: Vec<_> = state.inbox().items().iter().map(|item| item.id.clone()).collect();
    if items.is_empty() {
        return Vec::new();
    }
    vec![Event::InboxDiscarded {
        items,
        reason: "pending in the session this was copied from".to_owned(),
    }]
}

fn origin(state: &SessionState, step: StepNo, index: u32) -> Origin {
    Origin { session: state.id().clone(), step, index }
}

fn answer(step: StepNo, index: u32, call: &Call, outcome: ToolOutcome) -> Event {
    Event::ToolResult { step, index, call: call.call.id.clone(), outcome: Arc::new(outcome) }
}
