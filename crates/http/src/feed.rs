//! What happens in a team, whether it is in memory or not, and when it comes and goes there.

use crate::sessions::Sessions;
use longboat_core::id::SessionId;
use longboat_engine::{Follower, Notice, Position, Since};
use std::sync::Arc;
use tokio::sync::watch;

/// Follows a team. Every durable record comes once; it holds a page of records at most.
#[derive(Debug)]
pub(crate) struct Feed {
    lead: SessionId,
    source: Source,
    changes: watch::Receiver<u64>,
}

/// Something a feed tells.
#[derive(Debug)]
pub(crate) enum Told {
    /// What a follower heard.
    Notice(Notice),
    /// The team came into memory, or left it.
    Open(bool),
}

/// Where a feed's news come from.
#[derive(Debug)]
enum Source {
    /// A team in memory, at this coming of it there.
    Live(Follower, u64),
    /// What is stored.
    Stored(Follower),
    /// Nowhere: all that is stored was told, and nobody writes.
    Nobody(Position),
}

impl Feed {
    /// Begins after a position.
    pub(crate) fn new(sessions: &Sessions, lead: SessionId, after: Position) -> Self {
        let stored = Follower::stored(Arc::clone(sessions.store()), lead.clone(), after);
        Self { changes: sessions.changes(), lead, source: Source::Stored(stored) }
    }

    /// The Lead's session.
    pub(crate) fn lead(&self) -> &SessionId {
        &self.lead
    }

    /// How far it has come.
    pub(crate) fn position(&self) -> &Position {
        match &self.source {
            Source::Live(follower, _) | Source::Stored(follower) => follower.position(),
            Source::Nobody(position) => position,
        }
    }

    /// The next thing, when it comes.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self, sessions: &Sessions) -> Told {
        loop {
            match &mut self.source {
                Source::Live(follower, number) => tokio::select! {
                    biased;
                    notice = follower.next() => match notice {
                        Some(notice) => return Told::Notice(notice),
                        None => return self.leave(sessions),
                    },
                    _ = self.changes.changed() => {
                        if here(sessions, &self.lead) != Some(*number) {
                            return self.leave(sessions);
                        }
                    }
                },
                Source::Stored(_) => {
                    if let Some(told) = self.stored(sessions).await {
                        return told;
                    }
                }
                Source::Nobody(_) => {
                    // The sender is a part of the sessions, which the caller holds.
                    drop(self.changes.changed().await);
                    self.look_again(sessions);
                }
            }
        }
    }

    /// The next thing that is there already; `None` when everything was told.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn next_known(&mut self, sessions: &Sessions) -> Option<Told> {
        loop {
            match &mut self.source {
                Source::Live(follower, number) => {
                    let number = *number;
                    if let Some(notice) = follower.next_known().await {
                        return Some(Told::Notice(notice));
                    }
                    let left = here(sessions, &self.lead) != Some(number);
                    return left.then(|| self.leave(sessions));
                }
                Source::Stored(_) => {
                    if let Some(told) = self.stored(sessions).await {
                        return Some(told);
                    }
                }
                Source::Nobody(_) => {
                    if !self.changes.has_changed().unwrap_or(false) {
                        return None;
                    }
                    self.changes.mark_unchanged();
                    self.look_again(sessions);
                }
            }
        }
    }

    /// Tells what is stored; then goes to where more will come from.
    async fn stored(&mut self, sessions: &Sessions) -> Option<Told> {
        let Source::Stored(follower) = &mut self.source else { return None };
        if let Some(notice) = follower.next_known().await {
            return Some(Told::Notice(notice));
        }
        let position = follower.position().clone();
        if let Some((number, team)) = sessions.opened_at(&self.lead)
            && let Ok(follower) = team.follow(Since::After(position.clone())).await
        {
            self.source = Source::Live(follower, number);
            return Some(Told::Open(true));
        }
        // A store that cannot be read may be when something changes.
        self.source = Source::Nobody(position);
        None
    }

    fn look_again(&mut self, sessions: &Sessions) {
        let position = self.position().clone();
        let store = Arc::clone(sessions.store());
        self.source = Source::Stored(Follower::stored(store, self.lead.clone(), position));
    }

    /// Leaves a team that left memory, for what it wrote last.
    fn leave(&mut self, sessions: &Sessions) -> Told {
        self.look_again(sessions);
        Told::Open(false)
    }
}

fn here(sessions: &Sessions, lead: &SessionId) -> Option<u64> {
    sessions.opened_at(lead).map(|(number, _)| number)
}
