//! Summing a conversation up before it outgrows its model: the rules say what and when, the driver
//! asks the model, and what it wrote is logged before the next request is made.

use super::actor::TeamActor;
use super::input::{Order, Summary};
use longboat_core::id::SessionId;
use longboat_core::log::{Event, Scope, Summarizer};
use longboat_core::session::{Next, Phase};
use longboat_core::team::TaskStatus;

/// Open tasks that a summary restates.
const TASKS: usize = 50;

impl TeamActor {
    /// Says whether a session is to be summed up before its next step, and sets that going when its
    /// driver is free. Nothing pending is claimed meanwhile; it is read right behind the summary.
    pub(super) fn sums_up_first(&mut self, session: &SessionId, next: &Next) -> bool {
        let begins = |event: &Event| matches!(event, Event::StepStarted { .. });
        if !matches!(next, Next::Append(events) if events.iter().any(begins)) {
            return false;
        }
        let Some(state) = self.writer.session(session) else { return false };
        let Some(resident) = self.residents.get(session) else { return false };
        let Some(model) = state.configuration().map(|set| set.model.clone()) else { return false };
        let Ok(model) = self.parts.models.find(&model) else { return false };
        let (window, refused) = (model.context_window(), resident.overflowed);
        if !refused && !state.is_full(window) {
            return false;
        }
        if !state.can_compact(window, refused) {
            return false;
        }
        if resident.parked.is_some()
            && let Some(compaction) = state.compaction(window, refused)
        {
            let cancel = self.turn_token(session);
            self.order(session, Order::SumUp { compaction, model, cancel });
        }
        true
    }

    /// Says whether a summary may help a session whose request the provider found too long.
    pub(super) fn can_sum_up(&self, session: &SessionId) -> bool {
        let state = self.writer.session(session);
        state.is_some_and(|state| state.can_compact(u64::MAX, true))
    }

    /// The record of a summary, if the session still stands where it was asked for.
    pub(super) fn summed_up(&mut self, session: &SessionId, summary: Summary) -> Option<Event> {
        let restated = self.open_tasks();
        if let Some(resident) = self.residents.get_mut(session) {
            resident.overflowed = false;
        }
        let state = self.writer.session(session)?;
        if !matches!(state.phase(), Phase::Between { .. }) {
            return None;
        }
        let Summary { kept, told, usage } = summary;
        let by = if told.is_some() { Summarizer::Model } else { Summarizer::Runtime };
        let summary = state.summary(kept, told.as_deref(), &restated).into();
        Some(Event::ContextCompacted { summary, kept, by, usage })
    }

    /// The tasks that are not done, for a member that forgets what it read of them.
    fn open_tasks(&self) -> String {
        let team = self.writer.team();
        if team.roster().scope() == Scope::Subagents {
            return String::new();
        }
        let open = team.board().live();
        let open = open.filter(|task| task.state.status() != TaskStatus::Completed);
        let lines = open.take(TASKS).map(|task| {
            let owner = task.state.owner().map_or("nobody", |owner| owner.as_str());
            let status = task.state.status().word();
            format!("- {} ({status}, {owner}): {}", task.id, task.subject)
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() { String::new() } else { format!("# Open tasks\n{}", lines.join("\n")) }
    }
}
