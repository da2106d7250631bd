//! What members may do: what the flags and the files say, what a person says, and what the kernel
//! holds their commands to.

use super::place::{Ended, Place, ended, step};
use longboat_scripted::{Agent, Step};
use serde_json::json;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

fn bash(command: &str) -> Step {
    step("bash", json!({"command": command}))
}

async fn place(commands: &[&str]) -> Place {
    let steps = commands.iter().map(|command| bash(command)).chain([Step::text("done")]);
    Place::of(vec![Agent::member("lead", steps.collect())]).await
}

/// A run that reached its first question, and the rest of what it says.
async fn asked(mut command: Command) -> (Child, JoinSet<()>) {
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("waits for permission: lead.1.0") {
            // Read on, so that nothing it says holds it up.
            let mut reading = JoinSet::new();
            reading.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (child, reading);
        }
    }
    panic!("it ended without a question");
}

async fn answer(place: &Place, words: &[&str]) -> Ended {
    let arguments: Vec<&str> = ["answer"].iter().chain(words).copied().collect();
    place.end(place.command(&arguments)).await
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_answer_is_no_and_the_run_goes_on() {
    let place = place(&["touch made"]).await;
    let ended = place.end(place.run(&["--ask"])).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "done\n"), "{}", ended.err);
    assert!(!place.workspace().join("made").exists());
    let ended = place.end(place.run(&["--ask", "--unanswered", "allow"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(place.workspace().join("made").exists());
}

#[tokio::test]
async fn another_command_answers_a_run_that_waits() {
    let place = place(&["touch made"]).await;
    let (child, _reading) = asked(place.run(&["--ask", "--unanswered", "wait"])).await;
    let listed = answer(&place, &[]).await;
    assert!(listed.out.starts_with("lead.1.0  bash ") && listed.out.contains("touch made"));
    assert!(!place.workspace().join("made").exists());
    let shown = place.end(place.command(&["show"])).await;
    assert!(shown.out.contains("lead.1.0 waits for your permission"), "{}", shown.out);
    let other = answer(&place, &["once", "lead.9.0"]).await;
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("not an open question"), "{}", other.err);
    let given = answer(&place, &["once"]).await;
    assert_eq!((given.code, given.out.as_str()), (Some(0), "lead.1.0 may run\n"));
    assert_eq!(ended(child).await.code, Some(0));
    assert!(place.workspace().join("made").exists());
    assert_eq!(place.wrong().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_question_outlives_a_kill_and_its_call_runs_once() {
    let place = place(&["echo x >> made"]).await;
    let (mut child, _reading) = asked(place.run(&["--ask", "--unanswered", "wait"])).await;
    child.kill().await.unwrap();
    let mut resume = place.command(&["resume", "--ask", "--unanswered", "wait"]);
    resume.env("LONGBOAT_BASE_URL", place.server.base_url());
    let child = resume.spawn().unwrap();
    // It is reachable once its note is there, and only then is anything answered.
    let mut given = answer(&place, &["once", "lead.1.0"]).await;
    while given.code != Some(0) {
        assert!(!place.workspace().join("made").exists(), "{}", given.err);
        given = answer(&place, &["once", "lead.1.0"]).await;
    }
    assert_eq!(ended(child).await.code, Some(0));
    assert_eq!(std::fs::read_to_string(place.workspace().join("made")).unwrap(), "x\n");
}

#[tokio::test]
async fn whoever_sits_at_the_terminal_is_asked_there() {
    let place = place(&["echo one > made", "echo two > made"]).await;
    let run = format!("{} run go --model openai/scripted --ask", env!("CARGO_BIN_EXE_longboat"));
    // A terminal of its own, as script(1) makes it.
    let mut command = place.command(&[]);
    let mut terminal = Command::new("script");
    for (name, value) in command.as_std_mut().get_envs() {
        terminal.env(name, value.unwrap_or_default());
    }
    let mut child = terminal
        .args(["-qefc", &run, "/dev/null"])
        .current_dir(place.workspace())
        .env("LONGBOAT_BASE_URL", place.server.base_url())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut said = String::new();
    let mut buffer = [0; 4096];
    for (question, answer) in [("echo one", "what?\ny\n"), ("echo two", "n\n")] {
        while !said.contains(&format!("lead asks to call bash {{\"command\":\"{question}")) {
            let read = output.read(&mut buffer).await.unwrap();
            assert!(read > 0, "it ended: {said}");
            said.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        input.write_all(answer.as_bytes()).await.unwrap();
    }
    let mut rest = String::new();
    output.read_to_string(&mut rest).await.unwrap();
    assert!(child.wait().await.unwrap().success(), "{rest}");
    assert!(rest.contains("done"), "{rest}");
    let made = std::fs::read_to_string(place.workspace().join("made")).unwrap();
    assert_eq!(made, "one\n", "the second was refused");
}

#[tokio::test]
async fn a_checkout_cannot_permit_anything() {
    let place = place(&["touch made"]).await;
    let file = place.workspace().join("longboat.toml");
    std::fs::write(file, "[permissions]\npolicy = \"full\"\n").unwrap();
    let ended = place.end(place.run(&[])).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("[permissions]") && ended.err.contains("--config"), "{}", ended.err);
}

#[tokio::test]
async fn the_users_file_has_rules_and_says_what_is_wrong_with_one() {
    let place = place(&["touch made", "touch other"]).await;
    let file = place.store().with_file_name("rules.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[permissions]\ndeny = [\"bash(touch made*)\"]\n").unwrap();
    let given = file.display().to_string();
    let ended = place.end(place.run(&["--config", &given])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!place.workspace().join("made").exists() && place.workspace().join("other").exists());
    std::fs::write(&file, "[permissions]\ndeny = [\"bash(\"]\n").unwrap();
    let ended = place.end(place.run(&["--config", &given])).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("is no rule; write TOOL"), "{}", ended.err);
}

#[tokio::test]
async fn commands_see_neither_the_store_nor_the_home_unless_everything_is_permitted() {
    let place = place(&["cat $HOME/secret $LONGBOAT_STORE* $HOME/store/* > seen"]).await;
    let home = place.workspace().parent().unwrap().to_owned();
    std::fs::write(home.join("secret"), "words\n").unwrap();
    let seen = || std::fs::read(place.workspace().join("seen")).unwrap();
    let ended = place.end(place.run(&[])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(seen(), b"");
    let ended = place.end(place.run(&["--policy", "full"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(seen().starts_with(b"words\n"));
}

#[tokio::test]
async fn read_only_changes_nothing() {
    let place = place(&["cat kept; echo x > made; rm kept"]).await;
    std::fs::write(place.workspace().join("kept"), "kept\n").unwrap();
    let ended = place.end(place.run(&["--policy", "read-only"])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!place.workspace().join("made").exists() && place.workspace().join("kept").exists());
}
