//! The workspace's border. Every path a model names is resolved beneath the root by `cap-std`, which
//! walks it component by component (with the kernel's help where it has it), so no `..`, absolute
//! path or link leads out, not even one that is made while we look.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use longboat_core::permission::Subject;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Says why a path is not usable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathRefused {
    /// It names nothing.
    #[error("the path is empty; name a file of the workspace")]
    Empty,
    /// It leads out.
    #[error("{path} is outside the workspace; only paths inside it can be used")]
    Outside {
        /// As the model wrote it.
        path: String,
    },
    /// It has a byte no path can have.
    #[error("the path has a NUL character")]
    Nul,
    /// The workspace itself cannot be opened.
    #[error("the workspace cannot be opened: {cause}")]
    Workspace {
        /// What the system said.
        cause: io::Error,
    },
}

/// The workspace, opened.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    dir: Dir,
}

impl Workspace {
    pub(crate) fn open(root: &Path) -> Result<Self, PathRefused> {
        let workspace = |cause| PathRefused::Workspace { cause };
        let root = root.canonicalize().map_err(workspace)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(workspace)?;
        Ok(Self { root, dir })
    }

    /// Paths beneath this are opened without leaving the workspace.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a model's words, relative to the root. Whether links on it lead out is found out
    /// when it is opened.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, PathRefused> {
        if path.trim().is_empty() {
            return Err(PathRefused::Empty);
        }
        if path.contains('\0') {
            return Err(PathRefused::Nul);
        }
        let outside = || PathRefused::Outside { path: path.to_owned() };
        let given = Path::new(path);
        let given = if given.is_absolute() {
            given.strip_prefix(&self.root).map_err(|_| outside())?
        } else {
            given
        };
        let mut relative = PathBuf::new();
        for component in given.components() {
            match component {
                Component::Normal(part) => relative.push(part),
                Component::CurDir => {}
                Component::ParentDir => {
                    if !relative.pop() {
                        return Err(outside());
                    }
                }
                Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        Ok(relative)
    }

    /// Where a path leads: its links followed as far as it exists.
    fn really(&self, relative: &Path) -> PathBuf {
        for known in relative.ancestors() {
            if known.as_os_str().is_empty() {
                break;
            }
            if let Ok(found) = self.dir.canonicalize(known) {
                return match relative.strip_prefix(known) {
                    Ok(rest) if !rest.as_os_str().is_empty() => found.join(rest),
                    Ok(_) | Err(_) => found,
                };
            }
        }
        relative.to_owned()
    }

    /// A directory to search, as an absolute path; the root for `None`.
    pub(crate) fn directory(&self, path: Option<&str>) -> Result<PathBuf, String> {
        let Some(path) = path.filter(|path| !path.trim().is_empty()) else {
            return Ok(self.root.clone());
        };
        let relative = self.relative(path).map_err(|refused| refused.to_string())?;
        if relative.as_os_str().is_empty() {
            return Ok(self.root.clone());
        }
        let found = self.dir.canonicalize(&relative).map_err(|error| explain(path, &error))?;
        Ok(self.root.join(found))
    }
}

/// A file that a call names, for rules: by its path from the root, and where its links lead. A path
/// that cannot be used is named as it was written; its call fails by itself.
pub(crate) fn named(cwd: &Path, arguments: &serde_json::Value) -> Option<Subject> {
    let path = arguments.get("path")?.as_str()?;
    let found = Workspace::open(cwd).ok().and_then(|workspace| {
        let relative = workspace.relative(path).ok()?;
        let really = workspace.really(&relative);
        Some(Subject::path(&relative.to_string_lossy(), &really.to_string_lossy()))
    });
    Some(found.unwrap_or_else(|| Subject::path(path, path)))
}

/// What went wrong with a path, in words that say what to do.
pub(crate) fn explain(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path} does not exist; use glob to see what there is"),
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            format!("{path} leads outside the workspace; only paths inside it can be used")
        }
        io::ErrorKind::PermissionDenied => format!("{path}: permission denied"),
        io::ErrorKind::AlreadyExists => format!(
            "{path}: a part of the path is not a directory of the workspace, or a link that leads out of it"
        ),
        io::ErrorKind::IsADirectory => format!("{path} is a directory"),
        io::ErrorKind::NotADirectory => format!("{path}: a part of the path is not a directory"),
        _ if error.raw_os_error() == Some(nix::libc::EXDEV) => {
            format!("{path} leads outside the workspace; only paths inside it can be used")
        }
        _ => format!("{path}: {error}"),
    }
}
