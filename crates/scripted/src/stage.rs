//! What all requests share: the script, and the memory of what came and what was answered. Replies do
//! not depend on the memory; only faults, holds and the estimate of what is cached do.

use crate::asked::{Asked, PromptBytes, WireName};
use crate::exchange::Exchange;
use crate::script::{Agent, Hold, Point, Script};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Requests that are remembered; older ones are forgotten first.
const REMEMBERED: usize = 20_000;
/// Bytes of their bodies.
const REMEMBERED_BYTES: usize = 256 * 1024 * 1024;
/// Refused requests that are remembered; later ones are not.
const REFUSALS: usize = 100;
/// Steps of all agents whose attempts are counted; later ones are new at every request.
const COUNTED_STEPS: usize = 200_000;
/// Prompts of an agent with which its next one is compared.
const KNOWN_PROMPTS: usize = 8;

/// A request the server has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Whose part it asked for.
    pub agent: String,
    /// Which step, from 0.
    pub step: usize,
    /// How many requests for that step came before.
    pub attempt: usize,
    /// The wire.
    pub wire: WireName,
    /// Its headers, names in lower case, without those that carry a key.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: String,
}

/// A request that was refused as a provider would refuse it. The product should never make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The wire.
    pub wire: WireName,
    /// What is wrong with it.
    pub why: String,
    /// The body's first MiB, with what is no UTF-8 replaced.
    pub body: String,
}

/// A request whose reply is withheld, by a hold or a stall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Whose part it asked for.
    pub agent: String,
    /// Which step, from 0.
    pub step: usize,
    /// How many requests for that step came before.
    pub attempt: usize,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) script: Script,
    memory: Mutex<Memory>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) seen: VecDeque<Seen>,
    pub(crate) refused: VecDeque<Refused>,
    bytes: usize,
    attempts: BTreeMap<(String, usize), usize>,
    points: BTreeSet<(String, usize, Point)>,
    gates: BTreeSet<String>,
    held: BTreeMap<u64, Held>,
    holds: u64,
    prompts: BTreeMap<String, VecDeque<PromptBytes>>,
}

impl Memory {
    /// Says whether an agent came to a point or past it. Whoever asks for a later step had the reply
    /// to the one before, even if that was in another life of this server.
    fn is_past(&self, agent: &str, step: usize, point: Point) -> bool {
        let from = (agent.to_owned(), step, point);
        self.points.range(from..).next().is_some_and(|(who, _, _)| who == agent)
    }

    pub(crate) fn came(&self, agent: &str, step: usize, point: Point) -> bool {
        self.points.contains(&(agent.to_owned(), step, point))
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &Held> {
        self.held.values()
    }

    /// Counts a request for a step, and says how many came before.
    fn attempt(&mut self, agent: &str, step: usize) -> usize {
        let place = (agent.to_owned(), step);
        if self.attempts.len() >= COUNTED_STEPS && !self.attempts.contains_key(&place) {
            return 0;
        }
        self.points.insert((agent.to_owned(), step, Point::Arrived));
        let attempts = self.attempts.entry(place).or_default();
        *attempts += 1;
        *attempts - 1
    }

    /// Remembers a prompt, and says with how many of its bytes an earlier one began.
    fn known_bytes(&mut self, agent: &str, prompt: &PromptBytes) -> usize {
        let prompts = self.prompts.entry(agent.to_owned()).or_default();
        let known = prompts.iter().map(|before| prompt.shared(before)).max().unwrap_or(0);
        if prompts.len() >= KNOWN_PROMPTS {
            prompts.pop_front();
        }
        prompts.push_back(prompt.clone());
        known
    }

    fn forget(&mut self) {
        while self.seen.len() > REMEMBERED || self.bytes > REMEMBERED_BYTES {
            let Some(oldest) = self.seen.pop_front() else { return };
            self.bytes -= oldest.body.len();
        }
    }
}

impl Stage {
    pub(crate) fn new(script: Script) -> Self {
        let (changes, _) = watch::channel(0);
        Self { script, memory: Mutex::default(), changes }
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        // A panic elsewhere cannot leave it half changed: no change calls what may panic.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> T {
        let changed = change(&mut self.memory());
        self.changes.send_modify(|version| *version += 1);
        changed
    }

    /// Waits until something is in the memory.
    pub(crate) async fn until<T>(&self, found: impl Fn(&Memory) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        loop {
            if let Some(found) = found(&self.memory()) {
                return found;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits for what a hold waits for, or until its bound is over.
    pub(crate) async fn wait(self: &Arc<Self>, hold: &Hold, exchange: &Exchange) {
        let open = |memory: &Memory| {
            let until = hold
                .until
                .as_ref()
                .is_none_or(|until| memory.is_past(&until.agent, until.step, until.point));
            let gate = hold.gate.as_ref().is_none_or(|gate| memory.gates.contains(gate));
            (until && gate).then_some(())
        };
        if open(&self.memory()).is_some() {
            return;
        }
        let _held = self.hold(exchange);
        let most = Duration::from_millis(hold.at_most_ms);
        // Past its bound a hold ends, whatever it waits for.
        tokio::time::timeout(most, self.until(open)).await.ok();
    }

    /// Says that a reply is withheld, until what it returns is dropped: by the reply going on, or by
    /// the client leaving.
    pub(crate) fn hold(self: &Arc<Self>, exchange: &Exchange) -> Holding {
        let Exchange { agent, step, attempt, .. } = exchange;
        let held = Held { agent: agent.clone(), step: *step, attempt: *attempt };
        let number = self.change(|memory| {
            memory.holds += 1;
            memory.held.insert(memory.holds, held);
            memory.holds
        });
        Holding { stage: Arc::clone(self), number }
    }

    /// Remembers a request and finds its place.
    pub(crate) fn admit(
        &self,
        wire: WireName,
        agent: &Agent,
        asked: &Asked,
        headers: Vec<(String, String)>,
        body: String,
    ) -> Exchange {
        let step = if asked.wants_summary() { 0 } else { asked.replies(&agent.count_from) };
        self.change(|memory| {
            let attempt = memory.attempt(&agent.name, step);
            let mut exchange = Exchange::new(asked, &agent.name, step, attempt);
            exchange.known_bytes = memory.known_bytes(&agent.name, &asked.prompt);
            memory.bytes += body.len();
            let agent = agent.name.clone();
            memory.seen.push_back(Seen { agent, step, attempt, wire, headers, body });
            memory.forget();
            exchange
        })
    }

    /// Remembers that a reply was sent whole.
    pub(crate) fn answered(&self, exchange: &Exchange) {
        self.change(|memory| {
            if memory.attempts.contains_key(&(exchange.agent.clone(), exchange.step)) {
                memory.points.insert((exchange.agent.clone(), exchange.step, Point::Answered));
            }
        });
    }

    /// Remembers a request that no provider would take.
    pub(crate) fn refuse(&self, refused: Refused) {
        self.change(|memory| {
            // The first ones tell the most.
            if memory.refused.len() < REFUSALS {
                memory.refused.push_back(refused);
            }
        });
    }

    pub(crate) fn open_gate(&self, name: &str) {
        self.change(|memory| memory.gates.insert(name.to_owned()));
    }
}

/// A reply that is withheld.
#[derive(Debug)]
pub(crate) struct Holding {
    stage: Arc<Stage>,
    number: u64,
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.stage.change(|memory| memory.held.remove(&self.number));
    }
}
