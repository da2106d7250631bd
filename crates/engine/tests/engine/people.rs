//! What people do to a team from outside, also twice and at once; and following it from anywhere.

use super::delivery::{done, send, spawn, wait};
use longboat_core::id::{ItemId, MemberName};
use longboat_core::log::{Event, Lane};
use longboat_core::team::{TaskAction, TaskCommand, TaskRefused};
use longboat_engine::{CallError, Follower, Notice, Position, Since, TeamFault};
use longboat_scripted::{Agent, Hold};
use longboat_testkit::{World, follow, say, until};
use std::sync::Arc;

fn create(subject: &str) -> TaskCommand {
    TaskCommand::Create {
        subject: subject.to_owned(),
        description: String::new(),
        blocked_by: Vec::new(),
        write_scopes: Vec::new(),
    }
}

#[tokio::test]
async fn p6_the_same_asked_many_times_at_once_happens_once_and_nothing_fails() {
    let world = World::of(vec![Agent::member("lead", vec![done(), done()])]).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    let prompts = (0..32).map(|_| say(&team, "lead", "prompt/1", "go"));
    futures::future::join_all(prompts).await;
    let changes = (0..32).map(|_| team.change_task("create", create("s")));
    let changed = futures::future::join_all(changes).await;
    assert!(changed.iter().all(|changed| changed.as_ref().unwrap().task.id.as_str() == "t1"));
    let again = team.change_task("create", create("s")).await.unwrap();
    assert_eq!(again.task.created_by, MemberName::human());
    team.quiescent().await.unwrap();
    while let Some(notice) = follower.next_known().await {
        assert!(!matches!(notice, Notice::Recovering { .. }), "{notice:?}");
    }
    life.end(&team).await;
    let logs = world.logs().await;
    assert_eq!(logs.events("s-1", "inbox/inserted").len(), 1);
    assert_eq!(logs.events("s-1", "team/task").len(), 1);
}

#[tokio::test]
async fn p9_a_person_cannot_use_an_id_of_the_teams_own_or_a_name_twice() {
    let world = World::of(vec![Agent::member("lead", vec![done()])]).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let item = ItemId::new("s-1/m1").unwrap();
    let refused = team.prompt(&MemberName::lead(), Lane::NextTurn, item, "x".to_owned()).await;
    assert!(matches!(refused, Err(TeamFault::CallName { .. })), "{refused:?}");
    life.end(&team).await;
}

#[tokio::test]
async fn p15_a_person_has_the_leads_authority_and_p16_its_changes_are_news_to_the_lead() {
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), wait(), wait(), done()]),
        Agent::member("worker", vec![done().held(Hold::gate("later"))]),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    until(&mut follower, |session, event| {
        session.as_str() == "s-1" && matches!(event, Event::ToolStarted { step, .. } if step.0 == 2)
    })
    .await;
    team.change_task("1", create("look")).await.unwrap();
    let lead = world.server.arrived("lead", 2).await;
    assert!(lead.body.contains("changed"), "the wait ended: {}", lead.body);
    let update = |revision, action| TaskCommand::Update {
        task: longboat_core::id::TaskId::nth(1),
        expected_revision: longboat_core::id::Revision(revision),
        action,
    };
    let worker = MemberName::new("worker").unwrap();
    let given = team.change_task("2", update(1, TaskAction::Reassign { owner: worker })).await;
    assert_eq!(given.unwrap().task.revision.0, 2);
    let stale = team.change_task("3", update(1, TaskAction::Release)).await;
    assert!(matches!(stale, Err(CallError::Refused(TaskRefused::StaleRevision { .. }))));
    let taken = team.change_task("4", update(2, TaskAction::Release)).await.unwrap();
    assert_eq!(taken.warnings.len(), 1, "ownership is never released silently");
    world.server.open_gate("later");
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let logs = world.logs().await;
    let by = |event: &&Event| matches!(event, Event::TeamTask { by, .. } if by.is_human());
    assert_eq!(logs.events("s-1", "team/task").into_iter().filter(by).count(), 3);
}

/// What a follower tells until it knows no more, as session and seq.
async fn told(follower: &mut Follower) -> Vec<(String, u64)> {
    let mut told = Vec::new();
    while let Some(notice) = follower.next_known().await {
        if let Notice::Committed { session, record } = notice {
            told.push((session.to_string(), record.seq.0));
        }
    }
    told
}

#[tokio::test]
async fn whoever_follows_from_a_position_is_told_the_rest_and_nothing_twice() {
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), send("worker", "x"), wait(), done(), done()]),
        Agent::member("worker", vec![done(), send("lead", "y"), done()]),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    team.quiescent().await.unwrap();
    let all = told(&mut follow(&team).await).await;
    assert!(all.len() > 20);
    let mut follower = follow(&team).await;
    for known in 0..=all.len() {
        let after = Since::After(follower.position().clone());
        let mut rest = team.follow(after).await.unwrap();
        let mut sorted = told(&mut rest).await;
        let mut expected = all[known..].to_vec();
        sorted.sort();
        expected.sort();
        assert_eq!(sorted, expected, "after {known}");
        follower.next_known().await;
    }
    let store = Arc::clone(&life.store) as Arc<dyn longboat_store::Store>;
    let lead = team.team().lead().clone();
    assert_eq!(told(&mut Follower::stored(store, lead, Position::new())).await, all);
    assert_eq!(told(&mut team.follow(Since::Now).await.unwrap()).await, []);
    life.end(&team).await;
}
