//! Text that others wrote, made safe and fit for a terminal. A model, a file or a tool may have
//! written anything; nothing of it can move the cursor, change a colour or reverse a line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a tab becomes: its width on a terminal depends on where it stands.
const TAB: &str = "    ";

/// The text without escape sequences, control characters and marks that turn the direction of
/// writing. Line breaks stay, tabs become spaces.
pub(crate) fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{1b}' | '\u{9b}' | '\u{90}' | '\u{9d}' | '\u{98}' | '\u{9e}' | '\u{9f}' => {
                rest = after_sequence(c, rest);
            }
            '\n' => clean.push('\n'),
            '\t' => clean.push_str(TAB),
            c if c.is_control() || turns_direction(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// The text on one line, with single spaces.
pub(crate) fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What follows an escape sequence. One that never ends loses its first characters only, so that it
/// cannot hide the text behind it.
fn after_sequence(introducer: char, rest: &str) -> &str {
    let (kind, body) = match introducer {
        '\u{1b}' => match rest.chars().next() {
            Some(c @ ('[' | ']' | 'P' | 'X' | '^' | '_')) => (c, rest.get(1..).unwrap_or_default()),
            // Two or three bytes: what selects a character set, resets, saves the cursor.
            Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => return skip(rest, 2),
            Some(c) if c.is_ascii_graphic() => return skip(rest, 1),
            Some(_) | None => return rest,
        },
        '\u{9b}' => ('[', rest),
        _ => (']', rest),
    };
    if kind == '[' {
        let end = body.find(|c: char| !('\u{20}'..='\u{3f}').contains(&c));
        return match end {
            Some(end) if body.as_bytes().get(end).is_some_and(|b| (0x40..=0x7e).contains(b)) => {
                body.get(end + 1..).unwrap_or_default()
            }
            Some(_) | None => body,
        };
    }
    let line = body.split('\n').next().unwrap_or_default();
    let ends = [("\u{7}", 1), ("\u{1b}\\", 2), ("\u{9c}", 2)];
    let end = ends.iter().filter_map(|(end, len)| line.find(end).map(|at| at + len)).min();
    end.and_then(|end| body.get(end..)).unwrap_or(body)
}

fn skip(text: &str, chars: usize) -> &str {
    let mut rest = text.chars();
    for _ in 0..chars {
        rest.next();
    }
    rest.as_str()
}

fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text, cut to a number of terminal columns; a cut shows.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// The text in exactly that many columns, from the left.
pub(super) fn left(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let spaces = columns.saturating_sub(text.width());
    text + &" ".repeat(spaces)
}

/// The text in exactly that many columns, from the right.
pub(super) fn right(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    " ".repeat(columns.saturating_sub(text.width())) + &text
}

/// The text's lines, broken at spaces, or inside a word that is longer than a line.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim_end();
        while rest.width() > columns {
            let (head, tail) = break_line(rest, columns);
            lines.push(head.trim_end().to_owned());
            rest = tail;
        }
        lines.push(rest.to_owned());
    }
    lines
}

fn break_line(line: &str, columns: usize) -> (&str, &str) {
    let (mut used, mut hard, mut soft) = (0, line.len(), None);
    for (at, c) in line.char_indices() {
        if c == ' ' && used > 0 {
            soft = Some(at);
        }
        used += c.width().unwrap_or(0);
        if used > columns {
            hard = at;
            break;
        }
    }
    // Leading spaces are an indentation, no place to break at.
    let indented = line.len() - line.trim_start().len();
    match soft.filter(|at| *at > indented) {
        Some(at) => {
            let (head, tail) = line.split_at(at);
            (head, tail.trim_start())
        }
        None => line.split_at(hard),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_survives() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9b}2Jgone", "gone"),
            ("\u{1b}(Bset", "set"),
            ("\u{1b}cset", "set"),
            ("a\rb\u{8}c\u{7f}d\u{85}e", "abcde"),
            ("x\u{202e}y\u{2066}z", "xyz"),
            ("a\tb\nc", "a    b\nc"),
            ("\u{1b}", ""),
        ];
        for (given, then) in cases {
            assert_eq!(plain(given), then, "{given:?}");
        }
    }

    #[test]
    fn a_sequence_that_never_ends_hides_no_text() {
        assert_eq!(plain("\u{1b}]0;no end\nnext line"), "0;no end\nnext line");
        assert_eq!(plain("\u{1b}[12"), "12");
    }

    #[test]
    fn columns_are_those_of_the_terminal() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(left("日本", 6), "日本  ");
        assert_eq!(right("12", 4), "  12");
    }

    #[test]
    fn lines_break_at_spaces_and_else_inside_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("aaaaaaaaaaaa", 8), ["aaaaaaaa", "aaaa"]);
        assert_eq!(wrap("  let x = 1;\n\n}", 40), ["  let x = 1;", "", "}"]);
    }
}
