//! The protocol holds in every interleaving with two crashes, and every seeded mistake is caught.

use longboat_protocol::{Mailbox, Mistake, Path};
use stateright::{Checker, HasDiscoveries, Model};

fn found(path: Path, mistake: Option<Mistake>) -> (Vec<&'static str>, usize) {
    let mailbox = Mailbox { path, mistake, crashes: 2 };
    // A bound, so that a mistake that makes states without end fails instead of filling memory.
    let checker = mailbox
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .target_state_count(5_000_000)
        .spawn_bfs()
        .join();
    let mut broken: Vec<&'static str> = checker.discoveries().into_keys().collect();
    broken.sort_unstable();
    (broken, checker.unique_state_count())
}

fn caught(path: Path, mistake: Mistake, promise: &str) {
    let (broken, _) = found(path, Some(mistake));
    assert!(broken.iter().any(|name| name.starts_with(promise)), "{mistake:?}: {broken:?}");
}

#[test]
fn p2_p5_p6_p7_p8_p12_hold_in_every_interleaving_with_one_store() {
    let (broken, states) = found(Path::OneStore, None);
    assert_eq!(broken, Vec::<&str>::new());
    assert!(states > 10_000, "only {states} states were seen");
}

#[test]
fn p2_p5_p6_p7_p8_p12_hold_in_every_interleaving_with_two_stores() {
    let (broken, states) = found(Path::TwoStores, None);
    assert_eq!(broken, Vec::<&str>::new());
    assert!(states > 10_000, "only {states} states were seen");
}

#[test]
fn p5_an_acknowledgement_before_the_insertion_is_caught() {
    caught(Path::TwoStores, Mistake::AcknowledgeBeforeInsert, "P5");
}

#[test]
fn p6_a_retry_without_the_key_is_caught() {
    caught(Path::TwoStores, Mistake::RetryWithoutKey, "P6");
}

#[test]
fn p7_a_recovery_out_of_order_is_caught() {
    caught(Path::TwoStores, Mistake::RecoveryOutOfOrder, "P7");
}

#[test]
fn p4_an_idle_check_before_the_wake_is_armed_is_caught() {
    caught(Path::OneStore, Mistake::IdleCheckBeforeWakeIsArmed, "P8");
}

#[test]
fn p7_a_message_that_passes_an_older_one_is_caught() {
    caught(Path::OneStore, Mistake::NoHoldBackAfterFailedOlder, "P7");
}

#[test]
fn p2_a_delivery_before_the_queueing_is_caught() {
    caught(Path::OneStore, Mistake::DeliverBeforeQueueIsDurable, "P2");
}

#[test]
fn p12_a_member_without_its_first_prompt_is_caught() {
    caught(Path::TwoStores, Mistake::ActiveBeforeFirstPrompt, "P12");
}

#[test]
fn p8_a_recovery_that_forgets_what_is_owed_is_caught() {
    caught(Path::TwoStores, Mistake::NoRecovery, "P8");
}
