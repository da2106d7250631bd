//! What a call is about, cut into the parts that rules speak of.

/// Words of a command that lead its output nowhere new.
const HARMLESS: [&str; 5] = ["2>&1", ">/dev/null", "2>/dev/null", "&>/dev/null", "1>&2"];

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    text: String,
    parts: Vec<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file, by all its names.
    File,
    /// A command whose parts say all that it does.
    Plain,
    /// A command that does more than its parts say.
    Opaque,
}

impl Subject {
    /// A command for a shell. It is cut at `;`, `&`, `|` and line ends, as if there were no quotes:
    /// that may make too many parts and never too few.
    #[must_use]
    pub fn command(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').filter(|word| !HARMLESS.contains(word)).collect();
        let plain = words.join(" ");
        // Substitutions and functions run commands of their own, redirections write files.
        let opaque = ["(", "`", "<", ">", "\\\n"].iter().any(|mark| plain.contains(mark));
        let parts = plain.split([';', '&', '|', '\n', '\r']);
        let parts = parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
        let kind = if opaque { Kind::Opaque } else { Kind::Plain };
        Self { text: text.to_owned(), parts: parts.collect(), kind }
    }

    /// A file of the workspace: as it is named, and where its links lead. Both relative to the root.
    #[must_use]
    pub fn path(named: &str, really: &str) -> Self {
        let parts = vec![named.to_owned(), really.to_owned()];
        Self { text: named.to_owned(), parts, kind: Kind::File }
    }

    /// The whole of it, for people.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_command(&self) -> bool {
        self.kind != Kind::File
    }

    /// Says whether it, or any part of it, is so.
    pub(super) fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        is(&self.text) || self.parts.iter().any(|part| is(part))
    }

    /// Says whether all that it does is known, and all of that is so.
    pub(super) fn all(&self, is: impl Fn(&str) -> bool) -> bool {
        self.kind != Kind::Opaque
            && !self.parts.is_empty()
            && self.parts.iter().all(|part| is(part))
    }
}
