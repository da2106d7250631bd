//! A repository of a test's own, with whoever makes worktrees of it.

use longboat_core::id::{MemberName, SessionId};
use longboat_engine::{GivenWorktree, WantedWorktree, WorktreeRefused, Worktrees};
use longboat_workspace::GitWorktrees;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Repository {
    dir: TempDir,
}

/// The environment that git gets: nothing of the machine's own settings.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let set = [("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("GIT_CONFIG_NOSYSTEM", "1")];
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Runs git and returns what it printed.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env_clear()
        .envs(environment())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {err}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a directory a repository with one commit of all that is in it.
pub(crate) fn begin(root: &Path) {
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["config", "user.name", "a test"]);
    git(root, &["config", "user.email", "test@example.org"]);
    fs::write(root.join("file.txt"), "one\n").unwrap();
    commit(root);
}

pub(crate) fn commit(root: &Path) -> String {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "more"]);
    git(root, &["rev-parse", "HEAD"])
}

/// Lets git wait, at each checkout of `held.txt`, for whoever opens the returned pipe.
pub(crate) fn hold_checkouts(root: &Path, pipe: &Path) {
    nix::unistd::mkfifo(pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(root.join(".gitattributes"), "held.txt filter=hold\n").unwrap();
    fs::write(root.join("held.txt"), "held\n").unwrap();
    commit(root);
    let smudge = format!("cat {} >/dev/null; cat", pipe.display());
    git(root, &["config", "filter.hold.smudge", &smudge]);
}

/// Waits until git is in the middle of a checkout; it goes on when the returned end is dropped.
pub(crate) async fn held(pipe: &Path) -> fs::File {
    let pipe = pipe.to_owned();
    let open = move || fs::OpenOptions::new().write(true).open(pipe).unwrap();
    tokio::task::spawn_blocking(open).await.unwrap()
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(repository.root()).unwrap();
        begin(&repository.root());
        repository
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.beside("ws")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn worktrees(&self) -> GitWorktrees {
        GitWorktrees::new(environment(), self.beside("longboat.worktrees"))
    }

    pub(crate) async fn provide(&self, member: &str) -> Result<GivenWorktree, WorktreeRefused> {
        provide(&self.worktrees(), &self.root(), member).await
    }

    /// The worktrees that git knows, the checkout not counted.
    pub(crate) fn known(&self) -> usize {
        git(&self.root(), &["worktree", "list"]).lines().count() - 1
    }

    /// The branches, `main` not counted.
    pub(crate) fn branches(&self) -> Vec<String> {
        let all = git(&self.root(), &["branch", "--format=%(refname:short)"]);
        all.lines().filter(|name| *name != "main").map(str::to_owned).collect()
    }
}

pub(crate) async fn provide(
    worktrees: &GitWorktrees,
    workspace: &Path,
    member: &str,
) -> Result<GivenWorktree, WorktreeRefused> {
    worktrees.provide(wanted(workspace, member), CancellationToken::new()).await
}

pub(crate) fn wanted(workspace: &Path, member: &str) -> WantedWorktree {
    WantedWorktree {
        lead: SessionId::new("s-1").unwrap(),
        member: MemberName::new(member).unwrap(),
        workspace: workspace.to_owned(),
    }
}
