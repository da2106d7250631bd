//! Git worktrees through the shipped binary: a role that asks for one, what is shown of it, and a
//! kill in the middle of a checkout.

use super::place::{Place, step, wait};
use longboat_scripted::{Agent, Step};
use nix::sys::stat::Mode;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn git(workspace: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=a test", "-c", "user.email=test@example.org"];
    let mut command = Command::new("git");
    command.arg("-C").arg(workspace).args(identity).args(arguments);
    let output = command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn commit_all(workspace: &Path) {
    git(workspace, &["init", "--quiet"]);
    git(workspace, &["add", "--all"]);
    git(workspace, &["commit", "--quiet", "--message", "begin"]);
}

fn spawn(more: Value) -> Step {
    let mut arguments = json!({"name": "worker", "description": "works", "prompt": "begin"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    step("spawn_teammate", arguments)
}

fn team(more: Value) -> Vec<Agent> {
    let pwd = step("bash", json!({"command": "pwd"}));
    vec![
        Agent::member("lead", vec![spawn(more), wait(), wait(), Step::text("All done.")]),
        Agent::member("worker", vec![pwd, Step::text("I was there.")]),
    ]
}

/// Where the worktree is to be.
fn expected(place: &Place, lead: &str) -> PathBuf {
    place.store().with_extension("worktrees").join(lead).join("worker")
}

#[tokio::test]
async fn a_role_that_asks_for_a_worktree_gives_one_and_it_is_shown() {
    let place = Place::of(team(json!({"role": "builder"}))).await;
    let roles = place.workspace().join(".longboat/agents");
    fs::create_dir_all(&roles).unwrap();
    let role = "---\nname: builder\nisolation: worktree\n---\nYou build.\n";
    fs::write(roles.join("builder.md"), role).unwrap();
    commit_all(&place.workspace());
    let ended = place.end(place.run(&[])).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "All done.\n"), "{}", ended.err);
    let lead = place.lead().await;
    let branch = format!("longboat/{}/worker", &lead.as_str()[..10]);
    assert!(ended.err.contains(&format!("lead makes worker on {branch}: works")), "{}", ended.err);
    let path = expected(&place, lead.as_str());
    assert!(path.join(".longboat/agents/builder.md").is_file());
    let shown = place.end(place.command(&["show"])).await.out;
    assert!(shown.replace("\n    ", "").contains(&branch), "{shown}");
    let shown = place.end(place.command(&["show", "--json"])).await.out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let base = git(&place.workspace(), &["rev-parse", "HEAD"]);
    let worktree = json!({"path": path, "branch": branch, "base": base.trim()});
    assert_eq!(shown["members"][1]["worktree"], worktree);
    assert_eq!(place.wrong().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_worktree_whose_making_outlived_a_kill_is_taken_by_the_next_life() {
    let place = Place::of(team(json!({"isolation": "worktree"}))).await;
    let (workspace, pipe) = (place.workspace(), place.store().with_file_name("pipe"));
    fs::create_dir_all(place.store().parent().unwrap()).unwrap();
    nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    fs::write(workspace.join(".gitattributes"), "held.txt filter=hold\n").unwrap();
    fs::write(workspace.join("held.txt"), "held\n").unwrap();
    commit_all(&workspace);
    let smudge = format!("cat {} >/dev/null; cat", pipe.display());
    git(&workspace, &["config", "filter.hold.smudge", &smudge]);

    let mut child = place.run(&[]).spawn().unwrap();
    let open = move || fs::OpenOptions::new().write(true).open(pipe).unwrap();
    let holding = tokio::task::spawn_blocking(open).await.unwrap();
    child.kill().await.unwrap();
    let unfinished = workspace.join(".git/worktrees/worker/locked");
    assert!(unfinished.exists(), "it was killed in the middle of the checkout");
    drop(holding);
    // The git that is left tells nobody when it has ended.
    while unfinished.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let ended = place.end(place.command(&["resume"])).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "All done.\n"), "{}", ended.err);
    let known = git(&workspace, &["worktree", "list"]);
    let path = expected(&place, place.lead().await.as_str());
    assert_eq!(known.lines().count(), 2, "{known}");
    assert!(known.contains(&path.display().to_string()), "{known}");
    assert_eq!(fs::read_to_string(path.join("held.txt")).unwrap(), "held\n");
    assert_eq!(place.wrong().await, Vec::<String>::new());
}
