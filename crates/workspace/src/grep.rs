//! `grep`: the lines that fit a regular expression.

use crate::arguments::perform;
use crate::confine::{Workspace, named};
use crate::glob::matcher;
use crate::output::{joined, line};
use crate::walk::{files, shown};
use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use longboat_core::content::{ToolOutcome, ToolSpec};
use longboat_core::permission::Subject;
use longboat_engine::{Effect, Tool, ToolScope, describe_tool};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io;
use std::path::Path;

/// Lines that are collected.
const LINES: usize = 2_000;
/// Lines of context at most.
const CONTEXT: usize = 20;

#[derive(Debug)]
pub(crate) struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The regular expression (Rust syntax).
    pattern: String,
    /// The file or directory to search; the whole workspace if not given.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose paths fit this pattern, such as "*.rs".
    #[serde(default)]
    glob: Option<String>,
    /// Upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// Lines to show before and after each line, up to 20.
    #[serde(default)]
    context: Option<usize>,
    /// What to show: the lines ("content", the default), the files that have any ("files"), or how
    /// many each file has ("count").
    #[serde(default)]
    mode: Mode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        describe_tool::<Arguments>(
            "grep",
            "Search the files of the workspace for a regular expression. Lines are shown as path:number:text, lines of context as path-number-text. Binary files and files that git ignores are left out.",
        )
    }

    fn effect(&self) -> Effect {
        Effect::ReadOnly
    }

    fn subject(&self, scope: &ToolScope, arguments: &serde_json::Value) -> Option<Subject> {
        named(&scope.cwd, arguments)
    }

    async fn call(&self, scope: ToolScope, arguments: serde_json::Value) -> ToolOutcome {
        perform("grep", arguments, move |arguments| grep(&scope, arguments)).await
    }
}

fn grep(scope: &ToolScope, arguments: &Arguments) -> Result<String, String> {
    let mut pattern = RegexMatcherBuilder::new();
    pattern.case_insensitive(arguments.ignore_case).line_terminator(Some(b'\n'));
    let pattern = pattern
        .build(&arguments.pattern)
        .map_err(|error| format!("the regular expression is not valid: {error}"))?;
    let only = arguments.glob.as_deref().map(matcher).transpose()?;
    let workspace = Workspace::open(&scope.cwd).map_err(|refused| refused.to_string())?;
    let directory = workspace.directory(arguments.path.as_deref())?;
    let context = arguments.context.unwrap_or(0).min(CONTEXT);
    let mut searcher = SearcherBuilder::new();
    searcher.line_number(true).binary_detection(BinaryDetection::quit(0));
    searcher.before_context(context).after_context(context);
    let mut search =
        Search { searcher: searcher.build(), pattern, mode: arguments.mode, lines: Vec::new() };
    files(&directory, &scope.cancel, &mut |path| {
        let below = path.strip_prefix(&directory).unwrap_or(path);
        let named = if below.as_os_str().is_empty() { path } else { below };
        if only.as_ref().is_none_or(|only| only.is_match(named)) {
            search.file(path, &shown(workspace.root(), path));
        }
        search.lines.len() < LINES
    });
    if search.lines.is_empty() {
        return Ok("[nothing fits]".to_owned());
    }
    let mut text = joined(&search.lines, "use a narrower pattern, path or glob");
    if search.lines.len() >= LINES {
        text.push_str(&format!("[stopped at {LINES} lines; use a narrower pattern]\n"));
    }
    Ok(text)
}

struct Search {
    searcher: Searcher,
    pattern: RegexMatcher,
    mode: Mode,
    lines: Vec<String>,
}

impl Search {
    fn file(&mut self, path: &Path, shown: &str) {
        let mut found = Found { shown, mode: self.mode, count: 0, lines: &mut self.lines };
        // A file that cannot be read is passed over, like one that cannot be seen.
        self.searcher.search_path(&self.pattern, path, &mut found).ok();
        let count = found.count;
        match self.mode {
            Mode::Files if count > 0 => self.lines.push(shown.to_owned()),
            Mode::Count if count > 0 => self.lines.push(format!("{shown}:{count}")),
            Mode::Content | Mode::Files | Mode::Count => {}
        }
    }
}

struct Found<'a> {
    shown: &'a str,
    mode: Mode,
    count: usize,
    lines: &'a mut Vec<String>,
}

impl Found<'_> {
    fn push(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let text = line(&String::from_utf8_lossy(bytes));
        let (shown, number) = (self.shown, number.unwrap_or(0));
        self.lines.push(format!("{shown}{mark}{number}{mark}{text}"));
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        if self.mode == Mode::Content {
            self.push(found.line_number(), ':', found.bytes());
        }
        Ok(self.mode != Mode::Files && self.lines.len() < LINES)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        if self.mode == Mode::Content {
            self.push(around.line_number(), '-', around.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.mode == Mode::Content {
            self.lines.push("--".to_owned());
        }
        Ok(true)
    }
}
