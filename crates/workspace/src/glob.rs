//! `glob`: the files whose paths fit a pattern.

use crate::arguments::perform;
use crate::confine::{Workspace, named};
use crate::output::joined;
use crate::walk::{files, shown};
use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use longboat_core::content::{ToolOutcome, ToolSpec};
use longboat_core::permission::Subject;
use longboat_engine::{Effect, Tool, ToolScope, describe_tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Paths that are collected.
const PATHS: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Glob;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The pattern, such as "src/**/*.rs"; one without a slash fits file names anywhere.
    pattern: String,
    /// The directory to look in; the whole workspace if not given.
    #[serde(default)]
    path: Option<String>,
}

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        describe_tool::<Arguments>(
            "glob",
            "List the files of the workspace whose paths fit a pattern, sorted. Files that git ignores are left out.",
        )
    }

    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn subject(&self, scope: &ToolScope, arguments: &serde_json::Value) -> Option<Subject> {
        named(&scope.cwd, arguments)
    }

    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome {
        perform("glob", arguments, move |arguments| glob(&scope, arguments)).await
    }
}

/// Compiles a pattern as people mean it: without a slash it is about file names.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| format!("the pattern is not valid: {error}"))
}

fn glob(scope: &ToolScope, arguments: &Arguments) -> Result<String, String> {
    let matcher = matcher(&arguments.pattern)?;
    let workspace = Workspace::open(&scope.cwd).map_err(|refused| refused.to_string())?;
    let directory = workspace.directory(arguments.path.as_deref())?;
    let mut found = Vec::new();
    files(&directory, &scope.cancel, &mut |path| {
        let below = path.strip_prefix(&directory).unwrap_or(path);
        if matcher.is_match(below) {
            found.push(shown(workspace.root(), path));
        }
        found.len() < PATHS
    });
    if found.is_empty() {
        return Ok("[no file fits]".to_owned());
    }
    let mut text = joined(&found, "use a narrower pattern");
    if found.len() == PATHS {
        text.push_str(&format!("[stopped at {PATHS} files; use a narrower pattern]\n"));
    }
    Ok(text)
}
