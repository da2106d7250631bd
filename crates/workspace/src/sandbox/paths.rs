//! Which paths a confined command may read and write. The kernel only knows what is allowed, so what
//! is hidden is left out: beside the way to it, everything is named one by one.

use super::{Confinement, git};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Places of a home where tools live that people install for themselves.
const TOOLS: &[&str] = &[
    ".asdf",
    ".bun",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/env",
    ".config/git",
    ".deno",
    ".dotnet",
    ".ghcup",
    ".gitconfig",
    ".gitignore",
    ".jdks",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".nix-profile",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go/bin",
];

/// Places of a home where package managers keep what they fetched.
const CACHES: &[&str] = &[
    ".cache",
    ".cargo/.global-cache",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".local/share/pnpm",
    ".m2/repository",
    ".npm",
    "go/pkg",
];

/// Devices that nothing is lost on.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Entries of one directory on the way to something hidden: past it, the rest cannot be read.
const ENTRIES: usize = 4_096;

/// What a command may read and run, and what it may also write.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
}

impl Paths {
    pub(super) fn of(
        confinement: &Confinement,
        cwd: &Path,
        environment: &BTreeMap<String, String>,
    ) -> Self {
        let home = confinement.home.as_deref();
        let hidden: Vec<PathBuf> =
            confinement.hidden.iter().map(PathBuf::as_path).chain(home).map(real).collect();
        let repository = git::repository(cwd, home);
        let mut read = Vec::new();
        beside(Path::new("/"), &hidden, &mut read);
        read.push(cwd.to_owned());
        read.extend(repository.root);
        read.extend(in_home(home, TOOLS));
        read.extend(in_home(home, CACHES));
        read.extend(confinement.readable.iter().cloned());
        let mut write: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        write.extend(environment.get("TMPDIR").map(PathBuf::from));
        if confinement.writes {
            write.push(cwd.to_owned());
            write.extend(repository.git);
            write.extend(in_home(home, CACHES));
            let cargo = environment.get("CARGO_HOME").map(Path::new);
            write
                .extend(cargo.iter().flat_map(|cargo| [cargo.join("registry"), cargo.join("git")]));
            write.extend(confinement.writable.iter().cloned());
        } else {
            read.extend(repository.git);
        }
        Self { read, write }
    }
}

fn in_home(home: Option<&Path>, places: &'static [&'static str]) -> impl Iterator<Item = PathBuf> {
    let home = home.map(Path::to_owned);
    places.iter().filter_map(move |place| home.as_ref().map(|home| home.join(place)))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Names everything beneath `directory` that is neither hidden nor on the way to it. Links are passed
/// over: what they lead to is named where it is.
fn beside(directory: &Path, hidden: &[PathBuf], named: &mut Vec<PathBuf>) {
    if hidden.iter().any(|hidden| covers(hidden, directory)) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(directory)) {
        named.push(directory.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten().take(ENTRIES) {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            beside(&entry.path(), hidden, named);
        }
    }
}

/// Whether a path is hidden by a name: it is that, or lies beside it with something added, as a
/// database's log does.
fn covers(hidden: &Path, path: &Path) -> bool {
    if path == hidden {
        return true;
    }
    let beside = path.parent() == hidden.parent();
    let names = path.file_name().zip(hidden.file_name());
    beside
        && names.is_some_and(|(name, hidden)| {
            let (name, hidden) = (name.as_encoded_bytes(), hidden.as_encoded_bytes());
            name.strip_prefix(hidden).is_some_and(|rest| matches!(rest.first(), Some(b'-' | b'.')))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for path in paths {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        dir
    }

    #[test]
    fn what_is_hidden_is_left_out_and_all_beside_it_is_named() {
        let dir = tree(&[
            "home/me/x",
            "home/you/x",
            "srv/a.db",
            "srv/a.db-wal",
            "srv/a.db.api",
            "srv/a",
            "usr/x",
        ]);
        std::os::unix::fs::symlink(dir.path().join("home/me"), dir.path().join("link")).unwrap();
        let at = |path: &str| dir.path().join(path);
        let mut named = Vec::new();
        beside(dir.path(), &[at("home/me"), at("srv/a.db")], &mut named);
        named.sort();
        assert_eq!(named, [at("home/you"), at("srv/a"), at("usr")]);
    }

    #[test]
    fn nothing_hidden_is_one_name() {
        let mut named = Vec::new();
        beside(Path::new("/"), &[], &mut named);
        assert_eq!(named, [PathBuf::from("/")]);
    }
}
