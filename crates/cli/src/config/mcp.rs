//! `[mcp.NAME]`: the MCP servers whose tools members get.

use super::file::ConfigError;
use super::{Config, Environment};
use longboat_mcp::{Reach, ServerName, ServerSettings};
use longboat_workspace::{WorkspaceSettings, looks_secret};
use secrecy::SecretString;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// Servers of one configuration: each costs a process and a place in every request.
const SERVERS: usize = 32;
/// How long a call may take when nothing is said, and the longest it may.
const TIMEOUT_S: u64 = 120;
const LONGEST_S: u64 = 3_600;
/// How long a server may take to start when nothing is said.
const START_TIMEOUT_S: u64 = 30;

/// The keys of one server.
pub(super) const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "env_from",
    "url",
    "headers",
    "bearer_token_env",
    "timeout_s",
    "start_timeout_s",
    "tools",
    "members",
    "roles",
    "enabled",
];

/// What a file says of one server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpSection {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    env_from: Vec<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    bearer_token_env: Option<String>,
    timeout_s: Option<u64>,
    start_timeout_s: Option<u64>,
    tools: Option<BTreeSet<String>>,
    members: Option<BTreeSet<String>>,
    roles: Option<BTreeSet<String>>,
    enabled: Option<bool>,
}

/// Says what is wrong with a server's section.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpRefused {
    /// Its name is not one.
    #[error(transparent)]
    Name(#[from] longboat_mcp::NameRefused),
    /// There are too many.
    #[error("there are {0} MCP servers in the configuration, and {SERVERS} is the limit")]
    TooMany(usize),
    /// Two names differ in nothing that can be told apart.
    #[error("[mcp.{0}] and [mcp.{1}] differ in capital letters only; rename one")]
    Alike(String, String),
    /// It is not said how to reach it, or said twice.
    #[error(
        "[mcp.{0}] needs either command, for a server to start, or url, for one that runs, and not both"
    )]
    Reach(String),
    /// A key is of the other kind of server.
    #[error("[mcp.{0}] has {1}, which means nothing {2}")]
    Stray(String, &'static str, &'static str),
    /// A variable is not set.
    #[error("[mcp.{0}] takes {1} from the environment, and it is not set")]
    Unset(String, String),
    /// The URL is none.
    #[error("the url of [mcp.{0}] must begin with http:// or https://")]
    Url(String),
    /// The URL has credentials in it.
    #[error(
        "the url of [mcp.{0}] has credentials in it; use bearer_token_env, which names a variable"
    )]
    Credentials(String),
}

/// The servers of the configuration, with all they need from the environment.
///
/// # Errors
/// What is wrong with a section, and what to write instead.
pub(crate) fn servers(config: &Config) -> Result<Vec<ServerSettings>, ConfigError> {
    let sections = config.file.mcp.iter().filter(|(_, section)| section.enabled != Some(false));
    let sections: Vec<_> = sections.collect();
    if sections.len() > SERVERS {
        return Err(McpRefused::TooMany(sections.len()).into());
    }
    let mut names: BTreeMap<String, &String> = BTreeMap::new();
    for (name, _) in &sections {
        if let Some(other) = names.insert(name.to_lowercase(), name) {
            return Err(McpRefused::Alike(other.clone(), (*name).clone()).into());
        }
    }
    let servers = sections.into_iter().map(|(name, section)| {
        section.settings(name, &config.environment, &config.workspace).map_err(ConfigError::from)
    });
    servers.collect()
}

impl McpSection {
    fn settings(
        &self,
        name: &str,
        environment: &Environment,
        workspace: &Path,
    ) -> Result<ServerSettings, McpRefused> {
        let seconds = |set: Option<u64>, usual: u64| {
            Duration::from_secs(set.unwrap_or(usual).clamp(1, LONGEST_S))
        };
        let reach = match (&self.command, &self.url) {
            (Some(command), None) => self.command(name, command, environment, workspace)?,
            (None, Some(url)) => self.http(name, url, environment)?,
            _ => return Err(McpRefused::Reach(name.to_owned())),
        };
        Ok(ServerSettings {
            name: ServerName::new(name)?,
            reach,
            timeout: seconds(self.timeout_s, TIMEOUT_S),
            start_timeout: seconds(self.start_timeout_s, START_TIMEOUT_S),
            tools: self.tools.clone(),
            members: self.members.clone(),
            roles: self.roles.clone(),
            secrets: self.secrets(environment),
        })
    }

    fn command(
        &self,
        name: &str,
        command: &str,
        environment: &Environment,
        workspace: &Path,
    ) -> Result<Reach, McpRefused> {
        let stray = |key| McpRefused::Stray(name.to_owned(), key, "to a server that is started");
        if !self.headers.is_empty() {
            return Err(stray("headers"));
        }
        if self.bearer_token_env.is_some() {
            return Err(stray("bearer_token_env"));
        }
        // What commands of members may see, and what is asked for by name.
        let mut variables = WorkspaceSettings::allowed(environment.iter(), &[]).environment;
        variables.extend(self.env.clone());
        for variable in &self.env_from {
            variables.insert(variable.clone(), set(name, variable, environment)?.to_owned());
        }
        let secret = |(name, value): (String, String)| (name, SecretString::from(value));
        Ok(Reach::Command {
            program: command.to_owned(),
            arguments: self.args.clone(),
            environment: variables.into_iter().map(secret).collect(),
            directory: workspace.to_owned(),
        })
    }

    fn http(&self, name: &str, url: &str, environment: &Environment) -> Result<Reach, McpRefused> {
        let stray = |key| McpRefused::Stray(name.to_owned(), key, "to a server that has a url");
        for (given, key) in [
            (!self.args.is_empty(), "args"),
            (!self.env.is_empty(), "env"),
            (!self.env_from.is_empty(), "env_from"),
        ] {
            if given {
                return Err(stray(key));
            }
        }
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let Some(rest) = rest else { return Err(McpRefused::Url(name.to_owned())) };
        if rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
            return Err(McpRefused::Credentials(name.to_owned()));
        }
        let bearer = self.bearer_token_env.as_deref();
        let bearer = bearer.map(|variable| set(name, variable, environment)).transpose()?;
        let headers = self.headers.iter();
        Ok(Reach::Http {
            url: url.to_owned(),
            headers: headers
                .map(|(name, value)| (name.clone(), SecretString::from(value.clone())))
                .collect(),
            bearer: bearer.map(SecretString::from),
        })
    }

    /// What of its environment nobody may be shown.
    fn secrets(&self, environment: &Environment) -> Vec<SecretString> {
        let given = self.env.iter().filter(|(name, _)| looks_secret(name));
        let given = given.map(|(_, value)| value.clone());
        let taken = self.env_from.iter().filter_map(|name| environment.get(name));
        given.chain(taken.map(str::to_owned)).map(SecretString::from).collect()
    }
}

fn set<'a>(
    server: &str,
    variable: &str,
    environment: &'a Environment,
) -> Result<&'a str, McpRefused> {
    environment
        .get(variable)
        .ok_or_else(|| McpRefused::Unset(server.to_owned(), variable.to_owned()))
}
