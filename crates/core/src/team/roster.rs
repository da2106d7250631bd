//! Members: provisioning, then active or failed. A name is used once.

use crate::id::{MemberName, SessionId, TurnNo};
use crate::limits::{self, Limits};
use crate::log::{
    ActivityChange, MemberChange, MemberContext, Relation, Scope, TurnOutcome, Worktree,
};

/// The teammates of one team, in the order in which they were named. The Lead is not on it.
#[derive(Debug, Clone, Default)]
pub struct Roster {
    scope: Scope,
    members: Vec<Member>,
}

/// A teammate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: MemberName,
    /// Its session.
    pub session: SessionId,
    /// What it is for.
    pub description: String,
    /// The reusable definition it was made from.
    pub role: Option<String>,
    /// What it started with.
    pub context: MemberContext,
    /// Who made it.
    pub parent: MemberName,
    /// Where it works, when that is not the shared checkout.
    pub worktree: Option<Worktree>,
    /// How far it came to be.
    pub standing: Standing,
    /// What it does and last did.
    pub activity: Activity,
}

/// How far a teammate came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Being made.
    Provisioning,
    /// Made.
    Active,
    /// Could not be made.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A member's turns, as the Lead's log knows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Activity {
    /// The open turn.
    pub turn: Option<TurnNo>,
    /// The last turn that ended.
    pub last: Option<EndedTurn>,
    /// Why it cannot be brought into memory, since it last could not.
    pub unreachable: Option<String>,
}

/// How a member's last turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedTurn {
    /// Which.
    pub turn: TurnNo,
    /// How.
    pub outcome: TurnOutcome,
    /// The beginning of its final text.
    pub excerpt: String,
}

/// Says why a teammate is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnRefused {
    /// The caller is not the Lead.
    #[error("only the lead can spawn teammates; send lead a message if one is needed")]
    NotLead,
    /// The name is the Lead's.
    #[error("the name \"lead\" is taken by the lead; choose another")]
    NameIsLead,
    /// The name is a person's.
    #[error("the name \"human\" is for the person the team works for; choose another")]
    NameIsHuman,
    /// The name was used before, by an active or a failed teammate.
    #[error("the name {name} is taken and names are never reused; choose another")]
    NameTaken {
        /// The name.
        name: MemberName,
    },
    /// Outside a team, the name has a meaning of its own.
    #[error("the name \"parent\" means the agent that made another one; choose another")]
    NameIsParent,
    /// Outside a team, the agent stands too deep to have children.
    #[error("you have {depth} agents above you and the limit is {limit}; do the work yourself")]
    TooDeep {
        /// How many stand above.
        depth: usize,
        /// The limit.
        limit: usize,
    },
    /// The name does not fit into a session id.
    #[error("the name {name} is too long for this team's session id; choose a shorter one")]
    NameTooLong {
        /// The name.
        name: MemberName,
    },
    /// There is no such role.
    #[error("there is no role {role:?}; the roles are: {}", .known.join(", "))]
    UnknownRole {
        /// What was asked for.
        role: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A git worktree was asked for and cannot be given.
    #[error(
        "{name} was not made, and its name is free: it cannot have a git worktree of its own, because {reason}"
    )]
    NoWorktree {
        /// The name.
        name: MemberName,
        /// Why not, and what to do.
        reason: String,
    },
    /// The roster is full.
    #[error(
        "the team has named {current} teammates and the limit (teammates) is {limit}; give the work to one of them"
    )]
    RosterFull {
        /// How many names are used.
        current: usize,
        /// The limit.
        limit: usize,
    },
    /// A text is empty or too long.
    #[error("{field} has {bytes} bytes; it needs 1 to {limit}")]
    Text {
        /// Which argument.
        field: &'static str,
        /// Its length.
        bytes: usize,
        /// The most it may have.
        limit: usize,
    },
}

impl Roster {
    /// All teammates, in the order in which they were named.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.members.iter()
    }

    /// One teammate.
    #[must_use]
    pub fn get(&self, name: &MemberName) -> Option<&Member> {
        self.members.iter().find(|member| member.name == *name)
    }

    /// The member that a name or a session id means.
    #[must_use]
    pub fn resolve(&self, lead: &SessionId, target: &str) -> Option<MemberName> {
        if target == "lead" || target == lead.as_str() {
            return Some(MemberName::lead());
        }
        let meant =
            |member: &&Member| member.name.as_str() == target || member.session.as_str() == target;
        self.members.iter().find(meant).map(|member| member.name.clone())
    }

    /// What the members are to each other.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    pub(super) fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
    }

    /// Who made a member; `None` for the root.
    #[must_use]
    pub fn parent_of(&self, name: &MemberName) -> Option<&MemberName> {
        self.get(name).map(|member| &member.parent)
    }

    /// Those that a member made.
    pub fn children_of<'a>(&'a self, name: &'a MemberName) -> impl Iterator<Item = &'a Member> {
        self.members.iter().filter(move |member| member.parent == *name)
    }

    /// Says whether `name` was made by `above`, or by somebody whom `above` had made.
    #[must_use]
    pub fn descends(&self, name: &MemberName, above: &MemberName) -> bool {
        std::iter::successors(self.parent_of(name), |parent| self.parent_of(parent))
            .any(|parent| parent == above)
    }

    /// How many agents stand above a member.
    #[must_use]
    pub fn depth(&self, name: &MemberName) -> usize {
        std::iter::successors(self.parent_of(name), |parent| self.parent_of(parent)).count()
    }

    /// The agent next to `from` that `parent`, a name or a session id means; `from` itself counts.
    #[must_use]
    pub fn adjacent(
        &self,
        root: &SessionId,
        from: &MemberName,
        target: &str,
    ) -> Option<MemberName> {
        let parent = self.parent_of(from);
        if target == "parent" {
            return parent.cloned();
        }
        let meant = self.resolve(root, target)?;
        let adjacent =
            meant == *from || Some(&meant) == parent || self.parent_of(&meant) == Some(from);
        adjacent.then_some(meant)
    }

    /// What `from` is to `to`, outside a team.
    #[must_use]
    pub fn relation(&self, from: &MemberName, to: &MemberName) -> Relation {
        if self.parent_of(to) == Some(from) { Relation::Parent } else { Relation::Child }
    }

    /// What `to` calls `from`.
    pub(super) fn label<'a>(&self, from: &'a MemberName, to: &MemberName) -> &'a str {
        match self.scope {
            Scope::Team => from.as_str(),
            Scope::Subagents => self.relation(from, to).label(from),
        }
    }

    /// The teammate with a session.
    #[must_use]
    pub fn by_session(&self, session: &SessionId) -> Option<&Member> {
        self.members.iter().find(|member| member.session == *session)
    }

    pub(super) fn changed(
        &mut self,
        name: &MemberName,
        change: &MemberChange,
    ) -> Result<(), String> {
        match change {
            MemberChange::Provisioning {
                session,
                description,
                role,
                context,
                parent,
                isolation,
            } => {
                if name.is_lead() || self.get(name).is_some() {
                    return Err(format!("the name {name} is used twice"));
                }
                let parent = parent.clone().unwrap_or_else(MemberName::lead);
                if !parent.is_lead() && self.get(&parent).is_none() {
                    return Err(format!("{name} is made by {parent}, who is not there"));
                }
                self.members.push(Member {
                    name: name.clone(),
                    session: session.clone(),
                    description: description.clone(),
                    role: role.clone(),
                    context: *context,
                    parent,
                    worktree: isolation.clone(),
                    standing: Standing::Provisioning,
                    activity: Activity::default(),
                });
                Ok(())
            }
            MemberChange::Active => self.settled(name, Standing::Active),
            MemberChange::Failed { reason } => {
                self.settled(name, Standing::Failed { reason: reason.clone() })
            }
        }
    }

    pub(super) fn activity(&mut self, name: &MemberName) -> Result<&mut Activity, String> {
        let member = self.members.iter_mut().find(|member| member.name == *name);
        match member {
            Some(member) if member.standing == Standing::Active => Ok(&mut member.activity),
            Some(_) | None => Err(format!("{name} is not an active member")),
        }
    }

    fn settled(&mut self, name: &MemberName, standing: Standing) -> Result<(), String> {
        let member = self.members.iter_mut().find(|member| member.name == *name);
        match member {
            Some(member) if member.standing == Standing::Provisioning => {
                member.standing = standing;
                Ok(())
            }
            Some(_) | None => Err(format!("{name} is not being provisioned")),
        }
    }
}

impl Activity {
    pub(super) fn changed(&mut self, change: &ActivityChange) -> Result<(), String> {
        match change {
            ActivityChange::TurnStarted { turn } => {
                if self.turn.is_some() {
                    return Err(format!("turn {turn} begins in an open turn"));
                }
                self.turn = Some(*turn);
                self.unreachable = None;
            }
            ActivityChange::TurnEnded { turn, outcome, excerpt } => {
                if self.turn != Some(*turn) {
                    return Err(format!("turn {turn} ends but is not open"));
                }
                self.turn = None;
                let (turn, outcome, excerpt) = (*turn, outcome.clone(), excerpt.clone());
                self.last = Some(EndedTurn { turn, outcome, excerpt });
            }
            ActivityChange::Resumed => self.unreachable = None,
            ActivityChange::Unreachable { cause } => self.unreachable = Some(cause.clone()),
            ActivityChange::Released => {}
        }
        Ok(())
    }
}

/// Decides whether `by` may make a teammate.
///
/// # Errors
/// [`SpawnRefused`].
// P13: only the Lead; P12: a name, once written, is taken for good.
pub fn decide_spawn(
    roster: &Roster,
    limits: &Limits,
    by: &MemberName,
    name: &MemberName,
    description: &str,
    prompt: &str,
) -> Result<(), SpawnRefused> {
    match roster.scope {
        Scope::Team if !by.is_lead() => return Err(SpawnRefused::NotLead),
        Scope::Team => {}
        Scope::Subagents => {
            let (depth, limit) = (roster.depth(by), limits::AGENT_DEPTH);
            if depth >= limit {
                return Err(SpawnRefused::TooDeep { depth, limit });
            }
            if name.as_str() == "parent" {
                return Err(SpawnRefused::NameIsParent);
            }
        }
    }
    if name.is_lead() {
        return Err(SpawnRefused::NameIsLead);
    }
    // P9: what stands in the logs as done by a person was.
    if name.is_human() {
        return Err(SpawnRefused::NameIsHuman);
    }
    if roster.get(name).is_some() {
        return Err(SpawnRefused::NameTaken { name: name.clone() });
    }
    let current = roster.members.len();
    if current >= limits.teammates {
        return Err(SpawnRefused::RosterFull { current, limit: limits.teammates });
    }
    within("description", description, limits::DESCRIPTION_BYTES)?;
    within("prompt", prompt, limits::PROMPT_BYTES)
}

fn within(field: &'static str, text: &str, limit: usize) -> Result<(), SpawnRefused> {
    let bytes = text.len();
    if text.trim().is_empty() || bytes > limit {
        return Err(SpawnRefused::Text { field, bytes, limit });
    }
    Ok(())
}

/// Says why a turn is not cancelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterruptRefused {
    /// The caller is not the Lead.
    #[error("only the lead can interrupt; send lead a message if a teammate should stop")]
    NotLead,
    /// Outside a team, the target is not a child of the caller.
    #[error("you can interrupt agents that you have made, and {target:?} is none")]
    NotYourChild {
        /// What was asked for.
        target: String,
    },
    /// The Lead would cancel the turn it is in.
    #[error("you are lead: name the teammate whose turn is to be cancelled")]
    ItIsYou,
    /// Nobody has that name.
    #[error("there is no member {target:?}; the teammates are: {}", .known.join(", "))]
    UnknownTarget {
        /// What was asked for.
        target: String,
        /// Who there is.
        known: Vec<String>,
    },
}

impl InterruptRefused {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotLead => "not_lead",
            Self::NotYourChild { .. } => "not_your_child",
            Self::ItIsYou => "to_itself",
            Self::UnknownTarget { .. } => "unknown_target",
        }
    }
}

/// Decides whether `by`, a member or (when `None`) a person, may cancel the turn of `target`, a
/// member's name or session id.
///
/// # Errors
/// [`InterruptRefused`].
pub fn decide_interrupt(
    lead: &SessionId,
    roster: &Roster,
    by: Option<&MemberName>,
    target: &str,
) -> Result<MemberName, InterruptRefused> {
    match (roster.scope, by) {
        (Scope::Team, Some(by)) if !by.is_lead() => return Err(InterruptRefused::NotLead),
        (Scope::Subagents, Some(by)) => {
            let child = roster.resolve(lead, target);
            let child = child.filter(|name| roster.parent_of(name) == Some(by));
            let target = target.chars().take(80).collect();
            return child.ok_or(InterruptRefused::NotYourChild { target });
        }
        (Scope::Team | Scope::Subagents, _) => {}
    }
    let Some(name) = roster.resolve(lead, target) else {
        let known = roster.iter().map(|member| member.name.to_string()).collect();
        let target = target.chars().take(80).collect();
        return Err(InterruptRefused::UnknownTarget { target, known });
    };
    if by == Some(&name) {
        return Err(InterruptRefused::ItIsYou);
    }
    Ok(name)
}

impl SpawnRefused {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotLead => "not_lead",
            Self::NameIsLead | Self::NameIsHuman | Self::NameIsParent | Self::NameTaken { .. } => {
                "name_taken"
            }
            Self::TooDeep { .. } => "too_deep",
            Self::NameTooLong { .. } => "name_too_long",
            Self::UnknownRole { .. } => "unknown_role",
            Self::NoWorktree { .. } => "no_worktree",
            Self::RosterFull { .. } => "roster_full",
            Self::Text { .. } => "text_length",
        }
    }
}
