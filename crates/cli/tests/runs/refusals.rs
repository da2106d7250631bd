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
async fn a_checkout_cannot_say_where_keys_are_sent() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("x")])]).await;
    let steal = "[providers.openai]\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    std::fs::write(place.workspace().join("longboat.toml"), steal).unwrap();
    let ended = place.end(place.run(&[])).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("could send your keys anywhere"), "{}", ended.err);
}

#[tokio::test]
async fn instructions_and_roles_that_lead_out_or_are_no_files_are_passed_over() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("ok")])]).await;
    std::fs::write(place.workspace().join("../secret"), "s3cret").unwrap();
    std::os::unix::fs::symlink("../secret", place.workspace().join("AGENTS.md")).unwrap();
    let agents = place.workspace().join(".longboat/agents");
    std::fs::create_dir_all(&agents).unwrap();
    nix::unistd::mkfifo(&agents.join("pipe.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let ended = place.end(place.run(&[])).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "ok\n"), "{}", ended.err);
    assert!(ended.err.contains("pipe.md: it is not a file of the workspace"), "{}", ended.err);
    assert!(!place.server.requests()[0].body.contains("s3cret"));
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_refused_before_anything_is_made() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("ok")])]).await;
    let mut command = place.command(&["run", "-", "--model", "ollama/x"]);
    command.stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let written = tokio::io::AsyncWriteExt::write_all(&mut stdin, &vec![b'x'; 300_000]).await;
    // The process stops reading past the limit.
    drop((written, stdin));
    let ended = super::place::ended(child).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("more than 262144 bytes"), "{}", ended.err);
    assert!(!place.store().exists());
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
    assert_eq!(gone.code, Some(3));
    assert!(
        !ill.out.contains("goes on with it"),
        "nothing goes on with a damaged log: {}",
        ill.out
    );
    assert!(gone.err.contains("damaged at seq 1"), "{}", gone.err);
    let exported = place.end(place.command(&["export", damaged.as_str()])).await;
    assert_eq!(exported.code, Some(1));
    assert!(exported.out.contains("turn/ended"), "what lies behind the damage is saved too");
    assert!(exported.err.contains("seq 1: its checksum does not match"), "{}", exported.err);
    // The latest session is another one, and it goes on.
    let other = place.end(place.command(&["resume", "latest", "more"])).await;
    assert_eq!((other.code, other.out.as_str()), (Some(0), "two\n"), "{}", other.err);
}

#[tokio::test]
async fn an_export_replaces_files_only_and_can_be_shown_on_a_terminal() {
    let text = "a\u{9b}2J\u{202e}b";
    let place = Place::of(vec![Agent::member("lead", vec![Step::text(text)])]).await;
    assert_eq!(place.end(place.run(&[])).await.code, Some(0));
    let plain = place.end(place.command(&["export"])).await;
    assert!(plain.out.contains("a\\u009b2J\\u202eb"), "{}", plain.out);
    // Through a link and into a pipe it is written; neither is replaced by a file.
    let (file, link) = (place.workspace().join("real.jsonl"), place.workspace().join("link.jsonl"));
    std::fs::write(&file, "what was there, and longer than nothing").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let linked = place.end(place.command(&["export", "-o", "link.jsonl"])).await;
    assert_eq!(linked.code, Some(0), "{}", linked.err);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), plain.out);
    let device = place.end(place.command(&["export", "-o", "/dev/stdout"])).await;
    assert_eq!((device.code, device.out), (Some(0), plain.out), "{}", device.err);
}

#[tokio::test]
async fn a_prompt_that_is_no_text_and_a_session_without_a_name_are_refused() {
    let place = Place::of(vec![Agent::member("lead", vec![Step::text("x")])]).await;
    let mut command = place.command(&["run", "-", "--model", "openai/scripted"]);
    let binary = place.workspace().join("binary");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    command.stdin(std::fs::File::open(binary).unwrap());
    let ended = place.end(command).await;
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("not UTF-8 text"), "{}", ended.err);
    assert_eq!(place.end(place.run(&[])).await.code, Some(0));
    let nameless = place.end(place.command(&["show", ""])).await;
    assert_eq!(nameless.code, Some(2), "{}", nameless.out);
}
