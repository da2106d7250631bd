//! What holds for each file of Rust alone: its heading, its length, its functions' lengths, its names.
//! It relies on rustfmt for where lines begin and end.

use super::shipped;

/// Lines of a file, unit tests excluded.
const FILE_LINES: usize = 600;
/// Lines of a function, from its signature to its closing brace.
const FUNCTION_LINES: usize = 70;
/// Words that say nothing in the name of a type or a module.
const EMPTY_WORDS: [&str; 13] = [
    "base",
    "common",
    "data",
    "handler",
    "helper",
    "impl",
    "info",
    "legacy",
    "manager",
    "processor",
    "service",
    "util",
    "v2",
];
/// What stands before work that was put off.
const PUT_OFF: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Each problem begins with a colon and, where it has one, its line.
pub(super) fn check(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.starts_with("//! ") {
        problems.push(": it does not begin with //! and what it is".to_owned());
    }
    let code = shipped(text);
    let lines: Vec<&str> = code.lines().collect();
    if lines.len() > FILE_LINES {
        let count = lines.len();
        problems.push(format!(": {count} lines; a file holds one idea in at most {FILE_LINES}"));
    }
    for (line, number) in text.lines().zip(1_usize..) {
        if PUT_OFF.iter().any(|word| has_word(line, word)) {
            problems.push(format!(":{number}: something is left to do"));
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        if let Some(name) = declared(line)
            && let Some(word) = empty_word(name)
        {
            problems
                .push(format!(":{number}: the name {name} has a word that says nothing: {word}"));
        }
        let length = lines.get(index..).map_or(0, function_lines);
        if length > FUNCTION_LINES {
            let head = line.trim();
            problems.push(format!(":{number}: {length} lines, over {FUNCTION_LINES}, in {head}"));
        }
    }
    problems
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// The line without what says who may use it and how it is called.
fn bare(line: &str) -> &str {
    let mut line = line.trim_start();
    if let Some(rest) = line.strip_prefix("pub(") {
        line = rest.split_once(") ").map_or(line, |(_, rest)| rest);
    }
    for word in ["pub ", "default ", "const ", "async ", "unsafe ", "extern \"C\" "] {
        line = line.strip_prefix(word).unwrap_or(line);
    }
    line
}

/// The name of the type or module that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = bare(line);
    let (keyword, rest) = line.split_once(' ')?;
    let declares = ["struct", "enum", "union", "trait", "type", "mod"].contains(&keyword);
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (declares && !name.is_empty()).then_some(name)
}

/// The first word of a name, in either case, that says nothing.
fn empty_word(name: &str) -> Option<&'static str> {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_uppercase() || c == '_' {
            spaced.push(' ');
        }
        spaced.extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    EMPTY_WORDS.into_iter().find(|empty| {
        spaced.split(' ').any(|word| word == *empty || word.strip_suffix('s') == Some(empty))
    })
}

/// The lines of the function that begins at the first line, or 0 when none does or it has no body of
/// its own lines.
fn function_lines(lines: &[&str]) -> usize {
    let Some(first) = lines.first().filter(|line| bare(line).starts_with("fn ")) else { return 0 };
    let ends_head = |line: &&str| line.ends_with(['{', ';', '}']);
    let Some(opens) = lines.iter().position(ends_head) else { return 0 };
    if !lines.get(opens).is_some_and(|line| line.ends_with('{')) {
        return 0;
    }
    let indent = first.len() - first.trim_start().len();
    let closing = format!("{}}}", " ".repeat(indent));
    lines.iter().position(|line| *line == closing).map_or(0, |closes| closes + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn told(code: &str, problems: &[&str]) {
        assert_eq!(check(&format!("//! A file.\n{code}")), problems, "{code}");
    }

    #[test]
    fn a_file_says_what_it_is() {
        assert_eq!(check("struct A;\n"), [": it does not begin with //! and what it is"]);
        assert_eq!(check("//!\nstruct A;\n"), [": it does not begin with //! and what it is"]);
        told("struct A;\n", &[]);
    }

    #[test]
    fn a_file_is_short_but_for_its_unit_tests() {
        told(&"// x\n".repeat(599), &[]);
        told(&"// x\n".repeat(600), &[": 601 lines; a file holds one idea in at most 600"]);
        let tests =
            format!("struct A;\n\n#[cfg(test)]\nmod tests {{\n{}}}\n", "// x\n".repeat(600));
        told(&tests, &[]);
    }

    #[test]
    fn names_of_types_and_modules_say_something() {
        for good in ["struct Database;", "type Simple = u8;", "mod basement;", "enum Services2 {}"]
        {
            told(good, &[]);
        }
        for (code, name, word) in [
            ("pub(crate) struct TaskManager;", "TaskManager", "manager"),
            ("pub enum SessionInfo {", "SessionInfo", "info"),
            ("    pub mod test_helpers {", "test_helpers", "helper"),
            ("mod utils;", "utils", "util"),
            ("trait StoreV2 {", "StoreV2", "v2"),
            ("type Data<T> = Vec<T>;", "Data", "data"),
        ] {
            let problem = format!(":2: the name {name} has a word that says nothing: {word}");
            told(code, &[&problem]);
        }
    }

    #[test]
    fn nothing_is_left_to_do() {
        let code = format!("// {}: later\n", PUT_OFF[0]);
        told(&code, &[":2: something is left to do"]);
        told(&format!("const A{}: u8 = 1;\n", PUT_OFF[0]), &[]);
    }

    #[test]
    fn a_long_function_is_told_with_its_line() {
        let body = |lines| "        x();\n".repeat(lines);
        told(
            &format!("impl A {{\n    fn long(\n        &self,\n    ) {{\n{}    }}\n}}\n", body(66)),
            &[],
        );
        let long = format!(
            "impl A {{\n    pub(crate) async fn long(\n        &self,\n    ) {{\n{}    }}\n}}\n",
            body(67)
        );
        told(&long, &[":3: 71 lines, over 70, in pub(crate) async fn long("]);
    }

    #[test]
    fn functions_without_a_body_of_lines_end_where_they_begin() {
        let declared = "    fn declared(\n        &self,\n    ) -> u8;\n";
        let code =
            format!("trait A {{\n{declared}    fn short() {{}}\n{}}}\n", "    // x\n".repeat(80));
        told(&code, &[]);
    }
}
