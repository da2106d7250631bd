//! `longboat show --follow`: what a team does, as it happens, from the process that runs it.

use super::follow::{Stops, showing};
use super::show::ShowArgs;
use crate::args::{GlobalArgs, ShowingArgs};
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::holder::{Holding, HoldingError};
use crate::live::Display;
use longboat_core::id::{EventKey, Seq, SessionId};
use longboat_core::log::{Record, decode};
use longboat_core::time::Timestamp;
use longboat_engine::Notice;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Bytes of one event: a record of the largest kind, and what is written around it.
const EVENT_BYTES: usize = 64 * 1_048_576;

/// A record as the API tells it.
#[derive(Deserialize)]
struct Told {
    session: SessionId,
    seq: Seq,
    time: Timestamp,
    #[serde(rename = "type")]
    kind: String,
    key: Option<EventKey>,
    data: Box<RawValue>,
}

/// Follows a team until it is stopped, or the process that runs it ends.
pub(crate) async fn run(
    args: &ShowArgs,
    global: &GlobalArgs,
    config: &Config,
) -> Result<u8, CommandError> {
    let mut stops = Stops::new()?;
    let holding = Holding::of(config, "follow")?;
    let asked = (args.id != "latest").then_some(args.id.as_str());
    let lead = holding.session(config, asked).await?;
    let showing = showing(ShowingArgs { json: args.json, quiet: false }, global.color, config);
    let mut display = Display::new(showing, lead.clone(), config.prices());
    display.say(&format!("session {lead}"));
    let mut response = holding.events(&lead, None).await?;
    let mut text = Vec::new();
    loop {
        tokio::select! {
            () = stops.next() => break,
            chunk = response.chunk() => match chunk {
                Ok(Some(chunk)) => text.extend_from_slice(&chunk),
                // Its end is the end of what can be followed.
                Ok(None) | Err(_) => break,
            },
        }
        for block in whole_events(&mut text)? {
            if let Some(notice) = notice(&block)? {
                display
                    .notice(&notice)
                    .map_err(|source| CommandError::Io { doing: "writing the events", source })?;
            }
        }
    }
    display.finish();
    Ok(exit::DONE)
}

/// Takes the whole events out of what came.
fn whole_events(text: &mut Vec<u8>) -> Result<Vec<String>, HoldingError> {
    let strange = |cause: &str| HoldingError::Strange { cause: cause.to_owned() };
    let Some(end) = text.windows(2).rposition(|two| two == b"\n\n") else {
        let fits = text.len() <= EVENT_BYTES;
        return if fits { Ok(Vec::new()) } else { Err(strange("an event has no end")) };
    };
    let rest = text.split_off(end + 2);
    let whole = std::mem::replace(text, rest);
    let whole = String::from_utf8(whole).map_err(|_| strange("an event is no text"))?;
    Ok(whole.split("\n\n").filter(|block| !block.is_empty()).map(str::to_owned).collect())
}

/// A record, when an event is one.
fn notice(block: &str) -> Result<Option<Notice>, HoldingError> {
    let field = |name: &str| {
        let mut lines = block.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(field, _)| *field == name).map(|(_, value)| value)
    };
    let (Some("record"), Some(data)) = (field("event"), field("data")) else { return Ok(None) };
    let strange = |cause: String| HoldingError::Strange { cause };
    let told: Told = serde_json::from_str(data).map_err(|error| strange(error.to_string()))?;
    let Told { session, seq, time, kind, key, data } = told;
    let event = decode(&kind, data.get()).map_err(|error| strange(error.to_string()))?;
    let record = Arc::new(Record { seq, at: time, key, event });
    Ok(Some(Notice::Committed { session, record }))
}
