//! Where in a team's logs a reader is, as the id of an event: how many records of each member's log
//! it knows. `lead:41,scout:12` is before the 42nd record of the Lead's and the 13th of scout's.

use longboat_core::id::{MemberName, Seq, SessionId};
use longboat_engine::Position;

/// Bytes of an id: more than a roster of many times the usual size takes.
const ID_BYTES: usize = 32 * 1024;

/// Writes a position as an id.
pub(crate) fn to_id(lead: &SessionId, position: &Position) -> String {
    let mut id = String::new();
    for (session, seq) in position {
        let name = session.as_str().strip_prefix(lead.as_str());
        let name = name.map_or("lead", |rest| rest.strip_prefix('.').unwrap_or("lead"));
        if !id.is_empty() {
            id.push(',');
        }
        id.push_str(&format!("{name}:{seq}"));
    }
    id
}

/// Reads an id; `None` when it is not one.
pub(crate) fn from_id(lead: &SessionId, id: &str) -> Option<Position> {
    if id.len() > ID_BYTES {
        return None;
    }
    let mut position = Position::new();
    for part in id.split(',').filter(|part| !part.is_empty()) {
        let (name, seq) = part.split_once(':')?;
        let name = MemberName::new(name).ok()?;
        let session = if name.is_lead() { lead.clone() } else { lead.teammate(&name).ok()? };
        let digits = !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit());
        let seq = digits.then(|| seq.parse().ok()).flatten()?;
        position.insert(session, Seq(seq));
    }
    Some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written_and_nonsense_is_none() {
        let lead = SessionId::new("s-1").unwrap();
        let position: Position = [
            (lead.clone(), Seq(41)),
            (SessionId::new("s-1.a-b").unwrap(), Seq(0)),
            (SessionId::new("s-1.scout").unwrap(), Seq(u64::MAX)),
        ]
        .into();
        let id = to_id(&lead, &position);
        assert_eq!(id, "lead:41,a-b:0,scout:18446744073709551615");
        assert_eq!(from_id(&lead, &id), Some(position));
        assert_eq!(from_id(&lead, ""), Some(Position::new()));
        for bad in ["lead", "lead:", "lead:x", "lead:+1", "Lead:1", "lead:99999999999999999999"] {
            assert_eq!(from_id(&lead, bad), None, "{bad}");
        }
        assert_eq!(from_id(&lead, &"a:1,".repeat(20_000)), None);
    }
}
