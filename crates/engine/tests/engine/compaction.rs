//! Long conversations: summed up before they outgrow their model, with nothing pending lost and
//! nothing shown that is not in the log.

use super::delivery::{done, look, spawn_with, wait};
use longboat_core::id::ItemId;
use longboat_core::log::{Event, Lane, Summarizer, TurnOutcome};
use longboat_scripted::{Agent, Fault, Hold, Script, Step};
use longboat_testkit::{Logs, World, follow, say, until};
use serde_json::{Value, json};

const WINDOW: u64 = 8_000;

/// A step that says much before it calls a tool.
fn talk(n: usize) -> Step {
    Step { text: format!("part {n}: {}", "so it goes on and on ".repeat(60)), ..look() }
}

fn long(steps: usize) -> Vec<Step> {
    let mut long =
        vec![Step::call("team_task_create", json!({"subject": "Carry on", "description": "d"}))];
    long.extend((0..steps).map(talk));
    long.push(done());
    long
}

fn lead(steps: Vec<Step>) -> Agent {
    Agent::member("lead", steps)
}

/// A server that takes no more than `WINDOW` tokens.
async fn narrow(agents: Vec<Agent>) -> World {
    World::playing(Script { context_tokens: Some(WINDOW), ..Script::of(agents) }).await
}

fn summaries(logs: &Logs, session: &str) -> Vec<(Summarizer, String)> {
    let events = logs.events(session, "context/compacted").into_iter();
    let summaries = events.filter_map(|event| match event {
        Event::ContextCompacted { summary, by, .. } => Some((*by, summary.to_string())),
        _ => None,
    });
    summaries.collect()
}

fn messages(body: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(body).unwrap();
    let all = request.get("messages").or(request.get("input")).and_then(Value::as_array);
    let all = all.unwrap().clone();
    all.into_iter().filter(|message| message["role"] != "system").collect()
}

fn overflows(world: &World) -> usize {
    let wide =
        world.requests("lead").into_iter().filter(|seen| seen.body.len() as u64 / 3 > WINDOW * 2);
    wide.count()
}

#[tokio::test]
async fn a_conversation_is_summed_up_before_its_model_overflows() {
    for model in ["chat", "responses", "anthropic"] {
        let world = narrow(vec![lead(long(40))]).await.taking(WINDOW);
        let (end, logs) = world.run(model).await;
        assert_eq!(end.lead, Some(TurnOutcome::Completed), "{model}: {end:?}");
        assert_eq!(end.final_text, "done");
        let summaries = summaries(&logs, "s-1");
        assert!(summaries.len() >= 2, "{model}: {}", summaries.len());
        assert!(summaries.iter().all(|(by, _)| *by == Summarizer::Model));
        let last = &summaries.last().unwrap().1;
        assert!(last.contains("# The first prompt\ngo\n"), "{last}");
        assert!(last.contains("- t1 (open, nobody): Carry on"), "{last}");
        assert_eq!(overflows(&world), 0);
        // It was never refused: the server takes no more than the window.
        let cut = logs.events("s-1", "step/ended").into_iter().filter(|event| {
            matches!(event, Event::StepEnded { outcome: longboat_core::log::StepOutcome::Cut, .. })
        });
        assert_eq!(cut.count(), 0);
        let first = &messages(&world.requests("lead").last().unwrap().body)[0];
        assert!(first.to_string().contains("were replaced by this summary"), "{first}");
    }
}

#[tokio::test]
async fn a_provider_that_finds_a_conversation_too_long_gets_a_summary_and_the_turn_goes_on() {
    for model in ["chat", "responses", "anthropic"] {
        // Nothing here says how narrow the server is.
        let world = narrow(vec![lead(long(40))]).await;
        let (end, logs) = world.run(model).await;
        assert_eq!(end.lead, Some(TurnOutcome::Completed), "{model}: {end:?}");
        assert!(!summaries(&logs, "s-1").is_empty());
        assert_eq!(logs.results("s-1").len(), 41, "no call was made twice or forgotten");
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_by_itself_fails_the_turn_with_the_providers_words() {
    let world = narrow(vec![lead(vec![done()])]).await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", &"very long ".repeat(6_000)).await;
    let end = team.quiescent().await.unwrap();
    life.end(&team).await;
    let Some(TurnOutcome::Failed { reason }) = end.lead else { panic!("{end:?}") };
    assert!(reason.contains("maximum context length"), "{reason}");
    assert!(summaries(&world.logs().await, "s-1").is_empty());
}

#[tokio::test]
async fn where_the_model_gives_no_summary_the_runtime_sums_up() {
    let refuses = Step::text("").failing(Fault::Status {
        status: 401,
        retry_after: None,
        body: String::new(),
    });
    let agent = Agent { summary: Some(refuses), ..lead(long(12)) };
    let world = narrow(vec![agent]).await.taking(WINDOW);
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    until(&mut follower, |_, event| matches!(event, Event::ContextCompacted { .. })).await;
    life.end(&team).await;
    let (by, summary) = summaries(&world.logs().await, "s-1").remove(0);
    assert_eq!(by, Summarizer::Runtime);
    assert!(summary.contains("- part 0: so it goes on"), "{summary}");
    assert!(summary.contains("[list_agents {}]") || summary.contains("…"), "{summary}");
}

#[tokio::test]
async fn p19_a_resumed_session_begins_its_requests_with_the_same_summary() {
    let mut steps = long(12);
    let end = steps.len() - 1;
    steps[end] = done().held(Hold::gate("end"));
    let world = narrow(vec![lead(steps)]).await.taking(WINDOW);
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    let asked = move |_: &_, event: &Event| matches!(event, Event::StepStarted { step, .. } if step.0 as usize == end + 1);
    until(&mut follower, asked).await;
    world.server.arrived("lead", end).await;
    life.end(&team).await;
    let before = messages(&world.request("lead", end));
    world.server.open_gate("end");
    let life = world.live();
    let team = life.resume("s-1").await;
    let ended = team.quiescent().await.unwrap();
    life.end(&team).await;
    assert_eq!(ended.final_text, "done");
    let after = messages(&world.request("lead", end));
    assert!(!summaries(&world.logs().await, "s-1").is_empty());
    assert_eq!(before, after);
}

#[tokio::test]
async fn p3_what_comes_in_while_a_conversation_is_summed_up_is_read_right_behind_the_summary() {
    let summary = Step::text("All of it. {{replies}}");
    let agent = Agent { summary: Some(summary.held(Hold::gate("sum"))), ..lead(long(30)) };
    let world = narrow(vec![agent]).await.taking(WINDOW);
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    world.server.arrived("lead (summary)", 0).await;
    let item = ItemId::new("steer").unwrap();
    let name = longboat_core::id::MemberName::lead();
    team.prompt(&name, Lane::NextStep, item, "change course".to_owned()).await.unwrap();
    world.server.open_gate("sum");
    let mut follower = follow(&team).await;
    until(
        &mut follower,
        |_, event| matches!(event, Event::InboxClaimed { step, .. } if step.0 > 1),
    )
    .await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let seen = world.requests("lead").into_iter();
    let mut seen = seen.map(|seen| messages(&seen.body));
    let steered = seen.find(|said| said.last().unwrap().to_string().contains("change course"));
    let steered = steered.expect("it was read at the next boundary");
    assert!(steered[0].to_string().contains("All of it."), "behind the summary");
}

#[tokio::test]
async fn p14_an_interrupt_ends_a_turn_whose_conversation_is_being_summed_up() {
    let held = Step::text("never").held(Hold::gate("never"));
    let mut agent = Agent { summary: Some(held), ..lead(long(30)) };
    agent.steps.push(done());
    let world = narrow(vec![agent]).await.taking(WINDOW);
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    world.server.arrived("lead (summary)", 0).await;
    team.interrupt("lead").await.unwrap();
    let end = team.quiescent().await.unwrap();
    assert_eq!(end.lead, Some(TurnOutcome::Interrupted { by: "human".to_owned() }));
    life.end(&team).await;
    assert!(summaries(&world.logs().await, "s-1").is_empty());
}

#[tokio::test]
async fn a_teammate_is_summed_up_by_itself() {
    let world = narrow(vec![
        lead(vec![spawn_with("worker", "carry on"), wait(), wait(), wait(), done()]),
        Agent::member("worker", long(20)),
    ])
    .await
    .taking(WINDOW);
    let (_, logs) = world.run("chat").await;
    assert!(summaries(&logs, "s-1").is_empty());
    let (_, summary) = summaries(&logs, "s-1.worker").remove(0);
    assert!(summary.contains("# The first prompt\ncarry on\n"), "{summary}");
}
