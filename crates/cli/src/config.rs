//! The configuration: defaults, the user's file, the project's file, the environment, flags; later
//! ones over earlier ones. This is the only place that reads the environment.

mod file;
mod mcp;
mod permissions;
mod provider;

pub(crate) use file::ConfigError;
pub(crate) use mcp::servers;
pub(crate) use permissions::{concerns, confinement, permissions};
pub(crate) use provider::{ModelName, Provider};

use crate::args::GlobalArgs;
use file::{ConfigFile, load};
use longboat_core::price::{Price, Prices};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What providers publish; see the file.
const PRICES: &str = include_str!("prices.toml");

/// The environment, read once.
#[derive(Debug, Clone)]
pub(crate) struct Environment(BTreeMap<String, String>);

/// All that is set.
#[derive(Debug)]
pub(crate) struct Config {
    /// The workspace, canonical.
    pub(crate) workspace: PathBuf,
    /// The store's file.
    pub(crate) store: PathBuf,
    /// Says whether the store is not the one this workspace has by default.
    pub(crate) store_is_given: bool,
    /// The environment.
    pub(crate) environment: Environment,
    /// The providers, by name.
    pub(crate) providers: BTreeMap<String, Provider>,
    /// The model to use when none is named, `provider/model`.
    pub(crate) default_model: Option<String>,
    /// What the files say, for the parts that take it from there.
    pub(crate) file: ConfigFile,
}

impl Environment {
    /// Reads it. Variables that are not text are passed over.
    pub(crate) fn read() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }

    /// A variable that is set to something.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// All of it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone()))
    }
}

impl Config {
    /// Reads everything that is set.
    pub(crate) fn read(global: &GlobalArgs) -> Result<Self, ConfigError> {
        let environment = Environment::read();
        let directory = global.directory.clone().unwrap_or_else(|| PathBuf::from("."));
        let workspace = directory.canonicalize().map_err(|source| ConfigError::Workspace {
            path: directory.display().to_string(),
            source,
        })?;
        let mut file = ConfigFile::default();
        for (path, trusted) in files(global, &environment, &workspace) {
            let set = load(&path)?;
            if !trusted && !set.providers.is_empty() {
                return Err(ConfigError::ProjectProviders { path: path.display().to_string() });
            }
            if !trusted && !set.mcp.is_empty() {
                return Err(ConfigError::ProjectServers { path: path.display().to_string() });
            }
            if !trusted && set.permissions != Default::default() {
                return Err(ConfigError::ProjectPermissions { path: path.display().to_string() });
            }
            file = file.under(set);
        }
        let given = global.store.clone();
        let store_is_given = given.is_some();
        let store = match given {
            Some(store) => store,
            None => default_store(&environment, &workspace)?,
        };
        let mut providers = provider::built_in(&environment);
        for (name, set) in &file.providers {
            let known = providers.remove(name);
            let merged = set.over(name, known, &environment)?;
            providers.insert(name.clone(), merged);
        }
        let default_model =
            environment.get("LONGBOAT_MODEL").map(str::to_owned).or(file.model.default.clone());
        Ok(Self { workspace, store, store_is_given, environment, providers, default_model, file })
    }

    /// Where a model is.
    pub(crate) fn base_url(&self, name: &ModelName) -> Option<String> {
        let usual = || self.providers.get(&name.provider).map(|provider| provider.base_url.clone());
        name.base_url.clone().or_else(usual)
    }

    /// What models cost: the user's prices before the published ones.
    pub(crate) fn prices(&self) -> Prices {
        #[expect(
            clippy::expect_used,
            reason = "the list is part of the program, and a test reads it"
        )]
        let published: BTreeMap<String, BTreeMap<String, Price>> =
            toml::from_str(PRICES).expect("the published prices");
        let published = published.into_values().flatten();
        Prices::new(published.chain(self.file.prices.clone()).collect())
    }

    /// Where output that is too long goes: beside the store.
    pub(crate) fn spill(&self) -> PathBuf {
        self.store.with_extension("spill")
    }

    /// Where members have their git worktrees: beside the store.
    pub(crate) fn worktrees(&self) -> PathBuf {
        self.store.with_extension("worktrees")
    }

    /// What to add to a command line so that it uses this store.
    pub(crate) fn store_flag(&self) -> String {
        if self.store_is_given {
            format!(" --store {}", self.store.display())
        } else {
            String::new()
        }
    }
}

/// The configuration files, the weakest first, and whether the user wrote them: a checkout's own may
/// come from anybody, so it cannot say where keys are sent or which
/// servers are started.
fn files(global: &GlobalArgs, environment: &Environment, workspace: &Path) -> Vec<(PathBuf, bool)> {
    if let Some(only) = &global.config {
        return vec![(only.clone(), true)];
    }
    let home = environment.get("HOME").map(PathBuf::from);
    let user = environment
        .get("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".config")))
        .map(|base| base.join("longboat/longboat.toml"));
    let project = workspace
        .ancestors()
        .take_while(|directory| Some(*directory) != home.as_deref())
        .map(|directory| directory.join("longboat.toml"))
        .find(|path| path.symlink_metadata().is_ok());
    let user = user.into_iter().filter(|path| path.symlink_metadata().is_ok());
    let user = user.map(|path| (path, true));
    user.chain(project.map(|path| (path, false))).collect()
}

/// The store of a workspace: outside of it, so that no agent's tool reaches it.
fn default_store(environment: &Environment, workspace: &Path) -> Result<PathBuf, ConfigError> {
    let base = environment
        .get("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| environment.get("HOME").map(|home| Path::new(home).join(".local/share")))
        .ok_or(ConfigError::NoHome)?;
    let name = workspace.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let slug: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let hash = fnv(workspace.to_string_lossy().as_bytes());
    Ok(base.join(format!("longboat/projects/{slug}-{hash:08x}/longboat.db")))
}

/// FNV-1a, 32 bits: a name for a path that is the same in every build (RFC draft eastlake-fnv).
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_prices_are_prices() {
        let read: BTreeMap<String, BTreeMap<String, Price>> = toml::from_str(PRICES).unwrap();
        assert!(read.values().flatten().all(|(_, price)| price.is_valid()));
    }
}
