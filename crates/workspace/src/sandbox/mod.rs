//! Keeps commands within the policy, by the kernel's own means (Landlock): nothing they start can
//! get out of it.
//!
//! A thread of its own confines itself and then starts the command, which inherits that; so nothing
//! else of this process is confined, and no code runs between fork and exec.

mod git;
mod paths;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use paths::Paths;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

/// The newest rules that are asked for; an older kernel keeps those it knows.
const NEWEST: ABI = ABI::V6;
/// The oldest that are worth the name: before it, files outside could be emptied.
const OLDEST: ABI = ABI::V3;

/// What commands may touch. Whatever is not named here can be read and run, and not written.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// Whether the workspace may be written, and the caches of package managers with it.
    pub writes: bool,
    /// The user's home, of which only the workspace and the tools that people install there can be
    /// read.
    pub home: Option<PathBuf>,
    /// What cannot be read: these, and what lies beside them under such a name with something added.
    pub hidden: Vec<PathBuf>,
    /// What can be read all the same.
    pub readable: Vec<PathBuf>,
    /// What can be written besides.
    pub writable: Vec<PathBuf>,
    /// Whether TCP may be used.
    pub network: bool,
}

impl Confinement {
    /// Says whether this kernel can confine commands.
    #[must_use]
    pub fn is_supported() -> bool {
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(OLDEST));
        rules.and_then(Ruleset::create).is_ok()
    }

    /// Starts a command that is kept to this.
    pub(crate) async fn start(
        &self,
        mut command: Command,
        cwd: &Path,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<Child> {
        let paths = Paths::of(self, cwd, environment);
        let network = self.network;
        let runtime = tokio::runtime::Handle::current();
        let (tell, told) = oneshot::channel();
        std::thread::Builder::new().name("longboat-confined".to_owned()).spawn(move || {
            let _entered = runtime.enter();
            // A child that nobody waits for any more is dropped, and ends by that.
            drop(tell.send(confine(&paths, network).and_then(|()| command.spawn())));
        })?;
        told.await.map_err(|_| io::Error::other("the thread that starts commands failed"))?
    }
}

/// What a superuser can do to processes outside that the rules do not speak of, such as reading
/// their memory and environment.
const CAPABILITIES: [CapabilitySet; 3] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::SYS_PTRACE, CapabilitySet::PERFMON];

/// Confines the calling thread, and everything it starts, for ever.
fn confine(paths: &Paths, network: bool) -> io::Result<()> {
    for capability in CAPABILITIES {
        // Who may not give one up is no superuser, and has none.
        remove_capability_from_bounding_set(capability).ok();
    }
    let status = restrict(paths, network).map_err(io::Error::other)?;
    match status {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(io::Error::other(
            "this kernel cannot confine commands; the policy \"full\" runs them without",
        )),
    }
}

fn restrict(paths: &Paths, network: bool) -> Result<RulesetStatus, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    // Terminals and other devices answer as ever; opening them is what is kept.
    let files = all & !BitFlags::from(AccessFs::IoctlDev);
    let mut rules = Ruleset::default().handle_access(files)?.scope(Scope::from_all(NEWEST))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let read = AccessFs::from_read(NEWEST);
    let rules = rules
        .create()?
        .add_rules(path_beneath_rules(&paths.read, read))?
        .add_rules(path_beneath_rules(&paths.write, files))?;
    Ok(rules.restrict_self()?.ruleset)
}
