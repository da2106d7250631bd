//! Git worktrees for members: each at a place beside the store, on a branch of its own. Everything
//! that speaks against one is looked at before anything is made, and nothing is ever removed but what
//! this very attempt made and could not finish.

use crate::git::{Bounds, Git};
use async_trait::async_trait;
use longboat_core::id::{MemberName, SessionId};
use longboat_core::log::Worktree;
use longboat_engine::{GivenWorktree, WantedWorktree, WorktreeRefused, Worktrees};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long git may look at something.
const LOOK_WITHIN: Duration = Duration::from_secs(60);
/// How long git may check out a worktree.
const ADD_WITHIN: Duration = Duration::from_secs(600);
/// Letters of a Lead's session in the name of a branch.
const SHORT: usize = 10;
/// What git writes down for a worktree that it has not finished.
const UNFINISHED: &str = "initializing";

/// Makes git worktrees in a directory outside the checkout.
#[derive(Debug)]
pub struct GitWorktrees {
    git: Git,
    place: PathBuf,
}

/// The checkout that the Lead's workspace is in.
struct Checkout {
    root: PathBuf,
    /// The workspace in it, relative; empty for the root.
    directory: String,
    /// The commit that is checked out.
    base: String,
}

/// A worktree that git knows of.
#[derive(Debug, Default, PartialEq, Eq)]
struct Known {
    head: String,
    branch: Option<String>,
    locked: Option<String>,
}

impl GitWorktrees {
    /// Worktrees in the directory `place`, made by a git with this environment.
    #[must_use]
    pub fn new(environment: BTreeMap<String, String>, place: PathBuf) -> Self {
        // Only a current directory that is gone has no absolute paths.
        let place = std::path::absolute(&place).unwrap_or(place);
        Self { git: Git::new(environment), place }
    }

    async fn checkout(
        &self,
        workspace: &Path,
        cancel: &CancellationToken,
    ) -> Result<Checkout, WorktreeRefused> {
        let look = Bounds { within: LOOK_WITHIN, cancel };
        let shown = workspace.display().to_string();
        let asked = ["rev-parse", "--show-toplevel", "--show-prefix"];
        let said = self.git.run(workspace, &asked, look).await?;
        if !said.ok {
            return Err(match &said.err {
                err if err.contains("not a git repository") => {
                    WorktreeRefused::NoRepository { workspace: shown }
                }
                err if err.contains("must be run in a work tree") => {
                    WorktreeRefused::NoCheckout { workspace: shown }
                }
                _ => WorktreeRefused::Git { doing: "rev-parse".to_owned(), said: said.reason() },
            });
        }
        let mut lines = said.out.lines();
        let root = lines.next().unwrap_or_default();
        let directory = lines.next().unwrap_or_default().trim_end_matches('/').to_owned();
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let said = self.git.run(workspace, &head, look).await?;
        if !said.ok {
            return Err(WorktreeRefused::NoCommit { root: root.to_owned() });
        }
        let base = said.out.trim().to_owned();
        if !directory.is_empty() {
            let object = format!("{base}:{directory}");
            let said = self.git.run(workspace, &["cat-file", "-t", &object], look).await?;
            if said.out.trim() != "tree" {
                return Err(WorktreeRefused::NotCommitted { directory, base });
            }
        }
        Ok(Checkout { root: root.into(), directory, base })
    }

    /// Makes the directory that holds the worktrees of a Lead's members, and says where it really is.
    fn shelf(&self, lead: &SessionId, root: &Path) -> Result<PathBuf, WorktreeRefused> {
        let shelf = self.place.join(lead.as_str().replace('.', "-"));
        let place = shelf.display().to_string();
        let real = shelf.ancestors().find_map(|above| above.canonicalize().ok());
        if real.is_some_and(|real| real.starts_with(root)) {
            let root = root.display().to_string();
            return Err(WorktreeRefused::InsideCheckout { place, root });
        }
        let made = std::fs::create_dir_all(&shelf).and_then(|()| shelf.canonicalize());
        made.map_err(|error| WorktreeRefused::Place { place, cause: error.to_string() })
    }

    async fn known(
        &self,
        root: &Path,
        path: &Path,
        bounds: Bounds<'_>,
    ) -> Result<Option<Known>, WorktreeRefused> {
        let doing = ["worktree", "list", "--porcelain"];
        let said = self.git.run(root, &doing, bounds).await?;
        if !said.ok {
            let said = said.reason();
            return Err(WorktreeRefused::Git { doing: "worktree list".to_owned(), said });
        }
        Ok(find(&said.out, path))
    }

    /// The commit at which a worktree stands that is there already and that nobody works in.
    fn take(known: Known, path: &Path, branch: &str) -> Result<String, WorktreeRefused> {
        let shown = path.display().to_string();
        if !path.is_dir() {
            return Err(WorktreeRefused::Gone { path: shown });
        }
        if known.locked.as_deref() == Some(UNFINISHED) {
            return Err(WorktreeRefused::HalfMade { path: shown, branch: branch.to_owned() });
        }
        if known.branch.as_deref() != Some(branch) {
            return Err(WorktreeRefused::PathTaken { path: shown });
        }
        Ok(known.head)
    }

    async fn add(
        &self,
        checkout: &Checkout,
        path: &Path,
        branch: &str,
        cancel: &CancellationToken,
    ) -> Result<(), WorktreeRefused> {
        let look = Bounds { within: LOOK_WITHIN, cancel };
        let shown = path.display().to_string();
        let empty = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if path.symlink_metadata().is_ok() && !empty {
            return Err(WorktreeRefused::PathTaken { path: shown });
        }
        let full = format!("refs/heads/{branch}");
        let there = ["show-ref", "--verify", "--quiet", &full];
        if self.git.run(&checkout.root, &there, look).await?.ok {
            return Err(WorktreeRefused::BranchTaken { branch: branch.to_owned() });
        }
        let add = ["worktree", "add", "--quiet", "-b", branch, "--", &shown, &checkout.base];
        let bounds = Bounds { within: ADD_WITHIN, cancel };
        let refused = match self.git.run(&checkout.root, &add, bounds).await {
            Ok(said) if said.ok => return Ok(()),
            // Somebody was faster, and the branch is theirs.
            Ok(said) if said.err.contains("already exists") => {
                return Err(WorktreeRefused::BranchTaken { branch: branch.to_owned() });
            }
            Ok(said) => {
                WorktreeRefused::Git { doing: "worktree add".to_owned(), said: said.reason() }
            }
            Err(refused) => refused,
        };
        self.undo(checkout, path, &full).await;
        Err(refused)
    }

    /// Takes back the branch that a failed attempt made, if git has cleared the worktree away and
    /// the branch still is where it began.
    async fn undo(&self, checkout: &Checkout, path: &Path, full: &str) {
        let never = CancellationToken::new();
        let look = Bounds { within: LOOK_WITHIN, cancel: &never };
        if matches!(self.known(&checkout.root, path, look).await, Ok(None)) {
            let delete = ["update-ref", "-d", full, &checkout.base];
            // What cannot be taken back is told at the next attempt: the branch is taken.
            self.git.run(&checkout.root, &delete, look).await.ok();
        }
    }

    async fn uncommitted(
        &self,
        root: &Path,
        cancel: &CancellationToken,
    ) -> Result<usize, WorktreeRefused> {
        let look = Bounds { within: LOOK_WITHIN, cancel };
        let status = ["status", "--porcelain", "--untracked-files=normal"];
        let said = self.git.run(root, &status, look).await?;
        if said.ok {
            return Ok(said.out.lines().count());
        }
        Err(WorktreeRefused::Git { doing: "status".to_owned(), said: said.reason() })
    }
}

#[async_trait]
impl Worktrees for GitWorktrees {
    async fn provide(
        &self,
        wanted: WantedWorktree,
        cancel: CancellationToken,
    ) -> Result<GivenWorktree, WorktreeRefused> {
        let WantedWorktree { lead, member, workspace } = wanted;
        let checkout = self.checkout(&workspace, &cancel).await?;
        let uncommitted = self.uncommitted(&checkout.root, &cancel).await?;
        let path = self.shelf(&lead, &checkout.root)?.join(member.as_str());
        let branch = branch(&lead, &member);
        let look = Bounds { within: LOOK_WITHIN, cancel: &cancel };
        let base = match self.known(&checkout.root, &path, look).await? {
            Some(known) => Self::take(known, &path, &branch)?,
            None => {
                self.add(&checkout, &path, &branch, &cancel).await?;
                checkout.base
            }
        };
        let cwd = path.join(&checkout.directory);
        let (path, cwd) = (path.display().to_string(), cwd.display().to_string());
        // A join with nothing ends in a slash.
        let cwd = cwd.trim_end_matches('/').to_owned();
        Ok(GivenWorktree { worktree: Worktree { path, branch, base }, cwd, uncommitted })
    }
}

fn branch(lead: &SessionId, member: &MemberName) -> String {
    let short: String = lead.as_str().replace('.', "-").chars().take(SHORT).collect();
    format!("longboat/{}/{member}", short.trim_end_matches('-'))
}

/// Finds a worktree in what `git worktree list --porcelain` prints.
fn find(list: &str, path: &Path) -> Option<Known> {
    let is_it = |block: &&str| {
        let first = block.lines().next().and_then(|line| line.strip_prefix("worktree "));
        first.is_some_and(|found| Path::new(found) == path)
    };
    let mut known = Known::default();
    for line in list.split("\n\n").find(is_it)?.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "HEAD" => known.head = rest.to_owned(),
            "branch" => known.branch = rest.strip_prefix("refs/heads/").map(str::to_owned),
            "locked" => known.locked = Some(rest.to_owned()),
            _ => {}
        }
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_found_among_those_git_knows() {
        let list = "worktree /a\nHEAD 1\nbranch refs/heads/main\n\nworktree /b c\nHEAD 2\nbranch refs/heads/longboat/s-1/w\nlocked initializing\n\nworktree /d\nHEAD 3\ndetached\n\n";
        let (branch, locked) = (Some("longboat/s-1/w".to_owned()), Some(UNFINISHED.to_owned()));
        assert_eq!(find(list, Path::new("/b c")), Some(Known { head: "2".into(), branch, locked }));
        assert_eq!(find(list, Path::new("/b")), None);
        let detached = Known { head: "3".into(), ..Known::default() };
        assert_eq!(find(list, Path::new("/d")), Some(detached));
    }

    #[test]
    fn a_branch_is_named_after_the_lead_and_the_member() {
        let named = |lead: &str| {
            branch(&SessionId::new(lead).unwrap(), &MemberName::new("worker").unwrap())
        };
        assert_eq!(named("s-0123456789ab"), "longboat/s-01234567/worker");
        assert_eq!(named("s-1"), "longboat/s-1/worker");
    }
}
