//! The driver of one session. It keeps nothing: what to do next follows from the log, and what it
//! did goes there.

use super::tool_calls::run_call;
use crate::notice::{Delta, Notice};
use crate::ports::{Ids, ModelMissing};
use crate::team::{Order, Report, TeamHandle};
use crate::tools::ToolSet;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use longboat_core::content::{Prompt, ToolCall};
use longboat_core::id::{MemberName, SessionId, StepNo};
use longboat_model::{FaultKind, Model, ModelFault, RetryPolicy, Watcher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The driver of one resident session.
pub(crate) struct Driver {
    pub(crate) team: TeamHandle,
    pub(crate) session: SessionId,
    pub(crate) member: MemberName,
    pub(crate) generation: u64,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) cwd: PathBuf,
    pub(crate) spill: PathBuf,
    pub(crate) retry: RetryPolicy,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) cancel: CancellationToken,
}

impl Driver {
    /// Does what it is ordered until it is told to leave.
    pub(crate) async fn run(self) {
        let mut order = self.report(Report::Ready).await;
        loop {
            order = match order {
                Order::Ask { step, prompt, model, cancel } => {
                    let report = self.ask(step, &prompt, model, &cancel).await;
                    self.report(report).await
                }
                Order::Run { step, calls, cancel } => self.run_calls(step, calls, &cancel).await,
                Order::Continue => self.report(Report::Ready).await,
                Order::Leave => return,
            };
        }
    }

    async fn report(&self, report: Report) -> Order {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Order::Leave,
            order = self.team.report(&self.session, self.generation, report) => order,
        }
    }

    /// Makes one model request, again where that may help, until there is a whole reply.
    async fn ask(
        &self,
        step: StepNo,
        prompt: &Prompt,
        model: Result<Arc<dyn Model>, ModelMissing>,
        cancel: &CancellationToken,
    ) -> Report {
        let model = match model {
            Ok(model) => model,
            Err(missing) => return Report::Failed { step, reason: missing.to_string() },
        };
        let mut attempt = 0;
        loop {
            let mut watcher = Streaming { team: &self.team, member: &self.member };
            let fault = tokio::select! {
                biased;
                () = cancel.cancelled() => return Report::Ready,
                reply = model.reply(prompt, &mut watcher) => match reply {
                    Ok(reply) => return Report::Replied { step, reply },
                    Err(fault) => fault,
                },
            };
            attempt += 1;
            let Some(wait) = self.retry.delay(attempt, &fault, self.ids.jitter()) else {
                return Report::Failed { step, reason: reason(&fault, attempt) };
            };
            self.tell_retry(&fault, wait);
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Report::Ready,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn tell_retry(&self, fault: &ModelFault, wait: Duration) {
        let (member, reason) = (self.member.clone(), fault.to_string());
        self.team.notify(Notice::Retrying { member, reason, wait });
    }

    /// Runs calls at once and records each result as it comes. An interrupt drops them: their
    /// results are on record already.
    async fn run_calls(
        &self,
        step: StepNo,
        calls: Vec<(u32, ToolCall)>,
        cancel: &CancellationToken,
    ) -> Order {
        let mut running: FuturesUnordered<_> = calls
            .into_iter()
            .map(|(index, call)| self.run_one(step, index, call, cancel))
            .collect();
        loop {
            let (index, outcome) = tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                done = running.next() => match done {
                    Some(done) => done,
                    None => return Order::Continue,
                },
            };
            match self.report(Report::Answered { step, index, outcome }).await {
                Order::Continue if !running.is_empty() => {}
                order => return order,
            }
        }
        drop(running);
        self.report(Report::Ready).await
    }

    async fn run_one(
        &self,
        step: StepNo,
        index: u32,
        call: ToolCall,
        cancel: &CancellationToken,
    ) -> (u32, longboat_core::content::ToolOutcome) {
        let scope = crate::ports::ToolScope {
            session: self.session.clone(),
            member: self.member.clone(),
            origin: longboat_core::id::Origin { session: self.session.clone(), step, index },
            cwd: self.cwd.clone(),
            spill: self.spill.clone(),
            cancel: cancel.clone(),
        };
        (index, run_call(&self.tools, scope, &call).await)
    }
}

fn reason(fault: &ModelFault, attempts: u32) -> String {
    match fault.kind {
        FaultKind::Retryable { .. } => format!("{fault} (gave up after {attempts} attempts)"),
        FaultKind::ContextOverflow | FaultKind::Fatal => fault.to_string(),
    }
}

struct Streaming<'a> {
    team: &'a TeamHandle,
    member: &'a MemberName,
}

impl Streaming<'_> {
    fn tell(&self, delta: Delta) {
        self.team.notify(Notice::Streaming { member: self.member.clone(), delta });
    }
}

impl Watcher for Streaming<'_> {
    fn text(&mut self, delta: &str) {
        self.tell(Delta::Text(delta.to_owned()));
    }

    fn reasoning(&mut self, delta: &str) {
        self.tell(Delta::Reasoning(delta.to_owned()));
    }

    fn call(&mut self, name: &str) {
        self.tell(Delta::Call(name.to_owned()));
    }
}
