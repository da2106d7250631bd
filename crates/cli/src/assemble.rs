//! The composition root: the one place that picks a clock, ids, a store, models and tools.

use crate::args::{BudgetArgs, ModelArgs, PermissionArgs};
use crate::config::{
    Config, ConfigError, ModelName, Provider, concerns, confinement, permissions, servers,
};
use crate::exit::CommandError;
use crate::roles;
use crate::toolboxes::Toolboxes;
use longboat_core::content::Wire;
use longboat_core::id::SessionId;
use longboat_core::limits::Limits;
use longboat_core::permission::Policy;
use longboat_core::price::Cost;
use longboat_core::time::Timestamp;
use longboat_engine::{Budget, Clock, Ids, ModelMissing, Models, Ports, Settings, Teams, Toolbox};
use longboat_mcp::McpServers;
use longboat_model::{Model, connect};
use longboat_store::{Holder, SqliteStore};
use longboat_workspace::{
    Confinement, GitWorktrees, WorkspaceSettings, WorkspaceTools, end_orphans,
};
use rand::Rng;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of `AGENTS.md` that members are told.
const INSTRUCTION_BYTES: u64 = 64 * 1024;

/// Turns of one run when nothing is said: more than work takes, and an end to members that answer
/// each other for ever.
const DEFAULT_TURNS: u64 = 1_000;

/// Says why the parts cannot be joined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssemblyError {
    /// The model's provider wants a key and has none.
    #[error("{model} needs a key: set {variable}, or use --base-url for a server that needs none")]
    NoKey {
        /// The model.
        model: String,
        /// The variable to set.
        variable: String,
    },
    /// Nobody listens where the model should be.
    #[error(
        "nobody answers for {model} at {base_url} ({cause}): start the server there, or set --base-url or LONGBOAT_BASE_URL to where it is"
    )]
    NoServer {
        /// The model.
        model: String,
        /// Where it should be.
        base_url: String,
        /// What the system said.
        cause: String,
    },
}

/// Everything a command that runs teams needs.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// The teams.
    pub(crate) teams: Teams,
    /// Where their logs are kept.
    pub(crate) store: Arc<SqliteStore>,
    /// What is noteworthy about how it was put together.
    pub(crate) warnings: Vec<String>,
    /// What a person should know of what members can do.
    pub(crate) concerns: Vec<String>,
    servers: Arc<McpServers>,
}

impl Assembly {
    /// Ends what was started, and lets the store go.
    pub(crate) async fn close(&self) {
        self.servers.close().await;
        self.store.close().await;
    }
}

/// How a command wants its teams to run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes {
    /// What a run may cost.
    pub(crate) budget: BudgetArgs,
    /// What members may do.
    pub(crate) permissions: PermissionArgs,
    /// Whether somebody is there to answer questions.
    pub(crate) answered: bool,
}

/// Joins the parts, and takes the store into possession.
pub(crate) async fn assemble(config: &Config, wishes: Wishes) -> Result<Assembly, CommandError> {
    let servers = servers(config)?;
    let command: Vec<String> = std::env::args().take(2).collect();
    let holder =
        Holder { pid: std::process::id(), started: SystemClock.now(), command: command.join(" ") };
    let store = Arc::new(SqliteStore::open(&config.store, &holder)?);
    let roles = roles::read(&config.workspace);
    let mut warnings = roles.broken;
    let mut settings = Settings::new(config.spill());
    settings.limits = limits(config);
    settings.budget = budget(config, wishes.budget);
    let permissions = permissions(config, wishes.permissions, wishes.answered);
    let policy = permissions.policy;
    settings.permissions = Arc::new(permissions);
    settings.prices = config.prices();
    settings.scope = config.file.agents.mode.unwrap_or_default();
    settings.roles = roles.by_name;
    settings.instructions = instructions(&config.workspace);
    if let Some(seconds) = config.file.agents.release_after_s {
        settings.release_after = Duration::from_secs(seconds);
    }
    // The store comes first: a run that cannot have it starts nothing.
    let servers = Arc::new(McpServers::start(servers).await);
    for state in servers.states() {
        let of = |problem| format!("MCP server {}: {problem}", state.name);
        warnings.extend(state.problems.iter().map(of));
    }
    let workspace = workspace_settings(config, policy);
    let orphans = end_orphans(&workspace.tag).await;
    if orphans > 0 {
        tracing::info!(orphans, "ended what commands of an earlier run had left");
    }
    let worktrees = GitWorktrees::new(workspace.environment.clone(), config.worktrees());
    let workspace = WorkspaceTools::new(workspace);
    let toolboxes: Vec<Arc<dyn Toolbox>> = vec![Arc::new(workspace), Arc::clone(&servers) as _];
    let ports = Ports {
        store: Arc::clone(&store) as Arc<dyn longboat_store::Store>,
        models: Arc::new(ConfiguredModels::new(config.providers.clone())),
        toolbox: Arc::new(Toolboxes(toolboxes)),
        worktrees: Arc::new(worktrees),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
    };
    let mut concerns = concerns(config, policy);
    concerns.extend(roles.remarks);
    let teams = Teams::new(ports, settings);
    Ok(Assembly { teams, store, warnings, concerns, servers })
}

/// The model to use: the flag's, the environment's or the file's, checked.
pub(crate) fn choose_model(config: &Config, args: &ModelArgs) -> Result<ModelName, CommandError> {
    let named = args.model.as_ref().or(config.default_model.as_ref());
    let mut text = named.cloned().ok_or(ConfigError::NoModel)?;
    let known = |text: &str| ModelName::parse(text, &config.providers).is_ok();
    if let (Some(wire), false) = (args.wire, known(&text)) {
        let provider = match Wire::from(wire) {
            Wire::OpenaiChat => "openai",
            Wire::OpenaiResponses => "openai-responses",
            Wire::Anthropic => "anthropic",
        };
        text = format!("{provider}/{text}");
    }
    let mut name = ModelName::parse(&text, &config.providers)?;
    name.base_url = args.base_url.clone().or(name.base_url);
    let url = config.base_url(&name).unwrap_or_default();
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        return Err(ConfigError::Credentials { provider: name.provider }.into());
    }
    let provider = config.providers.get(&name.provider);
    if let Some(provider) = provider
        && provider.endpoint(&name).is_none()
    {
        let variable = provider.key_env.clone().unwrap_or_default();
        return Err(AssemblyError::NoKey { model: name.to_string(), variable }.into());
    }
    Ok(name)
}

fn budget(config: &Config, args: BudgetArgs) -> Budget {
    let set = &config.file.budget;
    let minutes = args.max_minutes.or(set.minutes);
    Budget {
        turns: args.max_turns.or(set.turns).or(Some(DEFAULT_TURNS)),
        tokens: args.max_tokens.or(set.tokens),
        cost: args.max_cost.or(set.cost).map(Cost::dollars),
        time: minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
    }
}

fn limits(config: &Config) -> Limits {
    let (set, default) = (&config.file.limits, Limits::default());
    Limits {
        teammates: set.teammates.unwrap_or(default.teammates),
        live_tasks: set.live_tasks.unwrap_or(default.live_tasks),
        pending_per_target: set.pending_per_target.unwrap_or(default.pending_per_target),
        framed_message_bytes: set.framed_message_bytes.unwrap_or(default.framed_message_bytes),
    }
}

fn workspace_settings(config: &Config, policy: Policy) -> WorkspaceSettings {
    let (environment, also) = (config.environment.iter(), &config.file.tools.environment);
    let mut settings = WorkspaceSettings::allowed(environment, also);
    if let Some(seconds) = config.file.tools.bash_timeout_s {
        settings.bash_timeout = Duration::from_secs(seconds.max(1));
    }
    settings.confinement = confinement(config, policy).filter(|_| Confinement::is_supported());
    // The next process on this store knows by it what this one left behind.
    settings.tag = config.store.display().to_string();
    settings
}

/// What the project says to every member.
fn instructions(workspace: &Path) -> Option<String> {
    use std::io::Read;
    let path = roles::inside(workspace, &workspace.join("AGENTS.md"))?;
    let file = std::fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(INSTRUCTION_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then_some(text)
}

/// The machine's wall clock.
#[derive(Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads as 1970.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(0))
    }
}

/// Random ids, long enough that nobody has made them before.
#[derive(Debug)]
struct RandomIds;

/// Letters and digits that are not taken for each other (Crockford's base 32).
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn random(length: usize) -> String {
    let mut rng = rand::rng();
    let letters = std::iter::repeat_with(|| LETTERS.get(rng.random_range(0..LETTERS.len())));
    letters.flatten().take(length).map(|letter| char::from(*letter)).collect()
}

impl Ids for RandomIds {
    #[expect(clippy::expect_used, reason = "a letter, a dash and base 32 are a session id")]
    fn session(&self) -> SessionId {
        SessionId::new(format!("s-{}", random(12))).expect("a session id")
    }

    fn prompt(&self) -> String {
        random(16)
    }

    fn jitter(&self) -> f64 {
        rand::rng().random_range(0.0..=1.0)
    }
}

/// The models of the configuration, connected when they are first asked for.
#[derive(Debug)]
struct ConfiguredModels {
    providers: BTreeMap<String, Provider>,
    connected: Mutex<HashMap<String, Arc<dyn Model>>>,
}

impl ConfiguredModels {
    fn new(providers: BTreeMap<String, Provider>) -> Self {
        Self { providers, connected: Mutex::default() }
    }

    fn connect(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        let parsed = ModelName::parse(name, &self.providers).map_err(|error| error.to_string())?;
        let provider = self.providers.get(&parsed.provider).ok_or("its provider is unknown")?;
        let endpoint = provider.endpoint(&parsed).ok_or_else(|| {
            let variable = provider.key_env.as_deref().unwrap_or("its key");
            format!("it needs a key: set {variable}")
        })?;
        connect(endpoint).map_err(|error| error.to_string())
    }
}

impl Models for ConfiguredModels {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelMissing> {
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = connected.get(name) {
            return Ok(Arc::clone(model));
        }
        let model =
            self.connect(name).map_err(|reason| ModelMissing { name: name.to_owned(), reason })?;
        connected.insert(name.to_owned(), Arc::clone(&model));
        Ok(model)
    }
}
