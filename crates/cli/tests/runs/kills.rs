//! Real death: the shipped binary is killed with SIGKILL at random instants, also during resume,
//! until the run has ended; then the logs are checked.
//!
//! `LONGBOAT_KILLS=5000 cargo nextest run -p longboat-cli kills` kills more often.

use super::place::{Place, send, spawn, step, wait};
use longboat_scripted::{Agent, Step};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Kills of one test; there are four of them.
const KILLS: u32 = 60;

fn team() -> Vec<Agent> {
    let slow = |step: Step, ms| Step { delay_ms: ms, ..step };
    let worker = |name: &str, peer: &str| {
        let mark = |n: u32| step("bash", json!({"command": format!("echo {name}-{n} >> ran")}));
        let mut steps = Vec::new();
        for n in 0..6 {
            steps.push(slow(mark(n), 4));
            steps.push(slow(send(peer, &format!("{name} to {peer} {n}")), 3));
            steps.push(slow(send("lead", &format!("{name} to lead {n}")), 2));
        }
        steps.push(Step::text("over"));
        Agent { after: Some(Step::text("still over")), ..Agent::member(name, steps) }
    };
    let task = json!({"subject": "s", "description": "d"});
    let mut lead = vec![step("team_task_create", task), spawn("a"), spawn("b")];
    lead.extend((0..40).map(|_| slow(wait(), 2)));
    lead.push(Step::text("summed up"));
    vec![Agent::member("lead", lead), worker("a", "b"), worker("b", "a")]
}

/// Runs teams and kills them until there were enough kills; checks each team when it has ended.
async fn kill_often(seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    #[expect(clippy::disallowed_methods, reason = "a test's own knob")]
    let wanted = std::env::var("LONGBOAT_KILLS").map(|text| text.parse().expect("a number"));
    let wanted: u32 = wanted.unwrap_or(KILLS);
    let mut kills = 0;
    while kills < wanted {
        let place = Place::of(team()).await;
        let mut begun = false;
        loop {
            let mut command = if begun { place.command(&["resume"]) } else { place.run(&[]) };
            let mut child = command.spawn().unwrap();
            // A random instant is what this test is about: there is no event to wait for.
            let life = Duration::from_millis(rng.random_range(15..140));
            if let Ok(ended) = tokio::time::timeout(life, child.wait()).await {
                let code = ended.unwrap().code();
                let err = super::place::ended(child).await.err;
                if code == Some(2) && err.contains("no session") {
                    begun = false;
                    continue;
                }
                assert_eq!(code, Some(0), "seed {seed}, {kills} kills: {err}");
                break;
            }
            child.kill().await.unwrap();
            kills += 1;
            begun = place.store().exists();
        }
        check(&place, seed).await;
    }
}

async fn check(place: &Place, seed: u64) {
    let wrong = place.wrong().await;
    assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
    let ran = std::fs::read_to_string(place.workspace().join("ran")).unwrap_or_default();
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    ran.lines().for_each(|line| *times.entry(line).or_default() += 1);
    assert!(times.values().all(|times| *times == 1), "seed {seed}: run twice: {times:?}");
    let shown = place.end(place.command(&["show", "--json"])).await;
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(place.lead().await.as_str().starts_with("s-"));
}

#[tokio::test]
async fn p2_to_p9_hold_when_it_is_killed_at_random_1() {
    kill_often(1).await;
}

#[tokio::test]
async fn p2_to_p9_hold_when_it_is_killed_at_random_2() {
    kill_often(2).await;
}

#[tokio::test]
async fn p2_to_p9_hold_when_it_is_killed_at_random_3() {
    kill_often(3).await;
}

#[tokio::test]
async fn p2_to_p9_hold_when_it_is_killed_at_random_4() {
    kill_often(4).await;
}
