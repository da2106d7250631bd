//! What a run may cost: when a bound is passed, the team is suspended where it is, with the reason.
//! Two agents that answer each other for ever end here.

use super::actor::TeamActor;
use crate::settings::Budget;
use longboat_core::content::Usage;
use longboat_core::id::SessionId;
use longboat_core::log::Event;
use longboat_core::price::{Cost, Price};
use std::time::Duration;
use tokio::time::Instant;

/// What a run has spent in this process.
#[derive(Debug)]
pub(super) struct Spent {
    since: Instant,
    turns: u64,
    tokens: u64,
    cost: Cost,
}

impl Spent {
    pub(super) fn nothing() -> Self {
        Self { since: Instant::now(), turns: 0, tokens: 0, cost: Cost::default() }
    }

    fn turn(&mut self) {
        self.turns += 1;
    }

    fn request(&mut self, usage: &Usage, price: Option<&Price>) {
        self.tokens += usage.input + usage.output;
        self.cost = self.cost.plus(price.map_or(Cost::default(), |price| price.of(usage)));
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
        if let Some(most) = budget.cost.filter(|most| self.cost > *most) {
            let used = self.cost;
            return Some(format!("the budget of {most} is used up ({used} were spent)"));
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
    /// Counts what a record of a session costs.
    pub(super) fn count_spent(&mut self, session: &SessionId, event: &Event) {
        match event {
            Event::TurnStarted { .. } => self.spent.turn(),
            Event::AssistantMessage { reply, .. } => {
                let state = self.writer.session(session);
                let model = state.and_then(|state| state.configuration());
                let price =
                    model.and_then(|set| self.parts.settings.prices.find(&set.model)).copied();
                self.spent.request(&reply.usage, price.as_ref());
            }
            _ => {}
        }
    }

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
