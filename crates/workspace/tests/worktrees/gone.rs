//! A worktree that somebody removed: its member is unreachable and its mail waits, until the worktree
//! is made again as the cause says.

use super::team::{apart, done, path, wait, world};
use longboat_engine::Notice;
use longboat_scripted::{Agent, Hold, Step};
use longboat_testkit::{follow, say};
use serde_json::json;
use std::fs;
use std::process::Command;

#[tokio::test]
async fn p8_mail_waits_for_a_worktree_that_is_gone_and_the_cause_says_how_to_make_it_again() {
    let send = Step::call("send_message", json!({"target": "worker", "message": "more"}));
    let world = world(vec![
        Agent::member(
            "lead",
            vec![
                apart("worker"),
                wait(),
                wait(),
                done(),
                send,
                done().held(Hold::gate("made")),
                done(),
            ],
        ),
        Agent::member("worker", vec![done(), done()]),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    fs::remove_dir_all(path(&world, "worker")).unwrap();

    let life = world.live();
    let team = life.resume("s-1").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p2", "go on").await;
    let cause = loop {
        if let Notice::Unreachable { cause, .. } = follower.next().await.unwrap() {
            break cause;
        }
    };
    assert!(cause.contains("its git worktree") && cause.contains("is gone"), "{cause}");
    // What the cause says, to the letter.
    for command in cause.split('`').skip(1).step_by(2) {
        let mut words = command.split(' ');
        let mut command = Command::new(words.next().unwrap());
        assert!(command.args(words).current_dir(world.workspace()).status().unwrap().success());
    }
    world.server.open_gate("made");
    let end = team.quiescent().await.unwrap();
    assert_eq!(end.owed, []);
    life.end(&team).await;
    let logs = world.logs().await;
    let queued = &logs.results("s-1")[3];
    assert!(queued.contains("\"status\":\"queued\"") && queued.contains("is gone"), "{queued}");
    assert!(world.request("worker", 1).contains("more"));
}
