//! A world for a test: a real store on disk, a scripted model behind real HTTP, the real engine.

use crate::dying_store::{Death, DyingStore};
use crate::sim_ports::{NoTools, SimIds};
use longboat_core::content::Wire;
use longboat_core::id::{EventKey, ItemId, MemberName, Seq, SessionId};
use longboat_core::log::{ActivityChange, Event, Lane, Record, Scope};
use longboat_core::permission::Permissions;
use longboat_core::price::{Price, Prices};
use longboat_core::time::Timestamp;
use longboat_engine::{
    Budget, Clock, Follower, Ids, ModelMissing, Models, NoWorktrees, Notice, Ports, Role, RunEnd,
    Settings, Since, TeamHandle, Teams, Toolbox, Worktrees, decode_stored,
};
use longboat_model::{DEFAULT_CONTEXT_TOKENS, Endpoint, Model, connect};
use longboat_scripted::{Agent, Script, Seen, Server};
use longboat_store::{Holder, SqliteStore, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A store, a model server and an engine, in a directory of their own.
#[derive(Debug)]
pub struct World {
    dir: TempDir,
    /// The model server.
    pub server: Server,
    ids: Arc<SimIds>,
    clock: Arc<CountingClock>,
    release_after: Duration,
    pending_per_target: Option<usize>,
    budget: Budget,
    scope: Scope,
    window: u64,
    toolbox: Arc<dyn Toolbox>,
    permissions: Arc<Permissions>,
    worktrees: Arc<dyn Worktrees>,
    roles: BTreeMap<String, Role>,
}

/// One process of a world: what dies and comes back.
#[derive(Debug)]
pub struct Life {
    /// The teams.
    pub teams: Teams,
    /// The store, owned.
    pub store: Arc<SqliteStore>,
}

/// Tells a time that moves on by a millisecond whenever it is asked.
#[derive(Debug, Default)]
struct CountingClock(AtomicU64);

impl Clock for CountingClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Finds every model at the scripted server: `anthropic` and `responses` over those wires, all others
/// over chat completions, but for `missing`.
#[derive(Debug)]
struct ScriptedModels(String, u64);

impl Models for ScriptedModels {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelMissing> {
        let missing = |reason| ModelMissing { name: name.to_owned(), reason };
        if name == "missing" {
            return Err(missing("it is not configured".to_owned()));
        }
        let wire = match name {
            "anthropic" => Wire::Anthropic,
            "responses" => Wire::OpenaiResponses,
            _ => Wire::OpenaiChat,
        };
        let mut endpoint = Endpoint::new("scripted", wire, &self.0, name);
        endpoint.idle_timeout = Duration::from_secs(30);
        endpoint.echo_reasoning = wire == Wire::OpenaiResponses;
        endpoint.context_tokens = self.1;
        connect(endpoint).map_err(|error| missing(error.to_string()))
    }
}

#[expect(clippy::expect_used, reason = "a world that cannot be made ends its test")]
impl World {
    /// A world in which these agents are played.
    pub async fn of(agents: Vec<Agent>) -> Self {
        Self::playing(Script::of(agents)).await
    }

    /// A world in which this script is played.
    pub async fn playing(script: Script) -> Self {
        let server = Server::start(script, 0).await.expect("a server on loopback");
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("ws")).expect("a workspace");
        let (ids, clock) = (Arc::new(SimIds::default()), Arc::new(CountingClock::default()));
        Self {
            dir,
            server,
            ids,
            clock,
            release_after: Duration::from_secs(600),
            pending_per_target: None,
            budget: Budget::default(),
            scope: Scope::default(),
            window: DEFAULT_CONTEXT_TOKENS,
            toolbox: Arc::new(NoTools),
            permissions: Arc::default(),
            worktrees: Arc::new(NoWorktrees),
            roles: BTreeMap::new(),
        }
    }

    /// Gives members these tools besides the team's own.
    #[must_use]
    pub fn equipped(mut self, toolbox: Arc<dyn Toolbox>) -> Self {
        self.toolbox = toolbox;
        self
    }

    /// Gives members git worktrees from there.
    #[must_use]
    pub fn branching(mut self, worktrees: Arc<dyn Worktrees>) -> Self {
        self.worktrees = worktrees;
        self
    }

    /// Has such a role.
    #[must_use]
    pub fn casting(mut self, name: &str, role: Role) -> Self {
        self.roles.insert(name.to_owned(), role);
        self
    }

    /// Lets idle teammates go after so long.
    #[must_use]
    pub fn releasing_after(mut self, idle: Duration) -> Self {
        self.release_after = idle;
        self
    }

    /// Lets each run cost so much.
    #[must_use]
    pub fn costing(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Has models that are set to take so many tokens.
    #[must_use]
    pub fn taking(mut self, window: u64) -> Self {
        self.window = window;
        self
    }

    /// Makes root sessions whose children are such.
    #[must_use]
    pub fn scoped(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Lets the next processes permit this.
    pub fn permit(&mut self, permissions: Permissions) {
        self.permissions = Arc::new(permissions);
    }

    /// Lets so many messages wait for one target.
    #[must_use]
    pub fn holding_pending(mut self, most: usize) -> Self {
        self.pending_per_target = Some(most);
        self
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    /// The store's file.
    #[must_use]
    pub fn store_path(&self) -> PathBuf {
        self.dir.path().join("longboat.db")
    }

    /// Begins a process.
    #[must_use]
    pub fn live(&self) -> Life {
        let store = self.open();
        let front = Arc::clone(&store) as Arc<dyn Store>;
        self.live_on(store, front)
    }

    /// Begins a process that dies at its `at`th commit.
    #[must_use]
    pub fn live_until(&self, at: u64, death: Death) -> (Life, Arc<DyingStore>) {
        let store = self.open();
        let dying = Arc::new(DyingStore::new(Arc::clone(&store) as Arc<dyn Store>, at, death));
        let front = Arc::clone(&dying) as Arc<dyn Store>;
        (self.live_on(store, front), dying)
    }

    fn open(&self) -> Arc<SqliteStore> {
        let holder =
            Holder { pid: std::process::id(), started: Timestamp(0), command: "a test".to_owned() };
        Arc::new(SqliteStore::open(self.store_path(), &holder).expect("a store"))
    }

    fn live_on(&self, store: Arc<SqliteStore>, front: Arc<dyn Store>) -> Life {
        let ports = Ports {
            store: front,
            models: Arc::new(ScriptedModels(self.server.base_url(), self.window)),
            toolbox: Arc::clone(&self.toolbox),
            worktrees: Arc::clone(&self.worktrees),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            ids: Arc::clone(&self.ids) as Arc<dyn Ids>,
        };
        let mut settings = Settings::new(self.dir.path().join("spill"));
        settings.release_after = self.release_after;
        settings.budget = self.budget;
        settings.scope = self.scope;
        settings.permissions = Arc::clone(&self.permissions);
        settings.roles = self.roles.clone();
        // Of every model: a dollar for a million tokens.
        let price = Price { input: 1.0, output: 1.0, cached: None, cache_write: None };
        settings.prices = Prices::new([(String::new(), price)].into());
        if let Some(most) = self.pending_per_target {
            settings.limits.pending_per_target = most;
        }
        Life { teams: Teams::new(ports, settings), store }
    }

    /// Runs a whole task in one process, and returns its end with the logs.
    pub async fn run(&self, model: &str) -> (RunEnd, Logs) {
        let life = self.live();
        let team = life.create(&self.workspace(), model).await;
        say(&team, "lead", "p1", "go").await;
        let end = team.quiescent().await.expect("an end");
        life.end(&team).await;
        (end, self.logs().await)
    }

    /// All logs, read as another process would.
    pub async fn logs(&self) -> Logs {
        let store = SqliteStore::open_read_only(self.store_path()).expect("a store to read");
        let mut logs = Vec::new();
        for head in store.sessions().await.expect("sessions") {
            let stored = store.read(&head.session, Seq(0), usize::MAX).await.expect("records");
            let records = stored.into_iter().map(|r| decode_stored(r).expect("a record"));
            logs.push((head.session, records.collect()));
        }
        Logs(logs)
    }

    /// The request for an agent's step, as the server had it.
    #[must_use]
    pub fn request(&self, agent: &str, step: usize) -> String {
        let seen = self.server.requests();
        let found = seen.into_iter().rfind(|seen| seen.agent == agent && seen.step == step);
        found.map(|seen| seen.body).expect("a request for that step")
    }

    /// All requests of an agent.
    #[must_use]
    pub fn requests(&self, agent: &str) -> Vec<Seen> {
        self.server.requests().into_iter().filter(|seen| seen.agent == agent).collect()
    }
}

#[expect(clippy::expect_used, reason = "a world that cannot be made ends its test")]
impl Life {
    /// Makes a team.
    pub async fn create(&self, workspace: &Path, model: &str) -> TeamHandle {
        let workspace = workspace.display().to_string();
        self.teams.create(workspace, model.to_owned()).await.expect("a team")
    }

    /// Brings a team back.
    pub async fn resume(&self, lead: &str) -> TeamHandle {
        let lead = SessionId::new(lead).expect("a session id");
        self.teams.resume(&lead).await.expect("a team to resume")
    }

    /// Ends a process in good order.
    pub async fn end(self, team: &TeamHandle) {
        team.close().await;
        self.store.close().await;
    }
}

/// Queues a person's words.
#[expect(clippy::expect_used, reason = "a test's own words are fine")]
pub async fn say(team: &TeamHandle, member: &str, id: &str, text: &str) {
    let (member, item) = (MemberName::new(member), ItemId::new(id));
    let (member, item) = (member.expect("a name"), item.expect("an item id"));
    team.prompt(&member, Lane::NextTurn, item, text.to_owned()).await.expect("a prompt taken");
}

/// Waits until a record that fits is durable.
#[expect(clippy::expect_used, reason = "a team that goes away ends its test")]
pub async fn until(follower: &mut Follower, fits: impl Fn(&SessionId, &Event) -> bool) {
    loop {
        let notice = follower.next().await.expect("the team goes on");
        if let Notice::Committed { session, record } = notice
            && fits(&session, &record.event)
        {
            return;
        }
    }
}

/// Waits until a member was taken out of memory.
pub async fn until_released(follower: &mut Follower) {
    let released = |event: &Event| {
        matches!(event, Event::TeamActivity { change: ActivityChange::Released, .. })
    };
    until(follower, |_, event| released(event)).await;
}

/// Follows a team from its beginning.
#[expect(clippy::expect_used, reason = "a store that cannot be read ends its test")]
pub async fn follow(team: &TeamHandle) -> Follower {
    team.follow(Since::Start).await.expect("a follower")
}

/// The logs of a world, in text that a test can look for things in.
#[derive(Debug, Clone)]
pub struct Logs(Vec<(SessionId, Vec<Record>)>);

impl Logs {
    /// One session's records.
    #[must_use]
    pub fn of(&self, session: &str) -> &[Record] {
        let found = self.0.iter().find(|(id, _)| id.as_str() == session);
        found.map_or(&[], |(_, records)| records.as_slice())
    }

    /// One session's events of a kind.
    #[must_use]
    pub fn events(&self, session: &str, kind: &str) -> Vec<&Event> {
        self.of(session).iter().map(|record| &record.event).filter(|e| e.kind() == kind).collect()
    }

    /// The sessions.
    #[must_use]
    pub fn sessions(&self) -> Vec<&str> {
        self.0.iter().map(|(session, _)| session.as_str()).collect()
    }

    /// How many records of a session have a key.
    #[must_use]
    pub fn with_key(&self, session: &str, key: &EventKey) -> usize {
        self.of(session).iter().filter(|record| record.key.as_ref() == Some(key)).count()
    }

    /// The texts of all tool results of a session, in order.
    #[must_use]
    pub fn results(&self, session: &str) -> Vec<String> {
        use longboat_core::content::Block;
        let results = self.of(session).iter().filter_map(|record| match &record.event {
            Event::ToolResult { outcome, .. } => Some(outcome),
            _ => None,
        });
        let texts = results.map(|outcome| {
            let texts = outcome.content.iter().map(|block| match block {
                Block::Text { text } => text.as_str(),
                Block::Image { .. } => "[picture]",
            });
            texts.collect::<Vec<_>>().join("\n")
        });
        texts.collect()
    }
}
