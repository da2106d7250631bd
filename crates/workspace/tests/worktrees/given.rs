//! What a member is given.

use super::repository::{Repository, commit, git, provide};
use longboat_core::log::Worktree;
use longboat_engine::GivenWorktree;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn a_worktree_is_outside_the_checkout_on_its_own_branch_from_the_same_commit() {
    let repository = Repository::new();
    let base = git(&repository.root(), &["rev-parse", "HEAD"]);
    let given = repository.provide("worker").await.unwrap();
    let path = repository.beside("longboat.worktrees/s-1/worker");
    let shown = path.display().to_string();
    let worktree = Worktree { path: shown.clone(), branch: "longboat/s-1/worker".to_owned(), base };
    assert_eq!(given, GivenWorktree { worktree, cwd: shown, uncommitted: 0 });
    assert_eq!(fs::read_to_string(path.join("file.txt")).unwrap(), "one\n");
    assert_eq!(git(&path, &["branch", "--show-current"]), "longboat/s-1/worker");
    assert_eq!(git(&repository.root(), &["branch", "--show-current"]), "main");
}

#[tokio::test]
async fn a_workspace_below_the_root_is_the_same_directory_of_the_worktree() {
    let repository = Repository::new();
    let below = repository.root().join("a/b c");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("deep.txt"), "deep\n").unwrap();
    commit(&repository.root());
    let given = provide(&repository.worktrees(), &below, "worker").await.unwrap();
    assert_eq!(given.cwd, format!("{}/a/b c", given.worktree.path));
    assert!(fs::exists(format!("{}/deep.txt", given.cwd)).unwrap());
}

#[tokio::test]
async fn what_is_not_committed_is_counted_and_left_out() {
    let repository = Repository::new();
    fs::write(repository.root().join("file.txt"), "changed\n").unwrap();
    fs::write(repository.root().join("new.txt"), "new\n").unwrap();
    let given = repository.provide("worker").await.unwrap();
    assert_eq!(given.uncommitted, 2);
    let file = |name: &str| fs::read_to_string(format!("{}/{name}", given.cwd));
    assert_eq!(file("file.txt").unwrap(), "one\n");
    assert!(file("new.txt").is_err());
}

#[tokio::test]
async fn no_hook_of_the_repository_runs() {
    let repository = Repository::new();
    let (hook, mark) = (repository.root().join(".git/hooks/post-checkout"), "ran");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", repository.beside(mark).display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repository.provide("worker").await.unwrap();
    assert!(!repository.beside(mark).exists());
}

#[tokio::test]
async fn a_worktree_that_is_there_already_is_taken_again_as_it_is() {
    let repository = Repository::new();
    let first = repository.provide("worker").await.unwrap();
    // The checkout went on meanwhile.
    fs::write(repository.root().join("file.txt"), "two\n").unwrap();
    commit(&repository.root());
    assert_eq!(repository.provide("worker").await, Ok(first));
    assert_eq!(repository.known(), 1);
}

#[tokio::test]
async fn two_members_have_two_worktrees() {
    let repository = Repository::new();
    let (a, b) = tokio::join!(repository.provide("a"), repository.provide("b"));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_ne!(a.worktree.path, b.worktree.path);
    assert_eq!(repository.branches(), ["longboat/s-1/a", "longboat/s-1/b"]);
}
