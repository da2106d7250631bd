//! What is checked: who sends what to whom, along which paths, how much may go wrong, and which rule is
//! broken on purpose. The checker calls it; the rules themselves are in `rules`, when they apply in
//! `enabled`, and what must hold in `promises`.

use crate::promises;
use crate::state::{Letter, Member, State};
use stateright::{Model, Property};

/// How mail gets from the Lead's log into a teammate's. The Lead's own inbox is in the Lead's log, so
/// to it everything is one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// Queued, inserted and delivered stand in one commit where the target is in memory.
    OneCommit,
    /// The target's log is in another store: inserted first, acknowledged by a commit of its own.
    TwoCommits,
}

/// How much may go wrong in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Times the process dies.
    pub crashes: u8,
    /// Times something fails that the process survives: a load, an insertion, a spawn.
    pub faults: u8,
}

/// A rule broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// The Lead's log says delivered, then the target's log gets the message.
    AcknowledgeBeforeInsert,
    /// An insertion that is tried again is not recognised as the same.
    RetryWithoutKey,
    /// What is owed is read back newest first.
    RecoveryOutOfOrder,
    /// A driver finds its inbox empty in one step and goes idle in the next.
    IdleCheckBeforeWakeIsArmed,
    /// After a failed insertion the next younger message is tried.
    NoHoldBackAfterFailedOlder,
    /// The sender has its answer, and delivery begins, before the Lead's log has the message.
    DeliverBeforeQueueIsDurable,
    /// The Lead's log says that a child is active before the child's log has its first prompt.
    ActiveBeforeFirstPrompt,
    /// An idle member leaves memory though mail is on its way to it.
    ReleaseWhileMailIsOwed,
    /// Recovery brings nobody back but the Lead.
    RecoveryForgetsTheOwed,
}

/// A team and its world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// What is sent, in whatever order, by whoever runs.
    pub letters: Vec<Letter>,
    /// The path to Alice.
    pub to_alice: Path,
    /// The path to Bob.
    pub to_bob: Path,
    /// How much may go wrong.
    pub limits: Limits,
    /// The rule that is broken, if one is.
    pub mistake: Option<Mistake>,
}

impl Machine {
    pub(crate) const fn path(&self, to: Member) -> Path {
        match to {
            Member::Lead => Path::OneCommit,
            Member::Alice => self.to_alice,
            Member::Bob => self.to_bob,
        }
    }

    pub(crate) fn errs(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

/// One thing that happens, all at once. What is one commit in the engine is one action here, and what
/// is two is two, so that a crash fits between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A running member's message is queued, and delivered too where that is one commit.
    Send(Letter),
    /// The sender hears that its message is queued.
    Answer(Letter),
    /// Only under [`Mistake::DeliverBeforeQueueIsDurable`]: the Lead's log gets what it lacks.
    Write,
    /// The oldest message owed to a target in another store is inserted there.
    Insert(Member),
    /// It is not inserted.
    InsertFails(Member),
    /// It is inserted, and nobody hears of it.
    InsertAnswerLost(Member),
    /// The timer after a failed insertion ends.
    TryAgain(Member),
    /// What was inserted is acknowledged.
    Acknowledge(Member),
    /// The model's reply is in: the step ends, and with it the turn if there is nothing to read.
    Reply(Member),
    /// Only under [`Mistake::IdleCheckBeforeWakeIsArmed`]: the turn ends.
    GoIdle(Member),
    /// An idle member leaves memory.
    Release(Member),
    /// A member is back in memory.
    Loaded(Member),
    /// A member could not be brought back.
    LoadFails(Member),
    /// The timer after a failed load ends.
    LoadAgain(Member),
    /// The Lead names Bob.
    Spawn,
    /// Bob cannot be made.
    SpawnFails,
    /// Bob's log is written in another store: who he is and his first prompt.
    CreateChild,
    /// The Lead's log says that Bob is active; where it is one commit, his log is written with it.
    Activate,
    /// The process dies.
    Crash,
    /// A new process reads the logs and goes on.
    Recover,
}

impl Model for Machine {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::beginning(self.limits.crashes, self.limits.faults)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.enabled(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut state = state.clone();
        self.apply(&mut state, action)?;
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::all()
    }
}
