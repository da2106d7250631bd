//! Task commands against the Lead's log.

use super::actor::{Effect, TeamActor};
use super::handle::{CallError, Caller, TeamFault};
use super::input::{ReplyTo, TaskChanged};
use longboat_core::log::Event;
use longboat_core::team::{Standing, TaskCommand, TaskRefused, decide_task};
use std::sync::Arc;

impl TeamActor {
    // P15: the decision and the change are one action of the board's only writer.
    pub(super) fn change_task(
        &mut self,
        caller: &Caller,
        command: TaskCommand,
        reply: ReplyTo<Result<TaskChanged, CallError<TaskRefused>>>,
    ) {
        if self.closing {
            self.answer(reply, Err(TeamFault::Closed.into()));
            return;
        }
        if self.is_repeated(caller) {
            self.answer(reply, Err(TeamFault::Repeated.into()));
            return;
        }
        let (board, roster) = (self.writer.team().board(), self.writer.team().roster());
        let on_roster = |name: &longboat_core::id::MemberName| {
            roster
                .get(name)
                .is_some_and(|member| !matches!(member.standing, Standing::Failed { .. }))
        };
        let limits = &self.parts.settings.limits;
        let decided = match decide_task(board, &caller.name, &on_roster, limits, command) {
            Ok(decided) => decided,
            Err(refused) => {
                self.answer(reply, Err(CallError::Refused(refused)));
                return;
            }
        };
        let (lead, team, task) = (self.writer.lead().clone(), self.team(), Arc::new(decided.task));
        let changed = Event::TeamTask { team, by: caller.name.clone(), task: Arc::clone(&task) };
        self.writer.append(&lead, Some(caller.key()), changed);
        self.remember(caller, Effect::Task(Arc::clone(&task)));
        self.answer(reply, Ok(TaskChanged { task, warnings: decided.warnings }));
    }
}
