//! Promises: each is cited by a line of code that keeps it and by the name of a test that shows it.

use super::{Sources, shipped};
use std::ops::RangeInclusive;

/// The promises that must be cited.
const PROMISES: RangeInclusive<u32> = 1..=20;

pub(super) fn check(sources: &Sources) -> Vec<String> {
    let mut problems = Vec::new();
    for number in PROMISES {
        let (citation, name) = (format!("P{number}"), format!("p{number}"));
        let kept = sources.iter().any(|(path, text)| {
            let code = path.starts_with("crates/") && !path.contains("/tests/");
            code && shipped(text).lines().any(|line| cites(line, &citation))
        });
        if !kept {
            problems.push(format!("no line of code says that it keeps {citation}"));
        }
        let mut lines = sources.values().flat_map(|text| text.lines());
        if !lines.any(|line| tests(line, &name)) {
            problems.push(format!("no test is named after {citation}"));
        }
    }
    problems
}

/// Says whether a line's comment names the promise itself and not a range of them.
fn cites(line: &str, citation: &str) -> bool {
    let Some((_, comment)) = line.split_once("//") else { return false };
    comment
        .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '–')
        .any(|word| word == citation)
}

/// Says whether a line begins a function that has the promise in its name.
fn tests(line: &str, name: &str) -> bool {
    let Some((_, rest)) = line.split_once("fn ") else { return false };
    let function = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
    function.is_some_and(|function| function.split('_').any(|word| word == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_is_a_whole_word_in_a_comment() {
        for line in ["// P1: durable first.", "x(); // keeps P1", "/// See P1, P2.", "// (P1)"] {
            assert!(cites(line, "P1"), "{line}");
        }
        for line in ["// P10: bounded.", "let P1 = 1;", "// P1–P9 hold", "// P1-P9", "// P1a"] {
            assert!(!cites(line, "P1"), "{line}");
        }
    }

    #[test]
    fn a_test_has_the_promise_as_a_word_of_its_name() {
        for line in ["async fn p1_x() {", "    fn p1_to_p3_hold() {", "fn x_as_p1_says(a: u8) {"] {
            assert!(tests(line, "p1"), "{line}");
        }
        for line in ["fn p10_x() {", "fn step1_x() {", "fn x() { p1_y() }", "// p1_x"] {
            assert!(!tests(line, "p1"), "{line}");
        }
    }

    #[test]
    fn a_promise_without_code_or_without_a_test_is_told() {
        let all: String =
            PROMISES.map(|n| format!("// P{n}: kept.\nfn p{n}_is_kept() {{}}\n")).collect();
        let cited = |path: &str, text: &str| check(&[(path.to_owned(), text.to_owned())].into());
        assert_eq!(cited("crates/core/src/a.rs", &all), Vec::<String>::new());
        let without = all.replace("// P7:", "//").replace("fn p9_", "fn ");
        let problems = ["no line of code says that it keeps P7", "no test is named after P9"];
        assert_eq!(cited("crates/core/src/a.rs", &without), problems);
        assert_eq!(cited("crates/core/tests/a.rs", &all).len(), 20);
    }
}
