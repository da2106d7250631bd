//! The task board: compare-and-set, who may change what, a graph without cycles, warnings that never
//! lock.

use super::mailbox::name;
use longboat_core::id::{Revision, TaskId};
use longboat_core::limits::{self, Limits};
use longboat_core::team::{
    BoardContradiction, Decided, Task, TaskAction, TaskBoard, TaskCommand, TaskFilter, TaskRefused,
    TaskState, TaskWarning, decide_task,
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
fn p15_scopes_meet_where_one_leads_into_the_other() {
    let meets = |one: &str, other: &str| {
        let mut board = TaskBoard::default();
        act(&mut board, "lead", create(&[], &[other]));
        act(&mut board, "a", update(1, 1, TaskAction::Claim));
        !decide(&board, "b", create(&[], &[one])).unwrap().warnings.is_empty()
    };
    for (one, other) in [
        ("src", "src/a.rs"),
        ("src/a.rs", "./src//a.rs"),
        ("src/*.rs", "src/b/c.rs"),
        ("**", "docs/x.md"),
        (".", "docs/x.md"),
        ("docs/../src/a.rs", "src"),
    ] {
        assert!(meets(one, other) && meets(other, one), "{one} and {other}");
    }
    for (one, other) in [("src/a", "src/ab"), ("src/a/*", "src/b/*"), ("../src", "src")] {
        assert!(!meets(one, other) && !meets(other, one), "{one} and {other}");
    }
}

#[test]
fn p15_who_loses_a_task_to_the_lead_is_named() {
    let board = board();
    for action in [TaskAction::Release, TaskAction::Delete, reassign("b")] {
        let taken = decide(&board, "lead", update(3, 2, action)).unwrap();
        assert_eq!(taken.warnings, [TaskWarning::TakenFrom { owner: name("a") }]);
    }
    for action in [TaskAction::Complete, reassign("a")] {
        let kept = decide(&board, "lead", update(3, 2, action)).unwrap();
        assert_eq!(kept.warnings, []);
    }
    assert_eq!(decide(&board, "a", update(3, 2, TaskAction::Release)).unwrap().warnings, []);
}

#[test]
fn p15_reopening_names_who_works_on_what_rests_on_it() {
    let mut board = board();
    act(&mut board, "lead", update(1, 1, TaskAction::Complete));
    act(&mut board, "b", update(2, 1, TaskAction::Claim));
    let again = decide(&board, "lead", update(1, 2, TaskAction::Reopen)).unwrap();
    assert_eq!(again.task.state, TaskState::Open);
    let rests = TaskWarning::DependentInProgress { dependent: t(2), owner: name("b") };
    assert_eq!(again.warnings.first(), Some(&rests));
}

#[test]
fn p11_the_board_and_its_texts_are_bounded() {
    let mut board = TaskBoard::default();
    (0..256).for_each(|_| drop(act(&mut board, "lead", create(&[], &[]))));
    let full = decide(&board, "lead", create(&[], &[])).unwrap_err();
    assert_eq!(full, TaskRefused::BoardFull { current: 256, limit: 256 });
    let subject = |text: &str| {
        let subject = Some(text.to_owned());
        let edit = TaskAction::Edit { subject, description: None, write_scopes: None };
        decide(&board, "lead", update(1, 1, edit)).map(|decided| decided.task.subject)
    };
    let length = |bytes| TaskRefused::TextLength { field: "subject", bytes, least: 1, limit: 256 };
    assert_eq!(subject(&"x".repeat(256)), Ok("x".repeat(256)));
    assert_eq!(subject(&"x".repeat(257)), Err(length(257)));
    assert_eq!(subject("   "), Err(length(0)));
    for text in ["one\nt2 completed", "\u{1b}[2J"] {
        assert_eq!(subject(text), Err(TaskRefused::NotOneLine { field: "subject" }));
    }
}

/// Every task is blocked by as many before it as may be: there are more ways through the graph than
/// could ever be followed.
#[test]
fn p11_no_number_of_blockers_keeps_the_board_busy() {
    let mut board = TaskBoard::default();
    for n in 1..256 {
        let before: Vec<u64> = (n.max(33) - 32..n).collect();
        act(&mut board, "lead", create(&before, &[]));
    }
    let all: Vec<u64> = (1..256).collect();
    let many = TaskRefused::TooMany { field: "blocked_by", count: 255, limit: 32 };
    assert_eq!(decide(&board, "lead", create(&all, &[])), Err(many));
    let same = decide(&board, "lead", create(&[255; 100_000], &[])).unwrap();
    assert_eq!(same.task.blocked_by, [t(255)]);
    let last = TaskAction::SetDependencies { blocked_by: vec![t(255)] };
    assert_eq!(refused(&board, "lead", update(1, 1, last)), "dependency_cycle");
}

#[test]
fn p11_a_change_comes_with_so_many_warnings_and_the_number_of_the_rest() {
    let scopes: Vec<String> = (0..limits::TASK_LINKS).map(|n| format!("**/{n}")).collect();
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let mut board = TaskBoard::default();
    for n in 1..=20 {
        act(&mut board, "lead", create(&[], &scopes));
        act(&mut board, "lead", update(n, 1, reassign("a")));
    }
    let warnings = decide(&board, "b", create(&[], &scopes)).unwrap().warnings;
    assert_eq!(warnings.len(), limits::TASK_WARNINGS + 1);
    assert_eq!(warnings.last(), Some(&TaskWarning::More { count: 4 }));
}

/// What a model reads when it is refused: what is wrong, and what to do next.
#[test]
fn p20_every_refusal_says_what_to_do_next() {
    let (task, member) = (t(3), name("a"));
    let refusals = [
        TaskRefused::UnknownTask { task: task.clone() },
        TaskRefused::Deleted { task: task.clone() },
        TaskRefused::StaleRevision {
            task: task.clone(),
            expected: Revision(1),
            current: Revision(2),
        },
        TaskRefused::OwnedByOther { task: task.clone(), owner: member.clone() },
        TaskRefused::NotYours { task: task.clone(), creator: member.clone() },
        TaskRefused::NotLead,
        TaskRefused::WrongState { task: task.clone(), status: "open", hint: "claim it first" },
        TaskRefused::NotReady { task: task.clone(), blockers: vec![t(1), t(2)] },
        TaskRefused::UnknownBlocker { blocker: t(9) },
        TaskRefused::Cycle { cycle: vec![t(1), t(2), t(1)] },
        TaskRefused::HasDependents { task, dependents: vec![t(4)] },
        TaskRefused::UnknownMember { member },
        TaskRefused::BoardFull { current: 256, limit: 256 },
        TaskRefused::TextLength { field: "subject", bytes: 300, least: 1, limit: 256 },
        TaskRefused::NotOneLine { field: "subject" },
        TaskRefused::TooMany { field: "blocked_by", count: 40, limit: 32 },
    ];
    let told: Vec<String> = refusals.iter().map(|r| format!("{}: {r}", r.code())).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
unknown_task: there is no task t3; team_task_list shows what there is
task_deleted: t3 was deleted; create a new task instead
stale_revision: t3 is at revision 2 now, not 1; look at it again and decide anew
owned_by_other: a has t3; only a or lead can change it: send them a message if it must change
not_yours: nobody has t3: claim it first, or ask a, who created it, or lead
not_lead: only lead assigns tasks to others; claim a ready one for yourself
wrong_state: t3 is open and cannot be changed like that; claim it first
not_ready: t3 is not ready: it is blocked by t1, t2, which must be completed first; team_task_list with ready true shows what can be done now
unknown_blocker: t9 cannot block a task: there is no such live task; team_task_list shows those there are
dependency_cycle: that would be a cycle, each blocked by the next: t1 → t2 → t1; leave one of them out
has_dependents: t3 cannot be deleted while others rest on it: t4; delete those first, or change their dependencies
unknown_member: a is not a member who can have tasks; list_agents shows the members
board_full: the board has 256 live tasks and the limit (live_tasks) is 256; delete some that are done, or ask lead to
text_length: subject has 300 bytes and the limit is 256; send it again with 1 to 256
not_one_line: subject must be one line without control characters; send it again as such
too_many: blocked_by names 40 and the limit is 32; name fewer, or split the task
"#);
}

#[test]
fn the_fold_refuses_what_no_decision_makes() {
    let (a_claimed, lead) = (board(), name("lead"));
    let change = |id: u64, revision: u64, change: &dyn Fn(&mut Task)| {
        let mut task = Task::clone(a_claimed.get(&t(id.min(3))).unwrap());
        (task.id, task.revision) = (t(id), Revision(revision));
        change(&mut task);
        a_claimed.clone().apply(Arc::new(task))
    };
    let open = |task: &mut Task| task.state = TaskState::Open;
    let on = |n: u64| move |task: &mut Task| task.blocked_by = vec![t(n)];
    let delete = |task: &mut Task| task.state = TaskState::Deleted;
    use BoardContradiction as No;
    assert_eq!(change(4, 1, &open), Ok(()));
    assert_eq!(change(5, 1, &open), Err(No::NotNext { task: t(5), expected: t(4) }));
    assert_eq!(change(4, 1, &|_| ()), Err(No::NewNotOpen { task: t(4) }));
    let skipped = |task, from, to| {
        let (from, to) = (Revision(from), Revision(to));
        Err(No::RevisionSkipped { task: t(task), from, to })
    };
    assert_eq!(change(4, 2, &open), skipped(4, 0, 2));
    assert_eq!(change(3, 2, &open), skipped(3, 2, 2));
    assert_eq!(change(3, 4, &open), skipped(3, 2, 4));
    let creator = Err(No::CreatorChanged { task: t(3), from: name("b"), to: lead.clone() });
    assert_eq!(change(3, 3, &|task| task.created_by = lead.clone()), creator);
    let unknown = Err(No::UnknownBlocker { task: t(3), blocker: t(7) });
    assert_eq!(change(3, 3, &on(7)), unknown);
    assert_eq!(change(1, 2, &on(2)), Err(No::Cycle { task: t(1) }));
    assert_eq!(change(1, 2, &on(1)), Err(No::Cycle { task: t(1) }));
    let left = Err(No::DependentLeft { task: t(1), dependent: t(2) });
    assert_eq!(change(1, 2, &delete), left);
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

/// What a random member does: make a task, or change one it saw now or a change too early.
#[derive(Debug, Clone)]
enum Doing {
    Create(Vec<u64>),
    Change { task: u64, early: bool, action: TaskAction },
}

fn doings() -> impl Strategy<Value = (&'static str, Doing)> {
    let links = prop::collection::vec(1_u64..8, 0..3);
    let action = prop_oneof![
        3 => Just(TaskAction::Claim),
        1 => Just(TaskAction::Release),
        2 => Just(TaskAction::Complete),
        1 => Just(TaskAction::Reopen),
        1 => Just(TaskAction::Delete),
        2 => prop::sample::select(vec!["lead", "a", "b", "x"]).prop_map(reassign),
        1 => prop::option::of("[a-z\n]{0,3}").prop_map(|subject| TaskAction::Edit {
            subject,
            description: None,
            write_scopes: Some(vec!["x/*".to_owned()]),
        }),
        3 => links.clone().prop_map(|ids| TaskAction::SetDependencies {
            blocked_by: ids.into_iter().map(t).collect()
        }),
    ];
    let doing = prop_oneof![
        1 => links.prop_map(Doing::Create),
        4 => (1_u64..8, prop::bool::weighted(0.1), action)
            .prop_map(|(task, early, action)| Doing::Change { task, early, action }),
    ];
    (prop::sample::select(vec!["lead", "a", "b"]), doing)
}

/// Who may make this of a task, whatever the command was called.
fn allowed(by: &str, was: Option<&Task>, now: &Task) -> bool {
    let Some(was) = was else { return now.created_by == name(by) };
    let had = was.state.owner().map(|owner| owner.as_str());
    let claims =
        was.state == TaskState::Open && now.state == (TaskState::InProgress { owner: name(by) });
    by == "lead" || had == Some(by) || (had.is_none() && was.created_by == name(by)) || claims
}

fn acyclic(board: &TaskBoard) -> bool {
    let mut done: Vec<TaskId> = Vec::new();
    let next = |done: &[TaskId]| {
        let ready = |task: &&Arc<Task>| {
            !done.contains(&task.id) && task.blocked_by.iter().all(|on| done.contains(on))
        };
        board.live().find(ready).map(|task| task.id.clone())
    };
    while let Some(id) = next(&done) {
        done.push(id);
    }
    done.len() == board.live_len()
}

proptest! {
    #[test]
    fn p15_no_commands_break_the_board(doings in prop::collection::vec(doings(), 0..120)) {
        let mut board = TaskBoard::default();
        let mut log = Vec::new();
        for (by, doing) in doings {
            let command = match doing {
                Doing::Create(links) => create(&links, &["x"]),
                Doing::Change { task, early, action } => {
                    let now = board.get(&t(task)).map_or(1, |task| task.revision.0);
                    update(task, now - u64::from(early), action)
                }
            };
            let before = board.clone();
            let decided = decide(&board, by, command.clone());
            prop_assert_eq!(&before, &board, "a decision changes nothing");
            let Ok(Decided { task, .. }) = decided else { continue };
            if let TaskCommand::Update { expected_revision, .. } = command {
                prop_assert_eq!(task.revision, expected_revision.next());
            }
            let was = before.get(&task.id).map(Arc::as_ref);
            prop_assert!(allowed(by, was, &task), "{by} makes {was:?} {task:?}");
            log.push(serde_json::to_string(&task).unwrap());
            prop_assert_eq!(board.apply(Arc::new(task)), Ok(()));
            prop_assert!(acyclic(&board));
        }
        let mut replayed = TaskBoard::default();
        for line in log {
            replayed.apply(Arc::new(serde_json::from_str(&line).unwrap())).unwrap();
        }
        prop_assert_eq!(&board, &replayed);
        for (task, n) in board.iter().zip(1..) {
            prop_assert_eq!(&task.id, &t(n));
        }
        for task in board.live() {
            prop_assert!(task.blocked_by.iter().all(|blocker| board.is_live(blocker)));
            if let TaskState::InProgress { owner } = &task.state {
                prop_assert!(["lead", "a", "b"].contains(&owner.as_str()));
            }
        }
    }

    #[test]
    fn pages_together_are_the_list(most in 0_usize..5, tasks in 0_usize..12) {
        let mut board = TaskBoard::default();
        (0..tasks).for_each(|_| drop(act(&mut board, "lead", create(&[], &[]))));
        let mut filter = TaskFilter { status: None, owner: None, ready: None, after: None, limit: most };
        let mut listed = Vec::new();
        loop {
            let (page, next) = board.page(&filter);
            prop_assert!(page.len() <= most.max(1));
            listed.extend(page);
            let Some(next) = next else { break };
            filter.after = Some(next);
        }
        prop_assert_eq!(listed, board.live().cloned().collect::<Vec<_>>());
    }
}
