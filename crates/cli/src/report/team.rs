//! A whole team at a glance: members, tasks, and the way of every message.

use super::log::{Damage, TeamLogs, last_time};
use super::mailbox::{self, MessageWay};
use super::members::{self, MemberStory};
use super::page::{Ink, Page, line};
use super::plain::one_line;
use super::tasks;
use super::when::{ago, as_rfc3339_or_null, day};
use longboat_core::id::SessionId;
use longboat_core::log::Event;
use longboat_core::price::Prices;
use longboat_core::team::Task;
use longboat_core::time::Timestamp;
use serde::Serialize;
use std::sync::Arc;

/// What the logs of a team say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TeamStory {
    pub(crate) team: SessionId,
    pub(crate) cwd: String,
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub(crate) created: Option<Timestamp>,
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub(crate) updated: Option<Timestamp>,
    pub(crate) members: Vec<MemberStory>,
    pub(crate) tasks: Vec<Arc<Task>>,
    pub(crate) messages: Vec<MessageWay>,
    pub(crate) damaged: Vec<DamagedLog>,
}

/// A log that cannot be read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DamagedLog {
    pub(crate) session: SessionId,
    #[serde(flatten)]
    pub(crate) damage: Damage,
}

impl TeamStory {
    /// Tells it from the logs.
    pub(crate) fn of(logs: &TeamLogs, prices: &Prices) -> Self {
        let all = || std::iter::once(&logs.lead).chain(&logs.teammates);
        let cwd = logs.lead.records.first().and_then(|record| match &record.event {
            Event::SessionCreated { cwd, .. } => Some(cwd.clone()),
            _ => None,
        });
        let messages = mailbox::follow(logs);
        let damaged = all().filter_map(|log| {
            let (session, damage) = (log.session.clone(), log.damage.clone()?);
            Some(DamagedLog { session, damage })
        });
        Self {
            team: logs.lead.session.clone(),
            cwd: cwd.unwrap_or_default(),
            created: logs.lead.records.first().map(|record| record.at),
            updated: all().filter_map(|log| last_time(&log.records)).max(),
            members: members::members(logs, &messages, prices),
            tasks: tasks::board(&logs.lead),
            messages,
            damaged: damaged.collect(),
        }
    }

    /// The whole story for a person. `again` is the command line that shows a member's transcript,
    /// up to the member's name.
    pub(crate) fn text(&self, page: &Page, again: &str) -> String {
        let mut out = String::new();
        page.heading(&mut out, &format!("Team {}", self.team));
        page.cut(&mut out, 2, Some(Ink::Dim), &one_line(&self.cwd));
        if let (Some(created), Some(updated)) = (self.created, self.updated) {
            let (from, to) = (day(created, &page.zone), day(updated, &page.zone));
            let when = format!("created {from}, updated {to} ({})", ago(updated, page.now));
            page.cut(&mut out, 2, Some(Ink::Dim), &when);
        }
        for damaged in &self.damaged {
            let DamagedLog { session, damage } = damaged;
            let what = format!("{session} is damaged at seq {}: {}", damage.seq, damage.what);
            page.paragraph(&mut out, 2, Some(Ink::Bad), &super::plain::plain(&what));
        }
        self.write_tables(page, &mut out);
        out.push('\n');
        let names: Vec<&str> = self.members.iter().map(|story| story.name.as_str()).collect();
        line(&mut out, &page.ink(Ink::Dim, "A member's transcript:"));
        line(&mut out, &format!("  {again} {}", names.join("|")));
        out
    }

    /// Members, tasks and messages.
    pub(crate) fn write_tables(&self, page: &Page, out: &mut String) {
        members::write(page, out, &self.members);
        tasks::write(page, out, &self.tasks);
        mailbox::write(page, out, &self.messages);
    }
}
