//! The text a model sees for an inbox item.

use crate::id::{MemberName, MessageId};
use crate::log::{InboxItem, Relation, Source};

/// The text of an item as a model sees it. A person's prompt and a first prompt are byte for byte
/// what was sent; a member's message and a notice of the runtime have one line before them that the
/// host writes.
// P9: the name comes from the item's source, which no model writes.
#[must_use]
pub fn framed(item: &InboxItem) -> String {
    match &item.source {
        Source::Human | Source::Spawn { .. } => item.text.to_string(),
        Source::Runtime => format!("[notice]\n{}", item.text),
        Source::Team { message, sender, .. } => frame(message, sender.name.as_str(), &item.text),
        Source::Agent { message, sender, relation, .. } => {
            frame(message, relation.label(&sender.name), &item.text)
        }
    }
}

/// The frame of a member's message.
#[must_use]
pub fn frame(message: &MessageId, from: &str, text: &str) -> String {
    format!("[message {message} from {from}]\n{text}")
}

impl Relation {
    /// What the reader calls the sender, whose name this is.
    #[must_use]
    pub fn label(self, name: &MemberName) -> &str {
        match self {
            Self::Parent => "parent",
            Self::Child => name.as_str(),
        }
    }
}
