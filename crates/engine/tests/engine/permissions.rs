//! Permissions: what the rules say of a call is what happens, and where a person decides, the call
//! waits for that person, through interrupts and restarts.

use super::delivery::{done, spawn, wait};
use longboat_core::log::Event;
use longboat_core::permission::{
    Answer, Decider, Permissions, Policy, QuestionId, Unanswered, Unlisted,
};
use longboat_engine::{AnswerRefused, CallError, Follower, OpenQuestion, TeamHandle};
use longboat_scripted::{Agent, Step};
use longboat_testkit::{World, follow, say, until};
use longboat_workspace::{WorkspaceSettings, WorkspaceTools};
use serde_json::json;
use std::sync::Arc;

/// A world whose members run commands.
async fn world(agents: Vec<Agent>, permissions: Permissions) -> World {
    let path = "/usr/bin:/bin".to_owned();
    let settings = WorkspaceSettings::allowed([("PATH".to_owned(), path)].into_iter(), &[]);
    let mut world = World::of(agents).await.equipped(Arc::new(WorkspaceTools::new(settings)));
    world.permit(permissions);
    world
}

fn asking() -> Permissions {
    let (unlisted, unanswered) = (Unlisted::Ask, Unanswered::Wait);
    Permissions { unlisted, unanswered, ..Permissions::default() }
}

fn bash(command: &str) -> Step {
    Step::call("bash", json!({"command": command}))
}

async fn asked(follower: &mut Follower) {
    until(follower, |_, event| matches!(event, Event::PermissionAsked { .. })).await;
}

async fn questions(team: &TeamHandle) -> Vec<OpenQuestion> {
    let members = team.look().await.unwrap().members;
    members.into_iter().flat_map(|member| member.questions).collect()
}

fn question(text: &str) -> QuestionId {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_call_waits_for_a_person_and_runs_once_it_is_permitted() {
    let agents = vec![
        Agent::member("lead", vec![spawn("worker"), wait(), done()]),
        Agent::member("worker", vec![bash("echo x >> made"), done()]),
    ];
    let world = world(agents, asking()).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    asked(&mut follower).await;
    let open = questions(&team).await;
    assert_eq!(open[0].question, question("worker.1.0"));
    assert!(open[0].arguments.contains("echo x >> made"), "{open:?}");
    assert!(!world.workspace().join("made").exists(), "nothing ran before the answer");
    team.answer(question("worker.1.0"), Answer::Once).await.unwrap();
    team.quiescent().await.unwrap();
    let again = team.answer(question("worker.1.0"), Answer::Once).await;
    assert!(matches!(again, Err(CallError::Refused(AnswerRefused::NotOpen { .. }))));
    life.end(&team).await;
    assert_eq!(std::fs::read_to_string(world.workspace().join("made")).unwrap(), "x\n");
}

#[tokio::test]
async fn no_is_told_to_the_model_and_the_call_never_runs() {
    let lead = Agent::member("lead", vec![bash("touch made"), done()]);
    let world = world(vec![lead], asking()).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    asked(&mut follower).await;
    team.answer(question("lead.1.0"), Answer::No).await.unwrap();
    team.quiescent().await.unwrap();
    life.end(&team).await;
    assert!(!world.workspace().join("made").exists());
    assert!(world.request("lead", 1).contains("did not permit"), "the model was told");
}

#[tokio::test]
async fn always_is_for_the_same_command_of_every_member_and_outlives_the_process() {
    let agents = vec![
        Agent::member(
            "lead",
            vec![bash("echo a"), spawn("worker"), wait(), done(), bash("echo a"), done()],
        ),
        Agent::member("worker", vec![bash("echo a"), bash("echo b"), done()]),
    ];
    let world = world(agents, asking()).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    asked(&mut follower).await;
    team.answer(question("lead.1.0"), Answer::Always).await.unwrap();
    asked(&mut follower).await;
    let open = questions(&team).await;
    assert_eq!(open[0].question, question("worker.2.0"), "echo a was granted, echo b was not");
    team.answer(question("worker.2.0"), Answer::Once).await.unwrap();
    team.quiescent().await.unwrap();
    life.end(&team).await;

    let life = world.live();
    let team = life.resume("s-1").await;
    say(&team, "lead", "p2", "again").await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let logs = world.logs().await;
    assert_eq!(logs.events("s-1", "permission/asked").len(), 1, "nobody was asked again");
    let ran = logs.results("s-1").into_iter().filter(|text| text.starts_with("a\n"));
    assert_eq!(ran.count(), 2);
}

#[tokio::test]
async fn always_lets_run_what_waits_for_the_same() {
    let agents = vec![
        Agent::member(
            "lead",
            vec![spawn("one").and_call("spawn_teammate", two()), wait(), wait(), done()],
        ),
        Agent::member("one", vec![bash("echo same"), done()]),
        Agent::member("two", vec![bash("echo same"), done()]),
    ];
    let world = world(agents, asking()).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    asked(&mut follower).await;
    asked(&mut follower).await;
    team.answer(question("one.1.0"), Answer::Always).await.unwrap();
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let logs = world.logs().await;
    let by = |session: &str| match logs.events(session, "permission/answered")[0] {
        Event::PermissionAnswered { by, .. } => *by,
        _ => unreachable!("the kind was asked for"),
    };
    assert_eq!((by("s-1.one"), by("s-1.two")), (Decider::Human, Decider::Rules));
}

fn two() -> serde_json::Value {
    json!({"name": "two", "description": "works", "prompt": "work"})
}

#[tokio::test]
async fn a_question_outlives_the_process_and_its_call_runs_exactly_once() {
    let lead = Agent::member("lead", vec![bash("echo x >> made"), done()]);
    let world = world(vec![lead], asking()).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    asked(&mut follower).await;
    life.end(&team).await;

    // Answered by a later process, whether its call waits already or not.
    let life = world.live();
    let team = life.resume("s-1").await;
    assert_eq!(questions(&team).await.len(), 1, "the question is still open");
    team.answer(question("lead.1.0"), Answer::Once).await.unwrap();
    team.quiescent().await.unwrap();
    life.end(&team).await;
    assert_eq!(std::fs::read_to_string(world.workspace().join("made")).unwrap(), "x\n");
    let logs = world.logs().await;
    assert_eq!(logs.events("s-1", "permission/asked").len(), 1);
    assert_eq!(logs.events("s-1", "tool/started").len(), 1);
    assert_eq!(logs.results("s-1").len(), 1);
}

#[tokio::test]
async fn an_answer_that_comes_before_its_member_is_back_waits_for_it() {
    let agents = vec![
        Agent::member("lead", vec![spawn("worker"), wait(), done(), done()]),
        Agent::member("worker", vec![bash("echo x >> made"), done()]),
    ];
    let world = world(agents, asking()).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    asked(&mut follower).await;
    life.end(&team).await;

    let life = world.live();
    let team = life.resume("s-1").await;
    team.answer(question("worker.1.0"), Answer::Once).await.unwrap();
    team.quiescent().await.unwrap();
    life.end(&team).await;
    assert_eq!(std::fs::read_to_string(world.workspace().join("made")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_question_that_comes_up_again_where_nobody_is_asked_is_closed_by_the_rules() {
    for (unanswered, runs) in [(Unanswered::Deny, false), (Unanswered::Allow, true)] {
        let lead = Agent::member("lead", vec![bash("touch made"), done()]);
        let mut world = world(vec![lead], asking()).await;
        let life = world.live();
        let team = life.create(&world.workspace(), "chat").await;
        let mut follower = follow(&team).await;
        say(&team, "lead", "p1", "go").await;
        asked(&mut follower).await;
        life.end(&team).await;

        world.permit(Permissions { unanswered, ..asking() });
        let life = world.live();
        let team = life.resume("s-1").await;
        team.quiescent().await.unwrap();
        life.end(&team).await;
        assert_eq!(world.workspace().join("made").exists(), runs);
        let logs = world.logs().await;
        let answer = if runs { Answer::Once } else { Answer::No };
        assert!(
            matches!(
                logs.events("s-1", "permission/answered")[..],
                [Event::PermissionAnswered { answer: given, by: Decider::Rules, .. }] if *given == answer
            ),
            "{unanswered:?}"
        );
    }
}

#[tokio::test]
async fn p14_an_interrupt_closes_a_question_and_the_next_request_is_valid() {
    let lead = Agent::member("lead", vec![bash("touch made"), done()]);
    let world = world(vec![lead], asking()).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "anthropic").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    asked(&mut follower).await;
    team.interrupt("lead").await.unwrap();
    assert_eq!(questions(&team).await, []);
    let late = team.answer(question("lead.1.0"), Answer::Once).await;
    assert!(matches!(late, Err(CallError::Refused(AnswerRefused::NotOpen { .. }))));
    say(&team, "lead", "p2", "go on").await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    assert!(!world.workspace().join("made").exists());
    assert!(world.request("lead", 1).contains("interrupted before it had any effect"));
}

#[tokio::test]
async fn without_anybody_to_ask_the_default_is_no() {
    let lead = Agent::member("lead", vec![bash("touch made"), done()]);
    let permissions = Permissions { unanswered: Unanswered::default(), ..asking() };
    let world = world(vec![lead], permissions).await;
    let (_, logs) = world.run("chat").await;
    assert!(!world.workspace().join("made").exists());
    assert!(logs.results("s-1")[0].contains("nobody is there"), "{:?}", logs.results("s-1"));
    assert!(logs.events("s-1", "permission/asked").is_empty());
}

#[tokio::test]
async fn read_only_refuses_every_change_and_lets_read() {
    let lead = Agent::member(
        "lead",
        vec![
            Step::call("write", json!({"path": "made", "content": "x"}))
                .and_call("bash", json!({"command": "touch made"}))
                .and_call("glob", json!({"pattern": "*"})),
            done(),
        ],
    );
    let permissions = Permissions { policy: Policy::ReadOnly, ..Permissions::default() };
    let world = world(vec![lead], permissions).await;
    let (_, logs) = world.run("chat").await;
    assert!(!world.workspace().join("made").exists());
    let results = logs.results("s-1");
    assert!(results[0].contains("read-only") && results[1].contains("read-only"), "{results:?}");
    assert!(!results[2].contains("read-only"), "{results:?}");
}

#[tokio::test]
async fn a_rule_speaks_of_files_by_where_their_links_lead() {
    let write = |path: &str| json!({"path": path, "content": "x"});
    let lead = Agent::member(
        "lead",
        vec![
            Step::call("write", write("private/a"))
                .and_call("write", write("link/a"))
                .and_call("write", write("open/a")),
            done(),
        ],
    );
    let permissions =
        Permissions { deny: vec!["*(private/*)".parse().unwrap()], ..Permissions::default() };
    let world = world(vec![lead], permissions).await;
    std::fs::create_dir(world.workspace().join("private")).unwrap();
    std::os::unix::fs::symlink("private", world.workspace().join("link")).unwrap();
    let (_, logs) = world.run("chat").await;
    let results = logs.results("s-1");
    assert!(results[0].contains("not permitted") && results[1].contains("not permitted"));
    assert!(results[2].contains("created open/a"), "{results:?}");
    assert_eq!(std::fs::read_dir(world.workspace().join("private")).unwrap().count(), 0);
}
