//! The repository a workspace belongs to: a member commits its work, also when the repository's data
//! lies outside the workspace. What a checkout says of that place is believed only if the place says
//! so as well, for a member can write what the checkout says.

use std::path::{Path, PathBuf};

/// Bytes of a file that holds a path.
const PATH_BYTES: u64 = 8_192;

/// What of a repository lies outside the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Repository {
    /// The checkout, when the workspace is a part of it.
    pub(super) root: Option<PathBuf>,
    /// Where its data is.
    pub(super) git: Vec<PathBuf>,
}

/// The repository of a workspace. A home that is one, or lies in one, is not taken for it.
pub(super) fn repository(cwd: &Path, home: Option<&Path>) -> Repository {
    let holds_home = |directory: &Path| home.is_some_and(|home| home.starts_with(directory));
    for directory in cwd.ancestors().take_while(|directory| !holds_home(directory)) {
        let dot = directory.join(".git");
        let Ok(found) = dot.symlink_metadata() else { continue };
        let root = (directory != cwd).then(|| directory.to_owned());
        if found.is_dir() {
            let git = if root.is_some() { vec![dot] } else { Vec::new() };
            return Repository { root, git };
        }
        let git = if found.is_file() { linked(&dot) } else { None };
        return Repository { root, git: git.into_iter().collect() };
    }
    Repository::default()
}

/// The data of the repository whose worktree has this `.git` file (gitrepository-layout(5)).
fn linked(dot: &Path) -> Option<PathBuf> {
    let said = line(dot)?;
    let own = dot.parent()?.join(said.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = own.join(line(&own.join("gitdir"))?);
    let common = own.join(line(&own.join("commondir"))?).canonicalize().ok()?;
    let is_its_own = back.canonicalize().ok()? == dot.canonicalize().ok()?;
    (is_its_own && own.parent()? == common.join("worktrees")).then_some(common)
}

/// The one line of a small file.
fn line(path: &Path) -> Option<String> {
    let found = path.symlink_metadata().ok()?;
    if !found.is_file() || found.len() > PATH_BYTES {
        return None;
    }
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(at: &Path, arguments: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@localhost", "-C"])
            .arg(at)
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    #[test]
    fn a_worktree_leads_to_its_repository_and_a_forged_one_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let (main, tree) = (dir.path().join("main"), dir.path().join("tree"));
        std::fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&main, &["worktree", "add", "-q", "../tree"]);
        let data = main.join(".git").canonicalize().unwrap();
        assert_eq!(repository(&tree, None), Repository { root: None, git: vec![data] });
        assert_eq!(repository(&main, None), Repository::default());

        // Another worktree's place, and a place that only the checkout speaks of.
        let forged = dir.path().join("forged");
        std::fs::create_dir_all(forged.join("fake/worktrees/x")).unwrap();
        std::fs::copy(tree.join(".git"), forged.join(".git")).unwrap();
        assert_eq!(repository(&forged, None), Repository::default());
        std::fs::create_dir(dir.path().join("secret")).unwrap();
        std::fs::write(forged.join(".git"), "gitdir: fake/worktrees/x\n").unwrap();
        let back = forged.join(".git").display().to_string();
        std::fs::write(forged.join("fake/worktrees/x/gitdir"), back).unwrap();
        std::fs::write(forged.join("fake/worktrees/x/commondir"), "../../../../secret\n").unwrap();
        assert_eq!(repository(&forged, None), Repository::default());
    }

    #[test]
    fn a_part_of_a_checkout_can_use_the_whole_of_it_but_never_a_home() {
        let dir = tempfile::tempdir().unwrap();
        let part = dir.path().join("repo/part");
        std::fs::create_dir_all(&part).unwrap();
        std::fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        let repo = dir.path().join("repo");
        let expected = Repository { root: Some(repo.clone()), git: vec![repo.join(".git")] };
        assert_eq!(repository(&part, None), expected);
        assert_eq!(repository(&part, Some(&repo)), Repository::default());
    }
}
