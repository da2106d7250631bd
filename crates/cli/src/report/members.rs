//! The members of a team as the logs have them: what each does, how its last turn ended, what it
//! cost.

use super::log::{Damage, SessionLog, Tally, TeamLogs};
use super::mailbox::{MessageState, MessageWay};
use super::page::{Ink, Page, line};
use super::plain::{left, one_line, right};
use super::when::tokens;
use longboat_core::content::Usage;
use longboat_core::id::{MemberName, SessionId, TeamId, TurnNo};
use longboat_core::log::{ActivityChange, Event, MemberChange, TurnOutcome, Worktree};
use longboat_core::permission::QuestionId;
use longboat_core::price::{Cost, Prices};
use serde::Serialize;

/// A member, as far as the logs say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MemberStory {
    pub(crate) name: MemberName,
    pub(crate) session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// Its git worktree, when it does not work in the shared checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<Worktree>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(flatten)]
    pub(crate) status: LoggedStatus,
    pub(crate) turns: u64,
    pub(crate) steps: u64,
    pub(crate) last_turn: Option<LastTurn>,
    pub(crate) tokens: Usage,
    /// What they cost at today's prices, where the model has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<Cost>,
    /// Its calls that wait for a person's permission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) questions: Vec<QuestionId>,
    /// Messages in its inbox that it has not read.
    pub(crate) unread: usize,
    /// Messages queued for it that its inbox does not hold.
    pub(crate) owed: usize,
    /// Why it could not be brought into memory, since it last could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreachable: Option<String>,
    /// Where its log stops being readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damage: Option<Damage>,
}

/// What a log can say of a status: it cannot tell a live process from a dead one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum LoggedStatus {
    /// A turn began and has not ended: it runs, or its process died in it.
    OpenTurn {
        /// Which.
        turn: TurnNo,
    },
    /// No turn is open.
    Idle,
    /// No turn is open, and it was taken out of memory.
    Inactive,
    /// Its name is taken; it is being made.
    Provisioning,
    /// It could not be made.
    Failed {
        /// Why.
        reason: String,
    },
}

/// How a member's last turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LastTurn {
    pub(crate) outcome: TurnOutcome,
    /// The beginning of its final text.
    pub(crate) excerpt: String,
}

/// The Lead, then the teammates in the order in which they were named.
pub(super) fn members(logs: &TeamLogs, ways: &[MessageWay], prices: &Prices) -> Vec<MemberStory> {
    let team = TeamId::of(logs.lead.session.clone());
    let mut members = vec![begin(MemberName::lead(), &logs.lead.session, Some(&logs.lead))];
    for record in &logs.lead.records {
        match &record.event {
            Event::TeamMember { team: of, member, change } if *of == team => {
                changed(&mut members, logs, member, change);
            }
            Event::TeamActivity { team: of, member, change } if *of == team => {
                if let Some(story) = members.iter_mut().find(|story| story.name == *member) {
                    active(story, change);
                }
            }
            _ => {}
        }
    }
    for log in &logs.teammates {
        // A damaged Lead's log may not have named it.
        if !members.iter().any(|story| story.session == log.session) {
            members.push(begin(log.name(), &log.session, Some(log)));
        }
    }
    for story in &mut members {
        let count =
            |state| ways.iter().filter(|way| way.to == story.name && way.state == state).count();
        (story.unread, story.owed) = (count(MessageState::Unread), count(MessageState::Owed));
        let mut all = std::iter::once(&logs.lead).chain(&logs.teammates);
        let log = all.find(|log| log.session == story.session);
        story.cost_usd = log.and_then(|log| Tally::of(&log.records).spending.cost(prices));
    }
    members
}

fn begin(name: MemberName, session: &SessionId, log: Option<&SessionLog>) -> MemberStory {
    let tally = log.map(|log| Tally::of(&log.records)).unwrap_or_default();
    let status = match tally.open {
        Some(turn) => LoggedStatus::OpenTurn { turn },
        None => LoggedStatus::Idle,
    };
    let question = |(step, index)| QuestionId { member: name.clone(), step, index };
    let questions = tally.asked.iter().copied().map(question).collect();
    MemberStory {
        name,
        session: session.clone(),
        description: None,
        role: None,
        worktree: None,
        model: tally.model,
        status,
        turns: tally.turns,
        steps: tally.steps,
        last_turn: tally.last.map(|outcome| LastTurn { outcome, excerpt: String::new() }),
        tokens: tally.spending.usage(),
        cost_usd: None,
        questions,
        unread: 0,
        owed: 0,
        unreachable: None,
        damage: log.and_then(|log| log.damage.clone()),
    }
}

fn changed(
    members: &mut Vec<MemberStory>,
    logs: &TeamLogs,
    name: &MemberName,
    change: &MemberChange,
) {
    match change {
        MemberChange::Provisioning { session, description, role, isolation, .. } => {
            let log = logs.teammates.iter().find(|log| log.session == *session);
            let mut story = begin(name.clone(), session, log);
            story.description = Some(description.clone());
            story.role.clone_from(role);
            story.worktree.clone_from(isolation);
            story.status = LoggedStatus::Provisioning;
            members.push(story);
        }
        MemberChange::Active => {
            if let Some(story) = members.iter_mut().find(|story| story.name == *name) {
                let log = logs.teammates.iter().find(|log| log.session == story.session);
                story.status = begin(name.clone(), &story.session, log).status;
            }
        }
        MemberChange::Failed { reason } => {
            if let Some(story) = members.iter_mut().find(|story| story.name == *name) {
                story.status = LoggedStatus::Failed { reason: reason.clone() };
            }
        }
    }
}

fn active(story: &mut MemberStory, change: &ActivityChange) {
    match change {
        ActivityChange::Unreachable { cause } => story.unreachable = Some(cause.clone()),
        ActivityChange::Resumed | ActivityChange::TurnStarted { .. } => story.unreachable = None,
        ActivityChange::TurnEnded { .. } | ActivityChange::Released => {}
    }
    match (change, &story.status) {
        (ActivityChange::TurnEnded { outcome, excerpt, .. }, _) => {
            story.last_turn = Some(LastTurn { outcome: outcome.clone(), excerpt: excerpt.clone() });
        }
        (ActivityChange::Released, LoggedStatus::Idle) => story.status = LoggedStatus::Inactive,
        (ActivityChange::Resumed, LoggedStatus::Inactive) => story.status = LoggedStatus::Idle,
        (
            ActivityChange::TurnStarted { .. }
            | ActivityChange::Released
            | ActivityChange::Resumed
            | ActivityChange::Unreachable { .. },
            _,
        ) => {}
    }
}

impl LoggedStatus {
    /// The status in one or two words.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Self::OpenTurn { .. } => "open turn",
            Self::Idle => "idle",
            Self::Inactive => "inactive",
            Self::Provisioning => "provisioning",
            Self::Failed { .. } => "failed",
        }
    }

    fn ink(&self) -> Option<Ink> {
        match self {
            Self::OpenTurn { .. } | Self::Provisioning => Some(Ink::Open),
            Self::Failed { .. } => Some(Ink::Bad),
            Self::Idle | Self::Inactive => None,
        }
    }
}

/// Says in a few words how a turn ended.
pub(super) fn outcome_words(outcome: &TurnOutcome) -> (String, Ink) {
    match outcome {
        TurnOutcome::Completed => ("completed".to_owned(), Ink::Good),
        TurnOutcome::Interrupted { by } => (format!("interrupted by {}", one_line(by)), Ink::Open),
        TurnOutcome::Failed { .. } => ("failed".to_owned(), Ink::Bad),
    }
}

/// Writes the table of members.
pub(super) fn write(page: &Page, out: &mut String, members: &[MemberStory]) {
    page.heading(out, "Members");
    let widest = members.iter().map(|story| story.name.as_str().len()).max().unwrap_or(0);
    let name = widest.clamp(4, 24);
    let head = format!(
        "  {}  {}  {}  {}  {}  {}",
        left("name", name),
        left("status", 12),
        left("last turn", 11),
        right("turns", 5),
        right("steps", 5),
        right("tokens in (cached) / out", 24)
    );
    line(out, &page.ink(Ink::Dim, &head));
    for story in members {
        let status = left(story.status.words(), 12);
        let status = story.status.ink().map_or(status.clone(), |ink| page.ink(ink, &status));
        let last = match &story.last_turn {
            Some(last) => {
                let (words, ink) = outcome_words(&last.outcome);
                page.ink(ink, &left(words.split(' ').next().unwrap_or_default(), 11))
            }
            None => left("-", 11),
        };
        let shown = format!(
            "  {}  {status}  {last}  {}  {}  {}",
            page.ink(Ink::Name, &left(story.name.as_str(), name)),
            right(&story.turns.to_string(), 5),
            right(&story.steps.to_string(), 5),
            right(&usage_words(story.tokens), 24)
        );
        line(out, &shown);
        if let Some(cost) = story.cost_usd {
            page.cut(out, 4, Some(Ink::Dim), &format!("cost {cost}"));
        }
        if let Some(Worktree { path, branch, base }) = &story.worktree {
            let base: String = base.chars().take(12).collect();
            let own = format!("worktree {path}, branch {branch} from {base}");
            page.paragraph(out, 4, Some(Ink::Dim), &one_line(&own));
        }
        for (ink, note) in notes(story) {
            page.cut(out, 4, Some(ink), &note);
        }
    }
    if let Some(sum) = members.iter().filter_map(|story| story.cost_usd).reduce(Cost::plus) {
        page.cut(out, 2, None, &format!("{sum} in all, at the prices that are set"));
    }
}

fn usage_words(usage: Usage) -> String {
    let cached =
        if usage.cached > 0 { format!(" ({})", tokens(usage.cached)) } else { String::new() };
    format!("{}{cached} / {}", tokens(usage.input), tokens(usage.output))
}

/// What a row of the table has no room for.
fn notes(story: &MemberStory) -> Vec<(Ink, String)> {
    let mut notes = Vec::new();
    if let Some(description) = &story.description {
        notes.push((Ink::Dim, one_line(description)));
    }
    if let LoggedStatus::Failed { reason } = &story.status {
        notes.push((Ink::Bad, one_line(reason)));
    }
    for question in &story.questions {
        notes.push((Ink::Open, format!("{question} waits for your permission: longboat answer")));
    }
    if let Some(cause) = &story.unreachable {
        notes.push((Ink::Bad, format!("cannot be reached: {}", one_line(cause))));
    }
    if let Some(last) = &story.last_turn {
        match &last.outcome {
            TurnOutcome::Failed { reason } => {
                notes.push((Ink::Bad, format!("failed: {}", one_line(reason))));
            }
            TurnOutcome::Interrupted { by } => {
                notes.push((Ink::Open, format!("interrupted by {}", one_line(by))));
            }
            TurnOutcome::Completed => {}
        }
        let excerpt = one_line(&last.excerpt);
        if !excerpt.is_empty() {
            notes.push((Ink::Dim, format!("“{excerpt}”")));
        }
    }
    let mail = [(story.unread, "unread"), (story.owed, "owed")];
    let mail = mail.iter().filter(|(count, _)| *count > 0);
    let mail: Vec<String> = mail.map(|(count, word)| format!("{count} {word}")).collect();
    if !mail.is_empty() {
        notes.push((Ink::Open, format!("mail: {}", mail.join(", "))));
    }
    if let Some(damage) = &story.damage {
        notes.push((Ink::Bad, format!("log unreadable from seq {}: {}", damage.seq, damage.what)));
    }
    notes
}
