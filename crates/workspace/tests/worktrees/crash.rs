//! A process that dies at any commit around a spawn: the next one takes the same worktree, and there
//! is never a second.

use super::repository::git;
use super::team::{apart, bash, done, path, wait, world};
use longboat_core::log::{Event, MemberChange};
use longboat_scripted::Agent;
use longboat_testkit::{Death, World, say};
use tokio::runtime::Runtime;

/// Lives until its `at`th commit. Says whether it died there.
fn live(world: &World, at: u64, death: Death) -> bool {
    let runtime = Runtime::new().unwrap();
    let (life, store) = world.live_until(at, death);
    let died = runtime.block_on(async {
        let run = async {
            let team = life.create(&world.workspace(), "chat").await;
            say(&team, "lead", "p1", "go").await;
            team.quiescent().await.unwrap();
            team.close().await;
        };
        tokio::select! {
            biased;
            () = store.died() => true,
            () = run => false,
        }
    });
    runtime.block_on(life.store.close());
    // Whatever still runs dies here, as with SIGKILL.
    runtime.shutdown_background();
    died
}

/// What is recorded of the roster, in short.
fn roster(events: &[&Event]) -> Vec<&'static str> {
    let changes = events.iter().map(|event| match event {
        Event::TeamMember {
            change: MemberChange::Provisioning { isolation: Some(_), .. }, ..
        } => "in a worktree",
        Event::TeamMember { change: MemberChange::Active, .. } => "active",
        other => panic!("{other:?}"),
    });
    changes.collect()
}

#[test]
fn p12_whenever_the_process_dies_there_is_one_worktree_and_one_member() {
    let outer = Runtime::new().unwrap();
    for death in [Death::Before, Death::After] {
        // The first two commits make the session and take the prompt: what is lost there was never
        // asked for.
        for at in 3.. {
            let script = || {
                vec![
                    Agent::member("lead", vec![apart("worker"), wait(), wait(), done()]),
                    Agent::member("worker", vec![bash("pwd"), done()]),
                ]
            };
            let world = outer.block_on(world(script()));
            let died = live(&world, at, death);
            let logs = outer.block_on(async {
                let life = world.live();
                let team = life.resume("s-1").await;
                team.quiescent().await.unwrap();
                life.end(&team).await;
                world.logs().await
            });
            let known = git(&world.workspace(), &["worktree", "list"]);
            assert_eq!(known.lines().count(), 2, "{death:?} at {at}: {known}");
            let events = logs.events("s-1", "team/member");
            assert_eq!(roster(&events), ["in a worktree", "active"], "{death:?} at {at}");
            let here = path(&world, "worker").display().to_string();
            let worked = logs.results("s-1.worker");
            assert!(worked.iter().any(|r| r.starts_with(&here) || r.contains("outcome unknown")));
            if !died {
                break;
            }
        }
    }
}
