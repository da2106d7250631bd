//! `write`: a whole file, new or over a version the agent knows.

use crate::arguments::perform;
use crate::confine::{Workspace, explain, named};
use crate::read::load;
use crate::versions::Versions;
use async_trait::async_trait;
use cap_std::fs::OpenOptions;
use longboat_core::content::{ToolOutcome, ToolSpec};
use longboat_core::permission::Subject;
use longboat_engine::{Effect, Tool, ToolScope, describe_tool};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::{self, Write as _};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) versions: Versions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the workspace. Missing directories are made.
    path: String,
    /// All of its content.
    content: String,
}

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        describe_tool::<Arguments>(
            "write",
            "Write a whole file of the workspace. A file that exists must have been read before, and not changed since: then it is refused, and you read it again. To change a part of a file, use edit.",
        )
    }

    fn effect(&self) -> Effect {
        Effect::Ordered
    }

    fn subject(&self, scope: &ToolScope, arguments: &serde_json::Value) -> Option<Subject> {
        named(&scope.cwd, arguments)
    }

    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome {
        let versions = self.versions.clone();
        perform("write", arguments, move |arguments| write(&scope, &versions, arguments)).await
    }
}

fn write(scope: &ToolScope, versions: &Versions, arguments: &Arguments) -> Result<String, String> {
    let path = arguments.path.as_str();
    let workspace = Workspace::open(&scope.cwd).map_err(|refused| refused.to_string())?;
    let relative = workspace.relative(path).map_err(|refused| refused.to_string())?;
    let _writing = versions.writing();
    let existed =
        relative.as_os_str().is_empty() || workspace.dir().symlink_metadata(&relative).is_ok();
    if existed {
        let current = load(&workspace, &relative, path)?;
        check_known(versions, &relative, &current, path)?;
    }
    replace(&workspace, &relative, arguments.content.as_bytes())
        .map_err(|error| explain(path, &error))?;
    versions.note(&relative, arguments.content.as_bytes());
    let (did, bytes) = (if existed { "wrote" } else { "created" }, arguments.content.len());
    Ok(format!("{did} {} ({bytes} bytes)", relative.display()))
}

/// Refuses to change what the agent has not seen.
pub(crate) fn check_known(
    versions: &Versions,
    relative: &Path,
    current: &[u8],
    shown: &str,
) -> Result<(), String> {
    if versions.knows(relative, current) {
        return Ok(());
    }
    if versions.met(relative) {
        return Err(format!("{shown} changed since you read it; read it again, then change it"));
    }
    Err(format!("you have not read {shown}; read it first, then change it"))
}

/// Puts new bytes in a file's place at once: nobody ever sees half of them.
pub(crate) fn replace(workspace: &Workspace, relative: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = workspace.dir();
    if let Some(parent) = relative.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        dir.create_dir_all(parent)?;
    }
    // A link inside the workspace stays a link: what it points to is replaced.
    let target = dir.canonicalize(relative).unwrap_or_else(|_| relative.to_owned());
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
    let beside = target.with_file_name(format!(".{name}.longboat-{}", std::process::id()));
    let permissions = dir.metadata(&target).ok().map(|metadata| metadata.permissions());
    let written = (|| {
        let mut file =
            dir.open_with(&beside, OpenOptions::new().write(true).create(true).truncate(true))?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        dir.rename(&beside, dir, &target)
    })();
    if written.is_err() {
        // What could not be put in place is not left lying about; the first error is the news.
        dir.remove_file(&beside).ok();
    }
    written
}
