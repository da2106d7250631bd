//! The team as somebody looking at it sees it.

use super::actor::TeamActor;
use longboat_core::content::Usage;
use longboat_core::id::{MemberName, Revision, SessionId, TeamId};
use longboat_core::log::{Scope, Worktree};
use longboat_core::permission::QuestionId;
use longboat_core::price::{Cost, Spending};
use longboat_core::session::{Call, Phase, Progress, SessionState};
use longboat_core::team::{EndedTurn, Standing, TaskBoard, TeamState};

/// A team at one moment.
#[derive(Debug, Clone)]
pub struct TeamView {
    /// Its id.
    pub team: TeamId,
    /// The last change that the one who looks did not make.
    pub revision: Revision,
    /// The Lead, then the teammates in the order in which they were named.
    pub members: Vec<MemberView>,
    /// The task board.
    pub board: TaskBoard,
    /// Why it takes nothing any more and is to be resumed, as when a budget is used up.
    pub suspended: Option<String>,
}

/// A member at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberView {
    /// Its name.
    pub name: MemberName,
    /// Its session.
    pub session: SessionId,
    /// What it is for; empty for the Lead.
    pub description: String,
    /// The reusable definition it was made from.
    pub role: Option<String>,
    /// Its git worktree, when it does not work in the shared checkout.
    pub worktree: Option<Worktree>,
    /// What it does now.
    pub status: Status,
    /// How its last turn ended.
    pub last: Option<EndedTurn>,
    /// Items in its inbox that it has not read.
    pub unread: usize,
    /// Messages that are queued for it and not in its inbox.
    pub owed: usize,
    /// Why it cannot be reached, when it cannot.
    pub unreachable: Option<String>,
    /// Its calls that wait for a person's permission.
    pub questions: Vec<OpenQuestion>,
    /// The tokens of its requests; `None` when it was not in memory yet.
    pub usage: Option<Usage>,
    /// What they cost; `None` when that is not known.
    pub cost: Option<Cost>,
}

/// A call that waits for a person's permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Its name, for the answer.
    pub question: QuestionId,
    /// The tool.
    pub tool: String,
    /// What it is called with, as the model wrote it.
    pub arguments: String,
}

/// What a member does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// A turn is open.
    Running,
    /// It is in memory and waits for input.
    Idle,
    /// Its log is kept; mail brings it back.
    Inactive,
    /// It is being made.
    Provisioning,
    /// It could not be made.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Status {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Inactive => "inactive",
            Self::Provisioning => "provisioning",
            Self::Failed { .. } => "failed",
        }
    }
}

/// What only a team in memory knows of a member's session.
struct Presence {
    status: Status,
    unread: usize,
    usage: Option<Usage>,
    cost: Option<Cost>,
    questions: Vec<OpenQuestion>,
}

impl TeamView {
    /// A team that is not in memory, as its Lead's log has it: nobody does anything, and how much is
    /// unread is not known.
    #[must_use]
    pub fn stored(team: &TeamState) -> Self {
        let absent = |_: &MemberName, _: &SessionId| Presence {
            status: Status::Inactive,
            unread: 0,
            usage: None,
            cost: None,
            questions: Vec::new(),
        };
        Self::of(team, None, None, &absent)
    }

    fn of(
        team: &TeamState,
        viewer: Option<&MemberName>,
        suspended: Option<String>,
        presence: &dyn Fn(&MemberName, &SessionId) -> Presence,
    ) -> Self {
        let owed = |name: &MemberName| team.mailbox().owed_to(name).count();
        let session = team.team().lead().clone();
        let Presence { status, unread, usage, cost, questions } =
            presence(&MemberName::lead(), &session);
        let lead = MemberView {
            name: MemberName::lead(),
            session,
            description: String::new(),
            role: None,
            worktree: None,
            status,
            last: team.lead().last.clone(),
            unread,
            owed: owed(&MemberName::lead()),
            unreachable: None,
            questions,
            usage,
            cost,
        };
        // P10a: outside a team an agent sees those that it made.
        let sees = |member: &MemberView| match (team.roster().scope(), viewer) {
            (Scope::Subagents, Some(viewer)) => {
                team.roster().parent_of(&member.name) == Some(viewer)
            }
            (Scope::Team | Scope::Subagents, _) => true,
        };
        let teammates = team.roster().iter().map(|member| {
            let Presence { status, unread, usage, cost, questions } =
                presence(&member.name, &member.session);
            MemberView {
                name: member.name.clone(),
                session: member.session.clone(),
                description: member.description.clone(),
                role: member.role.clone(),
                worktree: member.worktree.clone(),
                status: match &member.standing {
                    Standing::Provisioning => Status::Provisioning,
                    Standing::Failed { reason } => Status::Failed { reason: reason.clone() },
                    Standing::Active => status,
                },
                last: member.activity.last.clone(),
                unread,
                owed: owed(&member.name),
                unreachable: member.activity.unreachable.clone(),
                questions,
                usage,
                cost,
            }
        });
        Self {
            team: team.team().clone(),
            revision: team.revision_for(viewer),
            members: std::iter::once(lead).chain(teammates).filter(sees).collect(),
            board: team.board().clone(),
            suspended,
        }
    }
}

/// The calls of a member that wait for permission.
fn questions(member: &MemberName, state: &SessionState) -> Vec<OpenQuestion> {
    let Phase::Calling { step, calls, .. } = state.phase() else { return Vec::new() };
    let calls = calls.iter().zip(0..).filter(|(call, _)| call.progress == Progress::Asked);
    let question = |(call, index): (&Call, u32)| OpenQuestion {
        question: QuestionId { member: member.clone(), step: *step, index },
        tool: call.call.name.clone(),
        arguments: call.call.arguments.clone(),
    };
    calls.map(question).collect()
}

impl TeamActor {
    pub(super) fn view(&self, viewer: Option<&MemberName>) -> TeamView {
        let presence = |name: &MemberName, session: &SessionId| {
            let state = self.writer.session(session);
            Presence {
                status: self.residence(session),
                unread: state.map_or(0, |state| state.inbox().len()),
                usage: self.spending(session).map(Spending::usage),
                cost: self.cost(session),
                questions: state.map(|state| questions(name, state)).unwrap_or_default(),
            }
        };
        TeamView::of(self.writer.team(), viewer, self.exhausted.clone(), &presence)
    }

    fn spending(&self, session: &SessionId) -> Option<&Spending> {
        let state = self.writer.session(session);
        state.map(|state| state.spending()).or_else(|| self.left.get(session))
    }

    fn cost(&self, session: &SessionId) -> Option<Cost> {
        self.spending(session)?.cost(&self.parts.settings.prices)
    }

    fn residence(&self, session: &SessionId) -> Status {
        match self.writer.session(session) {
            None => Status::Inactive,
            Some(state) if *state.phase() == Phase::Idle && state.inbox().is_empty() => {
                Status::Idle
            }
            Some(_) => Status::Running,
        }
    }
}
