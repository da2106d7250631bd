//! Text that others wrote, and numbers, made fit for a page. A model, a file or a tool may have
//! written anything: markup is escaped where it is rendered, and here nothing is left that hides a
//! character or turns the direction of those around it.

use jiff::ZonedDateTime;
use jiff::tz::TimeZone;
use longboat_core::time::Timestamp;
use maud::{Markup, Render, html};
use std::borrow::Cow;

/// Stands for what is not shown.
const UNSEEN: char = '\u{fffd}';

/// Text of somebody else's, as a page may show it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a>(pub(crate) &'a str);

impl Render for Said<'_> {
    fn render_to(&self, buffer: &mut String) {
        plain(self.0).render_to(buffer);
    }
}

/// The text without escape sequences; control characters become visible, and so do marks that hide
/// themselves or turn the direction of writing. Line breaks and tabs stay.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || hides(c)) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\u{1b}' if rest.peek() == Some(&'[') => {
                rest.next();
                // A colour or a move of the cursor, up to the letter that ends it.
                while rest.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
                rest.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
            }
            '\0'..='\u{1f}' => clean.push(char::from_u32(0x2400 + c as u32).unwrap_or(UNSEEN)),
            c if c.is_control() || hides(c) => clean.push(UNSEEN),
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Marks that turn the direction of writing, or show nothing where something is.
fn hides(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text on one line, at most so many characters; a cut shows.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    // What is far longer than is shown need not be read to its end.
    let near: String = text.chars().take(most.saturating_mul(4)).collect();
    let line = plain(&near).split_whitespace().collect::<Vec<_>>().join(" ");
    let (begin, cut) = cut(&line, most);
    if cut || near.len() < text.len() && begin.len() == line.len() {
        format!("{}…", begin.trim_end())
    } else {
        line
    }
}

/// The first characters of a text, and whether there are more.
pub(crate) fn cut(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), true),
        None => (text, false),
    }
}

/// The last bytes of a text, from the beginning of a character on.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let from = (from..=text.len()).find(|from| text.is_char_boundary(*from)).unwrap_or(0);
    text.get(from..).unwrap_or(text)
}

/// A duration in a few characters.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=9_999 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        10_000..=59_999 => format!("{} s", ms / 1_000),
        60_000..=3_599_999 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        3_600_000..=86_399_999 => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
        _ => format!("{} d {} h", ms / 86_400_000, ms % 86_400_000 / 3_600_000),
    }
}

/// A number in groups of three.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A number of tokens in a few characters.
pub(crate) fn tokens(n: u64) -> String {
    match n {
        0..=9_999 => number(n),
        10_000..=999_999 => format!("{} k", n / 1_000),
        _ => format!("{}.{} M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// One thing, or several.
pub(crate) fn count(n: usize, one: &str, several: &str) -> String {
    format!("{} {}", number(n as u64), if n == 1 { one } else { several })
}

/// The moment in which a page is made, and where its reader is.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Now.
    pub now: Timestamp,
    /// The reader's time zone.
    pub zone: TimeZone,
}

impl Moment {
    /// A point in time: its time of day, and its day where it is not today.
    pub(crate) fn clock(&self, at: Timestamp) -> Markup {
        let (time, here, today) = (utc(at), self.here(at), self.here(self.now));
        let format = if here.date() == today.date() { "%H:%M:%S" } else { "%e %b %Y, %H:%M" };
        html! { time datetime=(time) { (here.strftime(format).to_string().trim_start()) } }
    }

    /// How long ago something was: the page's script says so and keeps it up to date. What the markup
    /// says does not change with time, so that nothing has to be sent when only time has passed.
    pub(crate) fn since(&self, at: Timestamp) -> Markup {
        html! {
            time datetime=(utc(at)) data-since=(at.0) { "since " (self.here(at).strftime("%H:%M:%S")) }
        }
    }

    fn here(&self, at: Timestamp) -> ZonedDateTime {
        ZonedDateTime::new(utc(at), self.zone.clone())
    }
}

fn utc(at: Timestamp) -> jiff::Timestamp {
    let ms = i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    ms.unwrap_or(jiff::Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_that_hides_or_turns_is_left_in_any_text(text in "\\PC*|(.|[\\x00-\\x1f\u{202e}\u{2066}\u{200b}\u{9b}])*") {
            let clean = plain(&text);
            prop_assert!(!clean.chars().any(|c| hides(c) || (c.is_control() && c != '\n' && c != '\t')));
        }

        #[test]
        fn a_line_is_a_line_and_no_longer_than_asked(text in ".*", most in 1_usize..50) {
            let line = one_line(&text, most);
            prop_assert!(!line.contains('\n'));
            prop_assert!(line.chars().count() <= most + 1);
        }
    }

    #[test]
    fn escapes_go_and_controls_show() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m\r\nnext"), "red\nnext");
        assert_eq!(plain("a\u{7}b\rc"), "a␇b␍c");
        assert_eq!(plain("user\u{202e}gpj.exe"), "user\u{fffd}gpj.exe");
    }

    #[test]
    fn numbers_and_times_are_short() {
        assert_eq!(number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(tokens(1_250_000), "1.2 M");
        assert_eq!(
            (duration(7), duration(1_250), duration(61_000)),
            ("7 ms".into(), "1.2 s".into(), "1 min 1 s".into())
        );
        assert_eq!(tail("aäb", 2), "b");
    }
}
