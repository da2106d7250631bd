//! A rule over tool calls, as people write it: `tool` or `tool(pattern)`.

use super::Request;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// Names tool calls: by the tool, and by what they are about. In both, `*` stands for any
/// characters. A pattern that ends in ` *` also names the call without anything behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: Option<String>,
}

/// Says why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no rule; write TOOL or TOOL(PATTERN), such as bash(cargo *) or write(src/*)")]
pub struct RuleRefused {
    text: String,
}

impl Rule {
    /// Says whether a call is among those that are named, in whole or in part.
    pub(super) fn touches(&self, request: &Request) -> bool {
        let about = |pattern: &String| match &request.subject {
            Some(subject) => subject.any(|text| matches(pattern, text)),
            None => false,
        };
        self.names(&request.tool) && self.pattern.as_ref().is_none_or(about)
    }

    /// Says whether rules name all that a call does: its parts may be named by different ones.
    pub(super) fn cover(rules: &[Self], request: &Request) -> bool {
        let rules: Vec<&Self> = rules.iter().filter(|rule| rule.names(&request.tool)).collect();
        if rules.iter().any(|rule| rule.pattern.is_none()) {
            return true;
        }
        let named = |text: &str| {
            let mut patterns = rules.iter().filter_map(|rule| rule.pattern.as_ref());
            patterns.any(|pattern| matches(pattern, text))
        };
        request.subject.as_ref().is_some_and(|subject| subject.all(named))
    }

    fn names(&self, tool: &str) -> bool {
        matches(&self.tool, tool)
    }
}

impl FromStr for Rule {
    type Err = RuleRefused;

    fn from_str(text: &str) -> Result<Self, RuleRefused> {
        let refused = || RuleRefused { text: text.to_owned() };
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(refused)?)),
        };
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*');
        if tool.is_empty() || !tool.chars().all(letter) || pattern.is_some_and(str::is_empty) {
            return Err(refused());
        }
        Ok(Self { tool: tool.to_owned(), pattern: pattern.map(str::to_owned) })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
        }
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    glob(pattern, text) || pattern.strip_suffix(" *").is_some_and(|bare| glob(bare, text))
}

/// Whether the whole text fits a pattern in which `*` stands for any characters.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    // The earliest place of each piece leaves the most for those behind it.
    for piece in middle {
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rule_reads_back_as_it_is_shown() {
        for text in ["bash", "bash(cargo *)", "docs__*", "write(src/(a)/*)", "*"] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        for text in ["", "(x)", "bash(", "bash()", "ba sh", "bash(x)y", "a;b"] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text) in [
            ("a*c", "abbc"),
            ("*", ""),
            ("a*", "a"),
            ("*b*", "abc"),
            ("git *", "git"),
            ("a*a", "aa"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*a", "a"), ("a", "ab"), ("a*b*c", "acb"), ("git *", "gitk")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) if naive(rest, text) => true,
            (Some((b'*', _)), Some((_, behind))) => naive(pattern, behind),
            (Some((a, rest)), Some((b, behind))) => a == b && naive(rest, behind),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_pattern_fits_what_trying_everything_finds(pattern in "[ab*]{0,7}", text in "[ab]{0,9}") {
            prop_assert_eq!(glob(&pattern, &text), naive(pattern.as_bytes(), text.as_bytes()));
        }
    }
}
