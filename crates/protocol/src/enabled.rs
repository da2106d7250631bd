//! When an action can happen. The checker asks it, for every situation, for everything that might come
//! next; it changes nothing.

use crate::machine::{Action, Machine, Mistake, Path};
use crate::state::{Attempt, Letter, Member, Memory, Seat, Standing, State};

impl Machine {
    /// Lists everything that can happen next. Nothing is left out for being unlikely.
    pub(crate) fn enabled(&self, state: &State, actions: &mut Vec<Action>) {
        let Some(memory) = &state.memory else {
            actions.push(Action::Recover);
            return;
        };
        for letter in &self.letters {
            self.sending(state, memory, *letter, actions);
        }
        if !memory.unwritten.is_empty() {
            actions.push(Action::Write);
        }
        for member in Member::ALL {
            if self.path(member) == Path::TwoCommits {
                self.delivering(state, memory, member, actions);
            }
            self.driving(state, memory, member, actions);
        }
        self.spawning(state, memory, actions);
        if state.crashes > 0 {
            actions.push(Action::Crash);
        }
    }

    fn sending(&self, state: &State, memory: &Memory, letter: Letter, to: &mut Vec<Action>) {
        if state.team.queued.contains(&letter) {
            // A call that a crash cut off is looked up under its key, and answered as it was.
            if !state.told.has(letter) {
                to.push(Action::Answer(letter));
            }
            return;
        }
        let running = *memory.seats.of(letter.from) == Seat::Asking;
        let known = match letter.to {
            Member::Lead | Member::Alice => true,
            Member::Bob => matches!(state.team.bob, Standing::Provisioning | Standing::Active),
        };
        if running && known && !memory.unwritten.contains(&letter) {
            to.push(Action::Send(letter));
        }
    }

    fn delivering(&self, state: &State, memory: &Memory, target: Member, to: &mut Vec<Action>) {
        let resident = memory.seats.of(target).resident();
        match *memory.attempts.of(target) {
            Attempt::None => {
                if resident && memory.owed.iter().any(|letter| letter.to == target) {
                    to.push(Action::Insert(target));
                    if state.faults > 0 {
                        to.push(Action::InsertFails(target));
                        to.push(Action::InsertAnswerLost(target));
                    }
                }
            }
            Attempt::Inserted(letter) => {
                if !memory.unwritten.contains(&letter) {
                    to.push(Action::Acknowledge(target));
                }
            }
            // P7: until the older one is tried again, nothing younger goes to this target.
            Attempt::Failed(failed) => {
                let mut younger = memory.owed.iter().filter(|letter| letter.to == target);
                let younger = younger.any(|letter| *letter != failed);
                if resident && younger && self.errs(Mistake::NoHoldBackAfterFailedOlder) {
                    to.push(Action::Insert(target));
                }
                to.push(Action::TryAgain(target));
            }
            Attempt::Acknowledged(_) => {
                if resident {
                    to.push(Action::Insert(target));
                }
            }
        }
    }

    fn driving(&self, state: &State, memory: &Memory, member: Member, to: &mut Vec<Action>) {
        match memory.seats.of(member) {
            Seat::Inactive => {}
            Seat::Loading => {
                to.push(Action::Loaded(member));
                if state.faults > 0 {
                    to.push(Action::LoadFails(member));
                }
            }
            Seat::Outage => to.push(Action::LoadAgain(member)),
            Seat::Asking => to.push(Action::Reply(member)),
            Seat::GoingIdle => to.push(Action::GoIdle(member)),
            Seat::Parked => {
                // Whoever is on record as owed something stays: nobody else would wake it for that.
                let owed = memory.owed.iter().any(|letter| letter.to == member);
                let owed = owed && !self.errs(Mistake::ReleaseWhileMailIsOwed);
                if member != Member::Lead && !owed && !state.logs.of(member).has_unread() {
                    to.push(Action::Release(member));
                }
            }
        }
    }

    fn spawning(&self, state: &State, memory: &Memory, to: &mut Vec<Action>) {
        let created = !state.logs.bob.inserted.is_empty();
        match (state.team.bob, self.path(Member::Bob)) {
            (Standing::Unnamed, _) => {
                if memory.seats.lead == Seat::Asking {
                    to.push(Action::Spawn);
                }
            }
            (Standing::Provisioning, path) => {
                let activates_first = self.errs(Mistake::ActiveBeforeFirstPrompt);
                if path == Path::OneCommit || created || activates_first {
                    to.push(Action::Activate);
                } else {
                    to.push(Action::CreateChild);
                }
                if !created && state.faults > 0 {
                    to.push(Action::SpawnFails);
                }
            }
            (Standing::Active, Path::TwoCommits) if !created => to.push(Action::CreateChild),
            (Standing::Active | Standing::Failed, _) => {}
        }
    }
}
