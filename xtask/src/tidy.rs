//! Checks that no other tool makes: every file says what it is, files and functions stay short, names
//! avoid empty words, nothing is left to do, the arrows between crates hold, and every promise is kept
//! and tested by name. It reads the checkout and changes nothing.

mod arrows;
mod files;
mod promises;

use crate::root;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// What `cargo xtask tidy --help` says.
pub(crate) const HELP: &str = "\
cargo xtask tidy: check what no other tool does
  every file of Rust begins with //! and what it is; it has at most 600 lines, a function 70, unit
  tests aside; names of types and modules have no word that says nothing; nothing is left to do
  crates depend on each other as the block of arrows in ARCHITECTURE.md says; core has no dependency
  that could do IO
  every promise P1 to P20 is cited by a line of code and by the name of a test";

/// The texts of all files of Rust, by their paths from the root, with `/` between the parts.
type Sources = BTreeMap<String, String>;

pub(crate) fn run() -> Result<(), String> {
    let root = root();
    let unreadable = |error: io::Error| format!("tidy: the checkout cannot be read: {error}");
    let mut sources = Sources::new();
    read_sources(&root, "", &mut sources).map_err(unreadable)?;
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).map_err(unreadable)?;
    let manifests = read_manifests(&root.join("crates")).map_err(unreadable)?;

    let mut problems = Vec::new();
    for (path, text) in &sources {
        problems.extend(files::check(text).into_iter().map(|problem| format!("{path}{problem}")));
    }
    problems.extend(arrows::check(&map, &manifests));
    problems.extend(promises::check(&sources));
    if problems.is_empty() { Ok(()) } else { Err(format!("tidy:\n{}", problems.join("\n"))) }
}

fn read_sources(directory: &Path, prefix: &str, found: &mut Sources) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, kind) = (format!("{prefix}{name}"), entry.file_type()?);
        if kind.is_dir() {
            let foreign = name.starts_with('.') || name == "target" || name == "node_modules";
            if !foreign {
                read_sources(&entry.path(), &format!("{path}/"), found)?;
            }
        } else if kind.is_file() && name.ends_with(".rs") {
            found.insert(path, fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

/// The manifests of all crates, by the names of their folders.
fn read_manifests(crates: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut manifests = BTreeMap::new();
    for entry in fs::read_dir(crates)? {
        let entry = entry?;
        let manifest = entry.path().join("Cargo.toml");
        if manifest.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            manifests.insert(name, fs::read_to_string(manifest)?);
        }
    }
    Ok(manifests)
}

/// A file's text without the unit tests at its end.
fn shipped(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}
