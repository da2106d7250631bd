//! The task board: compare-and-set, who may change what, a graph without cycles, warnings that never
//! lock.

use super::mailbox::name;
use longboat_core::id::{Revision, TaskId};
use longboat_core::limits::Limits;
use longboat_core::team::{
    Decided, TaskAction, TaskBoard, TaskCommand, TaskFilter, TaskRefused, TaskState, TaskWarning,
    decide_task,
};
use proptest::prelude::*;
use std::sync::Arc;

fn t(n: u64) -> TaskId {
    TaskId::nth(n)
}

fn create(blocked_by: &[u64], scopes: &[&str]) -> TaskCommand {
    TaskCommand::Create {
        subject: "s".to_owned(),
        description: "d".to_owned(),
        blocked_by: blocked_by.iter().map(|n| t(*n)).collect(),
        write_scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
    }
}

fn update(task: u64, revision: u64, action: TaskAction) -> TaskCommand {
    TaskCommand::Update { task: t(task), expected_revision: Revision(revision), action }
}

fn decide(board: &TaskBoard, by: &str, command: TaskCommand) -> Result<Decided, TaskRefused> {
    let members = ["a", "b"].map(name);
    decide_task(board, &name(by), &|who| members.contains(who), &Limits::default(), command)
}

fn act(board: &mut TaskBoard, by: &str, command: TaskCommand) -> Decided {
    let decided = decide(board, by, command).unwrap();
    board.apply(Arc::new(decided.task.clone())).unwrap();
    decided
}

fn refused(board: &TaskBoard, by: &str, command: TaskCommand) -> &'static str {
    decide(board, by, command).unwrap_err().code()
}

/// t1 open, t2 blocked by t1, t3 had by a.
fn board() -> TaskBoard {
    let mut board = TaskBoard::default();
    act(&mut board, "lead", create(&[], &["src/a"]));
    act(&mut board, "lead", create(&[1], &[]));
    act(&mut board, "b", create(&[], &["src/**"]));
    act(&mut board, "a", update(3, 1, TaskAction::Claim));
    board
}

fn reassign(owner: &str) -> TaskAction {
    TaskAction::Reassign { owner: name(owner) }
}

#[test]
fn p15_a_stale_revision_is_refused_with_the_current_one() {
    let refused = decide(&board(), "a", update(3, 1, TaskAction::Complete)).unwrap_err();
    let (expected, current) = (Revision(1), Revision(2));
    assert_eq!(refused, TaskRefused::StaleRevision { task: t(3), expected, current });
    assert!(refused.to_string().contains("at revision 2 now, not 1"));
}

#[test]
fn p15_anyone_claims_a_ready_task_and_nobody_one_that_is_not() {
    let board = board();
    assert!(decide(&board, "b", update(1, 1, TaskAction::Claim)).is_ok());
    let blocked = decide(&board, "b", update(2, 1, TaskAction::Claim)).unwrap_err();
    assert_eq!(blocked, TaskRefused::NotReady { task: t(2), blockers: vec![t(1)] });
    assert_eq!(refused(&board, "b", update(3, 2, TaskAction::Claim)), "owned_by_other");
    assert_eq!(refused(&board, "a", update(3, 2, TaskAction::Claim)), "wrong_state");
}

#[test]
fn p15_owner_or_lead_changes_a_task_others_do_not() {
    let board = board();
    for action in [TaskAction::Complete, TaskAction::Release, TaskAction::Delete] {
        assert!(decide(&board, "a", update(3, 2, action.clone())).is_ok());
        assert!(decide(&board, "lead", update(3, 2, action.clone())).is_ok());
        assert_eq!(refused(&board, "b", update(3, 2, action)), "owned_by_other");
    }
    assert_eq!(refused(&board, "a", update(1, 1, TaskAction::Delete)), "not_yours");
}

#[test]
fn p15_only_the_lead_assigns_and_only_to_members() {
    let board = board();
    assert_eq!(refused(&board, "a", update(1, 1, reassign("b"))), "not_lead");
    assert_eq!(refused(&board, "lead", update(1, 1, reassign("stranger"))), "unknown_member");
    assert_eq!(refused(&board, "lead", update(2, 1, reassign("b"))), "not_ready");
    let given = decide(&board, "lead", update(1, 1, reassign("b"))).unwrap();
    assert_eq!(given.task.state, TaskState::InProgress { owner: name("b") });
}

#[test]
fn p15_dependencies_are_of_existing_tasks_and_without_cycles() {
    let mut board = board();
    let depend = |on: &[u64]| {
        let blocked_by = on.iter().map(|n| t(*n)).collect();
        TaskAction::SetDependencies { blocked_by }
    };
    let cycle = decide(&board, "lead", update(1, 1, depend(&[2]))).unwrap_err();
    assert_eq!(cycle, TaskRefused::Cycle { cycle: vec![t(1), t(2), t(1)] });
    assert_eq!(refused(&board, "lead", update(1, 1, depend(&[1]))), "dependency_cycle");
    assert_eq!(refused(&board, "lead", update(1, 1, depend(&[9]))), "unknown_blocker");
    assert_eq!(refused(&board, "lead", update(1, 1, TaskAction::Delete)), "has_dependents");
    act(&mut board, "lead", update(2, 1, depend(&[])));
    act(&mut board, "lead", update(1, 1, TaskAction::Delete));
    assert_eq!(refused(&board, "lead", update(2, 2, depend(&[1]))), "unknown_blocker");
}

#[test]
fn p15_a_deleted_task_is_a_tombstone() {
    let mut board = board();
    act(&mut board, "a", update(3, 2, TaskAction::Delete));
    assert_eq!(refused(&board, "lead", update(3, 3, TaskAction::Reopen)), "task_deleted");
    assert_eq!(board.next_id(), t(4));
    assert_eq!(board.live_len(), 2);
    let again = Arc::clone(board.get(&t(3)).unwrap());
    assert!(board.apply(again).is_err());
}

#[test]
fn p15_ownership_is_never_released_silently() {
    let mut board = board();
    let done = act(&mut board, "a", update(3, 2, TaskAction::Complete));
    assert_eq!(done.task.state, TaskState::Completed { owner: Some(name("a")) });
    let again = act(&mut board, "lead", update(3, 3, TaskAction::Reopen));
    assert_eq!(again.task.state, TaskState::InProgress { owner: name("a") });
}

#[test]
fn p15_write_scopes_warn_and_never_lock() {
    let board = board();
    let claimed = decide(&board, "b", update(1, 1, TaskAction::Claim)).unwrap();
    let warning = TaskWarning::ScopesOverlap {
        scope: "src/a".to_owned(),
        other: t(3),
        other_scope: "src/**".to_owned(),
        owner: name("a"),
    };
    assert_eq!(claimed.warnings, [warning]);
}

#[test]
fn p11_the_board_and_its_texts_are_bounded() {
    let mut board = TaskBoard::default();
    (0..256).for_each(|_| drop(act(&mut board, "lead", create(&[], &[]))));
    let full = decide(&board, "lead", create(&[], &[])).unwrap_err();
    assert_eq!(full, TaskRefused::BoardFull { current: 256, limit: 256 });
    let long =
        TaskAction::Edit { subject: Some("x".repeat(257)), description: None, write_scopes: None };
    assert_eq!(refused(&board, "lead", update(1, 1, long)), "text_length");
}

#[test]
fn a_list_is_filtered_and_comes_in_pages() {
    let board = board();
    let all = TaskFilter { status: None, owner: None, ready: None, after: None, limit: 2 };
    let ids = |filter: &TaskFilter| {
        let (page, next) = board.page(filter);
        (page.iter().map(|task| task.id.number()).collect::<Vec<_>>(), next)
    };
    assert_eq!(ids(&all), (vec![1, 2], Some(t(2))));
    assert_eq!(ids(&TaskFilter { after: Some(t(2)), ..all.clone() }), (vec![3], None));
    assert_eq!(ids(&TaskFilter { ready: Some(true), ..all.clone() }), (vec![1], None));
    assert_eq!(ids(&TaskFilter { owner: Some(name("a")), ..all }), (vec![3], None));
}

fn commands() -> impl Strategy<Value = (usize, TaskCommand)> {
    let links = prop::collection::vec(1_u64..6, 0..3);
    let action = prop_oneof![
        Just(TaskAction::Claim),
        Just(TaskAction::Release),
        Just(TaskAction::Complete),
        Just(TaskAction::Reopen),
        Just(TaskAction::Delete),
        prop::sample::select(vec!["lead", "a", "b", "x"]).prop_map(reassign),
        links.clone().prop_map(|ids| TaskAction::SetDependencies {
            blocked_by: ids.into_iter().map(t).collect()
        }),
    ];
    let command = prop_oneof![
        1 => links.prop_map(|ids| create(&ids, &["x"])),
        3 => (1_u64..6, 1_u64..8, action).prop_map(|(id, revision, action)| update(id, revision, action)),
    ];
    (0_usize..3, command)
}

proptest! {
    #[test]
    fn p15_no_commands_break_the_board(commands in prop::collection::vec(commands(), 0..80)) {
        let (mut board, mut replayed) = (TaskBoard::default(), TaskBoard::default());
        for (by, command) in commands {
            let by = ["lead", "a", "b"][by];
            let Ok(decided) = decide(&board, by, command) else { continue };
            let task = Arc::new(decided.task);
            prop_assert_eq!(board.apply(Arc::clone(&task)), Ok(()));
            replayed.apply(task).unwrap();
        }
        prop_assert_eq!(&board, &replayed);
        for task in board.live() {
            for blocker in &task.blocked_by {
                prop_assert!(board.get(blocker).is_some_and(|b| b.state != TaskState::Deleted));
            }
            if let TaskState::InProgress { owner } = &task.state {
                prop_assert!(["lead", "a", "b"].contains(&owner.as_str()));
            }
        }
        // No cycle: every live task can be completed in some order.
        let mut done: Vec<TaskId> = Vec::new();
        loop {
            let ready = board.live().find(|task| {
                !done.contains(&task.id) && task.blocked_by.iter().all(|b| done.contains(b))
            });
            match ready {
                Some(task) => done.push(task.id.clone()),
                None => break,
            }
        }
        prop_assert_eq!(done.len(), board.live_len());
    }
}
