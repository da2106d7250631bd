//! Tool calls that were cut off: what is known of their effects, and so what their results are.

use super::actor::Effect;
use super::permission::REFUSED;
use crate::load::LoadError;
use crate::tools;
use longboat_core::content::{Block, ToolOutcome, ToolStatus};
use longboat_core::id::{Origin, SessionId};
use longboat_core::log::Event;
use longboat_core::session::{Call, Phase, Progress, SessionState};
use longboat_store::Store;
use std::collections::BTreeMap;

/// What cut a tool call off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Restart,
    Stop,
    Interrupt,
}

/// The result of a begun call whose process ends, or `None` for one that is made again by the next:
/// a team's tool whose effect is not on record had none, and under the call's key it has it once; and
/// one that waits for permission has not run.
pub(super) fn left(
    effects: &BTreeMap<String, Effect>,
    origin: &Origin,
    call: &Call,
    ending: Ending,
) -> Option<ToolOutcome> {
    let recorded = effects.contains_key(origin.key().as_str());
    let again = call.progress == Progress::Asked
        || (tools::team::is_team_tool(&call.call.name)
            && call.progress == Progress::Started
            && !recorded);
    (!again).then(|| settled(effects, origin, call, ending))
}

/// The result of a call that was cut off. What a team's tool did is known exactly; of any other only
/// that it began.
pub(super) fn settled(
    effects: &BTreeMap<String, Effect>,
    origin: &Origin,
    call: &Call,
    ending: Ending,
) -> ToolOutcome {
    if let Some(effect) = effects.get(origin.key().as_str()) {
        return tools::team::recalled(effect);
    }
    if call.progress == Progress::Refused {
        return ToolOutcome::error(REFUSED);
    }
    let exact = tools::team::is_team_tool(&call.call.name) || call.progress.is_without_effect();
    let (status, text) = match ending {
        Ending::Interrupt if exact => {
            (ToolStatus::Interrupted, "interrupted before it had any effect")
        }
        Ending::Interrupt => (
            ToolStatus::Interrupted,
            "interrupted while it ran; some of its effects may have happened",
        ),
        Ending::Restart => (
            ToolStatus::Unknown,
            "outcome unknown: interrupted by restart; check whether it took effect before you run it again",
        ),
        Ending::Stop => (
            ToolStatus::Unknown,
            "outcome unknown: longboat was stopped while it ran; check whether it took effect before you run it again",
        ),
    };
    ToolOutcome { status, content: vec![Block::text(text)] }
}

/// What the calls that a log left begun did to the team: the Lead's log has it under their keys.
pub(super) async fn recorded_effects(
    store: &dyn Store,
    lead: &SessionId,
    state: &SessionState,
) -> Result<Vec<(String, Effect)>, LoadError> {
    let Phase::Calling { step, calls, .. } = state.phase() else { return Ok(Vec::new()) };
    let mut effects = Vec::new();
    for (call, index) in calls.iter().zip(0..) {
        if call.progress != Progress::Started {
            continue;
        }
        let key = Origin { session: state.id().clone(), step: *step, index }.key();
        let found = store.find(lead, &key).await;
        let found = found.map_err(|source| LoadError::Store { session: lead.clone(), source })?;
        let Some(stored) = found else { continue };
        let Ok(record) = crate::load::decode_stored(stored) else { continue };
        let effect = match record.event {
            Event::TeamMessageQueued { message, to, .. } => {
                Effect::Message(message, state.kind().calls(&to))
            }
            Event::TeamTask { task, .. } => Effect::Task(task),
            Event::TeamMember { member, .. } => Effect::Member(member),
            _ => continue,
        };
        effects.push((key.into(), effect));
    }
    Ok(effects)
}
