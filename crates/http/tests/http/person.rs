//! What a person sees of a team and does to it, over the API.

use super::place::{Place, answer, done, send, spawn, wait};
use super::stream::{Sent, Stream};
use longboat_core::permission::{Permissions, Unanswered, Unlisted};
use longboat_scripted::{Agent, Hold, Step};
use longboat_testkit::World;
use longboat_workspace::{WorkspaceSettings, WorkspaceTools};
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test]
async fn a_run_is_made_seen_and_gone_on_with() {
    let place = Place::of(vec![
        Agent::member("lead", vec![spawn("worker"), send("worker", "hello"), wait(), done()]),
        Agent::member("worker", vec![done(), done()]),
    ])
    .await;
    let id = place.create("Do it.\nWell.").await;
    place.rest(&id).await;
    let (status, page) = place.get("/api/v1/sessions?limit=1").await;
    let session = &page["sessions"][0];
    assert_eq!((status, &page["total"]), (200, &json!(1)));
    assert_eq!(session["first_prompt"], "Do it. Well.");
    assert_eq!((&session["teammates"], &session["open"]), (&json!(["worker"]), &json!(true)));

    let (_, team) = place.get(&format!("/api/v1/sessions/{id}")).await;
    let names: Vec<_> = team["members"].as_array().unwrap().iter().map(|m| &m["name"]).collect();
    assert_eq!(names, ["lead", "worker"]);
    assert_eq!(team["members"][1]["last_turn"]["outcome"], "completed");
    assert_eq!(team["members"][1]["status"], "idle");
    assert!(team["members"][1]["usage"]["input"].is_u64());

    let (_, mail) = place.get(&format!("/api/v1/sessions/{id}/messages")).await;
    let message = &mail["messages"][0];
    assert_eq!((&mail["total"], &mail["next"]), (&json!(1), &Value::Null));
    assert_eq!((&message["id"], &message["from"]), (&json!("m1"), &json!("lead")));
    assert_eq!((&message["state"], &message["text"]), (&json!("read"), &json!("hello")));
    assert!(message["read_after_ms"].is_u64(), "{message}");

    place.post(&format!("/api/v1/sessions/{id}/close"), json!({})).await;
    let (_, team) = place.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!((&team["open"], &team["members"][1]["status"]), (&json!(false), &json!("inactive")));
    assert_eq!(team["members"][1]["last_turn"]["excerpt"], "done");
    let (status, team) = place.post(&format!("/api/v1/sessions/{id}/resume"), json!({})).await;
    assert_eq!((status, &team["open"]), (200, &json!(true)));
    place.end().await;
}

#[tokio::test]
async fn a_transcript_comes_in_pages_by_seq() {
    let place = Place::of(vec![Agent::member("lead", vec![done()])]).await;
    let id = place.create("go").await;
    place.rest(&id).await;
    let path = format!("/api/v1/sessions/{id}/members/lead/records");
    let (mut from, mut seqs) = (Some(0), Vec::new());
    while let Some(first) = from {
        let (_, page) = place.get(&format!("{path}?from={first}&limit=3")).await;
        let records = page["records"].as_array().unwrap();
        assert!(records.len() <= 3);
        seqs.extend(records.iter().map(|record| record["seq"].as_u64().unwrap()));
        from = page["next"].as_u64();
    }
    let total = place.records(&id).await as u64;
    assert_eq!(seqs, (0..total).collect::<Vec<_>>());
    let (_, first) = place.get(&format!("{path}?limit=1")).await;
    assert_eq!(first["records"][0]["type"], "session/created");
    assert_eq!(first["records"][0]["data"]["kind"]["kind"], "root");
    for (path, code) in [
        (format!("/api/v1/sessions/{id}/members/nobody/records"), "unknown_member"),
        (format!("/api/v1/sessions/{id}/members/No%20body/records"), "unknown_member"),
        ("/api/v1/sessions/s-none/members/lead/records".to_owned(), "unknown_session"),
        ("/api/v1/sessions/S%20one/members/lead/records".to_owned(), "unknown_session"),
        (format!("/api/v1/sessions/{id}.worker"), "not_a_lead"),
    ] {
        assert_eq!(place.get(&path).await.1["code"], code, "{path}");
    }
    place.end().await;
}

#[tokio::test]
async fn p6_words_said_again_under_the_same_name_are_said_once() {
    let place = Place::of(vec![Agent::member("lead", vec![done(), done(), done()])]).await;
    let id = place.create("go").await;
    let path = format!("/api/v1/sessions/{id}/members/lead/prompt");
    let body = json!({"text": "more", "id": "mine-1"});
    let same = (0..10).map(|_| place.post(&path, body.clone()));
    for (status, taken) in futures::future::join_all(same).await {
        assert_eq!((status, &taken["id"]), (202, &json!("mine-1")));
    }
    let (status, problem) = place.post(&path, json!({"text": "other", "id": "mine-1"})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("id_used")));
    place.rest(&id).await;
    place.post(&format!("/api/v1/sessions/{id}/close"), json!({})).await;
    assert_eq!(place.post(&path, body).await.0, 202, "also after it left memory");
    place.end_and(|logs| assert_eq!(logs.events(&id, "inbox/inserted").len(), 2)).await;
}

#[tokio::test]
async fn p3_p14_a_person_steers_queues_and_interrupts() {
    let place = Place::of(vec![Agent::member(
        "lead",
        vec![
            Step::call("list_agents", json!({})).held(Hold::gate("first")),
            done().held(Hold::gate("second")),
            done(),
            done(),
        ],
    )])
    .await;
    let id = place.create("go").await;
    place.world.server.arrived("lead", 0).await;
    place.say(&id, "lead", "steer", "look here").await;
    place.say(&id, "lead", "prompt", "and then this").await;
    place.world.server.open_gate("first");
    let second = place.world.server.arrived("lead", 1).await.body;
    assert!(second.contains("look here") && !second.contains("and then this"), "{second}");
    let path = format!("/api/v1/sessions/{id}/members/lead/interrupt");
    assert_eq!(place.post(&path, json!({})).await, (200, json!({"cancelled": true, "pending": 1})));
    place.world.server.open_gate("second");
    place.rest(&id).await;
    assert_eq!(place.post(&path, json!({})).await.1["cancelled"], false);
    let (status, problem) =
        place.post(&format!("/api/v1/sessions/{id}/members/ghost/interrupt"), json!({})).await;
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_member")));
    place
        .end_and(|logs| {
            let ended = format!("{:?}", logs.events(&id, "turn/ended")[0]);
            assert!(ended.contains("Interrupted { by: \"human\" }"), "{ended}");
        })
        .await;
}

#[tokio::test]
async fn p15_a_person_changes_the_board_by_compare_and_set() {
    let place = Place::of(vec![
        Agent::member("lead", vec![spawn("worker"), done(), done()]),
        Agent::member("worker", vec![done()]),
    ])
    .await;
    let id = place.create("go").await;
    place.rest(&id).await;
    let tasks = format!("/api/v1/sessions/{id}/tasks");
    let new = json!({"id": "n1", "subject": "Find it", "write_scopes": ["src"]});
    let (status, made) = place.post(&tasks, new.clone()).await;
    assert_eq!((status, &made["task"]["created_by"]), (201, &json!("human")));
    assert_eq!(place.post(&tasks, new).await.1["task"]["id"], "t1", "asked again: the same");
    let update = |revision: u64, more: Value| {
        let mut body = json!({"expected_revision": revision});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        place.post("/api/v1/sessions/s-1/tasks/t1", body)
    };
    let (status, given) = update(1, json!({"action": "reassign", "owner": "worker"})).await;
    assert_eq!((status, &given["task"]["owner"]), (200, &json!("worker")), "{given}");
    let (status, stale) = update(1, json!({"action": "release"})).await;
    assert_eq!((status, &stale["code"]), (409, &json!("stale_revision")));
    assert!(stale["detail"].as_str().unwrap().contains('2'), "{stale}");
    let (_, taken) = update(2, json!({"action": "release"})).await;
    assert_eq!(taken["warnings"].as_array().unwrap().len(), 1, "{taken}");
    let (_, claimed) = update(3, json!({"action": "claim"})).await;
    assert_eq!(claimed["task"]["owner"], "human");
    let (_, done) = update(4, json!({"action": "complete"})).await;
    assert_eq!(done["task"]["status"], "completed");
    for (wrong, code) in [
        (json!({"action": "reassign", "owner": "ghost"}), "unknown_member"),
        (json!({"action": "edit", "subject": ""}), "text_length"),
        (json!({"action": "dance"}), "invalid_request"),
        (json!({"action": "claim", "by": "lead"}), "invalid_request"),
        (json!({}), "invalid_request"),
    ] {
        let (_, problem) = update(5, wrong.clone()).await;
        assert_eq!(problem["code"], code, "{wrong}");
    }
    let (_, board) = place.get(&tasks).await;
    assert_eq!(board["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(place.get(&format!("{tasks}/t1")).await.1["subject"], "Find it");
    let (status, problem) = place.get(&format!("{tasks}/t9")).await;
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_task")));
    place.end().await;
}

#[tokio::test]
async fn p9_p10_no_field_names_a_sender() {
    let place = Place::of(vec![Agent::member("lead", vec![done(), done()])]).await;
    let id = place.create("go").await;
    place.rest(&id).await;
    let session = format!("/api/v1/sessions/{id}");
    for name in ["from", "sender", "source", "by", "as", "member", "caller", "session"] {
        for (path, mut body) in [
            (format!("{session}/members/lead/prompt"), json!({"text": "x"})),
            (format!("{session}/members/lead/steer"), json!({"text": "x"})),
            (format!("{session}/tasks"), json!({"subject": "s"})),
            ("/api/v1/sessions".to_owned(), json!({"prompt": "x"})),
        ] {
            body[name] = json!("worker");
            let (status, problem) = place.post(&path, body).await;
            assert_eq!(
                (status, &problem["code"]),
                (422, &json!("invalid_request")),
                "{path} {name}"
            );
        }
    }
    let (_, document) = place.get("/api/v1/openapi.json").await;
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(!path.contains("send"), "{path}: messages are members' alone");
    }
    place.end_and(|logs| assert_eq!(logs.events(&id, "team/message/queued").len(), 0)).await;
}

#[tokio::test]
async fn p20_what_makes_no_sense_is_answered_and_nothing_happens() {
    let place = Place::of(vec![Agent::member("lead", vec![done()])]).await;
    let id = place.create("go").await;
    place.rest(&id).await;
    let prompt = format!("/api/v1/sessions/{id}/members/lead/prompt");
    let long = "x".repeat(262_145);
    for (path, body, status, code) in [
        (prompt.as_str(), json!({"text": " "}), 422, "prompt_length"),
        (&prompt, json!({"text": long}), 422, "prompt_length"),
        (&prompt, json!({"text": "x", "id": "a/b"}), 422, "invalid_id"),
        (&prompt, json!({"text": "x", "id": ""}), 422, "invalid_id"),
        (&prompt, json!({"text": "x".repeat(3_000_000)}), 413, "body_too_large"),
        (&prompt, json!(7), 422, "invalid_request"),
        ("/api/v1/sessions", json!({"prompt": "x", "model": "missing"}), 422, "model_unusable"),
        ("/api/v1/sessions", json!({"prompt": ""}), 422, "prompt_length"),
        ("/api/v1/sessions/s-none/resume", json!({}), 404, "unknown_session"),
        ("/api/v1/sessions/s-none/close", json!({}), 404, "unknown_session"),
        ("/api/v1/sessions/s-none/members/lead/interrupt", json!({}), 404, "unknown_session"),
    ] {
        let (got, problem) = place.post(path, body).await;
        assert_eq!((got, &problem["code"]), (status, &json!(code)), "{path}");
        assert_eq!(problem["type"], format!("urn:longboat:problem:{code}"));
        assert_eq!(problem["status"], got);
    }
    let plain = place.ask("POST", &prompt).body("text=x");
    assert_eq!(answer(plain).await.1["code"], "not_json");
    let broken = place.ask("POST", &prompt).header("content-type", "application/json").body("{");
    assert_eq!(answer(broken).await.0, 400);
    assert_eq!(place.get("/api/v1/sessions?limit=x").await.1["code"], "invalid_request");
    assert_eq!(place.get("/api/v1/sessions?nonsense=1").await.1["code"], "invalid_request");
    assert_eq!(place.get("/api/v1/sessions").await.1["total"], 1);
    place.end_and(|logs| assert_eq!(logs.events(&id, "inbox/inserted").len(), 1)).await;
}

#[tokio::test]
async fn p8_mail_that_is_owed_says_why_and_says_when_it_was_read_after_all() {
    // The workspace goes away while the worker is out of memory, and comes back later.
    let world = World::of(vec![
        Agent::member(
            "lead",
            vec![spawn("worker"), send("worker", "late").held(Hold::gate("away")), done(), done()],
        ),
        Agent::member("worker", vec![done(), done()]),
    ]);
    let world = world.await.releasing_after(std::time::Duration::from_millis(20));
    let place = Place::in_world(world).await;
    let id = place.create("go").await;
    let mut stream = Stream::open(&place, &id, None).await;
    let released = |sent: &Sent| sent.data["data"]["change"]["kind"] == "released";
    stream.until(|sent| sent.is("team/activity") && released(sent)).await;
    let (here, away) = (place.world.workspace(), place.world.workspace().with_extension("away"));
    std::fs::rename(&here, &away).unwrap();
    place.world.server.open_gate("away");
    let came = stream.until(|sent| sent.event == "unreachable").await;
    let told = &came.last().unwrap().data;
    assert!(told["cause"].as_str().unwrap().contains("its workspace"), "{told}");
    let messages = format!("/api/v1/sessions/{id}/messages");
    let (_, page) = place.get(&messages).await;
    let owed = &page["messages"][0];
    assert_eq!((&owed["state"], &owed["accepted"]), (&json!("owed"), &Value::Null), "{owed}");
    assert!(owed["cause"].as_str().unwrap().contains("its workspace"), "{owed}");
    let (_, team) = place.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!(team["members"][1]["owed"], 1, "{team}");
    assert!(team["members"][1]["cause"].as_str().unwrap().contains("its workspace"), "{team}");
    std::fs::rename(&away, &here).unwrap();
    place.rest(&id).await;
    let (_, page) = place.get(&messages).await;
    assert_eq!(page["messages"][0]["state"], "read", "{page}");
    let (_, after) = place.get(&format!("{messages}?from=7")).await;
    assert_eq!((&after["messages"], &after["next"]), (&json!([]), &Value::Null));
    place.end().await;
}

#[tokio::test]
async fn the_mailbox_comes_in_pages_by_number() {
    let lead = (0..7).fold(spawn("worker"), |step, n| {
        step.and_call("send_message", json!({"target": "worker", "message": n.to_string()}))
    });
    let place = Place::of(vec![
        Agent::member("lead", vec![lead, wait(), wait(), done(), done()]),
        Agent { after: Some(done()), ..Agent::member("worker", vec![done()]) },
    ])
    .await;
    let id = place.create("go").await;
    place.rest(&id).await;
    let (mut from, mut texts) = (Some(1), Vec::new());
    while let Some(first) = from {
        let path = format!("/api/v1/sessions/{id}/messages?from={first}&limit=3");
        let (_, page) = place.get(&path).await;
        assert_eq!(page["total"], 7);
        let messages = page["messages"].as_array().unwrap().clone();
        texts.extend(messages.iter().map(|way| way["text"].as_str().unwrap().to_owned()));
        assert!(messages.iter().all(|way| way["state"] == "read"), "{page}");
        from = page["next"].as_u64();
    }
    assert_eq!(texts, ["0", "1", "2", "3", "4", "5", "6"]);
    let (_, last) = place.get(&format!("/api/v1/sessions/{id}/messages?limit=2")).await;
    assert_eq!((&last["messages"][0]["id"], &last["next"]), (&json!("m6"), &Value::Null));
    place.end().await;
}

#[tokio::test]
async fn a_team_whose_budget_is_used_up_says_so_and_is_resumed_on_request() {
    let budget = longboat_engine::Budget { turns: Some(1), ..Default::default() };
    let world = World::of(vec![Agent::member("lead", vec![done(), done(), done()])]);
    let place = Place::in_world(world.await.costing(budget)).await;
    let id = place.create("go").await;
    place.rest(&id).await;
    place.say(&id, "lead", "prompt", "more").await;
    place.rest(&id).await;
    let path = format!("/api/v1/sessions/{id}");
    let (_, team) = place.get(&path).await;
    assert!(team["suspended"].as_str().unwrap().contains("budget of 1 turns"), "{team}");
    let (status, problem) =
        place.post(&format!("{path}/members/lead/prompt"), json!({"text": "x"})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("team_closed")));
    let (_, team) = place.post(&format!("{path}/resume"), json!({})).await;
    assert_eq!((&team["suspended"], &team["open"]), (&Value::Null, &json!(true)));
    place.rest(&id).await;
    place.end().await;
}

#[tokio::test]
async fn a_call_that_waits_for_permission_is_seen_and_answered() {
    let (unlisted, unanswered) = (Unlisted::Ask, Unanswered::Wait);
    let write = json!({"path": "made", "content": "x"});
    let lead = Agent::member("lead", vec![Step::call("write", write), done()]);
    let tools = WorkspaceTools::new(WorkspaceSettings::allowed(std::iter::empty(), &[]));
    let mut world = World::of(vec![lead]).await.equipped(Arc::new(tools));
    world.permit(Permissions { unlisted, unanswered, ..Permissions::default() });
    let place = Place::in_world(world).await;
    let id = place.create("go").await;
    let mut stream = Stream::open(&place, &id, None).await;
    stream.until(|sent| sent.is("permission/asked")).await;
    let (_, team) = place.get(&format!("/api/v1/sessions/{id}")).await;
    let question = &team["members"][0]["questions"][0];
    assert_eq!((&question["id"], &question["tool"]), (&json!("lead.1.0"), &json!("write")));
    assert!(question["arguments"].as_str().unwrap().contains("made"));

    let path = format!("/api/v1/sessions/{id}/questions/lead.1.0");
    let (status, problem) = place.post(&path, json!({"answer": "perhaps"})).await;
    assert_eq!((status, &problem["code"]), (422, &json!("invalid_request")));
    let (status, given) = place.post(&path, json!({"answer": "once"})).await;
    assert_eq!((status, &given["answer"]), (200, &json!("once")));
    let (status, problem) = place.post(&path, json!({"answer": "once"})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("question_not_open")));
    place.rest(&id).await;
    assert!(place.world.workspace().join("made").exists());
    place.end().await;
}
