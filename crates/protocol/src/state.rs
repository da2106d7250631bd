//! What is on disk, what is in memory, and what outsiders were told.

/// The members: the Lead and two teammates. The second one is made during the run.
pub(crate) const MEMBERS: usize = 3;
/// The teammate that is made during the run.
pub(crate) const MADE: usize = 2;
/// The messages: who each is for. Two are for the same target.
pub(crate) const TARGETS: [usize; 3] = [1, 1, 2];
/// The messages: who sends each.
pub(crate) const SENDERS: [usize; 3] = [0, 2, 0];

/// A state of the whole system.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// The Lead's log: messages in queued order.
    pub queued: Vec<u8>,
    /// The Lead's log: which messages are acknowledged, one bit each.
    pub delivered: u8,
    /// Each target's log: messages in the order of their insertion.
    pub inserted: [Vec<u8>; MEMBERS],
    /// Each target's log: which messages it has read, one bit each.
    pub claimed: u8,
    /// Each member's log: a turn is open, one bit each.
    pub turns: u8,
    /// How far the second teammate came.
    pub standing: Standing,
    /// The second teammate's log holds who it is and its first prompt.
    pub child: bool,
    /// In memory: `None` while the process is dead.
    pub memory: Option<[Driver; MEMBERS]>,
    /// Senders were told that their message is safe, one bit each.
    pub told: u8,
    /// A message that is in its target's log but not yet in the Lead's; only a mistake has one.
    pub unqueued: Option<u8>,
    /// Crashes that may still happen.
    pub crashes: u8,
    /// Failures to bring a member back that may still happen.
    pub failures: u8,
    /// How often idle members may still be let go.
    pub releases: u8,
}

/// How far a teammate came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nobody asked for it.
    Unknown,
    /// Its name is taken.
    Provisioning,
    /// It is a member.
    Active,
    /// It never will be.
    Failed,
}

/// A member's driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Driver {
    /// Not in memory.
    Away,
    /// In memory, waiting for input.
    Idle,
    /// In a turn.
    Running,
    /// Has seen its inbox empty, and is about to go idle; only a mistake has this as a state of its
    /// own.
    Deciding,
}

pub(crate) fn bit(n: usize) -> u8 {
    1 << n
}

impl State {
    /// The messages that are owed to a member, in queued order.
    pub(crate) fn owed(&self, member: usize) -> Vec<u8> {
        let owed = |m: &&u8| {
            TARGETS.get(usize::from(**m)) == Some(&member)
                && self.delivered & bit((**m).into()) == 0
        };
        self.queued.iter().filter(owed).copied().collect()
    }

    /// How often targets' logs hold a message.
    pub(crate) fn times(&self, message: u8) -> usize {
        self.inserted.iter().flatten().filter(|held| **held == message).count()
    }

    /// Says whether a target's log holds a message.
    pub(crate) fn holds(&self, message: u8) -> bool {
        self.times(message) > 0
    }

    /// Says whether a member has mail in its inbox that it has not read.
    pub(crate) fn unread(&self, member: usize) -> bool {
        let log = self.inserted.get(member).map(Vec::as_slice).unwrap_or_default();
        log.iter().any(|message| self.claimed & bit((*message).into()) == 0)
    }

    /// Says whether mail can ever reach a member.
    pub(crate) fn reachable(&self, member: usize) -> bool {
        member != MADE || self.standing == Standing::Active
    }

    pub(crate) fn driver(&self, member: usize) -> Driver {
        self.memory.and_then(|drivers| drivers.get(member).copied()).unwrap_or(Driver::Away)
    }

    pub(crate) fn set_driver(&mut self, member: usize, driver: Driver) {
        if let Some(slot) = self.memory.as_mut().and_then(|drivers| drivers.get_mut(member)) {
            *slot = driver;
        }
    }

    /// Puts a message into its target's log, and wakes the target as far as it listens.
    pub(crate) fn insert(&mut self, member: usize, message: u8) {
        if let Some(log) = self.inserted.get_mut(member) {
            log.push(message);
        }
        if self.driver(member) == Driver::Idle {
            self.set_driver(member, Driver::Running);
            self.turns |= bit(member);
        }
    }
}
