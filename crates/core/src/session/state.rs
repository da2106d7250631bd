//! The fold of one session's log. The same function serves the write path and replay.

use super::compaction::bytes_in_tokens;
use super::inbox::Inbox;
use super::transcript::{OpenResults, Transcript};
use super::turn::{Call, Phase, Progress};
use crate::content::{FinishReason, Prompt, Reply, ReplyBlock, ToolOutcome, ToolSpec, Usage};
use crate::id::{CallId, Seq, SessionId, StepNo, TurnNo};
use crate::log::{Corrupt, Event, InboxItem, Lane, Record, SessionKind, StepOutcome};
use crate::permission::Answer;
use crate::price::Spending;
use std::collections::HashSet;
use std::sync::Arc;

/// What every request of a session begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// The model's name, as the configuration knows it.
    pub model: String,
    /// The system text.
    pub system: Arc<str>,
    /// The tools offered.
    pub tools: Arc<[ToolSpec]>,
}

impl Configuration {
    fn bytes(&self) -> usize {
        let tools = self.tools.iter();
        let tools: usize =
            tools.map(|tool| tool.description.len() + tool.schema.to_string().len()).sum();
        self.system.len() + tools
    }
}

/// All that a session's log says about the session itself.
#[derive(Debug, Clone)]
pub struct SessionState {
    id: SessionId,
    kind: SessionKind,
    cwd: String,
    role: Option<String>,
    configuration: Option<Configuration>,
    head: Seq,
    inbox: Inbox,
    phase: Phase,
    results: OpenResults,
    transcript: Transcript,
    turn: TurnNo,
    step: StepNo,
    final_text: String,
    finish: FinishReason,
    spending: Spending,
    /// Of the last request and its reply, as the provider counted them, and the transcript's own
    /// count then.
    counted: Option<(u64, u64)>,
    /// About how many tokens every request begins with: the system text and the tools.
    fixed: u64,
    just_compacted: bool,
    first_prompt: Option<Arc<str>>,
    calls: HashSet<CallId>,
}

impl SessionState {
    /// Begins the fold with a log's first record.
    ///
    /// # Errors
    /// [`Corrupt`] when it does not say who the session is.
    pub fn begin(record: &Record) -> Result<Self, Corrupt> {
        let Event::SessionCreated { session, kind, cwd, role } = &record.event else {
            return Err(corrupt(record, "a log begins with session/created"));
        };
        if record.seq != Seq(0) {
            return Err(corrupt(record, "session/created stands at seq 0"));
        }
        Ok(Self {
            id: session.clone(),
            kind: kind.clone(),
            cwd: cwd.clone(),
            role: role.clone(),
            configuration: None,
            head: Seq(1),
            inbox: Inbox::default(),
            phase: Phase::Idle,
            results: OpenResults::default(),
            transcript: Transcript::default(),
            turn: TurnNo(0),
            step: StepNo(0),
            final_text: String::new(),
            finish: FinishReason::Done,
            spending: Spending::default(),
            counted: None,
            fixed: 0,
            just_compacted: false,
            first_prompt: None,
            calls: HashSet::new(),
        })
    }

    /// Takes the next record. On an error the state is not to be used any more.
    ///
    /// # Errors
    /// [`Corrupt`] when the record cannot follow those before it.
    pub fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        if record.seq != self.head {
            return Err(corrupt(record, format!("seq {} was expected", self.head)));
        }
        self.head = record.seq.next();
        let applied = match &record.event {
            Event::SessionCreated { .. } => Err("session/created stands only at seq 0".to_owned()),
            Event::SessionConfigured { model, system, tools } => {
                let (model, system, tools) = (model.clone(), Arc::clone(system), Arc::clone(tools));
                let set = Configuration { model, system, tools };
                self.fixed = bytes_in_tokens(set.bytes());
                self.configuration = Some(set);
                Ok(())
            }
            Event::ContextCompacted { summary, kept, usage, .. } => {
                self.compacted(summary, *kept, *usage)
            }
            Event::InboxInserted { lane, item } => {
                self.inserted(record.seq, *lane, item);
                Ok(())
            }
            Event::InboxClaimed { items, .. } => self.claimed(items),
            Event::InboxDiscarded { items, .. } => self.discarded(items),
            Event::TurnStarted { turn, .. } => self.turn_started(*turn),
            Event::TurnEnded { turn, .. } => self.turn_ended(*turn),
            Event::StepStarted { turn, step } => self.step_started(*turn, *step),
            Event::StepEnded { step, outcome } => self.step_ended(*step, *outcome),
            Event::AssistantMessage { step, reply } => self.replied(*step, reply),
            Event::ToolStarted { step, index, .. } => self.tool_started(*step, *index),
            Event::PermissionAsked { step, index, .. } => self.asked(*step, *index),
            Event::PermissionAnswered { step, index, answer, .. } => {
                self.permitted(*step, *index, *answer)
            }
            Event::ToolResult { step, index, outcome, .. } => {
                self.tool_result(*step, *index, outcome)
            }
            Event::TeamMember { .. }
            | Event::TeamActivity { .. }
            | Event::TeamTask { .. }
            | Event::TeamMessageQueued { .. }
            | Event::TeamMessageDelivered { .. }
            | Event::TeamPermission { .. }
            | Event::Ignored { .. } => Ok(()),
        };
        applied.map_err(|what| corrupt(record, what))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Who it is.
    #[must_use]
    pub fn kind(&self) -> &SessionKind {
        &self.kind
    }

    /// Its workspace, as an absolute path.
    #[must_use]
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// The role it was made from.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// What its requests begin with; `None` before the first `session/configured`.
    #[must_use]
    pub fn configuration(&self) -> Option<&Configuration> {
        self.configuration.as_ref()
    }

    /// The number of records folded: the next record's `seq`.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// What is pending.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Where it is in its turn.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The last turn's number; 0 before the first.
    #[must_use]
    pub fn last_turn(&self) -> TurnNo {
        self.turn
    }

    /// The last step's number; 0 before the first.
    #[must_use]
    pub fn last_step(&self) -> StepNo {
        self.step
    }

    /// The text of the last reply of the last turn.
    #[must_use]
    pub fn final_text(&self) -> &str {
        &self.final_text
    }

    /// Why the last reply ended.
    #[must_use]
    pub(super) fn finish(&self) -> FinishReason {
        self.finish
    }

    /// The tokens of all its requests.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.spending.usage()
    }

    /// The same, by model.
    #[must_use]
    pub fn spending(&self) -> &Spending {
        &self.spending
    }

    /// About how many tokens the next request takes: what the provider counted last, and what came
    /// since.
    #[must_use]
    pub fn context(&self) -> u64 {
        let size = self.transcript.tokens();
        match self.counted {
            Some((counted, then)) => counted + size.saturating_sub(then),
            None => self.fixed + size,
        }
    }

    /// Says whether no reply came since the conversation was last summed up.
    #[must_use]
    pub fn just_compacted(&self) -> bool {
        self.just_compacted
    }

    /// The first thing that was said to it.
    pub(super) fn first_prompt(&self) -> Option<&str> {
        self.first_prompt.as_deref()
    }

    /// The conversation.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The model request of the open step; `None` before the session is configured.
    #[must_use]
    pub fn prompt(&self) -> Option<Prompt> {
        let configuration = self.configuration.as_ref()?;
        Some(self.transcript.prompt(&configuration.system, &configuration.tools))
    }

    /// Makes a reply fit for the log: call ids become unique in the session, as some wires demand.
    #[must_use]
    pub fn admissible(&self, mut reply: Reply) -> Reply {
        let step = self.step;
        let mut seen = HashSet::new();
        let mut count = 0;
        for block in &mut reply.blocks {
            let ReplyBlock::ToolCall(call) = block else { continue };
            while self.calls.contains(&call.id) || seen.contains(&call.id) {
                count += 1;
                call.id = CallId::made(step, count);
            }
            seen.insert(call.id.clone());
        }
        reply
    }

    fn inserted(&mut self, seq: Seq, lane: Lane, item: &Arc<InboxItem>) {
        self.inbox.insert(seq, lane, Arc::clone(item));
    }

    fn claimed(&mut self, items: &[crate::id::ItemId]) -> Result<(), String> {
        if !matches!(self.phase, Phase::Between { .. }) {
            return Err("items are claimed at a step boundary only".to_owned());
        }
        let mut heard = Vec::with_capacity(items.len());
        for id in items {
            let item = self.inbox.take(id);
            heard.push(item.ok_or_else(|| format!("item {id} is claimed but not pending"))?);
        }
        if let Some(first) = heard.first() {
            self.first_prompt.get_or_insert_with(|| Arc::clone(&first.text));
        }
        self.transcript.heard(&heard);
        Ok(())
    }

    fn compacted(&mut self, summary: &str, kept: u64, usage: Usage) -> Result<(), String> {
        if !matches!(self.phase, Phase::Between { .. }) {
            return Err("a conversation is summed up at a step boundary only".to_owned());
        }
        self.transcript.replaced(summary, kept)?;
        self.spend(usage);
        self.counted = None;
        self.just_compacted = true;
        Ok(())
    }

    fn spend(&mut self, usage: Usage) {
        let model = self.configuration.as_ref().map_or("", |set| set.model.as_str());
        self.spending.add(model, usage);
    }

    fn discarded(&mut self, items: &[crate::id::ItemId]) -> Result<(), String> {
        for id in items {
            let item = self.inbox.take(id);
            item.ok_or_else(|| format!("item {id} is discarded but not pending"))?;
        }
        Ok(())
    }

    fn turn_started(&mut self, turn: TurnNo) -> Result<(), String> {
        if self.phase != Phase::Idle || turn != self.turn.next() {
            return Err(format!("turn {turn} cannot begin after turn {} here", self.turn));
        }
        self.turn = turn;
        self.final_text.clear();
        self.phase = Phase::Between { turn, first: true, more: false };
        Ok(())
    }

    fn turn_ended(&mut self, turn: TurnNo) -> Result<(), String> {
        match self.phase {
            Phase::Between { turn: open, .. } if open == turn => {
                self.phase = Phase::Idle;
                Ok(())
            }
            Phase::Idle | Phase::Between { .. } | Phase::Asking { .. } | Phase::Calling { .. } => {
                Err(format!("turn {turn} cannot end here"))
            }
        }
    }

    fn step_started(&mut self, turn: TurnNo, step: StepNo) -> Result<(), String> {
        match self.phase {
            Phase::Between { turn: open, .. } if open == turn && step == self.step.next() => {
                self.step = step;
                self.phase = Phase::Asking { turn, step };
                Ok(())
            }
            Phase::Idle | Phase::Between { .. } | Phase::Asking { .. } | Phase::Calling { .. } => {
                Err(format!("step {step} cannot begin here"))
            }
        }
    }

    fn replied(&mut self, step: StepNo, reply: &Arc<Reply>) -> Result<(), String> {
        let Phase::Asking { turn, step: open } = self.phase else {
            return Err(format!("step {step} is not waiting for a reply"));
        };
        if open != step {
            return Err(format!("step {open} is open, not step {step}"));
        }
        let calls: Vec<Call> = reply
            .calls()
            .map(|call| Call { call: call.clone(), progress: Progress::Waiting })
            .collect();
        self.calls.extend(calls.iter().map(|call| call.call.id.clone()));
        self.results = OpenResults::expecting(calls.len());
        self.transcript.replied(reply);
        self.final_text = reply.text();
        self.finish = reply.finish;
        self.spend(reply.usage);
        self.just_compacted = false;
        // A provider that counts nothing is not believed.
        let counted = reply.usage.input + reply.usage.output;
        self.counted = (reply.usage.input > 0).then(|| (counted, self.transcript.tokens()));
        self.phase = Phase::Calling { turn, step, calls };
        Ok(())
    }

    fn tool_started(&mut self, step: StepNo, index: u32) -> Result<(), String> {
        let call = self.open_call(step, index)?;
        if call.progress != Progress::Waiting {
            return Err(format!("call {index} of step {step} had begun before"));
        }
        call.progress = Progress::Started;
        Ok(())
    }

    fn asked(&mut self, step: StepNo, index: u32) -> Result<(), String> {
        let call = self.open_call(step, index)?;
        if call.progress != Progress::Started {
            return Err(format!("call {index} of step {step} has not begun, or was asked about"));
        }
        call.progress = Progress::Asked;
        Ok(())
    }

    fn permitted(&mut self, step: StepNo, index: u32, answer: Answer) -> Result<(), String> {
        let call = self.open_call(step, index)?;
        if call.progress != Progress::Asked {
            return Err(format!("nobody was asked about call {index} of step {step}"));
        }
        call.progress = match answer {
            Answer::Once | Answer::Always => Progress::Started,
            Answer::No => Progress::Refused,
        };
        Ok(())
    }

    fn tool_result(
        &mut self,
        step: StepNo,
        index: u32,
        outcome: &Arc<ToolOutcome>,
    ) -> Result<(), String> {
        let call = self.open_call(step, index)?;
        if call.progress == Progress::Answered {
            return Err(format!("call {index} of step {step} has a result already"));
        }
        call.progress = Progress::Answered;
        let (id, name) = (call.call.id.clone(), call.call.name.clone());
        self.results.set(index as usize, id, name, outcome);
        Ok(())
    }

    fn step_ended(&mut self, step: StepNo, outcome: StepOutcome) -> Result<(), String> {
        let (turn, more) = match (&self.phase, outcome) {
            (Phase::Asking { turn, step: open }, StepOutcome::Cut) if *open == step => {
                (*turn, true)
            }
            (Phase::Calling { turn, step: open, calls }, StepOutcome::Whole)
                if *open == step && calls.iter().all(|c| c.progress == Progress::Answered) =>
            {
                (*turn, !calls.is_empty())
            }
            _ => return Err(format!("step {step} cannot end as {outcome:?} here")),
        };
        let results = self.results.take();
        self.transcript.answered(results);
        self.phase = Phase::Between { turn, first: false, more };
        Ok(())
    }

    fn open_call(&mut self, step: StepNo, index: u32) -> Result<&mut Call, String> {
        match &mut self.phase {
            Phase::Calling { step: open, calls, .. } if *open == step => calls
                .get_mut(index as usize)
                .ok_or_else(|| format!("step {step} has no call {index}")),
            Phase::Idle | Phase::Between { .. } | Phase::Asking { .. } | Phase::Calling { .. } => {
                Err(format!("step {step} has no open calls"))
            }
        }
    }
}

fn corrupt(record: &Record, what: impl Into<String>) -> Corrupt {
    Corrupt { seq: record.seq, what: what.into() }
}
