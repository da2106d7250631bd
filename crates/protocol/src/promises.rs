//! What must hold in every situation, or in every one in which nothing can happen any more. The checker
//! asks; nothing here changes a state.
//!
//! "Every queued message is read at last" is checked where a run has ended. That says as much as
//! *eventually*, because every run ends: letters, crashes and failures are limited, and nothing else
//! repeats without one of them.

use crate::machine::Machine;
use crate::state::{Item, Letter, Member, Standing, State};
use stateright::{Model, Property};

/// A message whose sender was told that it is queued, or whose target has it, is in the Lead's log.
pub const P2: &str = "P2 durable before dispatch";
/// An inbox in memory that is not empty belongs to an open turn.
pub const P4: &str = "P4 no lost wake";
/// What is acknowledged is in its target's log.
pub const P5: &str = "P5 acknowledged late";
/// A message is in its target's log at most once.
pub const P6: &str = "P6 exactly once in effect";
/// A target's log has what is queued for it in queued order, without a gap.
pub const P7: &str = "P7 ordered per target";
/// At the end of every run all mail to members that can be reached is acknowledged and read.
pub const P8: &str = "P8 recovered: at last everything is read";
/// A member that is active has its first prompt.
pub const P12: &str = "P12 provisioning is a transaction";

/// All of them, and what shows that the checker got far enough for them to mean something.
pub(crate) fn all() -> Vec<Property<Machine>> {
    vec![
        Property::always(P2, |machine, state| machine.letters.iter().all(|l| durable(state, *l))),
        Property::always(P4, |_, state| Member::ALL.into_iter().all(|m| wake_kept(state, m))),
        Property::always(P5, |machine: &Machine, state: &State| {
            let mut letters = machine.letters.iter();
            letters.all(|l| !state.team.delivered.has(*l) || state.logs.of(l.to).has(*l))
        }),
        Property::always(P6, |machine: &Machine, state: &State| {
            machine
                .letters
                .iter()
                .all(|l| state.logs.of(l.to).mail().filter(|i| i == l).count() < 2)
        }),
        Property::always(P7, |_, state| Member::ALL.into_iter().all(|m| in_order(state, m))),
        Property::always(P8, |machine, state| {
            !ended(machine, state) || machine.letters.iter().all(|letter| settled(state, *letter))
        }),
        Property::always(P12, |_, state: &State| {
            state.team.bob != Standing::Active
                || state.logs.bob.inserted.first() == Some(&Item::FirstPrompt)
        }),
        Property::sometimes("all is read after every crash and failure", |machine, state| {
            let all_read = machine.letters.iter().all(|letter| read(state, *letter));
            ended(machine, state) && all_read && state.crashes == 0 && state.faults == 0
        }),
        Property::sometimes(
            "a member that could not be made keeps its mail owed",
            |_, state: &State| {
                let mut queued = state.team.queued.iter();
                state.team.bob == Standing::Failed && queued.any(|letter| letter.to == Member::Bob)
            },
        ),
    ]
}

fn durable(state: &State, letter: Letter) -> bool {
    let relied_on = state.told.has(letter) || state.logs.of(letter.to).has(letter);
    !relied_on || state.team.queued.contains(&letter)
}

fn wake_kept(state: &State, member: Member) -> bool {
    let log = state.logs.of(member);
    let resident = state.memory.as_ref().is_some_and(|memory| memory.seats.of(member).resident());
    !resident || !log.has_unread() || log.turn_open
}

fn in_order(state: &State, member: Member) -> bool {
    let mut seen: Vec<Letter> = Vec::new();
    for letter in state.logs.of(member).mail() {
        if !seen.contains(&letter) {
            seen.push(letter);
        }
    }
    let queued = state.team.queued.iter().filter(|letter| letter.to == member);
    seen.iter().zip(queued).all(|(seen, queued)| seen == queued)
}

fn ended(machine: &Machine, state: &State) -> bool {
    let mut actions = Vec::new();
    machine.actions(state, &mut actions);
    actions.is_empty()
}

fn settled(state: &State, letter: Letter) -> bool {
    let queued = state.team.queued.contains(&letter);
    !queued || !state.reachable(letter.to) || read(state, letter)
}

fn read(state: &State, letter: Letter) -> bool {
    let log = state.logs.of(letter.to);
    let place = log.inserted.iter().position(|item| *item == Item::Mail(letter));
    let claimed = place.is_some_and(|place| place < usize::from(log.claimed));
    claimed && state.team.delivered.has(letter)
}
