//! A model inside the process, for simulations, where a socket would bring in the machine's time.
//! It plays a function of the request, and checks every request as a provider would.

use async_trait::async_trait;
use longboat_core::content::{
    FinishReason, Message, Prompt, Reply, ReplyBlock, ToolCall, Usage, Wire,
};
use longboat_core::id::CallId;
use longboat_engine::{ModelMissing, Models};
use longboat_model::{FaultKind, Model, ModelFault, Watcher};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a script knows of a request.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The member's name, as its system text has it.
    pub member: String,
    /// Replies of the model that the request holds.
    pub replies: usize,
    /// How often this very request was made before.
    pub attempt: usize,
    /// The request.
    pub prompt: &'a Prompt,
}

/// What a script answers.
#[derive(Debug, Clone)]
pub struct SimReply {
    /// How long it takes.
    pub delay: Duration,
    /// Tool calls: name and arguments.
    pub calls: Vec<(String, String)>,
    /// The text.
    pub text: String,
    /// Fails instead.
    pub fault: Option<FaultKind>,
}

impl SimReply {
    /// Says something and stops.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let delay = Duration::from_millis(5);
        Self { delay, calls: Vec::new(), text: text.to_owned(), fault: None }
    }

    /// Calls one tool.
    #[must_use]
    pub fn call(name: &str, arguments: &serde_json::Value) -> Self {
        Self { calls: vec![(name.to_owned(), arguments.to_string())], ..Self::text("") }
    }

    /// Takes so long.
    #[must_use]
    pub fn after_ms(mut self, ms: u64) -> Self {
        self.delay = Duration::from_millis(ms);
        self
    }
}

type Script = dyn Fn(&Turn<'_>) -> SimReply + Send + Sync;

/// The model of every member of a simulated team.
#[derive(Clone)]
pub struct SimModel {
    script: Arc<Script>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    last: BTreeMap<String, Vec<Message>>,
    attempts: BTreeMap<(String, usize), usize>,
    wrong: Vec<String>,
}

impl fmt::Debug for SimModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimModel")
    }
}

impl SimModel {
    /// Plays this function.
    #[must_use]
    pub fn new(script: impl Fn(&Turn<'_>) -> SimReply + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), seen: Arc::default() }
    }

    /// What was wrong with requests so far; empty when a provider had accepted them all.
    #[must_use]
    pub fn wrong(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).wrong.clone()
    }

    fn note(&self, member: &str, prompt: &Prompt) -> usize {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(wrong) = assert_legal(&prompt.messages) {
            seen.wrong.push(format!("{member}: {wrong}"));
        }
        // P19: a later request begins with the earlier one, across restarts too.
        let last = seen.last.get(member).cloned().unwrap_or_default();
        if !prompt.messages.starts_with(&last) {
            seen.wrong.push(format!("{member}: a request does not begin with the one before"));
        }
        seen.last.insert(member.to_owned(), prompt.messages.clone());
        let attempt = seen.attempts.entry((member.to_owned(), prompt.messages.len())).or_default();
        *attempt += 1;
        *attempt - 1
    }
}

impl Models for SimModel {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelMissing> {
        if name == "missing" {
            let (name, reason) = (name.to_owned(), "it is not configured".to_owned());
            return Err(ModelMissing { name, reason });
        }
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl Model for SimModel {
    async fn reply(&self, prompt: &Prompt, watcher: &mut dyn Watcher) -> Result<Reply, ModelFault> {
        let member = member_of(&prompt.system);
        let attempt = self.note(&member, prompt);
        let replies = prompt.messages.iter().filter(|m| matches!(m, Message::Assistant(_))).count();
        let reply = (self.script)(&Turn { member, replies, attempt, prompt });
        tokio::time::sleep(reply.delay).await;
        if let Some(kind) = reply.fault {
            let (provider, what) = ("sim".to_owned(), "fault of the script".to_owned());
            return Err(ModelFault { provider, what, kind });
        }
        watcher.text(&reply.text);
        Ok(whole(reply))
    }
}

fn whole(reply: SimReply) -> Reply {
    let text = (!reply.text.is_empty()).then_some(ReplyBlock::Text { text: reply.text });
    let calls = reply.calls.into_iter().enumerate().filter_map(|(n, (name, arguments))| {
        let id = CallId::new(format!("c{n}")).ok()?;
        Some(ReplyBlock::ToolCall(ToolCall { id, name, arguments }))
    });
    Reply {
        wire: Wire::OpenaiChat,
        blocks: text.into_iter().chain(calls).collect(),
        finish: FinishReason::Done,
        usage: Usage { input: 10, output: 5, ..Usage::default() },
    }
}

/// The name in the first line of a system text, `` You are `name` ``; a root agent outside a team is
/// given none.
fn member_of(system: &str) -> String {
    let named = system.strip_prefix("You are `").and_then(|rest| rest.split('`').next());
    named.unwrap_or("lead").to_owned()
}

/// Checks a conversation as every provider would.
///
/// # Errors
/// What is wrong with it.
pub fn assert_legal(messages: &[Message]) -> Result<(), String> {
    let mut open: Vec<CallId> = Vec::new();
    let mut used: HashSet<CallId> = HashSet::new();
    for message in messages {
        match message {
            Message::Assistant(_) | Message::User(_) if !open.is_empty() => {
                return Err("calls are not answered right after their reply".to_owned());
            }
            Message::User(_) => {}
            Message::Assistant(reply) => {
                open = reply.calls().map(|call| call.id.clone()).collect();
                if !open.iter().all(|id| used.insert(id.clone())) {
                    return Err("a call id is used twice".to_owned());
                }
            }
            Message::ToolResults(results) => {
                let answered: Vec<CallId> = results.iter().map(|r| r.call.clone()).collect();
                if answered != open {
                    return Err("the results do not fit the calls".to_owned());
                }
                open.clear();
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err("the request ends with open calls".to_owned()) }
}
