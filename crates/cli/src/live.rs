//! A run as it happens: on a terminal one line per member that is kept up to date, elsewhere a line
//! per event worth one; or every event as JSON. Progress goes to standard error, so that standard
//! output has the answer, or the events, and nothing else.

mod board;
mod story;

use crate::commands::look::write_json;
use crate::report::{one_line, plain};
use board::Board;
use longboat_core::id::{EventKey, MemberName, Seq, SessionId};
use longboat_core::log::{Record, encode};
use longboat_core::price::Prices;
use longboat_core::time::Timestamp;
use longboat_engine::{Delta, Notice};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{self, Write};
use story::headline;

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// A line per member, kept up to date.
    Terminal {
        /// Columns.
        width: usize,
        /// Says whether to colour.
        colour: bool,
    },
    /// A line per event worth one.
    Lines,
    /// Every event as a line of JSON.
    Json,
    /// Nothing.
    Quiet,
}

/// Shows a run.
#[derive(Debug)]
pub(crate) struct Display {
    showing: Showing,
    lead: SessionId,
    board: Board,
    drawn: usize,
}

/// An event as `--json` and `export` print it.
#[derive(Serialize)]
struct JsonEvent<'a> {
    session: &'a SessionId,
    member: &'a MemberName,
    seq: Seq,
    time: Timestamp,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a EventKey>,
    data: &'a RawValue,
}

impl Display {
    /// Shows the run of a team.
    pub(crate) fn new(showing: Showing, lead: SessionId, prices: Prices) -> Self {
        Self { showing, lead, board: Board::new(prices), drawn: 0 }
    }

    /// Says something that is no event.
    pub(crate) fn say(&mut self, text: &str) {
        if matches!(self.showing, Showing::Terminal { .. } | Showing::Lines) {
            self.print(&plain(text));
        }
    }

    /// Takes the next notice.
    ///
    /// # Errors
    /// When JSON cannot be written: a lost event must not go unnoticed.
    pub(crate) fn notice(&mut self, notice: &Notice) -> io::Result<()> {
        if self.showing == Showing::Json {
            return self.json(notice);
        }
        match notice {
            Notice::Committed { session, record } => {
                let member = self.member_of(session);
                self.board.event(&member, record);
                if let Some(line) = headline(&member, record) {
                    self.say(&line);
                }
            }
            Notice::Streaming { member, delta } => self.board.streaming(member, delta),
            Notice::Retrying { member, reason, wait } => {
                let reason = one_line(reason);
                self.say(&format!(
                    "{member}: {reason}; asking again in {:.1} s",
                    wait.as_secs_f64()
                ));
                self.board.retrying(member, *wait);
            }
            Notice::Unreachable { member, cause, wait } => {
                let (cause, wait) = (one_line(cause), wait.as_secs());
                self.say(&format!("{member} cannot be reached: {cause}; trying again in {wait} s"));
            }
            Notice::Recovering { cause } => {
                self.say(&format!("the store failed ({}); reading it again", one_line(cause)));
            }
        }
        Ok(())
    }

    fn member_of(&self, session: &SessionId) -> MemberName {
        let lead = self.lead.as_str();
        let name = session.as_str().strip_prefix(lead).and_then(|rest| rest.strip_prefix('.'));
        name.and_then(|name| MemberName::new(name).ok()).unwrap_or_else(MemberName::lead)
    }

    fn json(&self, notice: &Notice) -> io::Result<()> {
        let Notice::Committed { session, record } = notice else { return Ok(()) };
        let Record { seq, at, key, event } = &**record;
        let data = RawValue::from_string(encode(event)?)?;
        let line = JsonEvent {
            session,
            member: &self.member_of(session),
            seq: *seq,
            time: *at,
            kind: event.kind(),
            key: key.as_ref(),
            data: &data,
        };
        let mut out = io::stdout();
        write_json(&mut out, &line).map_err(io::Error::other)?;
        out.flush()
    }

    /// Draws the members' lines again, where there are any.
    pub(crate) fn redraw(&mut self) {
        let Showing::Terminal { width, colour } = self.showing else { return };
        let lines = self.board.lines(width, colour);
        let mut text = self.erase();
        self.drawn = lines.len();
        for line in lines {
            text.push_str(&line);
            text.push_str("\r\n");
        }
        to_stderr(&text);
    }

    /// Takes the members' lines away: what follows stands where they stood.
    pub(crate) fn finish(&mut self) {
        let text = self.erase();
        to_stderr(&text);
    }

    fn erase(&mut self) -> String {
        let up = std::mem::take(&mut self.drawn);
        if up == 0 { String::new() } else { format!("\u{1b}[{up}A\r\u{1b}[J") }
    }

    fn print(&mut self, line: &str) {
        let text = format!("{}{line}\n", self.erase());
        to_stderr(&text);
        if matches!(self.showing, Showing::Terminal { .. }) {
            self.redraw();
        }
    }
}

/// Progress is a courtesy: when nobody reads it, the run goes on.
fn to_stderr(text: &str) {
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// A delta's text, and what it is.
fn spoken(delta: &Delta) -> (&'static str, &str) {
    match delta {
        Delta::Text(text) => ("says", text),
        Delta::Reasoning(text) => ("thinks", text),
        Delta::Call(name) => ("calls", name),
    }
}
