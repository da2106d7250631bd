//! Outside a team: ordinary children, and mail between an agent and its direct parent or its direct
//! children, and nobody else.

use super::delivery::{done, look, send, spawn, wait};
use longboat_core::id::SessionId;
use longboat_core::log::{Event, InboxItem, Relation, Scope, Source};
use longboat_scripted::{Agent, Hold, Point, Step};
use longboat_testkit::{Logs, World, follow, say, until};
use serde_json::json;
use std::sync::Arc;

fn make(name: &str) -> Step {
    Step::call("spawn_agent", json!({"name": name, "description": "works", "prompt": "begin"}))
}

fn root(steps: Vec<Step>) -> Agent {
    Agent::when("root", "You are an agent that works on the user's task", steps)
}

async fn tree(agents: Vec<Agent>) -> World {
    World::of(agents).await.scoped(Scope::Subagents)
}

fn inbox(logs: &Logs, session: &str) -> Vec<Arc<InboxItem>> {
    let inserted = logs.events(session, "inbox/inserted").into_iter();
    let items = inserted.filter_map(|event| match event {
        Event::InboxInserted { item, .. } => Some(Arc::clone(item)),
        _ => None,
    });
    items.collect()
}

/// Who sent what to a session, and what the sender is to it.
fn heard(logs: &Logs, session: &str) -> Vec<(String, Relation, String)> {
    let items = inbox(logs, session).into_iter();
    let mail = items.filter_map(|item| match &item.source {
        Source::Agent { sender, relation, .. } => {
            Some((sender.session.to_string(), *relation, item.text.to_string()))
        }
        _ => None,
    });
    mail.collect()
}

#[tokio::test]
async fn the_five_tools_and_the_policy_of_agents_outside_a_team() {
    let world = tree(vec![
        root(vec![make("worker"), wait(), wait(), done()]),
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
    insta::assert_json_snapshot!("the_five_tools", tools);
    insta::assert_snapshot!("the_policy_of_a_root_agent", system.replace(&workspace, "WORKSPACE"));
    let (system, tools_of_child) = given("s-1.worker");
    insta::assert_snapshot!("the_policy_of_a_child_agent", system.replace(&workspace, "WORKSPACE"));
    assert_eq!(tools, tools_of_child, "a child is given what its parent is given");
}

#[tokio::test]
async fn p10a_parent_and_child_write_to_each_other_and_see_who_wrote() {
    let world = tree(vec![
        root(vec![make("worker"), send("worker", "faster"), wait(), wait(), done()]),
        Agent::member(
            "worker",
            vec![
                make("helper").held(Hold::until("root", 2, Point::Arrived)),
                wait(),
                send("parent", "found it"),
                done(),
            ],
        ),
        Agent::member("helper", vec![send("parent", "here"), done()]),
    ])
    .await;
    let (end, logs) = world.run("chat").await;
    assert_eq!(end.final_text, "done");
    let from =
        |session: &str, relation, text: &str| (session.to_owned(), relation, text.to_owned());
    assert_eq!(
        heard(&logs, "s-1.worker"),
        [from("s-1", Relation::Parent, "faster"), from("s-1.helper", Relation::Child, "here")]
    );
    assert_eq!(heard(&logs, "s-1"), [from("s-1.worker", Relation::Child, "found it")]);
    // Steered: the running worker read it at its next step.
    assert!(world.request("worker", 1).contains("[message m1 from parent]\\nfaster"));
    assert!(world.requests("root").last().unwrap().body.contains("from worker]\\nfound it"));
    let sent = logs.results("s-1.worker");
    assert!(sent.iter().any(|result| result.contains("\"to\":\"parent\"")), "{sent:?}");
}

#[tokio::test]
async fn p10a_nobody_else_can_be_written_to() {
    let tries = ["lead", "s-1", "sibling", "s-1.sibling", "helper-of-none"];
    let mut steps: Vec<Step> = tries.iter().map(|target| send(target, "hello")).collect();
    steps.push(done());
    let world = tree(vec![
        root(vec![make("worker"), make("sibling"), send("helper", "psst"), wait(), wait(), done()]),
        Agent::member("worker", vec![make("helper"), wait(), done()]),
        Agent::member("helper", steps),
        Agent::member("sibling", vec![send("worker", "hello"), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    assert_eq!(logs.events("s-1", "team/message/queued").len(), 0);
    let refused = logs.results("s-1.helper");
    assert_eq!(refused.len(), tries.len());
    for (result, target) in refused.iter().zip(tries) {
        let wanted = format!("you can write to parent only; \"{target}\" is none of them");
        assert!(
            result.contains(&wanted.replace('"', "\\\"")) || result.contains(&wanted),
            "{result}"
        );
    }
    assert!(logs.results("s-1.sibling")[0].contains("you can write to parent only"));
    let of_root = logs.results("s-1");
    assert!(of_root[2].contains("you can write to worker, sibling only"), "{of_root:?}");
}

#[tokio::test]
async fn p10a_an_idle_parent_is_woken_by_its_child_and_an_idle_child_by_its_parent() {
    let world = tree(vec![
        root(vec![make("worker"), done(), done(), send("worker", "again"), done(), done()]),
        Agent::member(
            "worker",
            vec![
                send("parent", "one").held(Hold::until("root", 1, Point::Answered)),
                done(),
                send("parent", "two"),
                done(),
            ],
        ),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    team.quiescent().await.unwrap();
    say(&team, "lead", "p2", "once more").await;
    let end = team.quiescent().await.unwrap();
    life.end(&team).await;
    assert!(end.owed.is_empty());
    let logs = world.logs().await;
    let texts: Vec<String> = heard(&logs, "s-1").into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(logs.events("s-1.worker", "turn/started").len(), 2);
}

#[tokio::test]
async fn p10a_only_its_parent_interrupts_an_agent_and_sees_it() {
    let interrupt = |target: &str| Step::call("interrupt_agent", json!({"target": target}));
    let world = tree(vec![
        root(vec![
            make("worker"),
            interrupt("helper").held(Hold::until("worker", 2, Point::Arrived)),
            interrupt("worker"),
            look(),
            done(),
        ]),
        Agent::member("worker", vec![make("helper"), interrupt("parent"), wait(), done()]),
        Agent::member("helper", vec![look(), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let of_root = logs.results("s-1");
    assert!(of_root[1].contains("you can interrupt agents that you have made"), "{of_root:?}");
    let listed = &of_root[3];
    assert!(listed.contains("worker") && !listed.contains("helper"), "{listed}");
    assert!(logs.results("s-1.worker").iter().any(|r| r.contains("you can interrupt agents")));
}

#[tokio::test]
async fn p10a_neither_path_speaks_in_the_others_name() {
    // Outside a team nothing is a team's, and there is no team tool to call.
    let task = Step::call("team_task_create", json!({"subject": "a", "description": "b"}));
    let world = tree(vec![
        root(vec![spawn("mate"), task, make("worker"), wait(), wait(), done()]),
        Agent::member("worker", vec![send("parent", "hello"), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let results = logs.results("s-1");
    assert!(results[0].contains("there is no tool"), "{results:?}");
    assert!(results[1].contains("there is no tool"), "{results:?}");
    for session in logs.sessions() {
        for item in inbox(&logs, session) {
            assert!(!matches!(item.source, Source::Team { .. }), "{item:?}");
        }
    }
    // In a team the same names mean the team's, and nothing is an ordinary agent's.
    let world = World::of(vec![
        Agent::member("lead", vec![make("child"), spawn("worker"), wait(), wait(), done()]),
        Agent::member("worker", vec![send("parent", "hello"), send("lead", "hello"), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    assert!(logs.results("s-1")[0].contains("there is no tool"));
    assert!(logs.results("s-1.worker")[0].contains("there is no member"));
    for session in logs.sessions() {
        for item in inbox(&logs, session) {
            assert!(!matches!(item.source, Source::Agent { .. }), "{item:?}");
        }
    }
}

#[tokio::test]
async fn p11_a_tree_is_bounded_in_depth() {
    let under = |name: &str| vec![make(name), wait(), done()];
    let world = tree(vec![
        root(under("a")),
        Agent::member("a", under("b")),
        Agent::member("b", under("c")),
        Agent::member("c", vec![make("d"), done()]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let deepest = logs.results("s-1.c");
    assert!(deepest[0].contains("there is no tool"), "the deepest is not offered it: {deepest:?}");
    assert!(!logs.sessions().contains(&"s-1.d"));
}

#[tokio::test]
async fn p8_a_tree_goes_on_after_a_restart_and_stays_one() {
    let world = tree(vec![
        root(vec![make("worker"), wait(), send("worker", "thanks"), done()]),
        Agent::member(
            "worker",
            vec![make("helper"), wait(), send("parent", "all"), done(), done()],
        ),
        Agent::member(
            "helper",
            vec![look().held(Hold::gate("go")), send("parent", "part"), done()],
        ),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    let asks = |session: &SessionId, event: &Event| {
        session.as_str() == "s-1.helper" && matches!(event, Event::StepStarted { .. })
    };
    until(&mut follower, asks).await;
    life.end(&team).await;
    world.server.open_gate("go");
    let life = world.live();
    let team = life.resume("s-1").await;
    let end = team.quiescent().await.unwrap();
    life.end(&team).await;
    assert!(end.owed.is_empty());
    let logs = world.logs().await;
    let texts = |session: &str| {
        let heard = heard(&logs, session).into_iter();
        let mut texts: Vec<_> = heard.map(|(from, _, text)| format!("{from}: {text}")).collect();
        texts.sort();
        texts
    };
    assert_eq!(texts("s-1.worker"), ["s-1.helper: part", "s-1: thanks"]);
    assert_eq!(texts("s-1"), ["s-1.worker: all"]);
}
