//! What the machine is in: the logs, which survive a crash, and the memory, which does not. The rules
//! change it and the promises look at it; nothing here decides.

/// Who is in the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Member {
    /// The root; always in memory while the process runs.
    Lead,
    /// A teammate that is there from the beginning.
    Alice,
    /// A teammate that the Lead spawns.
    Bob,
}

impl Member {
    /// Everybody.
    pub const ALL: [Self; 3] = [Self::Lead, Self::Alice, Self::Bob];
}

/// One thing of a kind for each member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Each<T> {
    pub(crate) lead: T,
    pub(crate) alice: T,
    pub(crate) bob: T,
}

impl<T> Each<T> {
    pub(crate) const fn of(&self, member: Member) -> &T {
        match member {
            Member::Lead => &self.lead,
            Member::Alice => &self.alice,
            Member::Bob => &self.bob,
        }
    }

    pub(crate) const fn of_mut(&mut self, member: Member) -> &mut T {
        match member {
            Member::Lead => &mut self.lead,
            Member::Alice => &mut self.alice,
            Member::Bob => &mut self.bob,
        }
    }
}

/// One call of `send_message`: the same letter however often it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Letter {
    /// Which one it is, below 8.
    pub id: u8,
    /// Who sends it.
    pub from: Member,
    /// Who is to read it.
    pub to: Member,
}

/// Letters without an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Letters(u8);

impl Letters {
    pub(crate) const fn has(self, letter: Letter) -> bool {
        self.0 & (1 << letter.id) != 0
    }

    pub(crate) const fn add(&mut self, letter: Letter) {
        self.0 |= 1 << letter.id;
    }
}

/// How far the Lead's log says that a member has come to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    #[default]
    Unnamed,
    Provisioning,
    Active,
    Failed,
}

/// The Lead's log, as far as it concerns the team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct TeamLog {
    pub(crate) queued: Vec<Letter>,
    pub(crate) delivered: Letters,
    pub(crate) bob: Standing,
}

/// Something in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    FirstPrompt,
    Mail(Letter),
}

/// A member's own log. One that holds nothing was never created.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct MemberLog {
    /// Inbox and history together: everything that was ever inserted, in order.
    pub(crate) inserted: Vec<Item>,
    /// How many of these, from the front, the member has read.
    pub(crate) claimed: u8,
    pub(crate) turn_open: bool,
}

impl MemberLog {
    pub(crate) fn has_unread(&self) -> bool {
        self.inserted.len() > usize::from(self.claimed)
    }

    pub(crate) fn has(&self, letter: Letter) -> bool {
        self.inserted.contains(&Item::Mail(letter))
    }

    pub(crate) fn mail(&self) -> impl Iterator<Item = Letter> {
        self.inserted.iter().filter_map(|item| match item {
            Item::FirstPrompt => None,
            Item::Mail(letter) => Some(*letter),
        })
    }
}

/// Whether a member is in memory, and then what its driver does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Seat {
    #[default]
    Inactive,
    Loading,
    /// It could not be loaded; a timer runs.
    Outage,
    /// The driver waits for an order.
    Parked,
    /// The driver waits for the model's reply.
    Asking,
    /// Only under [`crate::Mistake::IdleCheckBeforeWakeIsArmed`]: the inbox was looked at and was
    /// empty, and the driver is about to go idle.
    GoingIdle,
}

impl Seat {
    pub(crate) const fn resident(self) -> bool {
        matches!(self, Self::Parked | Self::Asking | Self::GoingIdle)
    }
}

/// What is under way to a target in another store. One at a time: that holds back what is younger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Attempt {
    #[default]
    None,
    /// Inserted, to be acknowledged.
    Inserted(Letter),
    /// The insertion failed, or its answer was lost; a timer runs.
    Failed(Letter),
    /// Only under [`crate::Mistake::AcknowledgeBeforeInsert`]: acknowledged, to be inserted.
    Acknowledged(Letter),
}

/// What a crash takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    /// Queued and not delivered, in the order in which it will be tried.
    pub(crate) owed: Vec<Letter>,
    /// Only under [`crate::Mistake::DeliverBeforeQueueIsDurable`]: to be written to the Lead's log.
    pub(crate) unwritten: Vec<Letter>,
    pub(crate) seats: Each<Seat>,
    pub(crate) attempts: Each<Attempt>,
}

/// Everything that tells two situations apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) team: TeamLog,
    pub(crate) logs: Each<MemberLog>,
    /// Nothing when the process is down.
    pub(crate) memory: Option<Memory>,
    /// The senders of these were told that their letter is queued.
    pub(crate) told: Letters,
    /// How many crashes may still come.
    pub(crate) crashes: u8,
    /// How many failures of other kinds may still come.
    pub(crate) faults: u8,
}

impl State {
    /// A running Lead and a running teammate, no mail yet.
    pub(crate) fn beginning(crashes: u8, faults: u8) -> Self {
        let running = MemberLog { inserted: vec![Item::FirstPrompt], claimed: 1, turn_open: true };
        let seats = Each { lead: Seat::Asking, alice: Seat::Asking, bob: Seat::Inactive };
        Self {
            team: TeamLog::default(),
            logs: Each { lead: running.clone(), alice: running, bob: MemberLog::default() },
            memory: Some(Memory { seats, ..Memory::default() }),
            told: Letters::default(),
            crashes,
            faults,
        }
    }

    /// Whether the Lead's log says that mail can reach a member.
    pub(crate) fn reachable(&self, member: Member) -> bool {
        member != Member::Bob || self.team.bob == Standing::Active
    }
}
