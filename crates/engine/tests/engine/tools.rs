//! The nine tools as a model sees them: names, texts, schemas, results, and the policy it is given.

use super::delivery::{done, look, send, spawn, wait};
use longboat_core::log::Event;
use longboat_scripted::{Agent, Hold, Point, Step};
use longboat_testkit::World;
use serde_json::json;

#[tokio::test]
async fn the_nine_tools_and_the_policy_as_members_are_given_them() {
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), wait(), wait(), done()]),
        Agent::member("worker", vec![done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let given = |session: &str| match logs.events(session, "session/configured")[0] {
        Event::SessionConfigured { system, tools, .. } => (system.to_string(), tools.to_vec()),
        _ => unreachable!("the kind was asked for"),
    };
    let workspace = world.workspace().display().to_string();
    let (system, tools) = given("s-1");
    assert_eq!(tools.len(), 9);
    insta::assert_json_snapshot!("the_nine_tools", tools);
    insta::assert_snapshot!("the_policy_of_a_lead", system.replace(&workspace, "WORKSPACE"));
    let (system, tools) = given("s-1.worker");
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    insta::assert_snapshot!("the_policy_of_a_teammate", system.replace(&workspace, "WORKSPACE"));
    assert_eq!(
        names,
        [
            "send_message",
            "list_agents",
            "wait_agent",
            "team_task_create",
            "team_task_list",
            "team_task_get",
            "team_task_update"
        ]
    );
}

#[tokio::test]
async fn the_results_of_the_nine_tools() {
    let task = |arguments| Step::call("team_task_update", arguments);
    let create = json!({"subject": "Find", "description": "Find it.", "write_scopes": ["src"]});
    let second = json!({"subject": "Fix", "description": "Fix it.", "blocked_by": ["t1"]});
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![
                Step::call("team_task_create", create).and_call("team_task_create", second),
                spawn("worker"),
                send("worker", "hello"),
                look(),
                task(json!({"task_id": "t1", "expected_revision": 1, "action": "reassign", "owner": "worker"})),
                task(json!({"task_id": "t1", "expected_revision": 1, "action": "complete"})),
                Step::call("team_task_list", json!({"ready": false})),
                Step::call("team_task_get", json!({"task_id": "t2"})),
                Step::call("interrupt_agent", json!({"target": "worker"})),
                wait(),
                done(),
            ],
        ),
        Agent::member("worker", vec![done().held(Hold::until("lead", 9, Point::Arrived)), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let results = logs.results("s-1");
    insta::assert_snapshot!(results[..results.len() - 1].join("\n"));
}
