//! Checks that no other tool makes: every file says what it is, files and functions stay short,
//! names avoid empty words, the arrows between crates hold, and every promise is kept and tested by
//! name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file, tests excluded.
const FILE_LINES: usize = 600;
/// Lines of a function.
const FUNCTION_LINES: usize = 70;
/// Words that say nothing in the name of a type or a module.
const EMPTY_WORDS: [&str; 10] = [
    "Manager",
    "Service",
    "Helper",
    "Util",
    "Common",
    "Handler",
    "Processor",
    "Base",
    "Impl",
    "Legacy",
];
/// The promises that code and tests must cite; those of features to come are left out.
const PROMISES: std::ops::RangeInclusive<u32> = 1..=20;

pub(crate) fn run() -> Result<(), String> {
    let sources = sources(Path::new("."));
    let mut problems = Vec::new();
    for (path, text) in &sources {
        let shown = path.display().to_string();
        problems.extend(check_file(text).into_iter().map(|problem| format!("{shown}: {problem}")));
    }
    problems.extend(check_arrows()?);
    problems.extend(check_promises(&sources));
    if problems.is_empty() { Ok(()) } else { Err(format!("tidy:\n{}", problems.join("\n"))) }
}

/// All Rust files below a directory, with their texts.
fn sources(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(root) else { return found };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "target"
                && name != "node_modules"
                && !name.to_string_lossy().starts_with('.')
            {
                found.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.clone(), fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

fn check_file(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        problems.push("it does not begin with //! and what it is".to_owned());
    }
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code.lines().count();
    if lines > FILE_LINES {
        problems.push(format!("{lines} lines; a file holds one idea in at most {FILE_LINES}"));
    }
    problems.extend(long_functions(code));
    for line in code.lines().map(str::trim_start) {
        for keyword in ["struct ", "enum ", "trait "] {
            let Some((_, rest)) = line.split_once(keyword) else { continue };
            let declares = line.starts_with("pub") || line.starts_with(keyword);
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            if declares && EMPTY_WORDS.iter().any(|word| name.contains(word)) {
                problems.push(format!("the name {name} has a word that says nothing"));
            }
        }
        if line.contains(concat!("TO", "DO")) {
            problems.push("it has something left to do".to_owned());
        }
    }
    problems
}

/// Functions whose body, by its indentation, is too long.
fn long_functions(code: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut open: Vec<(usize, usize, String)> = Vec::new();
    for (line, number) in code.lines().zip(1_usize..) {
        let indent = line.len() - line.trim_start().len();
        let trimmed = line.trim_start();
        let begins =
            ["fn ", "pub", "async fn ", "const fn "].iter().any(|b| trimmed.starts_with(b))
                && trimmed.contains("fn ");
        if begins && !line.trim_end().ends_with(';') {
            open.push((indent, number, line.trim().to_owned()));
        }
        if line.trim_end() == format!("{}}}", " ".repeat(indent)) {
            while let Some((_, start, name)) = open.pop_if(|(begin, ..)| *begin >= indent) {
                let lines = number - start + 1;
                if lines > FUNCTION_LINES {
                    problems.push(format!("line {start}: {lines} lines in {name}"));
                }
            }
        }
    }
    problems
}

/// The arrows of ARCHITECTURE.md against the manifests.
fn check_arrows() -> Result<Vec<String>, String> {
    let map = fs::read_to_string("ARCHITECTURE.md").map_err(|error| error.to_string())?;
    let block = map.split("```arrows").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.ok_or("ARCHITECTURE.md has no block of arrows")?;
    let allowed: BTreeMap<&str, Vec<&str>> = block
        .lines()
        .filter_map(|line| line.split_once("->"))
        .map(|(from, to)| (from.trim(), to.split_whitespace().collect()))
        .collect();
    let mut problems = Vec::new();
    for entry in fs::read_dir("crates").map_err(|error| error.to_string())?.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        let Some(arrows) = allowed.get(name.as_str()) else {
            problems.push(format!("crates/{name} is not in the arrows of ARCHITECTURE.md"));
            continue;
        };
        let shipped = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let uses = shipped.lines().filter_map(|line| line.strip_prefix("longboat-"));
        for used in uses.filter_map(|line| line.split(['.', ' ', '=']).next()) {
            if !arrows.contains(&used) {
                problems.push(format!("crates/{name} uses {used}, against ARCHITECTURE.md"));
            }
        }
    }
    Ok(problems)
}

/// Every promise is cited by code that keeps it and by the name of a test.
fn check_promises(sources: &[(PathBuf, String)]) -> Vec<String> {
    let mut problems = Vec::new();
    for promise in PROMISES {
        let cited = |text: &str| {
            [':', ',', ' ', '.'].iter().any(|end| text.contains(&format!("P{promise}{end}")))
        };
        let kept = sources.iter().any(|(path, text)| {
            path.starts_with("./crates")
                && !path.components().any(|part| part.as_os_str() == "tests")
                && text.lines().any(|line| line.contains("//") && cited(line))
        });
        if !kept {
            problems.push(format!("no line of code says that it keeps P{promise}"));
        }
        let tested = sources.iter().any(|(_, text)| {
            text.lines().any(|line| line.contains("fn ") && line.contains(&format!("p{promise}_")))
        });
        if !tested {
            problems.push(format!("no test is named after P{promise}"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_heading_or_with_an_empty_name_is_told() {
        assert_eq!(check_file("//! A file.\npub struct Mailbox;\n"), Vec::<String>::new());
        assert_eq!(check_file("struct A;\n").len(), 1);
        assert_eq!(check_file("//! A file.\npub(crate) struct TaskManager;\n").len(), 1);
    }

    #[test]
    fn a_long_function_is_told_with_its_line() {
        let body = "    x();\n".repeat(80);
        let code = format!("//! A.\n\nfn long() {{\n{body}}}\n\nfn short() {{\n}}\n");
        assert_eq!(check_file(&code), ["line 3: 82 lines in fn long() {"]);
    }
}
