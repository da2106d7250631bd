//! What a script says: who is asked, and what each step replies. JSON or TOML on disk, or built in
//! Rust; `text.rs` reads it. It plays nothing.

mod text;

pub use text::ScriptError;

use crate::asked::{Asked, SUMMED_UP};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole script.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Who can be asked; the first that fits a request plays it.
    pub agents: Vec<Agent>,
    /// The key that requests must bring; any or none when `None`.
    pub key: Option<String>,
    /// The models there are; every name will do when empty.
    pub models: Vec<String>,
    /// Input tokens past which a request is refused as too long for the model.
    pub context_tokens: Option<u64>,
}

/// One agent's part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Its name in holds and in what the server remembers.
    pub name: String,
    /// Which requests are its.
    pub when: When,
    /// Counts only the replies after the last user text that contains this; all when empty. For an
    /// agent whose conversation begins with another's, such as a fork.
    pub count_from: String,
    /// What it replies when it is asked to sum the conversation up. `{{replies}}` in its text stands
    /// for how many replies were, by which it finds its place in the script again.
    pub summary: Option<Step>,
    /// What it replies, by the number of replies the conversation holds. In its texts and arguments
    /// `{{result.<tool>.<n>.<path>}}` and `{{message.<n>.<id|from|text>}}` stand for what the request
    /// tells: the `n`th result of a tool (from 0, or `last`), a value in it by field names and places;
    /// the `n`th message of a member. What the request does not tell is answered with 500.
    pub steps: Vec<Step>,
    /// What it replies after its last step.
    pub after: Option<Step>,
}

/// Which requests are an agent's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// A text in the system prompt; every request when empty.
    pub system_contains: String,
    /// A text that some user text of the conversation contains; any when empty.
    pub message_contains: String,
}

/// One reply, and how it comes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// What it says.
    pub text: String,
    /// What it thinks.
    pub reasoning: String,
    /// The seal of what it thinks, where the wire has one; made from the thought when empty, and then
    /// a request that gives back the seal with another thought is refused.
    pub signature: String,
    /// A thought that is sent sealed only, where the wire can; none when empty.
    pub redacted: String,
    /// The tools it calls.
    pub calls: Vec<Call>,
    /// Why it stops: `length`, `content_filter`, or a word that is sent as it is; what fits the reply
    /// when empty.
    pub finish: String,
    /// What it says it used; what is left out is estimated.
    pub usage: TokenCounts,
    /// Milliseconds before the reply begins.
    pub delay_ms: u64,
    /// Milliseconds between two events of the stream.
    pub gap_ms: u64,
    /// Withholds the reply until something happens.
    pub hold: Option<Hold>,
    /// Sends the text, then withholds the rest until something happens.
    pub hold_after_text: Option<Hold>,
    /// What goes wrong at the first requests for this step, one each, at once: neither delayed nor
    /// withheld.
    pub faults: Vec<Fault>,
    /// The last fault is played for ever.
    pub forever: bool,
    /// Bytes of one delta, roughly; 24 when 0.
    pub chunk_bytes: usize,
    /// Sends the deltas of all calls in turn, as some servers do; on OpenAI's wires only.
    pub interleaved: bool,
    /// Sends what keeps a connection alive after every event: a comment, and a ping where the wire
    /// has one.
    pub keep_alive: bool,
    /// Cuts the stream's bytes into pieces of so many, also inside characters; whole events when 0.
    pub bytes: usize,
    /// Ends lines with CR LF.
    pub crlf: bool,
}

/// Tokens a reply says it used. `None` is estimated: four bytes a token, and what is the same as at
/// the beginning of an earlier request of the agent is cached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenCounts {
    /// All input, cached included.
    pub input: Option<u64>,
    /// Input that was in the cache.
    pub cached: Option<u64>,
    /// Input that was put into the cache, where the wire tells it.
    pub cache_write: Option<u64>,
    /// All output, reasoning included.
    pub output: Option<u64>,
    /// Output that was reasoning, where the wire tells it.
    pub reasoning: Option<u64>,
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments: a JSON value, or a string that is sent as it is. An argument of the form
    /// `{"recall": "revision"}` becomes the value of that field in the newest tool result.
    pub arguments: Value,
    /// The call's id; made from the agent, the step and the place when empty.
    pub id: String,
}

/// What a reply waits for. Every hold ends after a while, so that a replay after a crash, in which
/// others may have nothing left to ask, cannot stand still.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Another agent's request.
    #[serde(default)]
    pub until: Option<Until>,
    /// A gate that a test opens.
    #[serde(default)]
    pub gate: Option<String>,
    /// Milliseconds after which it goes on anyway.
    #[serde(default = "ten_seconds")]
    pub at_most_ms: u64,
}

fn ten_seconds() -> u64 {
    10_000
}

/// A point of another agent's part. It counts as come when the agent is at it or past it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The agent.
    pub agent: String,
    /// Its step, from 0.
    pub step: usize,
    /// Whether the request or the reply counts.
    #[serde(default)]
    pub point: Point,
}

/// A moment of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// It came in.
    #[default]
    Arrived,
    /// Its reply was sent whole.
    Answered,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Answers with a status.
    Status {
        /// The status.
        status: u16,
        /// The `Retry-After` header.
        #[serde(default)]
        retry_after: Option<String>,
        /// The body; one in the provider's shape when empty.
        #[serde(default)]
        body: String,
    },
    /// Says that the request is too long for the model.
    ContextOverflow,
    /// Closes the connection without an answer.
    Hangup,
    /// Closes the connection after so many bytes of the reply, without the end of the response.
    Cut {
        /// How many.
        bytes: usize,
    },
    /// Sends what it thinks and says, then an error event. Without streaming, the error is the answer.
    ErrorEvent {
        /// Its type, such as `overloaded_error`.
        kind: String,
        /// Its message.
        message: String,
    },
    /// Sends so many bytes, then nothing until the client leaves.
    Stall {
        /// How many.
        bytes: usize,
    },
    /// Sends this, whole, instead of a reply.
    Raw {
        /// The `Content-Type`.
        content_type: String,
        /// The body.
        body: String,
    },
}

impl Hold {
    /// Waits for a gate that a test opens.
    #[must_use]
    pub fn gate(name: &str) -> Self {
        Self { until: None, gate: Some(name.to_owned()), at_most_ms: 60_000 }
    }

    /// Waits for another agent's request.
    #[must_use]
    pub fn until(agent: &str, step: usize, point: Point) -> Self {
        let until = Some(Until { agent: agent.to_owned(), step, point });
        Self { until, gate: None, at_most_ms: ten_seconds() }
    }
}

impl Step {
    /// Says something and stops.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Calls one tool.
    #[must_use]
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// Calls one more tool.
    #[must_use]
    pub fn and_call(mut self, name: &str, arguments: Value) -> Self {
        self.calls.push(Call { name: name.to_owned(), arguments, id: String::new() });
        self
    }

    /// Is withheld.
    #[must_use]
    pub fn held(mut self, hold: Hold) -> Self {
        self.hold = Some(hold);
        self
    }

    /// Thinks before it speaks.
    #[must_use]
    pub fn thinking(mut self, reasoning: &str) -> Self {
        self.reasoning = reasoning.to_owned();
        self
    }

    /// Sends what it says, and is withheld from there on.
    #[must_use]
    pub fn held_after_text(mut self, hold: Hold) -> Self {
        self.hold_after_text = Some(hold);
        self
    }

    /// Fails first.
    #[must_use]
    pub fn failing(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// What goes wrong at the `attempt`th request, counted from 0.
    pub(crate) fn fault(&self, attempt: usize) -> Option<&Fault> {
        self.faults.get(attempt).or_else(|| self.faults.last().filter(|_| self.forever))
    }
}

impl Agent {
    /// The part of a team's member, whose system text begins "You are `name`".
    #[must_use]
    pub fn member(name: &str, steps: Vec<Step>) -> Self {
        Self::when(name, &format!("You are `{name}`"), steps)
    }

    /// The part of whoever's system text contains this.
    #[must_use]
    pub fn when(name: &str, system_contains: &str, steps: Vec<Step>) -> Self {
        let when = When { system_contains: system_contains.to_owned(), ..When::default() };
        Self { name: name.to_owned(), when, steps, ..Self::default() }
    }

    /// The part of one that is asked to sum its conversation up: its name is not the agent's, so
    /// that the agent's steps are counted without it.
    pub(crate) fn summarizing(&self, replies: usize) -> Self {
        let (before, after) = SUMMED_UP;
        let usual = || Step::text("What was done so far. {{replies}}");
        let mut summary = self.summary.clone().unwrap_or_else(usual);
        summary.text = summary.text.replace("{{replies}}", &format!("{before}{replies}{after}"));
        let after = Some(summary);
        Self { name: format!("{} (summary)", self.name), steps: Vec::new(), after, ..self.clone() }
    }

    /// The reply for a conversation that holds so many.
    pub(crate) fn step(&self, replies: usize) -> Step {
        let after = || self.after.clone().unwrap_or_else(|| Step::text("Nothing more to do."));
        self.steps.get(replies).cloned().unwrap_or_else(after)
    }
}

impl Script {
    /// A script of these parts.
    #[must_use]
    pub fn of(agents: Vec<Agent>) -> Self {
        Self { agents, ..Self::default() }
    }

    /// The agent whose part a request asks for.
    pub(crate) fn agent(&self, asked: &Asked) -> Option<&Agent> {
        self.agents.iter().find(|agent| {
            let When { system_contains, message_contains } = &agent.when;
            asked.system.contains(system_contains.as_str())
                && (message_contains.is_empty() || asked.told(message_contains))
        })
    }
}
