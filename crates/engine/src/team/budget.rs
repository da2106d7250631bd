//! What a run may cost: when a bound is passed, the team is suspended where it is, with the reason.
//! Two agents that answer each other for ever end here.

use super::actor::TeamActor;
use crate::settings::Budget;
use longboat_core::log::Event;
use std::time::Duration;
use tokio::time::Instant;

/// What a run has spent in this process.
#[derive(Debug)]
pub(super) struct Spent {
    since: Instant,
    turns: u64,
    tokens: u64,
}

impl Spent {
    pub(super) fn nothing() -> Self {
        Self { since: Instant::now(), turns: 0, tokens: 0 }
    }

    /// Counts what a record costs.
    pub(super) fn count(&mut self, event: &Event) {
        match event {
            Event::TurnStarted { .. } => self.turns += 1,
            Event::AssistantMessage { reply, .. } => {
                self.tokens += reply.usage.input + reply.usage.output;
            }
            _ => {}
        }
    }

    /// Which bound is passed, if one is.
    fn passed(&self, budget: &Budget) -> Option<String> {
        if let Some(most) = budget.turns.filter(|most| self.turns > *most) {
            return Some(format!("the budget of {most} turns is used up"));
        }
        if let Some(most) = budget.tokens.filter(|most| self.tokens > *most) {
            let used = self.tokens;
            return Some(format!("the budget of {most} tokens is used up ({used} were used)"));
        }
        let most = budget.time.filter(|most| self.since.elapsed() >= *most)?;
        Some(format!("the budget of {} is used up", minutes(most)))
    }

    /// When the budget of time is used up.
    pub(super) fn deadline(&self, budget: &Budget) -> Option<Instant> {
        budget.time.map(|most| self.since + most)
    }
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds.is_multiple_of(60) {
        format!("{} min", seconds / 60)
    } else {
        format!("{seconds} s")
    }
}

impl TeamActor {
    /// Suspends the team when a bound is passed. Turns stay open: a resume, with a budget of its
    /// own, goes on with them.
    pub(super) fn keep_budget(&mut self) {
        if self.closing {
            return;
        }
        if let Some(reason) = self.spent.passed(&self.parts.settings.budget) {
            self.exhausted = Some(reason);
            self.suspend();
        }
    }
}
