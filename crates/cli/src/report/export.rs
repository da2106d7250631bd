//! Logs as JSON lines: one event a line, with its payload as it is stored; only what could move a
//! terminal is escaped.

use super::json::json_line;
use super::log::{PAGE, damage_text};
use super::when::rfc3339;
use longboat_core::id::{EventKey, Seq, SessionId};
use longboat_store::{Store, StoreError, StoredRecord};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{self, Write};

/// What was written of one session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Exported {
    /// Lines.
    pub(crate) records: u64,
    /// What could not be written.
    pub(crate) flaws: Vec<Flaw>,
}

/// Records of a log that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The first of them.
    pub(crate) from: Seq,
    /// The last of them.
    pub(crate) to: Seq,
    /// What is wrong.
    pub(crate) what: String,
}

#[derive(Serialize)]
struct Line<'a> {
    session: &'a SessionId,
    seq: Seq,
    time: String,
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a EventKey>,
    data: &'a RawValue,
}

/// Writes every readable event of a session, up to the head it has when this begins.
///
/// # Errors
/// Those of writing. What cannot be read is a flaw in the result, and the rest is written.
pub(crate) async fn export_session(
    store: &dyn Store,
    session: &SessionId,
    out: &mut (dyn Write + Send),
) -> io::Result<Exported> {
    let mut exported = Exported::default();
    let head = match store.head(session).await {
        Ok(Some(head)) => head.head,
        Ok(None) => return Ok(exported),
        Err(error) => {
            exported.flaw(Seq(0), Seq(0), damage_text(&error));
            return Ok(exported);
        }
    };
    let mut from = Seq(0);
    // A read that met damage says where: the next one stops before it.
    let mut until = head;
    while from < head {
        let room = usize::try_from(until.0.saturating_sub(from.0)).unwrap_or(PAGE);
        match store.read(session, from, room.clamp(1, PAGE)).await {
            Ok(records) if records.is_empty() => {
                exported.flaw(from, Seq(head.0 - 1), "they are missing".to_owned());
                return Ok(exported);
            }
            Ok(records) => {
                for record in records.into_iter().take_while(|record| record.seq < head) {
                    from = record.seq.next();
                    exported.line(session, &record, out)?;
                }
            }
            Err(StoreError::Damaged { seq, .. }) if seq > from => {
                until = seq;
                continue;
            }
            Err(error @ StoreError::Damaged { .. }) => {
                exported.flaw(from, from, damage_text(&error));
                from = from.next();
            }
            Err(error) => {
                exported.flaw(from, Seq(head.0 - 1), error.to_string());
                return Ok(exported);
            }
        }
        if from >= until {
            until = head;
        }
    }
    Ok(exported)
}

impl Exported {
    fn line(
        &mut self,
        session: &SessionId,
        record: &StoredRecord,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        // Between the tokens of a JSON text a line break is as good as a space, and inside of them
        // there is none.
        let text = record.data.replace(['\n', '\r'], " ");
        let data: &RawValue = match serde_json::from_str(&text) {
            Ok(data) => data,
            Err(error) => {
                self.flaw(record.seq, record.seq, format!("its payload is not JSON: {error}"));
                return Ok(());
            }
        };
        let line = Line {
            session,
            seq: record.seq,
            time: rfc3339(record.at),
            r#type: &record.kind,
            key: record.key.as_ref(),
            data,
        };
        out.write_all(json_line(&line).map_err(io::Error::other)?.as_bytes())?;
        self.records += 1;
        Ok(())
    }

    /// Notes a flaw; a run of neighbours of one kind is one flaw.
    fn flaw(&mut self, from: Seq, to: Seq, what: String) {
        match self.flaws.last_mut() {
            Some(last) if last.what == what && last.to.next() == from => last.to = to,
            _ => self.flaws.push(Flaw { from, to, what }),
        }
    }
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.from == self.to {
            write!(f, "seq {}: {}", self.from, self.what)
        } else {
            write!(f, "seq {} to {}: {}", self.from, self.to, self.what)
        }
    }
}
