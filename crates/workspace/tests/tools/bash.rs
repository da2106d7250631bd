//! Commands: bounded in time and words, and nothing of them outlives them.

use super::place::{Place, text};
use longboat_core::content::ToolStatus;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Waits until a process is gone; a zombie is as good as gone.
pub(crate) async fn gone(pid: &str) {
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let waited = async {
        while alive() {
            tick.tick().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), waited).await;
    assert!(waited.is_ok(), "process {pid} is still there");
}

/// Waits until a file has a line, and returns it.
pub(crate) async fn line_of(path: &Path) -> String {
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        tick.tick().await;
    }
}

#[tokio::test]
async fn both_streams_come_in_order_with_the_exit_code() {
    let place = Place::new();
    let agent = place.agent();
    let out = agent.ok("bash", json!({"command": "echo one; echo two >&2; echo three; pwd"})).await;
    let root = place.root().canonicalize().unwrap();
    assert_eq!(out, format!("one\ntwo\nthree\n{}\n[exit code 0]", root.display()));
    let failed = agent.refused("bash", json!({"command": "echo x; exit 3"})).await;
    assert_eq!(failed, "x\n[exit code 3]");
}

#[tokio::test]
async fn the_environment_is_the_allowed_one_and_input_is_empty() {
    let place = Place::new();
    let command = "cat; env | cut -d= -f1 | sort | grep -v -e '^_$' -e PWD -e SHLVL | tr '\\n' ' '";
    let out = place.agent().ok("bash", json!({"command": command})).await;
    assert_eq!(out, "LONGBOAT_COMMAND PATH \n[exit code 0]");
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_kept_whole_in_a_file() {
    let place = Place::new();
    let agent = place.agent();
    let out = agent.ok("bash", json!({"command": "seq 1 20000"})).await;
    assert!(
        out.len() < 30_000 && out.starts_with("1\n2\n") && out.contains("20000\n[exit code 0]")
    );
    let path = out.split("all of it is in ").nth(1).unwrap().split(']').next().unwrap();
    let whole = std::fs::read_to_string(path).unwrap();
    let expected: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(whole, expected);
    let shown = agent.ok("read", json!({"path": path, "offset": 10_000, "limit": 1})).await;
    assert!(shown.contains("10000\n"));
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let place = Place::new();
    let command = "echo start; (sleep 1000 & echo $! > pid; wait)";
    let arguments = json!({"command": command, "timeout_ms": 500});
    let out = place.agent().refused("bash", arguments).await;
    assert_eq!(out, "start\n[timed out after 500 ms and was ended]");
    gone(place.content("pid").trim()).await;
}

#[tokio::test]
async fn what_ignores_being_told_to_end_is_killed() {
    let place = Place::new();
    let command = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done";
    place.agent().refused("bash", json!({"command": command, "timeout_ms": 300})).await;
    gone(place.content("pid").trim()).await;
}

#[tokio::test]
async fn a_background_process_neither_holds_the_call_nor_outlives_it() {
    let place = Place::new();
    let command = "sleep 1000 & echo $! > pid; echo done";
    let out = place.agent().ok("bash", json!({"command": command})).await;
    assert!(out.starts_with("done\n[exit code 0]\n[processes it left"), "{out}");
    gone(place.content("pid").trim()).await;
    let noisy = place.agent().ok("bash", json!({"command": "yes & echo $! > pid; exit 0"})).await;
    assert!(noisy.contains("[exit code 0]"));
    gone(place.content("pid").trim()).await;
}

#[tokio::test]
async fn p14_a_call_that_is_dropped_leaves_nothing_running() {
    let place = Place::new();
    let agent = place.agent();
    let command = "(sleep 1000 & echo $! > pid; wait); echo never";
    let pid = place.root().join("pid");
    let pid = tokio::select! {
        out = agent.call("bash", json!({"command": command})) => panic!("it ended: {}", text(&out)),
        pid = line_of(&pid) => pid,
    };
    gone(&pid).await;
}

#[tokio::test]
async fn p14_a_call_that_is_cancelled_ends_by_itself_with_its_children() {
    let place = Place::new();
    let agent = place.agent();
    let command = "echo start; (sleep 1000 & echo $! > pid; wait); echo never";
    let path = place.root().join("pid");
    let (outcome, pid) = tokio::join!(agent.call("bash", json!({"command": command})), async {
        let pid = line_of(&path).await;
        agent.cancel();
        pid
    });
    assert_eq!(outcome.status, ToolStatus::Interrupted);
    assert_eq!(text(&outcome), "start\n[interrupted; all it started was ended]");
    gone(&pid).await;
}

#[tokio::test]
async fn who_is_told_to_end_has_time_to_clean_up_even_when_the_call_is_dropped() {
    let place = Place::new();
    let clean =
        "trap 'sleep 0.05; echo clean > cleaned; exit' TERM; echo $$ > pid; exec >/dev/null 2>&1
        while :; do sleep 0.05; done";
    let agent = place.agent();
    let (pid, cleaned) = (place.root().join("pid"), place.root().join("cleaned"));
    agent.refused("bash", json!({"command": clean, "timeout_ms": 1500})).await;
    gone(&line_of(&pid).await).await;
    assert_eq!(place.content("cleaned"), "clean\n");
    std::fs::remove_file(&pid).unwrap();
    std::fs::remove_file(&cleaned).unwrap();
    let pid = tokio::select! {
        out = agent.call("bash", json!({"command": clean})) => panic!("it ended: {}", text(&out)),
        pid = line_of(&pid) => pid,
    };
    gone(&pid).await;
    assert_eq!(place.content("cleaned"), "clean\n");
}

#[tokio::test]
async fn a_silent_background_process_is_ended_and_named_too() {
    let place = Place::new();
    let command = "sleep 1000 >/dev/null 2>&1 & echo $! > pid; echo done";
    let out = place.agent().ok("bash", json!({"command": command})).await;
    assert_eq!(out, "done\n[exit code 0]\n[processes it left in the background were ended]");
    gone(place.content("pid").trim()).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_is_ended_and_named() {
    let place = Place::new();
    let command = "setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid; sleep 0.1; echo done";
    let out = place.agent().ok("bash", json!({"command": command})).await;
    assert_eq!(out, "done\n[exit code 0]\n[processes it left in the background were ended]");
    gone(place.content("pid").trim()).await;
}

#[tokio::test]
async fn a_process_that_hides_from_the_runtime_is_not_claimed_to_be_ended() {
    let place = Place::new();
    let command = "env -i setsid sleep 1000 & echo $! > pid; sleep 0.1; echo done";
    let out = place.agent().ok("bash", json!({"command": command})).await;
    let pid = nix::unistd::Pid::from_raw(place.content("pid").trim().parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(out.starts_with("done\n[exit code 0]\n[a process that hides"), "{out}");
}

#[tokio::test]
async fn what_a_killed_process_left_is_found_by_the_next_one() {
    let place = Place::new();
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/run_bash");
    let mut parent = tokio::process::Command::new(example)
        .arg("setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid; sleep 1000")
        .arg(place.root())
        .current_dir(place.root())
        .spawn()
        .unwrap();
    let pid = line_of(&place.root().join("pid")).await;
    parent.kill().await.unwrap();
    let ended = longboat_workspace::end_orphans(&place.root().display().to_string()).await;
    assert!(ended >= 1, "the one that left its group was found");
    gone(&pid).await;
}

#[tokio::test]
async fn a_command_that_dies_of_a_signal_says_which() {
    let place = Place::new();
    let out = place.agent().refused("bash", json!({"command": "echo x; kill -9 $$"})).await;
    assert_eq!(out, "x\n[exit code 137 (SIGKILL)]");
}

#[tokio::test]
async fn a_command_runs_to_its_end_when_its_output_cannot_be_kept() {
    let place = Place::new();
    place.file("not-a-directory", "");
    let agent = place.agent().spilling_to(place.root().join("not-a-directory"));
    let out = agent.ok("bash", json!({"command": "seq 1 20000; echo end > end"})).await;
    assert!(out.starts_with("1\n2\n") && out.contains("could not be kept"), "{out}");
    assert_eq!(place.content("end"), "end\n");
}

#[tokio::test]
async fn nothing_outlives_a_parent_that_is_killed() {
    let place = Place::new();
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/run_bash");
    let mut parent = tokio::process::Command::new(example)
        .arg("(sleep 1000 & echo $! > pid; wait); echo never")
        .current_dir(place.root())
        .spawn()
        .unwrap();
    let pid = line_of(&place.root().join("pid")).await;
    parent.kill().await.unwrap();
    gone(&pid).await;
}

#[tokio::test]
async fn what_ignores_being_told_to_end_does_not_outlive_a_killed_parent_either() {
    let place = Place::new();
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/run_bash");
    let stubborn = "trap '' TERM HUP INT; kill -TERM 0; echo $$ > pid; while :; do sleep 0.1; done";
    let mut parent = tokio::process::Command::new(example)
        .arg(stubborn)
        .current_dir(place.root())
        .spawn()
        .unwrap();
    let pid = line_of(&place.root().join("pid")).await;
    parent.kill().await.unwrap();
    gone(&pid).await;
}
