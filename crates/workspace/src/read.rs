//! `read`: a file's text with line numbers, or a picture.

use crate::arguments::perform;
use crate::confine::{Workspace, explain, named};
use crate::output::{SHOWN_BYTES, line};
use crate::versions::Versions;
use async_trait::async_trait;
use base64::Engine;
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use longboat_core::content::{Block, ToolOutcome, ToolSpec};
use longboat_core::permission::Subject;
use longboat_engine::{Effect, Tool, ToolScope, describe_tool};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::Read as _;
use std::path::Path;

/// Bytes of a file that is read at all.
const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a picture: as base64 a third more, and no provider takes more than 5 MB of that.
const PICTURE_BYTES: usize = 3_750_000;
/// Lines shown when no limit is said.
const LINES: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) versions: Versions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the workspace.
    path: String,
    /// The first line to show, from 1.
    #[serde(default)]
    offset: Option<usize>,
    /// How many lines to show.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        describe_tool::<Arguments>(
            "read",
            "Read a file of the workspace: its lines, each with its number and a tab before it, or a picture (png, jpeg, gif, webp). Read a file before you change it.",
        )
    }

    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn subject(&self, scope: &ToolScope, arguments: &serde_json::Value) -> Option<Subject> {
        named(&scope.cwd, arguments)
    }

    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome {
        let versions = self.versions.clone();
        perform("read", arguments, move |arguments| read(&scope, &versions, arguments)).await
    }
}

fn read(scope: &ToolScope, versions: &Versions, arguments: &Arguments) -> Result<Block, String> {
    let path = arguments.path.as_str();
    // Long output of this session lies outside the workspace and may be read.
    let spilled = Path::new(path).strip_prefix(&scope.spill).ok();
    let (root, path_inside) = match spilled {
        Some(inside) => (&scope.spill, inside.to_string_lossy().into_owned()),
        None => (&scope.cwd, path.to_owned()),
    };
    let workspace = Workspace::open(root).map_err(|refused| refused.to_string())?;
    let relative = workspace.relative(&path_inside).map_err(|refused| refused.to_string())?;
    let bytes = load(&workspace, &relative, path)?;
    if spilled.is_none() {
        versions.note(&relative, &bytes);
    }
    if let Some(media_type) = picture(&bytes) {
        if bytes.len() > PICTURE_BYTES {
            let size = bytes.len();
            return Err(format!(
                "{path} is a picture of {size} bytes; the limit is {PICTURE_BYTES}"
            ));
        }
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        return Ok(Block::Image { media_type: media_type.to_owned(), data });
    }
    if bytes.iter().take(8_192).any(|byte| *byte == 0) {
        return Err(format!("{path} is a binary file of {} bytes", bytes.len()));
    }
    numbered(path, &String::from_utf8_lossy(&bytes), arguments).map(Block::text)
}

/// A file's bytes, if there are not too many.
pub(crate) fn load(workspace: &Workspace, relative: &Path, shown: &str) -> Result<Vec<u8>, String> {
    if relative.as_os_str().is_empty() {
        return Err(format!("{shown} is the workspace itself; use glob to see what is in it"));
    }
    // Without waiting: opening a named pipe would hold the tool up until somebody writes to it.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nix::libc::O_NONBLOCK);
    let opened = workspace.dir().open_with(relative, &options);
    let file = opened.map_err(|error| explain(shown, &error))?;
    let metadata = file.metadata().map_err(|error| explain(shown, &error))?;
    if metadata.is_dir() {
        return Err(format!("{shown} is a directory; use glob to see what is in it"));
    }
    if !metadata.is_file() {
        return Err(format!("{shown} is not a regular file"));
    }
    if metadata.len() > FILE_BYTES {
        let size = metadata.len();
        return Err(format!("{shown} has {size} bytes; use grep or bash to look at parts of it"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes).map_err(|error| explain(shown, &error))?;
    Ok(bytes)
}

fn numbered(path: &str, text: &str, arguments: &Arguments) -> Result<String, String> {
    let total = text.lines().count();
    let first = arguments.offset.unwrap_or(1).max(1);
    if total == 0 {
        return Ok(format!("[{path} is empty]"));
    }
    if first > total {
        return Err(format!("{path} has {total} lines; offset {first} is past its end"));
    }
    let limit = arguments.limit.unwrap_or(LINES).clamp(1, LINES);
    let mut shown = String::new();
    let mut last = first - 1;
    for (content, number) in text.lines().zip(1..).skip(first - 1).take(limit) {
        if shown.len() > SHOWN_BYTES {
            break;
        }
        shown.push_str(&format!("{number:>6}\t{}\n", line(content)));
        last = number;
    }
    if last < total {
        let next = last + 1;
        shown.push_str(&format!("[{} more lines; read with offset={next}]\n", total - last));
    }
    Ok(shown)
}

fn picture(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
