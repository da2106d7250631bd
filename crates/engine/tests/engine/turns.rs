//! Turns: they end when nothing is pending, can be cancelled, and fail in the open.

use super::delivery::{done, look, send, spawn, wait};
use longboat_core::log::{Event, TurnOutcome};
use longboat_core::price::Cost;
use longboat_engine::{Budget, Interrupted, Status};
use longboat_scripted::{Agent, Fault, Hold, Point, Step};
use longboat_testkit::{World, follow, say, until};
use serde_json::json;

#[tokio::test]
async fn p14_an_interrupt_makes_the_next_request_valid_on_every_wire() {
    for model in ["chat", "responses", "anthropic"] {
        // Three calls: two are answered, one waits when the turn is cancelled.
        let busy = look().and_call("list_agents", json!({})).and_call("wait_agent", json!({}));
        let world = World::of(vec![
            Agent::member("lead", vec![spawn("worker"), busy, done()]),
            Agent::member("worker", vec![done().held(Hold::gate("never"))]),
        ])
        .await;
        let life = world.live();
        let team = life.create(&world.workspace(), model).await;
        let mut follower = follow(&team).await;
        say(&team, "lead", "p1", "go").await;
        for _ in 0..3 {
            // The spawn's result, and those of the two calls that only look.
            until(&mut follower, |_, event| matches!(event, Event::ToolResult { .. })).await;
        }
        let found = team.interrupt("lead").await.unwrap();
        assert_eq!(found, Interrupted::Cancelled { pending: 0 });
        say(&team, "lead", "p2", "go on").await;
        until(&mut follower, |session, event| {
            session.as_str() == "s-1" && matches!(event, Event::TurnEnded { outcome, .. } if *outcome == TurnOutcome::Completed)
        })
        .await;
        life.end(&team).await;
        let logs = world.logs().await;
        let interrupted =
            logs.results("s-1").into_iter().filter(|text| text.contains("interrupted before"));
        assert_eq!(interrupted.count(), 1, "{model}");
        assert!(world.request("lead", 2).contains("go on"), "the provider took it");
    }
}

#[tokio::test]
async fn p14_send_then_interrupt_redirects_and_keeps_tasks_and_inbox() {
    let redirect = send("worker", "do this instead")
        .and_call("interrupt_agent", json!({"target": "worker"}))
        .held(Hold::until("worker", 1, Point::Arrived));
    let claim = json!({"task_id": "t1", "expected_revision": 1, "action": "claim"});
    let create = Step::call("team_task_create", json!({"subject": "s", "description": "d"}));
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![create, spawn("worker"), redirect, wait(), wait(), wait(), done()],
        ),
        Agent::member(
            "worker",
            vec![
                Step::call("team_task_update", claim),
                done().held(Hold { at_most_ms: 60_000, ..Hold::gate("never") }),
            ],
        ),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    // The first request for step 1 was dropped with its turn; the next one has the message.
    until(&mut follower, |session, event| {
        session.as_str() == "s-1.worker"
            && matches!(event, Event::TurnStarted { turn, .. } if turn.0 == 2)
    })
    .await;
    let view = team.look().await.unwrap();
    let task = view.board.iter().next().unwrap();
    assert_eq!(task.state.owner().map(|owner| owner.as_str()), Some("worker"));
    assert_eq!(view.members[1].status, Status::Running);
    world.server.open_gate("never");
    team.quiescent().await.unwrap();
    life.end(&team).await;
    assert!(world.request("worker", 1).contains("do this instead"));
    let logs = world.logs().await;
    assert!(logs.results("s-1").iter().any(|text| text.contains("\"status\":\"interrupted\"")));
}

#[tokio::test]
async fn p17_a_run_goes_on_while_a_teammate_works_after_the_lead_answered() {
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![spawn("worker"), Step::text("started"), Step::text("summed up")],
        ),
        Agent::member(
            "worker",
            vec![send("lead", "ready").held(Hold::until("lead", 1, Point::Answered)), done()],
        ),
    ])
    .await;
    let (end, logs) = world.run("chat").await;
    assert_eq!(end.final_text, "summed up");
    assert_eq!(logs.events("s-1", "turn/ended").len(), 2);
}

#[tokio::test]
async fn p18_a_teammate_that_only_printed_its_report_is_not_invisible() {
    let report = "The cause is in parser.rs, line 12.";
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), wait(), wait(), look(), done()]),
        Agent::member("worker", vec![Step::text(report)]),
    ])
    .await;
    let (_, logs) = world.run("chat").await;
    let listed = logs.results("s-1").pop().unwrap();
    assert!(listed.contains(report) && listed.contains("\"ended\":\"completed\""), "{listed}");
}

#[tokio::test]
async fn a_failed_turn_is_visible_to_the_team_and_leaves_mail_intact() {
    let fatal = Fault::Status { status: 401, retry_after: None, body: String::new() };
    let broken = Step { forever: true, ..done().failing(fatal) };
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), wait(), wait(), look(), done()]),
        Agent::member("worker", vec![broken]),
    ])
    .await;
    let (end, logs) = world.run("chat").await;
    let listed = logs.results("s-1").pop().unwrap();
    assert!(listed.contains("\"ended\":\"failed\"") && listed.contains("HTTP 401"), "{listed}");
    assert_eq!(end.lead, Some(TurnOutcome::Completed));
}

#[tokio::test]
async fn a_provider_that_fails_for_a_while_is_asked_again_on_both_wires() {
    let status = |status, after: Option<&str>| Fault::Status {
        status,
        retry_after: after.map(str::to_owned),
        body: String::new(),
    };
    for model in ["chat", "responses", "anthropic"] {
        let step = Step::text("at last")
            .failing(status(429, Some("0")))
            .failing(Fault::Cut { bytes: 40 })
            .failing(status(503, None));
        let world = World::of(vec![Agent::member("lead", vec![step])]).await;
        let (end, logs) = world.run(model).await;
        assert_eq!((end.lead, end.final_text.as_str()), (Some(TurnOutcome::Completed), "at last"));
        assert_eq!(world.requests("lead").len(), 4, "{model}");
        assert_eq!(logs.events("s-1", "step/started").len(), 1, "it is one step");
    }
}

#[tokio::test]
async fn p20_a_call_that_makes_no_sense_is_answered_and_the_turn_goes_on() {
    let nonsense = Step::call("no_such_tool", json!({}))
        .and_call("send_message", json!("{not json"))
        .and_call("send_message", json!("[1]"))
        .and_call("wait_agent", json!({"timeout_ms": 5}))
        .and_call("team_task_get", json!({"task_id": "7"}));
    for model in ["chat", "responses", "anthropic"] {
        let step =
            if model == "chat" { nonsense.clone() } else { Step::call("no_such_tool", json!({})) };
        let world = World::of(vec![Agent::member("lead", vec![step, done()])]).await;
        let (end, logs) = world.run(model).await;
        assert_eq!(end.final_text, "done");
        assert!(
            logs.results("s-1")[0].contains("there is no tool \"no_such_tool\"; the tools are")
        );
        if model == "chat" {
            let results = logs.results("s-1");
            assert!(results[1].contains("not valid JSON"), "{results:?}");
            assert!(results[2].contains("not a JSON object"));
            assert!(results[3].contains("it must be 10000 to 3600000"));
            assert!(results[4].contains("is not a task id"));
        }
    }
}

#[tokio::test]
async fn p19_prompts_and_messages_reach_the_model_byte_for_byte() {
    let text = "tabs\tand \"quotes\", line\nbreaks, \u{1f6a3} and \\n\\u0041 as typed\r\n  ";
    let world = World::of(vec![
        Agent::member("lead", vec![spawn("worker"), send("worker", text), wait(), done()]),
        Agent::member("worker", vec![done(), done()]),
    ])
    .await;
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", text).await;
    team.quiescent().await.unwrap();
    life.end(&team).await;
    let said = |agent: &str, step: usize| {
        let request: serde_json::Value = serde_json::from_str(&world.request(agent, step)).unwrap();
        let messages = request["messages"].as_array().unwrap().clone();
        messages.into_iter().map(|message| message["content"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(said("lead", 0)[1], json!(text));
    let heard = world.requests("worker").into_iter().any(|seen| {
        let request: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        let framed = format!("[message m1 from lead]\n{text}");
        request["messages"].to_string().contains(&json!(framed).to_string())
    });
    assert!(heard);
}

/// Two members that answer each other for ever.
fn endless() -> Vec<Agent> {
    let answer = |to: &str| (0..200).map(|_| send(to, "and you?")).collect::<Vec<_>>();
    let mut lead = vec![spawn("worker"), send("worker", "hello")];
    lead.extend((0..200).flat_map(|_| [wait(), send("worker", "and you?")]));
    vec![Agent::member("lead", lead), Agent::member("worker", answer("lead"))]
}

#[tokio::test]
async fn a_budget_suspends_a_storm_and_a_resume_goes_on() {
    let world =
        World::of(endless()).await.costing(Budget { tokens: Some(150_000), ..Budget::default() });
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    say(&team, "lead", "p1", "go").await;
    let end = team.quiescent().await.unwrap();
    assert!(end.exhausted.unwrap().starts_with("the budget of 150000 tokens is used up"));
    life.end(&team).await;
    let spent = world.requests("lead").len() + world.requests("worker").len();
    assert!(spent > 4 && spent < 150, "{spent}");
    let life = world.live();
    let team = life.resume("s-1").await;
    let end = team.quiescent().await.unwrap();
    assert!(end.exhausted.is_some(), "it went on until the next budget was used up");
    life.end(&team).await;
    let logs = world.logs().await;
    let queued = logs.events("s-1", "team/message/queued").len();
    let delivered = logs.events("s-1", "team/message/delivered").len();
    assert_eq!(queued, delivered, "nothing was dropped");
    assert!(world.requests("lead").len() + world.requests("worker").len() > spent);
}

#[tokio::test]
async fn budgets_of_turns_of_money_and_of_time_suspend_too() {
    let budgets = [
        Budget { turns: Some(1), ..Budget::default() },
        Budget { cost: Some(Cost(1)), ..Budget::default() },
        Budget { time: Some(std::time::Duration::from_millis(300)), ..Budget::default() },
    ];
    for budget in budgets {
        let held = done().held(Hold { at_most_ms: 60_000, ..Hold::gate("never") });
        let world = World::of(vec![
            Agent::member("lead", vec![spawn("worker"), wait(), wait(), done()]),
            Agent::member("worker", vec![held]),
        ])
        .await
        .costing(budget);
        let (end, _) = world.run("chat").await;
        assert!(end.exhausted.is_some(), "{budget:?}");
        if budget.cost.is_some() {
            assert!(end.exhausted.unwrap().contains("were spent"));
        }
    }
}

fn finishing(finish: &str, step: Step) -> Step {
    Step { finish: finish.to_owned(), ..step }
}

#[tokio::test]
async fn a_reply_that_was_cut_or_withheld_fails_its_turn_and_is_kept() {
    for model in ["chat", "responses", "anthropic"] {
        for (finish, reason) in
            [("length", "set max_output_tokens higher"), ("content_filter", "withheld")]
        {
            let world = World::of(vec![Agent::member(
                "lead",
                vec![finishing(finish, Step::text("half a"))],
            )])
            .await;
            let (end, _) = world.run(model).await;
            let Some(TurnOutcome::Failed { reason: why }) = end.lead else { panic!("{end:?}") };
            assert!(why.contains(reason), "{model}: {why}");
            assert_eq!(end.final_text, "half a");
        }
    }
}

#[tokio::test]
async fn a_call_whose_arguments_were_cut_is_answered_and_the_turn_goes_on() {
    let cut = finishing("length", Step::call("send_message", json!("{\"target\": \"wor")));
    let world = World::of(vec![Agent::member("lead", vec![cut, done()])]).await;
    let (end, logs) = world.run("chat").await;
    assert_eq!(end.final_text, "done");
    assert!(logs.results("s-1")[0].contains("less at once if the reply was cut"));
}

#[tokio::test]
async fn an_empty_reply_to_a_prompt_is_asked_for_again_a_few_times() {
    for model in ["chat", "responses", "anthropic"] {
        let world = World::of(vec![Agent::member("lead", vec![Step::text("")])]).await;
        let (end, _) = world.run(model).await;
        let Some(TurnOutcome::Failed { reason }) = end.lead else { panic!("{model}: {end:?}") };
        assert_eq!(reason, "the model replied nothing, 3 times");
        assert_eq!(world.requests("lead").len(), 3);
        // Behind results it says that there is nothing to add.
        let world = World::of(vec![Agent::member("lead", vec![look(), Step::text("")])]).await;
        let (end, _) = world.run(model).await;
        assert_eq!(end.lead, Some(TurnOutcome::Completed));
        assert_eq!(world.requests("lead").len(), 2);
    }
}

#[tokio::test]
async fn p11_of_too_many_calls_the_first_are_run_and_the_others_answered() {
    for model in ["chat", "responses", "anthropic"] {
        let mut many = look();
        for _ in 0..80 {
            many = many.and_call("list_agents", json!({}));
        }
        let world = World::of(vec![Agent::member("lead", vec![many, done()])]).await;
        let (end, logs) = world.run(model).await;
        assert_eq!(end.final_text, "done", "{end:?}");
        let results = logs.results("s-1");
        let refused = results.iter().filter(|result| result.contains("64 calls at most")).count();
        assert_eq!((results.len(), refused), (81, 17));
        assert_eq!(world.requests("lead").len(), 2, "it was not asked again");
    }
}

#[tokio::test]
async fn p19_each_request_finds_nearly_all_of_the_one_before_in_the_providers_cache() {
    for model in ["chat", "responses", "anthropic"] {
        let steps = vec![look(), look().and_call("list_agents", json!({})), done(), look(), done()];
        let world = World::of(vec![Agent::member("lead", steps)]).await;
        let life = world.live();
        let team = life.create(&world.workspace(), model).await;
        say(&team, "lead", "p1", "go").await;
        team.quiescent().await.unwrap();
        life.end(&team).await;
        // Another process, and another turn.
        let life = world.live();
        let team = life.resume("s-1").await;
        say(&team, "lead", "p2", "on").await;
        team.quiescent().await.unwrap();
        life.end(&team).await;
        let logs = world.logs().await;
        let usages = logs.events("s-1", "assistant/message").into_iter().map(|event| match event {
            Event::AssistantMessage { reply, .. } => reply.usage,
            _ => unreachable!("the kind was asked for"),
        });
        let usages: Vec<_> = usages.collect();
        assert_eq!(usages.len(), 5);
        for pair in usages.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            assert!(after.cached * 10 >= before.input * 9, "{model}: {usages:#?}");
        }
    }
}
