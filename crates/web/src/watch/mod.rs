//! A team as somebody who watches it knows it: a fold of the notices of a follower. It holds what a
//! page shows at once, and of everything that may be long only where it lies in the logs.

mod mail;
mod member;

pub use mail::{MailWatch, Way, WayState};
pub(crate) use member::gist;
pub use member::{CallWatch, Doing, Group, MemberWatch, OpenGroup, Question, Stream, shows};

use longboat_core::id::{MemberName, SessionId, TeamId};
use longboat_core::log::{ActivityChange, Event, Record, SessionKind, Worktree};
use longboat_core::team::{Activity, Standing, TaskBoard, TeamState};
use longboat_core::time::Timestamp;
use longboat_engine::{Notice, Status};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Characters of a first prompt that are kept.
const PROMPT_CHARS: usize = 400;

/// A team, watched.
#[derive(Debug, Clone)]
pub struct TeamWatch {
    lead: SessionId,
    team: TeamState,
    members: BTreeMap<SessionId, MemberWatch>,
    mail: MailWatch,
    first_prompt: String,
    forked_from: Option<SessionId>,
    trouble: Option<String>,
    updated: Timestamp,
}

/// A member as a page shows it.
#[derive(Debug)]
pub struct Shown<'a> {
    /// Its name.
    pub name: MemberName,
    /// What it is for; empty for the Lead.
    pub description: &'a str,
    /// The reusable definition it was made from.
    pub role: Option<&'a str>,
    /// Its git worktree, when it does not work in the shared checkout.
    pub worktree: Option<&'a Worktree>,
    /// What it does.
    pub status: Status,
    /// Its turns.
    pub activity: &'a Activity,
    /// Its own log, when there is anything in it.
    pub watch: Option<&'a MemberWatch>,
}

impl TeamWatch {
    /// A team of which nothing is known.
    #[must_use]
    pub fn new(lead: SessionId) -> Self {
        Self {
            team: TeamState::new(TeamId::of(lead.clone())),
            lead,
            members: BTreeMap::new(),
            mail: MailWatch::default(),
            first_prompt: String::new(),
            forked_from: None,
            trouble: None,
            updated: Timestamp::default(),
        }
    }

    /// Takes the next notice, which came now.
    pub fn notice(&mut self, notice: &Notice, now: Timestamp) {
        match notice {
            Notice::Committed { session, record } => self.record(session, record),
            Notice::Streaming { member, delta } => {
                self.of(member, |watch| watch.streaming(delta));
            }
            Notice::Retrying { member, reason, wait } => {
                self.of(member, |watch| watch.retrying(reason, now, *wait));
            }
            Notice::SummingUp { member } => self.of(member, |watch| watch.summing_up(now)),
            Notice::Unreachable { member, cause, wait } => {
                self.of(member, |watch| watch.unreachable(cause, now, *wait));
            }
            Notice::Recovering { cause } => self.trouble = Some(cause.clone()),
        }
    }

    /// Says that the team left memory, or came into it: nothing of the moment holds any more.
    pub fn moved(&mut self) {
        self.trouble = None;
        for watch in self.members.values_mut() {
            watch.moved();
        }
    }

    fn record(&mut self, session: &SessionId, record: &Arc<Record>) {
        // What is durable again was recovered.
        self.trouble = None;
        self.updated = self.updated.max(record.at);
        let name = name_of(&self.lead, session);
        let watch = self.members.entry(session.clone()).or_default();
        watch.record(record);
        self.mail.record(self.team.team(), &name, record);
        if *session == self.lead {
            self.lead_record(record);
        }
    }

    fn lead_record(&mut self, record: &Record) {
        match &record.event {
            Event::SessionCreated { kind: SessionKind::Fork { from, .. }, .. } => {
                self.forked_from = Some(from.clone());
            }
            Event::InboxInserted { item, .. } if self.first_prompt.is_empty() => {
                self.first_prompt = item.text.chars().take(PROMPT_CHARS).collect();
            }
            Event::TeamActivity { member, change, .. } => self.residence(member, change),
            _ => {}
        }
        // A log that contradicts itself is shown as far as it goes.
        if let Err(corrupt) = self.team.apply(record) {
            self.trouble = Some(corrupt.to_string());
        }
    }

    fn residence(&mut self, member: &MemberName, change: &ActivityChange) {
        let here = match change {
            ActivityChange::Released => false,
            ActivityChange::Resumed | ActivityChange::TurnStarted { .. } => true,
            ActivityChange::TurnEnded { .. } | ActivityChange::Unreachable { .. } => return,
        };
        self.of(member, |watch| watch.here(here));
    }

    fn of(&mut self, member: &MemberName, change: impl FnOnce(&mut MemberWatch)) {
        if let Some(session) = self.session_of(member) {
            change(self.members.entry(session).or_default());
        }
    }

    /// The session of a member, when there is one.
    #[must_use]
    pub fn session_of(&self, member: &MemberName) -> Option<SessionId> {
        if member.is_lead() {
            return Some(self.lead.clone());
        }
        self.team.roster().get(member).map(|member| member.session.clone())
    }

    /// The Lead's session.
    #[must_use]
    pub fn lead(&self) -> &SessionId {
        &self.lead
    }

    /// The beginning of the first prompt.
    #[must_use]
    pub fn first_prompt(&self) -> &str {
        &self.first_prompt
    }

    /// The session it was forked from.
    #[must_use]
    pub fn forked_from(&self) -> Option<&SessionId> {
        self.forked_from.as_ref()
    }

    /// What is wrong with the store or a log, if anything is.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// When a member last wrote.
    #[must_use]
    pub fn updated(&self) -> Timestamp {
        self.updated
    }

    /// The task board.
    #[must_use]
    pub fn board(&self) -> &TaskBoard {
        self.team.board()
    }

    /// All messages.
    #[must_use]
    pub fn mail(&self) -> &MailWatch {
        &self.mail
    }

    /// A member's own log.
    #[must_use]
    pub fn watch(&self, member: &MemberName) -> Option<&MemberWatch> {
        self.members.get(&self.session_of(member)?)
    }

    /// One member; `open` says whether the team is in memory.
    #[must_use]
    pub fn member(&self, name: &MemberName, open: bool) -> Option<Shown<'_>> {
        self.members(open).find(|shown| shown.name == *name)
    }

    /// The Lead, then the teammates in the order in which they were named; `open` says whether the
    /// team is in memory.
    pub fn members(&self, open: bool) -> impl Iterator<Item = Shown<'_>> {
        let lead = self.members.get(&self.lead);
        let lead = Shown {
            name: MemberName::lead(),
            description: "",
            role: None,
            worktree: None,
            status: status(lead, open),
            activity: self.team.lead(),
            watch: lead,
        };
        let teammates = self.team.roster().iter().map(move |member| {
            let watch = self.members.get(&member.session);
            Shown {
                name: member.name.clone(),
                description: &member.description,
                role: member.role.as_deref(),
                worktree: member.worktree.as_ref(),
                status: match &member.standing {
                    Standing::Provisioning => Status::Provisioning,
                    Standing::Failed { reason } => Status::Failed { reason: reason.clone() },
                    Standing::Active => status(watch, open),
                },
                activity: &member.activity,
                watch,
            }
        });
        std::iter::once(lead).chain(teammates)
    }

    /// How many messages a member is owed, and why when it cannot be reached.
    #[must_use]
    pub fn owed(&self, name: &MemberName) -> (usize, Option<&str>) {
        let count = self.team.mailbox().owed_to(name).count();
        let member = self.team.roster().get(name);
        let cause = member.and_then(|member| match &member.standing {
            Standing::Failed { reason } => Some(reason.as_str()),
            Standing::Provisioning => Some("it is still being made"),
            Standing::Active => member.activity.unreachable.as_deref(),
        });
        (count, cause)
    }
}

fn status(watch: Option<&MemberWatch>, open: bool) -> Status {
    match watch {
        Some(watch) if open && watch.is_here() => {
            if watch.busy() {
                Status::Running
            } else {
                Status::Idle
            }
        }
        Some(_) | None => Status::Inactive,
    }
}

/// The name of the member whose session this is.
fn name_of(lead: &SessionId, session: &SessionId) -> MemberName {
    let name = session.as_str().strip_prefix(lead.as_str()).and_then(|rest| rest.strip_prefix('.'));
    name.and_then(|name| MemberName::new(name).ok()).unwrap_or_else(MemberName::lead)
}
