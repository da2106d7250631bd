//! Every interleaving of the mailbox protocol: the rules keep the promises, and rules with one mistake
//! do not. A run of two crashes and a failure has some twenty to thirty steps; the checker looks at
//! each situation that any run comes to.

use longboat_protocol::{
    Action, Letter, Limits, Machine, Member, Mistake, P2, P4, P5, P6, P7, P8, P12, Path, State,
};
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::{BTreeSet, HashMap};

const ONE: Path = Path::OneCommit;
const TWO: Path = Path::TwoCommits;

/// Two senders to Alice, of whom one is spawned in the course of the run, and mail to that one.
fn machine(to_alice: Path, to_bob: Path) -> Machine {
    let letters =
        [(Member::Lead, Member::Alice), (Member::Bob, Member::Alice), (Member::Alice, Member::Bob)];
    let letters = (0..).zip(letters).map(|(id, (from, to))| Letter { id, from, to }).collect();
    let limits = Limits { crashes: 2, faults: 1 };
    Machine { letters, to_alice, to_bob, limits, mistake: None }
}

/// Looks at everything: no promise is broken, and there was at least so much to look at.
#[track_caller]
fn assert_kept(machine: Machine, at_least: usize) {
    let checker = machine.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    let situations = checker.unique_state_count();
    assert!(situations >= at_least, "only {situations} situations were looked at");
}

/// Finds a run that breaks the promise, and returns what happens in it.
#[track_caller]
fn assert_caught(mistake: Mistake, paths: Path, promise: &'static str) -> Vec<Action> {
    let broken = Machine { mistake: Some(mistake), ..machine(paths, paths) };
    let found = HasDiscoveries::AllOf(BTreeSet::from([promise]));
    // One thread, so that the run found is the same every time.
    let checker = broken.checker().finish_when(found).spawn_bfs().join();
    let run = checker.discovery(promise);
    let run = run.unwrap_or_else(|| panic!("{mistake:?} was not seen to break: {promise}"));
    run.into_actions()
}

#[test]
fn every_promise_holds_in_every_order_of_events_when_a_delivery_is_one_commit() {
    let mut machine = machine(ONE, ONE);
    machine.letters.push(Letter { id: 3, from: Member::Alice, to: Member::Lead });
    assert_kept(machine, 800_000);
}

#[test]
fn every_promise_holds_in_every_order_of_events_when_targets_are_in_another_store() {
    assert_kept(machine(TWO, TWO), 700_000);
}

#[test]
fn every_promise_holds_in_every_order_of_events_when_one_target_is_here_and_one_elsewhere() {
    assert_kept(machine(ONE, TWO), 200_000);
    assert_kept(machine(TWO, ONE), 270_000);
}

#[test]
fn p2_answering_and_delivering_before_the_queue_is_durable_is_caught() {
    for paths in [ONE, TWO] {
        assert_caught(Mistake::DeliverBeforeQueueIsDurable, paths, P2);
    }
}

#[test]
fn p4_looking_into_the_inbox_before_going_idle_instead_of_while_is_caught() {
    for paths in [ONE, TWO] {
        assert_caught(Mistake::IdleCheckBeforeWakeIsArmed, paths, P4);
        assert_caught(Mistake::IdleCheckBeforeWakeIsArmed, paths, P8);
    }
}

#[test]
fn p5_acknowledging_before_the_insert_is_caught() {
    assert_caught(Mistake::AcknowledgeBeforeInsert, TWO, P5);
    // And it loses mail: the process dies in between.
    let run = assert_caught(Mistake::AcknowledgeBeforeInsert, TWO, P8);
    assert!(run.contains(&Action::Crash), "{run:?}");
}

#[test]
fn p6_trying_an_insertion_again_without_its_key_is_caught() {
    assert_caught(Mistake::RetryWithoutKey, TWO, P6);
}

#[test]
fn p7_recovering_what_is_owed_in_another_order_is_caught() {
    for paths in [ONE, TWO] {
        let run = assert_caught(Mistake::RecoveryOutOfOrder, paths, P7);
        assert!(run.contains(&Action::Recover), "{run:?}");
    }
}

#[test]
fn p7_going_on_with_the_younger_after_the_older_failed_is_caught() {
    assert_caught(Mistake::NoHoldBackAfterFailedOlder, TWO, P7);
}

#[test]
fn p8_recovering_without_those_who_are_owed_something_is_caught() {
    for paths in [ONE, TWO] {
        assert_caught(Mistake::RecoveryForgetsTheOwed, paths, P8);
    }
}

#[test]
fn p8_letting_a_member_go_while_mail_is_on_its_way_to_it_is_caught() {
    assert_caught(Mistake::ReleaseWhileMailIsOwed, TWO, P8);
}

#[test]
fn p12_saying_active_before_the_first_prompt_is_written_is_caught() {
    for paths in [ONE, TWO] {
        assert_caught(Mistake::ActiveBeforeFirstPrompt, paths, P12);
    }
}

/// "At last everything is read" is checked where runs end. A run that went in a circle would escape
/// it.
#[test]
fn p8_every_run_ends() {
    // A circle has no crash in it, for of those there are ever fewer; one is enough to come to each.
    let limits = Limits { crashes: 1, faults: 1 };
    let machine = Machine { limits, ..machine(ONE, TWO) };
    assert_eq!(circle(&machine), None);
}

/// A situation that a run can come back to.
fn circle(machine: &Machine) -> Option<State> {
    enum Visit {
        Enter(State),
        Leave(State),
    }
    let mut ahead: Vec<Visit> = machine.init_states().into_iter().map(Visit::Enter).collect();
    let mut left: HashMap<State, bool> = HashMap::new();
    while let Some(visit) = ahead.pop() {
        match visit {
            Visit::Leave(state) => {
                left.insert(state, true);
            }
            Visit::Enter(state) => match left.get(&state) {
                Some(true) => {}
                Some(false) => return Some(state),
                None => {
                    left.insert(state.clone(), false);
                    ahead.push(Visit::Leave(state.clone()));
                    ahead.extend(machine.next_states(&state).into_iter().map(Visit::Enter));
                }
            },
        }
    }
    None
}
