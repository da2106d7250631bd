//! The files: TOML, with every key known. A key that is not is an error that names the nearest.

use super::mcp::{self, McpRefused, McpSection};
use super::permissions::{self, PermissionsSection};
use longboat_core::log::Scope;
use longboat_core::price::Price;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Says what is wrong with the configuration, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The workspace is not there.
    #[error("the directory {path} cannot be used: {source}")]
    Workspace {
        /// Which.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Read {
        /// Which.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something of the name is no configuration file.
    #[error(
        "{path} is not a file of at most {limit} bytes; move it away, or name another with --config"
    )]
    NotAFile {
        /// Which.
        path: String,
        /// The most it may have.
        limit: u64,
    },
    /// A number cannot be meant.
    #[error("{path}: {key} = {value} cannot be: {needs}")]
    Number {
        /// Which file.
        path: String,
        /// The key, with what it is in.
        key: String,
        /// What is set.
        value: String,
        /// What it needs to be.
        needs: &'static str,
    },
    /// A file is not TOML of the right shape.
    #[error("{path} is not valid: {reason}")]
    Invalid {
        /// Which.
        path: String,
        /// Where and why.
        reason: String,
    },
    /// A file has a key that means nothing.
    #[error("{path}: unknown key {key:?}{nearest}")]
    UnknownKey {
        /// Which file.
        path: String,
        /// The key, with what it is in.
        key: String,
        /// What was probably meant, as a clause.
        nearest: String,
    },
    /// There is nowhere to put the store.
    #[error("neither XDG_DATA_HOME nor HOME is set; say where the store is with --store")]
    NoHome,
    /// A provider of the file's own says too little.
    #[error("provider {provider:?} needs {what} in longboat.toml")]
    Provider {
        /// Which.
        provider: String,
        /// What is missing.
        what: &'static str,
    },
    /// No model is set.
    #[error(
        "no model is set: use --model PROVIDER/MODEL, or set LONGBOAT_MODEL, or [model] default in longboat.toml, with the provider's key in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, DEEPSEEK_API_KEY, …); longboat demo needs none"
    )]
    NoModel,
    /// A base URL has a name or a password in it, which would be kept with the session.
    #[error(
        "the base URL of {provider:?} has credentials in it; set the provider's key instead (api_key_env)"
    )]
    Credentials {
        /// The provider.
        provider: String,
    },
    /// A checkout says where keys are sent.
    #[error(
        "{path} has [providers], which could send your keys anywhere: put them into ~/.config/longboat/longboat.toml, or name the file with --config"
    )]
    ProjectProviders {
        /// Which file.
        path: String,
    },
    /// A checkout says which programs to start.
    #[error(
        "{path} has [mcp], which could start any program on your machine: put it into ~/.config/longboat/longboat.toml, or name the file with --config"
    )]
    ProjectServers {
        /// Which file.
        path: String,
    },
    /// A checkout says what its members may do.
    #[error(
        "{path} has [permissions], which could let members do anything: put it into ~/.config/longboat/longboat.toml, or name the file with --config"
    )]
    ProjectPermissions {
        /// Which file.
        path: String,
    },
    /// An MCP server's section is wrong.
    #[error(transparent)]
    Mcp(#[from] McpRefused),
    /// The model's provider is unknown.
    #[error(
        "the model {model:?} names no known provider; the providers are {known}: write PROVIDER/MODEL"
    )]
    UnknownProvider {
        /// What was asked for.
        model: String,
        /// What there is.
        known: String,
    },
}

/// What the files say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConfigFile {
    pub(crate) model: ModelSection,
    pub(crate) providers: BTreeMap<String, ProviderSection>,
    pub(crate) limits: LimitsSection,
    pub(crate) tools: ToolsSection,
    pub(crate) agents: AgentsSection,
    pub(crate) budget: BudgetSection,
    pub(crate) mcp: BTreeMap<String, McpSection>,
    pub(crate) permissions: PermissionsSection,
    /// By the beginning of a model's name.
    pub(crate) prices: BTreeMap<String, Price>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSection {
    /// `provider/model`.
    pub(crate) default: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderSection {
    pub(crate) wire: Option<longboat_core::content::Wire>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) reasoning_effort: Option<String>,
    pub(crate) thinking_tokens: Option<u32>,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) echo_reasoning: Option<bool>,
    pub(crate) idle_timeout_s: Option<u64>,
    pub(crate) headers: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsSection {
    pub(crate) teammates: Option<usize>,
    pub(crate) live_tasks: Option<usize>,
    pub(crate) pending_per_target: Option<usize>,
    pub(crate) framed_message_bytes: Option<usize>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolsSection {
    pub(crate) bash_timeout_s: Option<u64>,
    pub(crate) environment: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentsSection {
    pub(crate) release_after_s: Option<u64>,
    /// What the children of a new session are.
    pub(crate) mode: Option<Scope>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BudgetSection {
    pub(crate) turns: Option<u64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) minutes: Option<u64>,
    /// In US dollars.
    pub(crate) cost: Option<f64>,
}

/// The keys of each table, `*` for names that people choose.
const KEYS: [(&str, &[&str]); 13] = [
    (
        "",
        &[
            "model",
            "providers",
            "limits",
            "tools",
            "agents",
            "budget",
            "prices",
            "mcp",
            "permissions",
        ],
    ),
    ("permissions", permissions::KEYS),
    ("mcp.*", mcp::KEYS),
    ("mcp", &[]),
    ("budget", &["turns", "tokens", "minutes", "cost"]),
    ("prices", &[]),
    ("prices.*", &["input", "output", "cached", "cache_write"]),
    ("model", &["default"]),
    (
        "providers.*",
        &[
            "wire",
            "base_url",
            "api_key_env",
            "max_output_tokens",
            "reasoning_effort",
            "thinking_tokens",
            "context_tokens",
            "echo_reasoning",
            "idle_timeout_s",
            "headers",
        ],
    ),
    ("limits", &["teammates", "live_tasks", "pending_per_target", "framed_message_bytes"]),
    ("tools", &["bash_timeout_s", "environment"]),
    ("agents", &["release_after_s", "mode"]),
    ("providers", &[]),
];

impl ConfigFile {
    /// Both, the other one over this.
    pub(crate) fn under(mut self, over: Self) -> Self {
        self.model.default = over.model.default.or(self.model.default);
        for (name, section) in over.providers {
            let below = self.providers.remove(&name).unwrap_or_default();
            self.providers.insert(name, section.or(below));
        }
        // A server is said whole: halves of two would be a third that nobody wrote.
        self.mcp.extend(over.mcp);
        // They are said whole as well: a rule of one file must not weaken another's.
        if over.permissions != PermissionsSection::default() {
            self.permissions = over.permissions;
        }
        self.limits = LimitsSection {
            teammates: over.limits.teammates.or(self.limits.teammates),
            live_tasks: over.limits.live_tasks.or(self.limits.live_tasks),
            pending_per_target: over.limits.pending_per_target.or(self.limits.pending_per_target),
            framed_message_bytes: over
                .limits
                .framed_message_bytes
                .or(self.limits.framed_message_bytes),
        };
        self.tools.bash_timeout_s = over.tools.bash_timeout_s.or(self.tools.bash_timeout_s);
        self.tools.environment.extend(over.tools.environment);
        self.agents.release_after_s = over.agents.release_after_s.or(self.agents.release_after_s);
        self.agents.mode = over.agents.mode.or(self.agents.mode);
        self.budget = BudgetSection {
            turns: over.budget.turns.or(self.budget.turns),
            tokens: over.budget.tokens.or(self.budget.tokens),
            minutes: over.budget.minutes.or(self.budget.minutes),
            cost: over.budget.cost.or(self.budget.cost),
        };
        self.prices.extend(over.prices);
        self
    }
}

impl ProviderSection {
    fn or(self, below: Self) -> Self {
        let mut headers = below.headers;
        headers.extend(self.headers);
        Self {
            wire: self.wire.or(below.wire),
            base_url: self.base_url.or(below.base_url),
            api_key_env: self.api_key_env.or(below.api_key_env),
            max_output_tokens: self.max_output_tokens.or(below.max_output_tokens),
            reasoning_effort: self.reasoning_effort.or(below.reasoning_effort),
            thinking_tokens: self.thinking_tokens.or(below.thinking_tokens),
            context_tokens: self.context_tokens.or(below.context_tokens),
            echo_reasoning: self.echo_reasoning.or(below.echo_reasoning),
            idle_timeout_s: self.idle_timeout_s.or(below.idle_timeout_s),
            headers,
        }
    }
}

/// Bytes of a configuration file: past it, it is something else.
const FILE_BYTES: u64 = 1024 * 1024;

/// Reads one file.
pub(super) fn load(path: &Path) -> Result<ConfigFile, ConfigError> {
    let shown = path.display().to_string();
    let read = |source| ConfigError::Read { path: shown.clone(), source };
    let found = std::fs::metadata(path).map_err(read)?;
    if !found.is_file() || found.len() > FILE_BYTES {
        return Err(ConfigError::NotAFile { path: shown.clone(), limit: FILE_BYTES });
    }
    let text = std::fs::read_to_string(path).map_err(read)?;
    parse(&shown, &text)
}

fn parse(path: &str, text: &str) -> Result<ConfigFile, ConfigError> {
    let invalid = |error: toml::de::Error| ConfigError::Invalid {
        path: path.to_owned(),
        reason: one_line(&error),
    };
    let table: toml::Table = toml::from_str(text).map_err(invalid)?;
    check_keys(path, "", &table)?;
    let set: ConfigFile = toml::from_str(text).map_err(invalid)?;
    check_numbers(path, &set)?;
    Ok(set)
}

/// Refuses numbers with which nothing could work.
fn check_numbers(path: &str, set: &ConfigFile) -> Result<(), ConfigError> {
    let number = |key: &str, value: String, needs| ConfigError::Number {
        path: path.to_owned(),
        key: key.to_owned(),
        value,
        needs,
    };
    let (limits, budget) = (&set.limits, &set.budget);
    let positive = [
        ("limits.teammates", limits.teammates.map(|n| n as u64)),
        ("limits.live_tasks", limits.live_tasks.map(|n| n as u64)),
        ("limits.pending_per_target", limits.pending_per_target.map(|n| n as u64)),
        ("budget.turns", budget.turns),
        ("budget.tokens", budget.tokens),
        ("budget.minutes", budget.minutes),
        ("tools.bash_timeout_s", set.tools.bash_timeout_s),
    ];
    if let Some((key, _)) = positive.iter().find(|(_, value)| *value == Some(0)) {
        return Err(number(key, "0".to_owned(), "it needs to be at least 1"));
    }
    // Less has no room for a frame and a word.
    if let Some(bytes) = limits.framed_message_bytes.filter(|bytes| *bytes < 512) {
        let key = "limits.framed_message_bytes";
        return Err(number(key, bytes.to_string(), "it needs to be at least 512"));
    }
    if let Some(cost) = budget.cost.filter(|cost| !cost.is_finite() || *cost <= 0.0) {
        return Err(number("budget.cost", cost.to_string(), "it needs to be above 0"));
    }
    match set.prices.iter().find(|(_, price)| !price.is_valid()) {
        Some((name, _)) => {
            let key = format!("prices.{name:?}");
            Err(number(&key, "…".to_owned(), "prices are 0 or more, for a million tokens"))
        }
        None => Ok(()),
    }
}

fn one_line(error: &toml::de::Error) -> String {
    error
        .to_string()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn check_keys(path: &str, at: &str, table: &toml::Table) -> Result<(), ConfigError> {
    let pattern = match at.split_once('.') {
        Some((section, _)) => format!("{section}.*"),
        None => at.to_owned(),
    };
    let Some((_, known)) = KEYS.iter().find(|(name, _)| *name == pattern) else { return Ok(()) };
    for (key, value) in table {
        let full = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        if !known.is_empty() && !known.contains(&key.as_str()) {
            let nearest = nearest(key, known);
            return Err(ConfigError::UnknownKey { path: path.to_owned(), key: full, nearest });
        }
        // Headers and variables are named by people.
        let free = key == "headers" || (pattern == "mcp.*" && key == "env");
        if let (Some(below), false) = (value.as_table(), free) {
            check_keys(path, &full, below)?;
        }
    }
    Ok(())
}

fn nearest(key: &str, known: &[&str]) -> String {
    let distance = |known: &&&str| strsim::damerau_levenshtein(key, known);
    match known.iter().min_by_key(distance) {
        Some(best) if strsim::damerau_levenshtein(key, best) <= 3 => {
            format!("; did you mean {best:?}?")
        }
        _ => format!("; the keys are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse("longboat.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        assert_eq!(
            refused("[model]\ndefualt = \"x\"\n"),
            "longboat.toml: unknown key \"model.defualt\"; did you mean \"default\"?"
        );
        assert_eq!(
            refused("[providers.mine]\nbase_ulr = \"x\"\n"),
            "longboat.toml: unknown key \"providers.mine.base_ulr\"; did you mean \"base_url\"?"
        );
        assert!(refused("xyzzy = 1\n").contains("the keys are model, providers"));
    }

    #[test]
    fn what_is_not_toml_is_told_with_its_place() {
        assert!(refused("[model\n").contains("line 1"));
        assert!(refused("[limits]\nteammates = \"many\"\n").contains("line 2"));
    }

    #[test]
    fn a_number_with_which_nothing_could_work_is_refused() {
        assert_eq!(
            refused("[limits]\npending_per_target = 0\n"),
            "longboat.toml: limits.pending_per_target = 0 cannot be: it needs to be at least 1"
        );
        assert!(refused("[limits]\nframed_message_bytes = 20\n").contains("at least 512"));
        assert!(refused("[budget]\ncost = -1.0\n").contains("above 0"));
        assert!(
            refused("[prices]\n\"a/b\" = { input = -1.0, output = 2.0 }\n").contains("\"a/b\"")
        );
    }

    #[test]
    fn what_is_no_file_is_not_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let error = load(place.path()).unwrap_err().to_string();
        assert!(error.contains("is not a file"), "{error}");
    }

    #[test]
    fn the_project_is_over_the_user() {
        let user = parse("u", "[model]\ndefault = \"a/b\"\n[limits]\nteammates = 3\n").unwrap();
        let project = parse("p", "[model]\ndefault = \"c/d\"\n").unwrap();
        let both = user.under(project);
        assert_eq!(both.model.default.as_deref(), Some("c/d"));
        assert_eq!(both.limits.teammates, Some(3));
    }
}
