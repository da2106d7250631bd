//! What an action does: the rules of `engine/team`, each in as many steps as the engine has commits.
//! The checker applies them to a copy; they decide nothing about when.

use crate::machine::{Action, Machine, Mistake, Path};
use crate::state::{Attempt, Item, Letter, Member, MemberLog, Memory, Seat, Standing, State};

impl Machine {
    /// Changes a state by one action. Returns nothing for one that is not enabled in it.
    pub(crate) fn apply(&self, state: &mut State, action: Action) -> Option<()> {
        if action == Action::Recover {
            self.recover(state);
            return Some(());
        }
        let mut memory = state.memory.take()?;
        match action {
            Action::Crash => {
                state.crashes -= 1;
                return Some(());
            }
            Action::Recover => return None,
            Action::Send(letter) => self.send(state, &mut memory, letter),
            Action::Answer(letter) => state.told.add(letter),
            Action::Write => state.team.queued.append(&mut memory.unwritten),
            Action::Insert(to) => self.insert(state, &mut memory, to)?,
            Action::InsertFails(to) => {
                state.faults -= 1;
                *memory.attempts.of_mut(to) = Attempt::Failed(self.oldest(&memory, to)?);
            }
            Action::InsertAnswerLost(to) => {
                state.faults -= 1;
                let letter = self.oldest(&memory, to)?;
                self.put(state, letter);
                advance(state.logs.of_mut(to), memory.seats.of_mut(to));
                *memory.attempts.of_mut(to) = Attempt::Failed(letter);
            }
            Action::TryAgain(to) => *memory.attempts.of_mut(to) = Attempt::None,
            Action::Acknowledge(to) => {
                let Attempt::Inserted(letter) = *memory.attempts.of(to) else { return None };
                // P5: the acknowledgement is written once the target's log has the message.
                acknowledge(state, &mut memory, letter);
                *memory.attempts.of_mut(to) = Attempt::None;
            }
            Action::Reply(member) => self.reply(state, &mut memory, member),
            Action::GoIdle(member) => {
                state.logs.of_mut(member).turn_open = false;
                *memory.seats.of_mut(member) = Seat::Parked;
            }
            Action::Release(member) => *memory.seats.of_mut(member) = Seat::Inactive,
            Action::Loaded(member) => self.seat(state, &mut memory, member),
            Action::LoadFails(member) => {
                state.faults -= 1;
                *memory.seats.of_mut(member) = Seat::Outage;
            }
            Action::LoadAgain(member) => *memory.seats.of_mut(member) = Seat::Loading,
            Action::Spawn => state.team.bob = Standing::Provisioning,
            Action::SpawnFails => {
                state.faults -= 1;
                state.team.bob = Standing::Failed;
            }
            Action::CreateChild => state.logs.bob.inserted.push(Item::FirstPrompt),
            Action::Activate => self.activate(state, &mut memory),
        }
        state.memory = Some(memory);
        Some(())
    }

    fn send(&self, state: &mut State, memory: &mut Memory, letter: Letter) {
        // P2: the Lead's log has the message before, or together with, any delivery.
        if self.errs(Mistake::DeliverBeforeQueueIsDurable) {
            memory.unwritten.push(letter);
            state.told.add(letter);
        } else {
            state.team.queued.push(letter);
        }
        memory.owed.push(letter);
        let seat = *memory.seats.of(letter.to);
        if seat.resident() {
            self.deliver_in_one_commit(state, memory, letter.to);
        } else if state.reachable(letter.to) {
            rouse(memory, letter.to);
        }
    }

    /// Everything owed to a resident of this store, oldest first, and its turn with it.
    fn deliver_in_one_commit(&self, state: &mut State, memory: &mut Memory, to: Member) {
        if self.path(to) == Path::OneCommit {
            let owed: Vec<Letter> = memory.owed.iter().copied().filter(|l| l.to == to).collect();
            for letter in owed {
                self.put(state, letter);
                acknowledge(state, memory, letter);
            }
        }
        advance(state.logs.of_mut(to), memory.seats.of_mut(to));
    }

    /// Inserts under the message's key: the second time nothing happens.
    // P6: it enters the target's log at most once.
    fn put(&self, state: &mut State, letter: Letter) {
        let log = state.logs.of_mut(letter.to);
        if !log.has(letter) || self.errs(Mistake::RetryWithoutKey) {
            log.inserted.push(Item::Mail(letter));
        }
    }

    /// What is tried next for a target. Nothing when nothing is owed to it.
    fn oldest(&self, memory: &Memory, to: Member) -> Option<Letter> {
        let failed = match *memory.attempts.of(to) {
            Attempt::Failed(letter) => Some(letter),
            Attempt::None | Attempt::Inserted(_) | Attempt::Acknowledged(_) => None,
        };
        let mut owed = memory.owed.iter().copied().filter(|letter| letter.to == to);
        owed.find(|letter| Some(*letter) != failed)
    }

    fn insert(&self, state: &mut State, memory: &mut Memory, to: Member) -> Option<()> {
        let attempt = *memory.attempts.of(to);
        let (letter, next) = match attempt {
            Attempt::Acknowledged(letter) => (letter, Attempt::None),
            Attempt::None | Attempt::Failed(_) | Attempt::Inserted(_) => {
                let letter = self.oldest(memory, to)?;
                if self.errs(Mistake::AcknowledgeBeforeInsert) {
                    acknowledge(state, memory, letter);
                    *memory.attempts.of_mut(to) = Attempt::Acknowledged(letter);
                    return Some(());
                }
                (letter, Attempt::Inserted(letter))
            }
        };
        self.put(state, letter);
        // P4: whatever puts something into an inbox opens the turn that reads it, in one commit.
        advance(state.logs.of_mut(to), memory.seats.of_mut(to));
        *memory.attempts.of_mut(to) = next;
        Some(())
    }

    /// The boundary after a step.
    // P3, P4: looking into the inbox and ending the turn are one action.
    fn reply(&self, state: &mut State, memory: &mut Memory, member: Member) {
        let log = state.logs.of_mut(member);
        let seat = memory.seats.of_mut(member);
        if log.has_unread() {
            claim(log);
        } else if self.errs(Mistake::IdleCheckBeforeWakeIsArmed) {
            *seat = Seat::GoingIdle;
        } else {
            log.turn_open = false;
            *seat = Seat::Parked;
        }
    }

    /// Takes a member into memory and goes on where its log ends.
    fn seat(&self, state: &mut State, memory: &mut Memory, member: Member) {
        let open = state.logs.of(member).turn_open;
        *memory.seats.of_mut(member) = if open { Seat::Asking } else { Seat::Parked };
        self.deliver_in_one_commit(state, memory, member);
    }

    fn activate(&self, state: &mut State, memory: &mut Memory) {
        state.team.bob = Standing::Active;
        match self.path(Member::Bob) {
            Path::OneCommit => {
                // P12: the child's log with its first prompt is in the commit that makes it active.
                if !self.errs(Mistake::ActiveBeforeFirstPrompt) {
                    state.logs.bob.inserted.push(Item::FirstPrompt);
                }
                self.seat(state, memory, Member::Bob);
            }
            Path::TwoCommits => rouse(memory, Member::Bob),
        }
    }

    /// Reads the logs, settles what is half made, delivers what can be, and brings back who is needed.
    // P8: what is owed is queued minus delivered, in queued order.
    fn recover(&self, state: &mut State) {
        let mut memory = Memory::default();
        let queued = state.team.queued.iter().copied();
        memory.owed = queued.filter(|letter| !state.team.delivered.has(*letter)).collect();
        if self.errs(Mistake::RecoveryOutOfOrder) {
            memory.owed.reverse();
        }
        if state.team.bob == Standing::Provisioning {
            let created = state.logs.bob.inserted.contains(&Item::FirstPrompt);
            state.team.bob = if created { Standing::Active } else { Standing::Failed };
        }
        self.seat(state, &mut memory, Member::Lead);
        for member in [Member::Alice, Member::Bob] {
            let log = state.logs.of(member);
            let owed = memory.owed.iter().any(|letter| letter.to == member);
            let needed = owed || log.turn_open || log.has_unread();
            if needed && state.reachable(member) && !self.errs(Mistake::RecoveryForgetsTheOwed) {
                rouse(&mut memory, member);
            }
        }
        state.memory = Some(memory);
    }
}

/// Begins to bring a member back, unless it is back or on its way.
fn rouse(memory: &mut Memory, member: Member) {
    let seat = memory.seats.of_mut(member);
    if matches!(seat, Seat::Inactive | Seat::Outage) {
        *seat = Seat::Loading;
    }
}

fn acknowledge(state: &mut State, memory: &mut Memory, letter: Letter) {
    state.team.delivered.add(letter);
    memory.owed.retain(|owed| *owed != letter);
}

/// Opens the turn of a member that rests and has something to read.
fn advance(log: &mut MemberLog, seat: &mut Seat) {
    if *seat == Seat::Parked && log.has_unread() {
        log.turn_open = true;
        claim(log);
        *seat = Seat::Asking;
    }
}

fn claim(log: &mut MemberLog) {
    log.claimed = u8::try_from(log.inserted.len()).unwrap_or(u8::MAX);
}
