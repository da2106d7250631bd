//! Teammates in worktrees: what they are given and told, and how their work comes back.

use super::repository::{begin, environment, git, held, hold_checkouts};
use longboat_core::log::{Event, MemberChange};
use longboat_engine::Interrupted;
use longboat_scripted::{Agent, Step};
use longboat_testkit::{Logs, World, say};
use longboat_workspace::{GitWorktrees, WorkspaceSettings, WorkspaceTools};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn spawn(name: &str, more: Value) -> Step {
    let mut arguments = json!({"name": name, "description": "works", "prompt": "begin"});
    let all = arguments.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    Step::call("spawn_teammate", arguments)
}

pub(crate) fn apart(name: &str) -> Step {
    spawn(name, json!({"isolation": "worktree"}))
}

pub(crate) fn bash(command: &str) -> Step {
    Step::call("bash", json!({"command": command}))
}

pub(crate) fn wait() -> Step {
    Step::call("wait_agent", json!({}))
}

pub(crate) fn done() -> Step {
    Step::text("done")
}

/// A world whose members have the workspace's tools and can have worktrees; its workspace is empty.
pub(crate) async fn bare(agents: Vec<Agent>) -> World {
    let world = World::of(agents).await;
    let bash_timeout = Duration::from_secs(60);
    let allowed = WorkspaceSettings::allowed(environment().into_iter(), &[]);
    let settings = WorkspaceSettings { bash_timeout, ..allowed };
    let place = world.store_path().with_extension("worktrees");
    world
        .equipped(Arc::new(WorkspaceTools::new(settings)))
        .branching(Arc::new(GitWorktrees::new(environment(), place)))
}

/// The same, with a repository.
pub(crate) async fn world(agents: Vec<Agent>) -> World {
    let world = bare(agents).await;
    begin(&world.workspace());
    world
}

pub(crate) fn path(world: &World, member: &str) -> PathBuf {
    world.store_path().with_extension("worktrees").join("s-1").join(member)
}

/// What a call of a session was answered, as JSON.
fn answer(logs: &Logs, session: &str, call: usize) -> Value {
    serde_json::from_str(&logs.results(session)[call]).unwrap()
}

pub(crate) fn system(logs: &Logs, session: &str) -> String {
    match logs.events(session, "session/configured")[0] {
        Event::SessionConfigured { system, .. } => system.to_string(),
        _ => unreachable!("the kind was asked for"),
    }
}

#[tokio::test]
async fn a_teammate_works_in_its_worktree_and_the_lead_merges() {
    let world = world(vec![
        Agent::member(
            "lead",
            vec![
                apart("worker"),
                wait(),
                wait(),
                Step::call("list_agents", json!({})),
                bash("ls"),
                bash("git merge --quiet longboat/s-1/worker && cat new.txt"),
                done(),
            ],
        ),
        Agent::member(
            "worker",
            vec![
                bash("pwd && git branch --show-current"),
                Step::call("write", json!({"path": "new.txt", "content": "new\n"})),
                Step::call("read", json!({"path": "../../../ws/file.txt"})),
                bash("git add new.txt && git commit --quiet -m new && git status --porcelain"),
                done(),
            ],
        ),
    ])
    .await;
    let base = git(&world.workspace(), &["rev-parse", "HEAD"]);
    let (_, logs) = world.run("chat").await;
    let (here, branch) = (path(&world, "worker").display().to_string(), "longboat/s-1/worker");
    let worktree = json!({
        "path": here,
        "branch": branch,
        "base": base,
        "merge": "git merge longboat/s-1/worker, in the shared checkout",
    });
    let spawned = answer(&logs, "s-1", 0);
    assert_eq!((&spawned["worktree"], &spawned["note"]), (&worktree, &Value::Null));
    assert_eq!(answer(&logs, "s-1", 3)["agents"][1]["worktree"], worktree);
    assert!(!logs.results("s-1")[4].contains("new.txt"), "nothing is merged by itself");
    assert!(logs.results("s-1")[5].starts_with("new\n"), "{:?}", logs.results("s-1"));

    let done = logs.results("s-1.worker");
    assert!(done[0].starts_with(&format!("{here}\n{branch}\n")), "{done:?}");
    assert!(done[2].contains("outside the workspace"), "{done:?}");
    assert!(done[3].starts_with("[exit code 0]"), "{done:?}");
    let system = system(&logs, "s-1.worker");
    insta::assert_snapshot!(
        "the_policy_of_a_teammate_in_a_worktree",
        system
            .replace(&here, "WORKTREE")
            .replace(&base, "COMMIT")
            .replace(&world.workspace().display().to_string(), "WORKSPACE")
    );
    match logs.events("s-1", "team/member")[0] {
        Event::TeamMember { change: MemberChange::Provisioning { isolation, .. }, .. } => {
            let recorded = isolation.as_ref().unwrap();
            assert_eq!((&recorded.path, &recorded.base), (&here, &base));
        }
        other => panic!("{other:?}"),
    }
    assert!(path(&world, "worker").is_dir(), "nothing is removed by itself");
}

#[tokio::test]
async fn two_teammates_are_each_on_their_own_branch_at_once() {
    let two = apart("a").and_call(
        "spawn_teammate",
        json!({"name": "b", "description": "d", "prompt": "p", "isolation": "worktree"}),
    );
    let work = || vec![bash("echo mine > file.txt && git commit --quiet -a -m mine"), done()];
    let lead = vec![two, wait(), wait(), wait(), wait(), done(), done(), done()];
    let world = world(vec![
        Agent::member("lead", lead),
        Agent::member("a", work()),
        Agent::member("b", work()),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    for member in ["a", "b"] {
        let results = logs.results(&format!("s-1.{member}"));
        assert!(results[0].ends_with("[exit code 0]"), "{results:?}");
        let branch = format!("main..longboat/s-1/{member}");
        assert_eq!(git(&world.workspace(), &["rev-list", "--count", &branch]), "1");
    }
    assert_eq!(fs::read_to_string(world.workspace().join("file.txt")).unwrap(), "one\n");
}

#[tokio::test]
async fn the_lead_is_told_of_changes_that_are_not_in_the_worktree() {
    let world = world(vec![
        Agent::member("lead", vec![apart("worker"), wait(), wait(), done()]),
        Agent::member("worker", vec![done()]),
    ])
    .await;
    fs::write(world.workspace().join("file.txt"), "changed\n").unwrap();
    let (_, logs) = world.run("chat").await;
    let note = answer(&logs, "s-1", 0)["note"].to_string();
    assert!(note.contains("1 change that is not committed"), "{note}");
}

#[tokio::test]
async fn a_forked_teammate_has_a_worktree_too() {
    let forked = json!({"isolation": "worktree", "context": "fork"});
    let worker = Agent {
        count_from: "begin".to_owned(),
        ..Agent::member("worker", vec![bash("pwd"), done()])
    };
    let world = world(vec![
        Agent::member(
            "lead",
            vec![Step::text("the plan"), spawn("worker", forked), wait(), wait(), done()],
        ),
        worker,
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "make a plan").await;
    team.quiescent().await.unwrap();
    say(&team, "lead", "p2", "go").await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let (logs, here) = (world.logs().await, path(&world, "worker").display().to_string());
    assert!(logs.results("s-1.worker")[0].starts_with(&here), "{:?}", logs.results("s-1.worker"));
    assert!(world.requests("worker")[0].body.contains("the plan"));
}

#[tokio::test]
async fn a_spawn_that_cannot_have_a_worktree_is_refused_and_its_name_is_free() {
    let world = bare(vec![
        Agent::member("lead", vec![apart("worker"), spawn("worker", json!({})), wait(), done()]),
        Agent::member("worker", vec![bash("pwd"), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let results = logs.results("s-1");
    assert!(results[0].contains("worker was not made, and its name is free"), "{results:?}");
    assert!(results[0].contains("is in no git repository"), "{results:?}");
    assert_eq!(logs.events("s-1", "team/member").len(), 2, "the second spawn alone is on record");
    assert!(results[1].contains("\"status\":\"running\""), "{results:?}");
    let here = world.workspace().display().to_string();
    assert!(logs.results("s-1.worker")[0].starts_with(&here));
}

#[tokio::test]
async fn p14_an_interrupt_while_git_works_leaves_no_member_and_no_worktree() {
    let world = world(vec![Agent::member("lead", vec![apart("worker"), done()])]).await;
    let pipe = world.store_path().with_extension("pipe");
    hold_checkouts(&world.workspace(), &pipe);
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    let holding = held(&pipe).await;
    assert_eq!(team.interrupt("lead").await.unwrap(), Interrupted::Cancelled { pending: 0 });
    // Closing waits for all that runs.
    life.end(&team).await;
    drop(holding);
    let logs = world.logs().await;
    assert_eq!(logs.events("s-1", "team/member").len(), 0);
    assert_eq!(logs.results("s-1"), ["interrupted before it had any effect"]);
    assert_eq!(git(&world.workspace(), &["worktree", "list"]).lines().count(), 1);
    assert!(!path(&world, "worker").exists());
}
