//! Small drawings. Each stands beside a word and says nothing that the word does not.

use longboat_engine::Status;
use maud::{Markup, html};

/// A drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Icon {
    Running,
    Idle,
    Inactive,
    Provisioning,
    Failed,
    Done,
    Ready,
    Blocked,
    Mail,
    Person,
    Runtime,
    Thought,
    Tool,
    Stop,
    Team,
}

impl Icon {
    pub(super) fn of(status: &Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Idle => Self::Idle,
            Status::Inactive => Self::Inactive,
            Status::Provisioning => Self::Provisioning,
            Status::Failed { .. } => Self::Failed,
        }
    }

    /// Lines in a square of sixteen.
    fn path(self) -> &'static str {
        match self {
            Self::Running => "M5 3.2v9.6L12.6 8z",
            Self::Idle => "M5.5 3.5v9M10.5 3.5v9",
            Self::Inactive => "M12.8 9.6A5.4 5.4 0 0 1 6.4 3.2a5.4 5.4 0 1 0 6.4 6.4z",
            Self::Provisioning => {
                "M4 2.5h8M4 13.5h8M5 2.5c0 4 6 4.500 6 11M11 2.5c0 4-6 4.500-6 11"
            }
            Self::Failed => "M4 4l8 8M12 4l-8 8",
            Self::Done => "M3 8.500l3.500 3.500L13 4.500",
            Self::Ready => "M8 2.500a5.500 5.500 0 1 1 0 11a5.500 5.500 0 0 1 0-11z",
            Self::Blocked => "M4.500 7.500h7v5.500h-7zM6 7.500V5a2 2 0 0 1 4 0v2.500",
            Self::Mail => "M2.500 4h11v8h-11zM2.500 4.500L8 8.800l5.500-4.300",
            Self::Person => {
                "M8 2.500a2.600 2.600 0 1 1 0 5.200a2.600 2.600 0 0 1 0-5.200zM3 13.500c0-5.400 10-5.400 10 0"
            }
            Self::Runtime => "M8 2.500v6.500M8 12v1.200",
            Self::Thought => {
                "M4 6.500a4 4 0 1 1 6.500 3.100V11h-5V9.600A4 4 0 0 1 4 6.500zM6 13.300h4"
            }
            Self::Tool => "M3 4.500l3.500 3.500L3 11.500M8 12h5",
            Self::Stop => "M4 4h8v8H4z",
            Self::Team => "M2 11.200c3 2.600 9 2.600 12 0M3 9h10M8 9V2.500l4.200 4.700H8",
        }
    }

    /// Says whether it is drawn as a plane, not as lines.
    fn filled(self) -> bool {
        matches!(self, Self::Running | Self::Stop)
    }

    pub(super) fn draw(self) -> Markup {
        let kind = if self.filled() { "icon full" } else { "icon" };
        html! {
            svg class=(kind) viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false" {
                path d=(self.path()) {}
            }
        }
    }

    /// The same within another drawing, at a place there.
    pub(super) fn draw_at(self, x: f64, y: f64) -> Markup {
        let kind = if self.filled() { "icon full" } else { "icon" };
        html! {
            path class=(kind) d=(self.path()) transform={ "translate(" (x) " " (y) ")" } {}
        }
    }
}

/// A status: its drawing and its word, with a colour that adds nothing to them.
pub(super) fn chip(icon: Icon, tone: &str, word: &str) -> Markup {
    html! { span class={ "chip " (tone) } { (icon.draw()) (word) } }
}

/// A member's status.
pub(super) fn status_chip(status: &Status) -> Markup {
    chip(Icon::of(status), status.word(), status.word())
}
