//! Random teams under random crashes: the real engine on simulated time, one thread, one seed.
//!
//! `LONGBOAT_SEEDS=20000 cargo nextest run -p longboat-engine simulation` runs longer;
//! `LONGBOAT_SEED=17 …` replays one seed.

use longboat_core::id::{ItemId, MemberName, SessionId};
use longboat_core::log::{Lane, Scope};
use longboat_engine::{NoWorktrees, Ports, Settings, TeamError, TeamHandle, Teams};
use longboat_model::FaultKind;
use longboat_store::{MemoryStore, Store};
use longboat_testkit::{
    Death, DyingStore, NoTools, SimClock, SimIds, SimModel, SimReply, TeamCheck, Turn,
};
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// Seeds a plain test run plays.
const SEEDS: u64 = 2_000;
/// Simulated time after which a team that still moves is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(4 * 3_600);

/// A number from a seed and whatever distinguishes this use of it.
fn roll(seed: u64, of: impl Hash, below: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, of).hash(&mut hasher);
    hasher.finish() % below
}

const NAMES: [&str; 4] = ["lead", "a", "b", "c"];
/// Whom agents outside a team try to reach: some of them they may.
const ADJACENT: [&str; 4] = ["parent", "a", "b", "c"];

/// Every fourth seed plays a tree of ordinary agents.
fn scope(seed: u64) -> Scope {
    if seed % 4 == 3 { Scope::Subagents } else { Scope::Team }
}

/// What a member's model does next: random, and the same for the same request.
fn play(seed: u64, turn: &Turn<'_>) -> SimReply {
    let at = (turn.member.clone(), turn.replies);
    if turn.prompt.asks_for_summary() {
        return summarize(seed, turn);
    }
    let delay = roll(seed, ("delay", &at), 40);
    if roll(seed, ("fault", &at, turn.attempt), 20) == 0 {
        let kind = if roll(seed, ("fatal", &at), 4) == 0 {
            FaultKind::Fatal
        } else {
            FaultKind::Retryable { after: None }
        };
        return SimReply { fault: Some(kind), ..SimReply::text("").after_ms(delay) };
    }
    let most = 4 + roll(seed, ("most", &turn.member), 10) as usize;
    // A summary hides how far it was; it must come to an end all the same.
    let forgets = summed_up(turn) && turn.replies >= 2;
    if turn.replies >= most || forgets {
        return SimReply::text("nothing more to do").after_ms(delay);
    }
    let calls = (0..roll(seed, ("calls", &at), 5)).map(|n| call(seed, turn, n)).collect();
    SimReply { calls, ..SimReply::text("working").after_ms(delay) }
}

fn summed_up(turn: &Turn<'_>) -> bool {
    let first = turn.prompt.messages.first();
    first.is_some_and(|message| format!("{message:?}").contains("were replaced by this summary"))
}

/// A summary, or a model that cannot make one.
fn summarize(seed: u64, turn: &Turn<'_>) -> SimReply {
    let kind = match roll(seed, ("summary", &turn.member, turn.replies), 6) {
        0 => Some(FaultKind::Fatal),
        1 => Some(FaultKind::ContextOverflow),
        _ => None,
    };
    SimReply { fault: kind, ..SimReply::text("what was done so far") }
}

fn call(seed: u64, turn: &Turn<'_>, n: u64) -> (String, String) {
    let at = ("call", turn.member.clone(), turn.replies, n);
    let pick = |what: &'static str, below: u64| roll(seed, (what, &at), below);
    let (reach, spawn) = match scope(seed) {
        Scope::Team => (NAMES, "spawn_teammate"),
        Scope::Subagents => (ADJACENT, "spawn_agent"),
    };
    let may_spawn = turn.member == "lead" || scope(seed) == Scope::Subagents;
    let spawned = may_spawn && turn.replies < 3;
    let (name, arguments) = match if spawned { pick("spawn", 3) } else { pick("kind", 14) } {
        0 | 1 if spawned => {
            let name = NAMES[1 + pick("who", 3) as usize];
            let context = if pick("fork", 3) == 0 { "fork" } else { "fresh" };
            let described =
                json!({"name": name, "description": "works", "prompt": "go", "context": context});
            (spawn, described)
        }
        0..=5 => {
            let target = reach[pick("to", 4) as usize];
            let text = format!("{} {} {n}", turn.member, turn.replies);
            ("send_message", json!({"target": target, "message": text}))
        }
        6 => ("list_agents", json!({})),
        7 => ("wait_agent", json!({"timeout_ms": 10_000})),
        8 => ("team_task_create", json!({"subject": "s", "description": "d"})),
        9 | 10 => {
            let task = format!("t{}", 1 + pick("task", 3));
            let action = ["claim", "complete", "release"][pick("action", 3) as usize];
            let revision = 1 + pick("revision", 3);
            let update = json!({"task_id": task, "expected_revision": revision, "action": action});
            ("team_task_update", update)
        }
        11 => ("interrupt_agent", json!({"target": reach[pick("to", 4) as usize]})),
        12 => ("no_such_tool", json!({})),
        _ => ("send_message", json!({"wrong": true})),
    };
    (name.to_owned(), arguments.to_string())
}

struct Run {
    seed: u64,
    store: MemoryStore,
    model: SimModel,
    lead: SessionId,
}

impl Run {
    fn new(seed: u64) -> Self {
        // Every third seed has a model that forgets: its conversations are summed up.
        let window = if seed.is_multiple_of(3) { 1_500 } else { u64::MAX };
        let model = SimModel::new(move |turn| play(seed, turn)).taking(window);
        let lead = SessionId::new("s-1").unwrap();
        Self { seed, store: MemoryStore::new(), model, lead }
    }

    fn death(&self, life: u64) -> (u64, Death) {
        let kind = match roll(self.seed, ("death", life), 6) {
            0 => Death::FailsUnwritten,
            1 => Death::FailsWritten,
            2 => Death::DiskFull,
            3 | 4 => Death::After,
            _ => Death::Before,
        };
        (1 + roll(self.seed, ("at", life), 40), kind)
    }

    /// One process: from its start to its death or the end of the run. Says whether it ended.
    fn live(&self, life: u64, deaths: u64) -> Result<bool, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let ended = runtime.block_on(async {
            let (at, death) = if life < deaths { self.death(life) } else { (0, Death::Before) };
            let store = Arc::new(DyingStore::new(Arc::new(self.store.clone()), at, death));
            let run = async {
                let team = self.open(&store, life).await.map_err(|error| format!("{error:?}"))?;
                let Some(team) = team else { return Ok(false) };
                self.disturb(&team, life).await;
                team.quiescent().await.map_err(|fault| fault.to_string())?;
                Ok(true)
            };
            tokio::select! {
                biased;
                () = store.died() => Ok(false),
                ended = run => ended,
                () = tokio::time::sleep(STUCK_AFTER) => Err("P17 the team never comes to rest".to_owned()),
            }
        });
        // Whatever still runs dies here, as with SIGKILL.
        drop(runtime);
        ended
    }

    async fn open(
        &self,
        store: &Arc<DyingStore>,
        life: u64,
    ) -> Result<Option<TeamHandle>, TeamError> {
        let ports = Ports {
            store: Arc::clone(store) as Arc<dyn Store>,
            models: Arc::new(self.model.clone()),
            toolbox: Arc::new(NoTools),
            worktrees: Arc::new(NoWorktrees),
            clock: Arc::new(SimClock::at(1_000_000 * life)),
            ids: Arc::new(SimIds::default()),
        };
        let mut settings = Settings::new("/nowhere".into());
        settings.release_after = Duration::from_secs(1 + roll(self.seed, "release", 30));
        settings.scope = scope(self.seed);
        let teams = Teams::new(ports, settings);
        let written = store.head(&self.lead).await?.is_some();
        let team = if written {
            teams.resume(&self.lead).await?
        } else {
            match teams.create("/tmp".to_owned(), "m".to_owned()).await {
                Ok(team) => team,
                // The commit that makes the session failed: nobody was told of it.
                Err(TeamError::Write(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        };
        Ok(Some(team))
    }

    /// People say and stop things, at random moments.
    async fn disturb(&self, team: &TeamHandle, life: u64) {
        let acts = 1 + roll(self.seed, ("acts", life), 5);
        for n in 0..acts {
            let pick = |what: &'static str, below: u64| roll(self.seed, (what, life, n), below);
            let target = if n == 0 { "lead" } else { NAMES[pick("who", 4) as usize] };
            if n > 0 && pick("interrupt", 4) == 0 {
                team.interrupt(target).await.ok();
            } else {
                let lane = if pick("lane", 2) == 0 { Lane::NextTurn } else { Lane::NextStep };
                let item = ItemId::new(format!("h{life}-{n}")).unwrap();
                let name = MemberName::new(target).unwrap();
                team.prompt(&name, lane, item, "go on".to_owned()).await.ok();
            }
            tokio::time::sleep(Duration::from_millis(pick("pause", 300))).await;
        }
    }

    fn play_through(&self) -> Result<(), String> {
        let deaths = roll(self.seed, "deaths", 6);
        let mut life = 0;
        while !self.live(life, deaths)? {
            life += 1;
            if life > 20 {
                return Err("it dies for ever".to_owned());
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let logs = runtime.block_on(TeamCheck::read(&self.store, &self.lead));
        let mut wrong = logs.check();
        wrong.extend(self.model.wrong());
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

fn number(variable: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a test's own knob")]
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn play_seeds(seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        if let Err(wrong) = Run::new(seed).play_through() {
            panic!(
                "seed {seed} broke a promise:\n{wrong}\nreplay it with\n  \
                 LONGBOAT_SEED={seed} cargo nextest run -p longboat-engine simulation"
            );
        }
    }
}

/// The seeds in eight parts, so that a test run spreads them over the cores.
fn play_part(part: u64) {
    match number("LONGBOAT_SEED") {
        Some(seed) if seed % 8 == part => play_seeds(std::iter::once(seed)),
        Some(_) => {}
        None => {
            let seeds = number("LONGBOAT_SEEDS").unwrap_or(SEEDS);
            play_seeds((0..seeds).filter(|seed| seed % 8 == part));
        }
    }
}

macro_rules! parts {
    ($($name:ident: $part:literal),*) => { $(
        #[test]
        fn $name() {
            play_part($part);
        }
    )* };
}

parts! {
    p2_to_p19_hold_under_random_crashes_part_0: 0,
    p2_to_p19_hold_under_random_crashes_part_1: 1,
    p2_to_p19_hold_under_random_crashes_part_2: 2,
    p2_to_p19_hold_under_random_crashes_part_3: 3,
    p2_to_p19_hold_under_random_crashes_part_4: 4,
    p2_to_p19_hold_under_random_crashes_part_5: 5,
    p2_to_p19_hold_under_random_crashes_part_6: 6,
    p2_to_p19_hold_under_random_crashes_part_7: 7
}
