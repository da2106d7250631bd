//! What speaks against a worktree. Nothing is made then, and the reason is plain.

use super::repository::{
    Repository, begin, commit, environment, git, held, hold_checkouts, provide, wanted,
};
use longboat_engine::{WorktreeRefused, Worktrees};
use longboat_workspace::GitWorktrees;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn without_a_repository_there_is_none() {
    let repository = Repository::new();
    let plain = repository.beside("plain");
    fs::create_dir(&plain).unwrap();
    let refused = provide(&repository.worktrees(), &plain, "worker").await;
    let workspace = plain.display().to_string();
    assert_eq!(refused, Err(WorktreeRefused::NoRepository { workspace }));
}

#[tokio::test]
async fn inside_a_repositorys_own_directory_there_is_none() {
    let repository = Repository::new();
    let inside = repository.root().join(".git");
    let refused = provide(&repository.worktrees(), &inside, "worker").await;
    let workspace = inside.display().to_string();
    assert_eq!(refused, Err(WorktreeRefused::NoCheckout { workspace }));
}

#[tokio::test]
async fn without_a_commit_there_is_none() {
    let repository = Repository::new();
    let empty = repository.beside("empty");
    fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "--quiet"]);
    let refused = provide(&repository.worktrees(), &empty, "worker").await;
    let root = empty.display().to_string();
    assert_eq!(refused, Err(WorktreeRefused::NoCommit { root }));
}

#[tokio::test]
async fn a_workspace_that_is_not_committed_has_none() {
    let repository = Repository::new();
    let below = repository.root().join("new");
    fs::create_dir(&below).unwrap();
    let refused = provide(&repository.worktrees(), &below, "worker").await;
    assert!(
        matches!(&refused, Err(WorktreeRefused::NotCommitted { directory, .. }) if directory == "new"),
        "{refused:?}"
    );
    assert_eq!(repository.known(), 0);
}

#[tokio::test]
async fn without_git_there_is_none() {
    let repository = Repository::new();
    let nothing = [("PATH".to_owned(), "/nowhere".to_owned())].into();
    let worktrees = GitWorktrees::new(nothing, repository.beside("longboat.worktrees"));
    let refused = provide(&worktrees, &repository.root(), "worker").await;
    assert_eq!(refused, Err(WorktreeRefused::GitMissing));
}

#[tokio::test]
async fn a_branch_that_somebody_has_is_not_taken() {
    let repository = Repository::new();
    let branch = "longboat/s-1/worker".to_owned();
    git(&repository.root(), &["branch", &branch]);
    let refused = repository.provide("worker").await;
    assert_eq!(refused, Err(WorktreeRefused::BranchTaken { branch: branch.clone() }));
    assert_eq!((repository.known(), repository.branches()), (0, vec![branch]));
    assert!(!repository.beside("longboat.worktrees/s-1/worker").exists());
}

#[tokio::test]
async fn a_branch_that_stands_in_the_way_is_named() {
    let repository = Repository::new();
    git(&repository.root(), &["branch", "longboat"]);
    let refused = repository.provide("worker").await.unwrap_err().to_string();
    assert!(
        refused.contains("worktree add") && refused.contains("refs/heads/longboat"),
        "{refused}"
    );
    assert_eq!((repository.known(), repository.branches()), (0, vec!["longboat".to_owned()]));
}

#[tokio::test]
async fn what_is_at_the_place_already_is_left_alone() {
    let repository = Repository::new();
    let place = repository.beside("longboat.worktrees/s-1/worker");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("mine"), "mine").unwrap();
    let taken = Err(WorktreeRefused::PathTaken { path: place.display().to_string() });
    assert_eq!(repository.provide("worker").await, taken);
    assert_eq!(fs::read_to_string(place.join("mine")).unwrap(), "mine");
    assert_eq!(repository.branches(), Vec::<String>::new());
}

#[tokio::test]
async fn a_worktree_on_another_branch_is_left_alone() {
    let repository = Repository::new();
    let path = repository.provide("worker").await.unwrap().worktree.path;
    git(path.as_ref(), &["switch", "--quiet", "--create", "other"]);
    let taken = Err(WorktreeRefused::PathTaken { path });
    assert_eq!(repository.provide("worker").await, taken);
}

#[tokio::test]
async fn a_worktree_that_git_has_not_finished_is_not_given() {
    let repository = Repository::new();
    let given = repository.provide("worker").await.unwrap();
    fs::write(repository.root().join(".git/worktrees/worker/locked"), "initializing").unwrap();
    let refused = repository.provide("worker").await.unwrap_err();
    let (path, branch) = (given.worktree.path, given.worktree.branch);
    assert_eq!(refused, WorktreeRefused::HalfMade { path: path.clone(), branch: branch.clone() });
    // What it says to do helps.
    git(&repository.root(), &["worktree", "remove", "--force", "--force", &path]);
    git(&repository.root(), &["branch", "-d", &branch]);
    repository.provide("worker").await.unwrap();
}

#[tokio::test]
async fn a_worktree_that_is_gone_is_not_made_anew_silently() {
    let repository = Repository::new();
    let path = repository.provide("worker").await.unwrap().worktree.path;
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(repository.provide("worker").await, Err(WorktreeRefused::Gone { path }));
}

#[tokio::test]
async fn worktrees_are_not_kept_inside_the_checkout() {
    let repository = Repository::new();
    let place = repository.root().join("data/longboat.worktrees");
    let worktrees = GitWorktrees::new(environment(), place.clone());
    let refused = provide(&worktrees, &repository.root(), "worker").await.unwrap_err();
    assert!(matches!(refused, WorktreeRefused::InsideCheckout { .. }), "{refused:?}");
    assert!(!repository.root().join("data").exists());
}

#[tokio::test]
async fn a_place_that_cannot_be_made_is_told() {
    let repository = Repository::new();
    fs::write(repository.beside("longboat.worktrees"), "a file").unwrap();
    let refused = repository.provide("worker").await.unwrap_err();
    assert!(matches!(refused, WorktreeRefused::Place { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_checkout_that_fails_leaves_nothing_and_can_be_tried_again() {
    let repository = Repository::new();
    let root = repository.root();
    fs::write(root.join(".gitattributes"), "file.txt filter=bad\n").unwrap();
    commit(&root);
    git(&root, &["config", "filter.bad.clean", "cat"]);
    git(&root, &["config", "filter.bad.smudge", "false"]);
    git(&root, &["config", "filter.bad.required", "true"]);
    let refused = repository.provide("worker").await.unwrap_err().to_string();
    assert!(
        refused.contains("`git worktree add` failed: ") && refused.contains("smudge"),
        "{refused}"
    );
    assert_eq!((repository.known(), repository.branches()), (0, Vec::new()));
    assert!(!repository.beside("longboat.worktrees/s-1/worker").exists());
    git(&root, &["config", "filter.bad.smudge", "cat"]);
    repository.provide("worker").await.unwrap();
}

#[tokio::test]
async fn a_full_disk_leaves_nothing() {
    let repository = Repository::new();
    let noise: String = (0..40_000_u32).map(|n| format!("{n}\n")).collect();
    fs::write(repository.root().join("large.txt"), noise).unwrap();
    commit(&repository.root());
    // The real git, with a real limit on the size of files.
    let bin = repository.beside("bin");
    fs::create_dir(&bin).unwrap();
    let limited = "#!/bin/sh\ntrap '' XFSZ\nulimit -f 64\nexec /usr/bin/git \"$@\"\n";
    fs::write(bin.join("git"), limited).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut limits = environment();
    limits.insert("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display()));
    let worktrees = GitWorktrees::new(limits, repository.beside("longboat.worktrees"));
    let refused = provide(&worktrees, &repository.root(), "worker").await.unwrap_err().to_string();
    assert!(refused.contains("`git worktree add` failed: "), "{refused}");
    assert_eq!((repository.known(), repository.branches()), (0, Vec::new()));
    repository.provide("worker").await.unwrap();
}

#[tokio::test]
async fn an_interrupt_ends_git_and_leaves_nothing() {
    let repository = Repository::new();
    let pipe = repository.beside("pipe");
    hold_checkouts(&repository.root(), &pipe);
    let (worktrees, cancel) = (repository.worktrees(), CancellationToken::new());
    let providing = worktrees.provide(wanted(&repository.root(), "worker"), cancel.clone());
    let interrupting = async {
        let _until_the_end = held(&pipe).await;
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let refused = tokio::select! {
        refused = providing => refused,
        () = interrupting => unreachable!("it waits for ever"),
    };
    assert_eq!(refused, Err(WorktreeRefused::Interrupted));
    assert_eq!((repository.known(), repository.branches()), (0, Vec::new()));
    assert!(!repository.beside("longboat.worktrees/s-1/worker").exists());
}

#[tokio::test]
async fn another_repository_around_the_store_does_no_harm() {
    let repository = Repository::new();
    let around = repository.beside("around");
    fs::create_dir(&around).unwrap();
    begin(&around);
    let worktrees = GitWorktrees::new(environment(), around.join("longboat.worktrees"));
    let given = provide(&worktrees, &repository.root(), "worker").await.unwrap();
    assert_eq!(git(given.cwd.as_ref(), &["branch", "--show-current"]), "longboat/s-1/worker");
}
