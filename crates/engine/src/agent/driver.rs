//! The driver of one session. It keeps nothing: what to do next follows from the log, and what it
//! did goes there.

use super::tool_calls::{Prepared, prepare};
use crate::notice::{Delta, Notice};
use crate::ports::{Ids, ModelMissing, ToolScope};
use crate::team::{Begun, Order, Report, Summary, TeamHandle};
use crate::tools::ToolSet;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use longboat_core::content::{FinishReason, Message, Prompt, Reply, ToolOutcome, Usage};
use longboat_core::id::{MemberName, Origin, SessionId, StepNo};
use longboat_core::permission::{Grants, Permissions, Verdict};
use longboat_core::session::Compaction;
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
    pub(crate) permissions: Arc<Permissions>,
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
                Order::SumUp { compaction, model, cancel } => {
                    let report = self.sum_up(compaction, &*model, &cancel).await;
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

    /// Asks the model for the next step.
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
        let mut watcher = Streaming { team: &self.team, member: &self.member };
        let mut answered = self.request(&*model, prompt, &mut watcher, cancel).await;
        // Nothing is no answer to what was just said; behind results it ends the turn.
        let told = matches!(prompt.messages.last(), Some(Message::User(_)));
        for _ in 1..EMPTY_REPLIES {
            if !(told && answered.as_ref().is_ok_and(says_nothing)) {
                break;
            }
            answered = self.request(&*model, prompt, &mut watcher, cancel).await;
        }
        match answered {
            Ok(reply) if told && says_nothing(&reply) => {
                let reason = format!("the model replied nothing, {EMPTY_REPLIES} times");
                Report::Failed { step, reason }
            }
            Ok(reply) => Report::Replied { step, reply },
            Err(Unanswered::Cancelled) => Report::Ready,
            Err(Unanswered::Failed { fault, attempts }) => {
                let reason = reason(&fault, attempts);
                match fault.kind {
                    FaultKind::ContextOverflow => Report::Overflowed { step, reason },
                    FaultKind::Retryable { .. } | FaultKind::Fatal => {
                        Report::Failed { step, reason }
                    }
                }
            }
        }
    }

    /// Asks for a summary, with a shorter request where one was too long. A model that cannot give
    /// one ends no turn: the runtime sums up by itself.
    async fn sum_up(
        &self,
        compaction: Compaction,
        model: &dyn Model,
        cancel: &CancellationToken,
    ) -> Report {
        self.team.notify(Notice::SummingUp { member: self.member.clone() });
        let Compaction { kept, requests } = compaction;
        for prompt in &requests {
            match self.request(model, prompt, &mut Unwatched, cancel).await {
                Ok(reply) => {
                    let text = reply.text();
                    let told = (!text.trim().is_empty()).then_some(text);
                    return Report::SummedUp(Summary { kept, told, usage: reply.usage });
                }
                Err(Unanswered::Cancelled) => return Report::Ready,
                Err(Unanswered::Failed { fault, .. })
                    if fault.kind == FaultKind::ContextOverflow => {}
                Err(Unanswered::Failed { fault, .. }) => {
                    tracing::warn!(member = %self.member, %fault, "there is no summary");
                    break;
                }
            }
        }
        Report::SummedUp(Summary { kept, told: None, usage: Usage::default() })
    }

    /// Makes one model request, again where that may help.
    async fn request(
        &self,
        model: &dyn Model,
        prompt: &Prompt,
        watcher: &mut dyn Watcher,
        cancel: &CancellationToken,
    ) -> Result<Reply, Unanswered> {
        let mut attempts = 0;
        loop {
            let fault = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Unanswered::Cancelled),
                reply = model.reply(prompt, watcher) => match reply {
                    Ok(reply) => return Ok(reply),
                    Err(fault) => fault,
                },
            };
            attempts += 1;
            let Some(wait) = self.retry.delay(attempts, &fault, self.ids.jitter()) else {
                return Err(Unanswered::Failed { fault, attempts });
            };
            self.tell_retry(&fault, wait);
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Unanswered::Cancelled),
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
        calls: Vec<Begun>,
        cancel: &CancellationToken,
    ) -> Order {
        let mut running: FuturesUnordered<_> =
            calls.into_iter().map(|begun| self.run_one(step, begun, cancel)).collect();
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
        begun: Begun,
        cancel: &CancellationToken,
    ) -> (u32, ToolOutcome) {
        let Begun { index, call, asked } = begun;
        let scope = ToolScope {
            session: self.session.clone(),
            member: self.member.clone(),
            origin: Origin { session: self.session.clone(), step, index },
            cwd: self.cwd.clone(),
            spill: self.spill.clone(),
            cancel: cancel.clone(),
        };
        let run = async {
            let prepared = prepare(&self.tools, scope, &call)?;
            self.permit(&prepared, asked).await?;
            Ok(prepared.run().await)
        };
        (index, run.await.unwrap_or_else(|refused: ToolOutcome| refused))
    }

    /// Whether a call may run; its result when it may not. What the rules let run needs nobody,
    /// unless there is a question about it to be closed.
    async fn permit(&self, call: &Prepared, asked: bool) -> Result<(), ToolOutcome> {
        let request = call.request();
        let verdict = self.permissions.decide(&request, &Grants::default());
        if verdict == Verdict::Allow && !asked {
            return Ok(());
        }
        match self.team.permission(call.origin().clone(), request).await {
            Ok(permit) => permit.map_err(ToolOutcome::error),
            Err(fault) => Err(ToolOutcome::error(fault.to_string())),
        }
    }
}

/// How often an empty reply is taken for an accident.
const EMPTY_REPLIES: u32 = 3;

/// Says whether a reply that the model meant to end has neither a text nor a call.
fn says_nothing(reply: &Reply) -> bool {
    let calls = reply.calls().next().is_some();
    reply.finish == FinishReason::Done && !calls && reply.text().trim().is_empty()
}

/// Why a request has no reply.
enum Unanswered {
    Cancelled,
    Failed { fault: ModelFault, attempts: u32 },
}

fn reason(fault: &ModelFault, attempts: u32) -> String {
    match fault.kind {
        FaultKind::Retryable { .. } => format!("{fault} (gave up after {attempts} attempts)"),
        FaultKind::ContextOverflow | FaultKind::Fatal => fault.to_string(),
    }
}

/// Nobody is shown a summary as it comes in.
struct Unwatched;

impl Watcher for Unwatched {
    fn text(&mut self, _: &str) {}
    fn reasoning(&mut self, _: &str) {}
    fn call(&mut self, _: &str) {}
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
