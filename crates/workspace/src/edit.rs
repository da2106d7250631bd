//! `edit`: an exact replacement in a file whose version the agent knows.

use crate::arguments::perform;
use crate::confine::{Workspace, explain, named};
use crate::output::line;
use crate::read::load;
use crate::versions::Versions;
use crate::write::{check_known, replace};
use async_trait::async_trait;
use longboat_core::content::{ToolOutcome, ToolSpec};
use longboat_core::permission::Subject;
use longboat_engine::{Effect, Tool, ToolScope, describe_tool};
use schemars::JsonSchema;
use serde::Deserialize;
use similar::TextDiff;

/// Bytes of the diff that is shown.
const DIFF_BYTES: usize = 8_192;

#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) versions: Versions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as in the file, without the line numbers that read shows. It
    /// must occur once, unless replace_all is true.
    old: String,
    /// What to put in its place.
    new: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        describe_tool::<Arguments>(
            "edit",
            "Replace a text in a file of the workspace. Read the file first; when it has changed since, the edit is refused and you read it again. Shows the change as a diff.",
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
        perform("edit", arguments, move |arguments| edit(&scope, &versions, arguments)).await
    }
}

fn edit(scope: &ToolScope, versions: &Versions, arguments: &Arguments) -> Result<String, String> {
    let Arguments { path, old, new, replace_all } = arguments;
    if old.is_empty() {
        return Err("old is empty; say which text is to be replaced, or use write".to_owned());
    }
    if old == new {
        return Err("old and new are the same; nothing would change".to_owned());
    }
    let workspace = Workspace::open(&scope.cwd).map_err(|refused| refused.to_string())?;
    let relative = workspace.relative(path).map_err(|refused| refused.to_string())?;
    let _writing = versions.writing();
    let bytes = load(&workspace, &relative, path)?;
    check_known(versions, &relative, &bytes, path)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("{path} is not UTF-8 text; change it with bash"))?;
    let changed = match text.matches(old.as_str()).count() {
        0 => return Err(not_found(path, &text, old)),
        1 => text.replacen(old.as_str(), new, 1),
        _ if *replace_all => text.replace(old.as_str(), new),
        found => {
            return Err(format!(
                "old occurs {found} times in {path}; give more of its surroundings, or set replace_all"
            ));
        }
    };
    replace(&workspace, &relative, changed.as_bytes()).map_err(|error| explain(path, &error))?;
    versions.note(&relative, changed.as_bytes());
    Ok(diff(&relative.display().to_string(), &text, &changed))
}

/// Says where the first line of `old` does stand, since white space is the usual mistake.
fn not_found(path: &str, text: &str, old: &str) -> String {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let near =
        text.lines().zip(1_usize..).find(|(line, _)| !first.is_empty() && line.contains(first));
    match near {
        Some((found, number)) => format!(
            "old does not occur in {path} exactly; line {number} is {:?} — copy the text with its white space",
            line(found)
        ),
        None => format!("old does not occur in {path}; read it again"),
    }
}

fn diff(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut text = diff.unified_diff().context_radius(2).header(path, path).to_string();
    if text.len() > DIFF_BYTES {
        let end = (0..=DIFF_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n[the diff goes on]\n");
    }
    text
}
