//! Waiting for the next change, and for the end of a run.

use super::actor::TeamActor;
use super::input::{ReplyTo, RunEnd};
use longboat_core::id::{MemberName, Revision, SessionId};
use longboat_core::log::Scope;
use longboat_core::session::Phase;
use longboat_core::team::Standing;

/// A member that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    session: SessionId,
    name: MemberName,
    since: Revision,
    reply: ReplyTo<WaitEnd>,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// The team changed.
    Changed {
        /// The revision of the last change.
        revision: Revision,
    },
    /// Something came into the waiter's own inbox; it is read at the next step boundary.
    Mail {
        /// The revision now.
        revision: Revision,
    },
    /// No other member runs or is being made, so nothing will change by itself.
    NobodyRunning {
        /// The revision now.
        revision: Revision,
    },
}

impl TeamActor {
    pub(super) fn wait(
        &mut self,
        session: SessionId,
        since: Option<Revision>,
        reply: ReplyTo<WaitEnd>,
    ) {
        let Some(name) = self.name_of(&session) else { return };
        let since = since.unwrap_or_else(|| self.writer.team().revision_for(Some(&name)));
        self.waiters.push(Waiter { session, name, since, reply });
    }

    /// Ends the waits whose reason has come. Called after each commit, so that what a waiter is
    /// told is durable.
    pub(super) fn tell_waiters(&mut self) {
        for waiter in std::mem::take(&mut self.waiters) {
            if waiter.reply.is_closed() {
                continue;
            }
            match self.wait_end(&waiter) {
                Some(end) => drop(waiter.reply.send(end)),
                None => self.waiters.push(waiter),
            }
        }
        if let Some(end) = self.run_end() {
            for reply in std::mem::take(&mut self.quiescing) {
                drop(reply.send(end.clone()));
            }
        }
    }

    // P16: mail for the waiter, a change since, or nobody left to wait for.
    fn wait_end(&self, waiter: &Waiter) -> Option<WaitEnd> {
        let revision = self.writer.team().revision_for(Some(&waiter.name));
        let mail = self.writer.session(&waiter.session).is_some_and(|s| s.inbox().has_next_step());
        if mail {
            return Some(WaitEnd::Mail { revision });
        }
        if revision > waiter.since {
            return Some(WaitEnd::Changed { revision });
        }
        let nobody = !self.others_busy(&waiter.name);
        nobody.then_some(WaitEnd::NobodyRunning { revision })
    }

    /// Says whether somebody for whom a member can wait is busy: in a team everybody else, outside
    /// of one those below it.
    fn others_busy(&self, waiter: &MemberName) -> bool {
        let roster = self.writer.team().roster();
        match roster.scope() {
            Scope::Team => self.anybody_busy(&|name| name != waiter),
            Scope::Subagents => self.anybody_busy(&|name| roster.descends(name, waiter)),
        }
    }

    /// Says whether one of these members runs, is being made or is being brought back.
    fn anybody_busy(&self, of: &dyn Fn(&MemberName) -> bool) -> bool {
        let running = self.residents.iter().any(|(session, resident)| {
            of(&resident.name)
                && self
                    .writer
                    .session(session)
                    .is_some_and(|state| *state.phase() != Phase::Idle || !state.inbox().is_empty())
        });
        let provisioning = self
            .writer
            .team()
            .roster()
            .iter()
            .any(|member| member.standing == Standing::Provisioning && of(&member.name));
        running || provisioning || self.loading.iter().any(of)
    }

    /// Why a run need not wait for a member's mail to be delivered, if it need not.
    fn hopeless(&self, name: &MemberName) -> Option<String> {
        let member = self.writer.team().roster().get(name)?;
        if let Standing::Failed { reason } = &member.standing {
            return Some(reason.clone());
        }
        let outage = self.outages.get(name).filter(|outage| outage.hopeless())?;
        Some(outage.cause.text.clone())
    }

    // P17: the Lead is idle, nobody runs, and no deliverable mail is pending.
    fn run_end(&self) -> Option<RunEnd> {
        let mailbox = self.writer.team().mailbox();
        if self.exhausted.is_none() {
            let busy = self.anybody_busy(&|_| true) || !self.stalled.is_empty();
            if busy || mailbox.debtors().any(|name| self.hopeless(name).is_none()) {
                return None;
            }
        }
        let owed = mailbox.debtors().flat_map(|name| {
            let cause = self.hopeless(name).unwrap_or_default();
            mailbox.owed_to(name).map(move |owed| (owed.id.clone(), name.clone(), cause.clone()))
        });
        let lead = self.writer.session(self.writer.lead())?;
        Some(RunEnd {
            lead: self.writer.team().lead().last.as_ref().map(|last| last.outcome.clone()),
            final_text: lead.final_text().to_owned(),
            owed: owed.collect(),
            exhausted: self.exhausted.clone(),
        })
    }
}
