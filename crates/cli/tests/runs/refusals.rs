//! What cannot be done is said in one line that tells what to do.

use super::place::Place;
use longboat_scripted::{Agent, Step};

async fn refused(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("x")])]).await;
    let mut command = place.command(arguments);
    command.envs(variables.iter().copied());
    let ended = place.end(command).await;
    assert_eq!(ended.out, "");
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    (ended.code, ended.err)
}

#[tokio::test]
async fn without_a_model_it_says_what_to_set() {
    let (code, line) = refused(&["run", "go"], &[]).await;
    assert_eq!(code, Some(2));
    assert!(line.contains("LONGBOAT_MODEL") && line.contains("OPENAI_API_KEY"), "{line}");
}

#[tokio::test]
async fn without_a_key_it_names_the_variable() {
    let (code, line) = refused(&["run", "go", "--model", "deepseek/deepseek-chat"], &[]).await;
    assert_eq!(code, Some(2));
    assert!(line.contains("set DEEPSEEK_API_KEY"), "{line}");
}

#[tokio::test]
async fn an_unknown_provider_is_told_which_there_are() {
    let (code, line) = refused(&["run", "go"], &[("LONGBOAT_MODEL", "nobody/x")]).await;
    assert_eq!(code, Some(2));
    assert!(line.contains("anthropic, deepseek"), "{line}");
}

#[tokio::test]
async fn an_unknown_key_in_the_configuration_is_an_error() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("x")])]).await;
    std::fs::write(place.workspace().join("longboat.toml"), "[model]\ndefalt = \"x/y\"\n").unwrap();
    let ended = place.end(place.run(&[])).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("did you mean \"default\"?"), "{}", ended.err);
}

#[tokio::test]
async fn there_is_nothing_to_resume_or_show_before_the_first_run() {
    let (code, line) = refused(&["resume"], &[]).await;
    assert_eq!(code, Some(2));
    assert!(line.contains("start one with"), "{line}");
    let (code, _) = refused(&["show"], &[]).await;
    assert_eq!(code, Some(2));
}

#[tokio::test]
async fn an_empty_prompt_is_refused() {
    let (code, line) = refused(&["run", "  "], &[]).await;
    assert_eq!(code, Some(2));
    assert!(line.contains("the prompt is empty"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_before_the_run_begins() {
    let nowhere = [("LONGBOAT_BASE_URL", "http://127.0.0.1:9/v1")];
    let (code, line) = refused(&["run", "go", "--model", "ollama/x"], &nowhere).await;
    assert_eq!(code, Some(2), "{line}");
    assert!(line.contains("nobody answers for ollama/x") && line.contains("127.0.0.1:9"), "{line}");
}

#[tokio::test]
async fn credentials_in_an_address_are_refused_without_being_shown() {
    let url = [("LONGBOAT_BASE_URL", "http://me:hunter2@127.0.0.1:9/v1")];
    let (code, line) = refused(&["run", "go", "--model", "ollama/x"], &url).await;
    assert_eq!(code, Some(2));
    assert!(line.contains("has credentials in it") && !line.contains("hunter2"), "{line}");
}

#[tokio::test]
async fn a_store_that_cannot_be_made_is_said() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("x")])]).await;
    let ended = place.end(place.run(&["--store", "/proc/nowhere/x.db"])).await;
    assert_eq!((ended.code, ended.err.lines().count()), (Some(3), 1), "{}", ended.err);
}

#[tokio::test]
async fn p20_keys_never_appear_in_what_is_printed_or_kept() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("ok")])]).await;
    let mut command = place.run(&[]);
    command.env("OPENAI_API_KEY", "sk-very-secret-key").env("LONGBOAT_LOG", "trace");
    let ended = place.end(command).await;
    assert_eq!(ended.code, Some(0));
    assert!(!ended.err.contains("sk-very-secret") && !ended.out.contains("sk-very-secret"));
    let exported = place.end(place.command(&["export"])).await.out;
    assert!(!exported.contains("sk-very-secret"));
}

#[tokio::test]
async fn p20_doctor_finds_a_damaged_log_and_other_sessions_go_on() {
    let place =
        Place::of(vec![Agent::member("lead", vec![Step::text("one"), Step::text("two")])]).await;
    assert_eq!(place.end(place.run(&[])).await.code, Some(0));
    let well = place.end(place.command(&["doctor"])).await;
    assert_eq!(well.code, Some(0), "{}{}", well.out, well.err);
    assert!(well.out.contains("every log is whole"));
    let damaged = place.lead().await;
    assert_eq!(place.end(place.run(&[])).await.code, Some(0));

    // A byte of an early record changes behind the store's back.
    let database = rusqlite::Connection::open(place.store()).unwrap();
    let changed = database
        .execute(
            "UPDATE records SET data = replace(data, 'You are', 'You were') WHERE seq = 1 \
             AND session = (SELECT number FROM sessions WHERE id = ?1)",
            [damaged.as_str()],
        )
        .unwrap();
    assert_eq!(changed, 1);
    drop(database);
    let ill = place.end(place.command(&["doctor"])).await;
    assert_eq!(ill.code, Some(1));
    let line = ill.out.lines().find(|line| line.starts_with("WRONG")).unwrap();
    assert!(line.contains(damaged.as_str()) && line.contains("from seq 1 on"), "{line}");
    let gone = place.end(place.command(&["resume", damaged.as_str()])).await;
    assert_ne!(gone.code, Some(0));
    assert!(gone.err.contains("damaged at seq 1"), "{}", gone.err);
    let exported = place.end(place.command(&["export", damaged.as_str()])).await;
    assert_eq!(exported.code, Some(1));
    assert!(exported.out.contains("turn/ended"), "what lies behind the damage is saved too");
    assert!(exported.err.contains("seq 1: its checksum does not match"), "{}", exported.err);
    // The latest session is another one, and it goes on.
    let other = place.end(place.command(&["resume", "latest", "more"])).await;
    assert_eq!((other.code, other.out.as_str()), (Some(0), "two\n"), "{}", other.err);
}
