//! Roles say where their members work, and a spawn can say otherwise.

use super::team::{apart, bare, bash, done, path, spawn, system, wait, world};
use longboat_core::log::Scope;
use longboat_engine::{Isolation, Role};
use longboat_scripted::{Agent, Step};
use serde_json::json;

fn role(isolation: Option<Isolation>) -> Role {
    Role {
        description: "d".to_owned(),
        prompt: "You build.".to_owned(),
        model: None,
        tools: None,
        isolation,
    }
}

#[tokio::test]
async fn a_role_gives_its_members_worktrees() {
    let world = world(vec![
        Agent::member("lead", vec![spawn("worker", json!({"role": "builder"})), wait(), done()]),
        Agent::member("worker", vec![bash("pwd"), done()]),
    ])
    .await
    .casting("builder", role(Some(Isolation::Worktree)));
    let (_, logs) = world.run("chat").await;
    let here = path(&world, "worker").display().to_string();
    assert!(logs.results("s-1.worker")[0].starts_with(&here));
}

#[tokio::test]
async fn a_spawn_that_says_shared_or_worktree_is_over_its_role() {
    let shared = json!({"role": "builder", "isolation": "shared"});
    let worktree = json!({"role": "sharer", "isolation": "worktree"});
    let world = world(vec![
        Agent::member(
            "lead",
            vec![spawn("a", shared), spawn("b", worktree), wait(), wait(), done()],
        ),
        Agent::member("a", vec![bash("pwd"), done()]),
        Agent::member("b", vec![bash("pwd"), done()]),
    ])
    .await
    .casting("builder", role(Some(Isolation::Worktree)))
    .casting("sharer", role(Some(Isolation::Shared)));
    let (_, logs) = world.run("chat").await;
    let checkout = world.workspace().display().to_string();
    assert!(logs.results("s-1.a")[0].starts_with(&checkout));
    assert!(logs.results("s-1.b")[0].starts_with(&path(&world, "b").display().to_string()));
    assert!(system(&logs, "s-1.a").contains("The members share one checkout"));
}

#[tokio::test]
async fn without_a_word_of_it_everybody_shares_the_checkout() {
    let world = bare(vec![
        Agent::member("lead", vec![spawn("worker", json!({"role": "plain"})), wait(), done()]),
        Agent::member("worker", vec![bash("pwd"), done()]),
    ])
    .await
    .casting("plain", role(None));
    let (_, logs) = world.run("chat").await;
    let checkout = world.workspace().display().to_string();
    assert!(logs.results("s-1.worker")[0].starts_with(&checkout));
}

#[tokio::test]
async fn p10a_outside_a_team_nobody_has_a_worktree_and_nobody_shares_by_mistake() {
    let make = |more: serde_json::Value| {
        let mut step = spawn("worker", more);
        step.calls[0].name = "spawn_agent".to_owned();
        step
    };
    let steps = vec![
        make(json!({"isolation": "worktree"})),
        make(json!({"role": "builder"})),
        make(json!({})),
        wait(),
        done(),
        done(),
    ];
    let world = world(vec![
        Agent::when("root", "You are an agent that works on the user's task", steps),
        Agent::member("worker", vec![bash("pwd"), done()]),
    ])
    .await
    .scoped(Scope::Subagents)
    .casting("builder", role(Some(Isolation::Worktree)));
    let (_, logs) = world.run("chat").await;
    let results = logs.results("s-1");
    assert!(results[0].contains("unknown field `isolation`"), "{results:?}");
    assert!(results[1].contains("only a team's teammates can"), "{results:?}");
    assert!(results[2].contains("\"status\":\"running\""), "{results:?}");
    let checkout = world.workspace().display().to_string();
    assert!(logs.results("s-1.worker")[0].starts_with(&checkout));
}

#[tokio::test]
async fn a_word_that_means_no_place_is_refused() {
    let wrong: Step = spawn("worker", json!({"isolation": "container"}));
    let world = world(vec![Agent::member("lead", vec![wrong, apart("worker"), wait(), done()])]);
    let (_, logs) = world.await.run("chat").await;
    let results = logs.results("s-1");
    assert!(results[0].contains("invalid arguments for spawn_teammate"), "{results:?}");
}
