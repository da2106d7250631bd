//! The rules, as actions; and the mistakes, each of which breaks one rule.

use crate::state::{Driver, MADE, MEMBERS, SENDERS, Standing, State, TARGETS, bit};
use stateright::{Model, Property};

/// How a message gets from the Lead's log into its target's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Both logs are in one store: insertion and acknowledgement are one commit, and for a target in
    /// memory to which nothing older is owed the queueing is in it too.
    OneStore,
    /// They are not: queue, insert under a key, acknowledge; each a commit of its own.
    TwoStores,
}

/// A rule that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// The acknowledgement is written before the insertion.
    AcknowledgeBeforeInsert,
    /// A retry inserts without looking whether the log holds the message.
    RetryWithoutKey,
    /// What is owed is delivered newest first.
    RecoveryOutOfOrder,
    /// "The inbox is empty" and "go idle" are two actions.
    IdleCheckBeforeWakeIsArmed,
    /// A new message passes an older one that is still owed.
    NoHoldBackAfterFailedOlder,
    /// A message is inserted before it is in the Lead's log.
    DeliverBeforeQueueIsDurable,
    /// A teammate is active before its first prompt is in its log.
    ActiveBeforeFirstPrompt,
    /// After a crash nobody looks for what is owed.
    NoRecovery,
}

/// The system to be checked.
#[derive(Debug, Clone)]
pub struct Mailbox {
    /// The way of a message.
    pub path: Path,
    /// What is done wrong, if anything.
    pub mistake: Option<Mistake>,
    /// How often the process may die.
    pub crashes: u8,
}

/// Something that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// A message is sent.
    Send(u8),
    /// A message that was inserted too early is queued; a mistake.
    QueueLate(u8),
    /// The oldest message owed to a member is inserted, and with one store acknowledged.
    Deliver(usize),
    /// The acknowledgement of a member's oldest owed message.
    Acknowledge(usize),
    /// A running member reads what is in its inbox.
    Read(usize),
    /// A running member with an empty inbox ends its turn.
    EndTurn(usize),
    /// A member that saw its inbox empty goes idle; a mistake.
    GoIdle(usize),
    /// An idle member is let go.
    Release(usize),
    /// A member with work is brought back.
    Load(usize),
    /// A member with work cannot be brought back now.
    LoadFails(usize),
    /// The name of the second teammate is taken.
    Provision,
    /// The second teammate's log is written.
    MakeChild,
    /// The second teammate becomes a member.
    Activate,
    /// The process dies.
    Crash,
    /// A new process reads the logs.
    Recover,
}

impl Mailbox {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn mail_acts(&self, state: &State, acts: &mut Vec<Act>) {
        for (message, target) in (0_u8..).zip(TARGETS) {
            let sender = SENDERS.get(usize::from(message)).copied().unwrap_or(0);
            let known = target != MADE || state.standing != Standing::Unknown;
            let fresh = !state.queued.contains(&message) && state.unqueued != Some(message);
            let sends = sender == 0 || state.standing == Standing::Active;
            if fresh && known && sends && state.standing != Standing::Failed {
                acts.push(Act::Send(message));
            }
        }
        acts.extend(state.unqueued.map(Act::QueueLate));
        for member in 0..MEMBERS {
            let away = state.driver(member) == Driver::Away;
            if away || !state.reachable(member) {
                continue;
            }
            let owed = state.owed(member);
            let pick =
                if self.makes(Mistake::RecoveryOutOfOrder) { owed.last() } else { owed.first() };
            let Some(message) = pick else { continue };
            let held = state.holds(*message);
            let doubles = self.makes(Mistake::RetryWithoutKey) && state.times(*message) < 2;
            if !held || doubles {
                acts.push(Act::Deliver(member));
            }
            if held || self.makes(Mistake::AcknowledgeBeforeInsert) {
                acts.push(Act::Acknowledge(member));
            }
        }
    }

    fn driver_acts(&self, state: &State, acts: &mut Vec<Act>) {
        for member in 0..MEMBERS {
            match state.driver(member) {
                Driver::Running if state.unread(member) => acts.push(Act::Read(member)),
                Driver::Running => acts.push(Act::EndTurn(member)),
                Driver::Deciding => acts.push(Act::GoIdle(member)),
                Driver::Idle if member != 0 && state.releases > 0 => {
                    acts.push(Act::Release(member))
                }
                Driver::Idle => {}
                Driver::Away => {
                    let work = !state.owed(member).is_empty() && !self.makes(Mistake::NoRecovery)
                        || state.turns & bit(member) != 0;
                    if work && state.reachable(member) {
                        acts.push(Act::Load(member));
                        if state.failures > 0 {
                            acts.push(Act::LoadFails(member));
                        }
                    }
                }
            }
        }
    }

    fn send(&self, state: &mut State, message: u8) {
        let Some(target) = TARGETS.get(usize::from(message)).copied() else { return };
        if self.makes(Mistake::DeliverBeforeQueueIsDurable) && state.driver(target) != Driver::Away
        {
            state.insert(target, message);
            state.unqueued = Some(message);
            return;
        }
        let older = !state.owed(target).is_empty();
        state.queued.push(message);
        state.told |= bit(message.into());
        let holds_back = older && !self.makes(Mistake::NoHoldBackAfterFailedOlder);
        let here = state.driver(target) != Driver::Away && state.reachable(target);
        if self.path == Path::OneStore && here && !holds_back {
            state.insert(target, message);
            state.delivered |= bit(message.into());
        }
    }

    fn deliver(&self, state: &mut State, member: usize) {
        let owed = state.owed(member);
        let pick = if self.makes(Mistake::RecoveryOutOfOrder) { owed.last() } else { owed.first() };
        let Some(message) = pick else { return };
        state.insert(member, *message);
        if self.path == Path::OneStore {
            state.delivered |= bit((*message).into());
        }
    }

    fn recover(state: &mut State) {
        let mut drivers = [Driver::Away; MEMBERS];
        // The Lead is always in memory; the others come when they have work.
        if let Some(lead) = drivers.first_mut() {
            *lead = if state.turns & bit(0) == 0 { Driver::Idle } else { Driver::Running };
        }
        state.memory = Some(drivers);
        if state.standing == Standing::Provisioning {
            state.standing = if state.child { Standing::Active } else { Standing::Failed };
            if state.child {
                state.turns |= bit(MADE);
            }
        }
    }

    fn activate(&self, state: &mut State) {
        state.standing = Standing::Active;
        state.set_driver(MADE, Driver::Running);
        state.turns |= bit(MADE);
    }
}

impl Model for Mailbox {
    type State = State;
    type Action = Act;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            queued: Vec::new(),
            delivered: 0,
            inserted: [const { Vec::new() }; MEMBERS],
            claimed: 0,
            turns: 0,
            standing: Standing::Unknown,
            child: false,
            memory: Some([Driver::Idle, Driver::Idle, Driver::Away]),
            told: 0,
            unqueued: None,
            crashes: self.crashes,
            failures: 1,
            releases: 2,
        }]
    }

    fn actions(&self, state: &State, acts: &mut Vec<Act>) {
        if state.memory.is_none() {
            acts.push(Act::Recover);
            return;
        }
        self.mail_acts(state, acts);
        self.driver_acts(state, acts);
        let early = self.makes(Mistake::ActiveBeforeFirstPrompt);
        match state.standing {
            Standing::Unknown => acts.push(Act::Provision),
            Standing::Provisioning if !state.child => {
                acts.push(Act::MakeChild);
                if early {
                    acts.push(Act::Activate);
                }
            }
            Standing::Provisioning => acts.push(Act::Activate),
            Standing::Active | Standing::Failed => {}
        }
        if state.crashes > 0 {
            acts.push(Act::Crash);
        }
    }

    fn next_state(&self, last: &State, act: Act) -> Option<State> {
        let mut state = last.clone();
        match act {
            Act::Send(message) => self.send(&mut state, message),
            Act::QueueLate(message) => {
                state.queued.push(message);
                state.told |= bit(message.into());
                state.unqueued = None;
            }
            Act::Deliver(member) => self.deliver(&mut state, member),
            Act::Acknowledge(member) => {
                let oldest = *state.owed(member).first()?;
                state.delivered |= bit(oldest.into());
            }
            Act::Read(member) => {
                for message in state.inserted.get(member)? {
                    state.claimed |= bit((*message).into());
                }
            }
            Act::EndTurn(member) if self.makes(Mistake::IdleCheckBeforeWakeIsArmed) => {
                state.set_driver(member, Driver::Deciding);
            }
            Act::EndTurn(member) | Act::GoIdle(member) => {
                state.set_driver(member, Driver::Idle);
                state.turns &= !bit(member);
            }
            Act::Release(member) => {
                state.releases -= 1;
                state.set_driver(member, Driver::Away);
            }
            Act::Load(member) => {
                let open = state.turns & bit(member) != 0;
                let driver = if open { Driver::Running } else { Driver::Idle };
                state.set_driver(member, driver);
            }
            Act::LoadFails(_) => state.failures -= 1,
            Act::Provision => state.standing = Standing::Provisioning,
            Act::MakeChild => {
                state.child = true;
                // With one store the child's log and its standing are one commit.
                if self.path == Path::OneStore {
                    self.activate(&mut state);
                }
            }
            Act::Activate => self.activate(&mut state),
            Act::Crash => {
                state.crashes -= 1;
                state.memory = None;
                state.unqueued = None;
            }
            Act::Recover => Self::recover(&mut state),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("P2 what a sender was told is in the lead's log", |_, s: &State| {
                (0_u8..3).all(|m| s.told & bit(m.into()) == 0 || s.queued.contains(&m))
            }),
            Property::always("P2 what is in a target's log was queued", |_, s: &State| {
                let logs = s.inserted.iter().flatten();
                let known = |m: &u8| s.queued.contains(m);
                // In the very moment of the mistake it is neither here nor there: the crash shows it.
                logs.clone().all(|m| known(m) || s.unqueued == Some(*m))
            }),
            Property::always("P5 what is acknowledged is in the target's log", |_, s: &State| {
                (0_u8..3).all(|m| s.delivered & bit(m.into()) == 0 || s.holds(m))
            }),
            Property::always("P6 a message is in a log at most once", |_, s: &State| {
                (0_u8..3).all(|m| s.times(m) <= 1)
            }),
            Property::always("P7 insertion follows queued order", |_, s: &State| {
                s.inserted.iter().enumerate().all(|(member, log)| {
                    let sent =
                        s.queued.iter().filter(|m| TARGETS.get(usize::from(**m)) == Some(&member));
                    log.iter().filter(|m| s.queued.contains(m)).zip(sent).all(|(a, b)| a == b)
                })
            }),
            Property::always("P12 a member's log has its first prompt", |_, s: &State| {
                s.standing != Standing::Active || s.child
            }),
            Property::eventually("P8 all mail to reachable members is read", |_, s: &State| {
                let settled = s.queued.len() == TARGETS.len() || s.standing == Standing::Failed;
                let read = |m: &u8| {
                    let target = TARGETS.get(usize::from(*m)).copied().unwrap_or(0);
                    !s.reachable(target) || s.delivered & s.claimed & bit((*m).into()) != 0
                };
                settled && s.memory.is_some() && s.queued.iter().all(read)
            }),
        ]
    }
}
