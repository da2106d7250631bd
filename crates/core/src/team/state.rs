//! The fold of the team's events in the Lead's log.

use super::mailbox::{Mailbox, OwedMessage};
use super::roster::{Activity, Roster};
use super::task_board::TaskBoard;
use crate::id::{MemberName, Revision, Seq, TeamId};
use crate::log::{Corrupt, Event, Record, Scope};
use crate::permission::Grants;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that a Lead's log says about its team.
#[derive(Debug, Clone)]
pub struct TeamState {
    team: TeamId,
    lead: Activity,
    roster: Roster,
    mailbox: Mailbox,
    board: TaskBoard,
    grants: Grants,
    changes: BTreeMap<MemberName, Revision>,
}

impl TeamState {
    /// A team about which nothing is recorded.
    #[must_use]
    pub fn new(team: TeamId) -> Self {
        Self {
            team,
            lead: Activity::default(),
            roster: Roster::default(),
            mailbox: Mailbox::default(),
            board: TaskBoard::default(),
            grants: Grants::default(),
            changes: BTreeMap::new(),
        }
    }

    /// Takes the next record of the Lead's log. Records of another team, which a fork inherits, and
    /// records of the session itself change nothing.
    ///
    /// # Errors
    /// [`Corrupt`] when the record cannot follow those before it.
    pub fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        if let (Event::SessionCreated { kind, .. }, Seq(0)) = (&record.event, record.seq) {
            self.roster.set_scope(kind.scope());
        }
        // P13: a fork's inherited records carry the old team and are ignored.
        if record.event.team() != Some(&self.team) {
            return Ok(());
        }
        // What a person grants is no news of a member.
        if let Event::TeamPermission { grant, .. } = &record.event {
            self.grants.add(grant.clone());
            return Ok(());
        }
        let cause = self.fold(record).map_err(|what| Corrupt { seq: record.seq, what })?;
        self.changes.insert(cause, Revision(record.seq.0 + 1));
        Ok(())
    }

    /// Applies a team event; returns the member whose doing it was.
    fn fold(&mut self, record: &Record) -> Result<MemberName, String> {
        match &record.event {
            Event::TeamMember { member, change, .. } => {
                self.roster.changed(member, change)?;
                Ok(self.roster.parent_of(member).cloned().unwrap_or_else(MemberName::lead))
            }
            Event::TeamActivity { member, change, .. } => {
                self.activity_mut(member)?.changed(change)?;
                Ok(member.clone())
            }
            Event::TeamTask { by, task, .. } => {
                self.board.apply(Arc::clone(task)).map_err(|error| error.to_string())?;
                Ok(by.clone())
            }
            Event::TeamMessageQueued { message, from, to, text, .. } => {
                self.mailbox.message_queued(OwedMessage {
                    id: message.clone(),
                    from: from.clone(),
                    to: to.clone(),
                    text: Arc::clone(text),
                    at: record.at,
                })?;
                Ok(from.clone())
            }
            Event::TeamMessageDelivered { message, to, .. } => {
                Ok(self.mailbox.message_delivered(message, to)?.from)
            }
            Event::SessionCreated { .. }
            | Event::SessionConfigured { .. }
            | Event::InboxInserted { .. }
            | Event::InboxClaimed { .. }
            | Event::ContextCompacted { .. }
            | Event::InboxDiscarded { .. }
            | Event::TurnStarted { .. }
            | Event::TurnEnded { .. }
            | Event::StepStarted { .. }
            | Event::StepEnded { .. }
            | Event::AssistantMessage { .. }
            | Event::ToolStarted { .. }
            | Event::TeamPermission { .. }
            | Event::PermissionAsked { .. }
            | Event::PermissionAnswered { .. }
            | Event::ToolResult { .. }
            | Event::Ignored { .. } => Err("not an event of a team".to_owned()),
        }
    }

    /// Says whether what `cause` did is news to `member`.
    fn concerns(&self, cause: &MemberName, member: &MemberName) -> bool {
        match self.roster.scope() {
            Scope::Team => cause != member,
            Scope::Subagents => self.roster.parent_of(cause) == Some(member),
        }
    }

    fn activity_mut(&mut self, member: &MemberName) -> Result<&mut Activity, String> {
        if member.is_lead() { Ok(&mut self.lead) } else { self.roster.activity(member) }
    }

    /// The team's id.
    #[must_use]
    pub fn team(&self) -> &TeamId {
        &self.team
    }

    /// The Lead's turns.
    #[must_use]
    pub fn lead(&self) -> &Activity {
        &self.lead
    }

    /// The teammates.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// What is owed.
    #[must_use]
    pub fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// The task board.
    #[must_use]
    pub fn board(&self) -> &TaskBoard {
        &self.board
    }

    /// What people have granted to the team.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The place in the Lead's log of the last change that others than `member` made, or anybody
    /// when it is `None`.
    // P16: what a member did itself is no news to it.
    #[must_use]
    pub fn revision_for(&self, member: Option<&MemberName>) -> Revision {
        self.changes
            .iter()
            .filter(|(cause, _)| member.is_none_or(|member| self.concerns(cause, member)))
            .map(|(_, revision)| *revision)
            .max()
            .unwrap_or_default()
    }
}
