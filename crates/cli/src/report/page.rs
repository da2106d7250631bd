//! What a report is written on: how wide it is, whether it has colours, whose clock it shows.

use super::plain::{fit, wrap};
use jiff::tz::TimeZone;
use longboat_core::time::Timestamp;

/// Where a report will be read.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Terminal columns.
    pub(crate) width: usize,
    /// Says whether escape sequences for colours are understood there.
    pub(crate) colour: bool,
    /// The reader's time zone.
    pub(crate) zone: TimeZone,
    /// The time of reading.
    pub(crate) now: Timestamp,
}

/// How a piece of text looks, where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Bold,
    Dim,
    Good,
    Bad,
    Open,
    Name,
}

impl Page {
    /// The text in an ink. Its width on the terminal stays.
    pub(super) fn ink(&self, ink: Ink, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Open => "33",
            Ink::Name => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Writes a heading.
    pub(super) fn heading(&self, out: &mut String, text: &str) {
        if !out.is_empty() {
            out.push('\n');
        }
        line(out, &self.ink(Ink::Bold, &fit(text, self.width)));
    }

    /// Writes text, wrapped, each line behind `indent` spaces.
    pub(super) fn paragraph(&self, out: &mut String, indent: usize, ink: Option<Ink>, text: &str) {
        for part in wrap(text, self.width.saturating_sub(indent)) {
            let part = match ink {
                Some(ink) => self.ink(ink, &part),
                None => part,
            };
            line(out, &format!("{}{part}", " ".repeat(indent)));
        }
    }

    /// Writes one line of text, cut to fit.
    pub(super) fn cut(&self, out: &mut String, indent: usize, ink: Option<Ink>, text: &str) {
        let text = fit(text, self.width.saturating_sub(indent));
        let text = match ink {
            Some(ink) => self.ink(ink, &text),
            None => text,
        };
        line(out, &format!("{}{text}", " ".repeat(indent)));
    }
}

/// Writes a line without spaces at its end.
pub(super) fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

#[cfg(test)]
pub(super) fn test_page() -> Page {
    Page { width: 80, colour: false, zone: TimeZone::UTC, now: Timestamp(1_796_133_966_000) }
}
