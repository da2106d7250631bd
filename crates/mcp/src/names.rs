//! What models call the tools of servers: `server__tool`, in the letters that every wire accepts.

use crate::settings::ServerName;
use std::collections::BTreeSet;

/// Between a server's name and a tool's. No server's name has it.
pub(crate) const BETWEEN: &str = "__";
/// Characters of a tool's name on the strictest wire.
const NAME_CHARS: usize = 64;
/// Characters of a hash that tells names apart.
const HASH_CHARS: usize = 8;

/// The names for a server's tools, in their order: the same whenever the server has the same tools,
/// whatever their order. A name that had to be changed and is then somebody else's gets a hash of
/// what it was.
pub(crate) fn named(server: &ServerName, tools: &[&str]) -> Vec<String> {
    let exact: BTreeSet<String> =
        tools.iter().filter(|tool| fits(server, tool)).map(|tool| plain(server, tool)).collect();
    let changed = |tool: &&&str| !fits(server, tool);
    let taken: Vec<String> = tools.iter().filter(changed).map(|tool| plain(server, tool)).collect();
    let shared = |name: &String| {
        exact.contains(name) || taken.iter().filter(|other| *other == name).count() > 1
    };
    let name = |tool: &&str| {
        let name = plain(server, tool);
        if fits(server, tool) || (name.len() <= NAME_CHARS && !shared(&name)) {
            return name;
        }
        let kept: String = name.chars().take(NAME_CHARS - HASH_CHARS - 1).collect();
        format!("{kept}_{:08x}", hash(tool))
    };
    tools.iter().map(name).collect()
}

/// The server whose tool it is, by the tool's name.
pub(crate) fn server_of(tool: &str) -> Option<&str> {
    tool.split_once(BETWEEN).map(|(server, _)| server)
}

/// Whether a tool keeps its name.
fn fits(server: &ServerName, tool: &str) -> bool {
    !tool.is_empty()
        && tool.chars().all(accepted)
        && server.as_str().len() + BETWEEN.len() + tool.len() <= NAME_CHARS
}

fn accepted(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

fn plain(server: &ServerName, tool: &str) -> String {
    let tool: String =
        tool.chars().map(|letter| if accepted(letter) { letter } else { '_' }).collect();
    format!("{server}{BETWEEN}{tool}")
}

/// FNV-1a, 32 bits: the same in every build.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tools: &[&str]) -> Vec<String> {
        named(&ServerName::new("docs").unwrap(), tools)
    }

    #[test]
    fn names_are_prefixed_and_in_letters_that_wires_accept() {
        assert_eq!(
            of(&["find", "files/read", "größe"]),
            ["docs__find", "docs__files_read", "docs__gr__e"]
        );
        assert_eq!(server_of("docs__find"), Some("docs"));
        assert_eq!(server_of("read"), None);
    }

    #[test]
    fn names_that_would_be_the_same_are_told_apart_whatever_their_order() {
        let one = of(&["a.b", "a/b", "a_b"]);
        assert_eq!(one[2], "docs__a_b", "who is called so keeps it");
        let all: BTreeSet<&String> = one.iter().collect();
        assert_eq!(all.len(), 3, "{one:?}");
        let other = of(&["a_b", "a/b", "a.b"]);
        assert_eq!(one.iter().rev().collect::<Vec<_>>(), other.iter().collect::<Vec<_>>());
    }

    #[test]
    fn names_that_are_too_long_are_cut_and_told_apart() {
        let (one, other) = (format!("{}1", "x".repeat(90)), format!("{}2", "x".repeat(90)));
        let names = of(&[&one, &other]);
        assert!(names.iter().all(|name| name.len() == 64 && name.starts_with("docs__xxx")));
        assert_ne!(names[0], names[1]);
    }
}
