//! `[permissions]`: what members may do, and what their commands may touch.

use super::Config;
use crate::args::PermissionArgs;
use longboat_core::permission::{Permissions, Policy, Rule, Unanswered, Unlisted};
use longboat_workspace::Confinement;
use serde::Deserialize;
use std::path::PathBuf;

/// The keys.
pub(super) const KEYS: &[&str] = &[
    "policy",
    "deny",
    "ask",
    "allow",
    "unlisted",
    "unanswered",
    "readable",
    "writable",
    "network",
];

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PermissionsSection {
    policy: Option<Policy>,
    deny: Vec<Rule>,
    ask: Vec<Rule>,
    allow: Vec<Rule>,
    unlisted: Option<Unlisted>,
    unanswered: Option<Unanswered>,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    network: Option<bool>,
}

/// What is permitted, the flags over the file. Where nothing is said, a question waits if somebody is
/// there to answer it.
pub(crate) fn permissions(config: &Config, args: PermissionArgs, answered: bool) -> Permissions {
    let set = &config.file.permissions;
    let usual = if answered { Unanswered::Wait } else { Unanswered::Deny };
    Permissions {
        policy: args.policy.map(Policy::from).or(set.policy).unwrap_or_default(),
        deny: set.deny.clone(),
        ask: set.ask.clone(),
        allow: set.allow.clone(),
        unlisted: if args.ask { Unlisted::Ask } else { set.unlisted.unwrap_or_default() },
        unanswered: args.unanswered.map(Unanswered::from).or(set.unanswered).unwrap_or(usual),
    }
}

/// What the system is to keep commands to; `None` for the policy under which it keeps them to
/// nothing.
pub(crate) fn confinement(config: &Config, policy: Policy) -> Option<Confinement> {
    if policy == Policy::Full {
        return None;
    }
    let set = &config.file.permissions;
    let home = config.environment.get("HOME").map(PathBuf::from);
    let at_home = |path: &PathBuf| match (path.strip_prefix("~"), &home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.clone(),
    };
    let mut readable: Vec<PathBuf> = set.readable.iter().map(at_home).collect();
    // What was too long to be shown is there.
    readable.push(config.spill());
    Some(Confinement {
        writes: policy == Policy::WorkspaceWrite,
        hidden: vec![config.store.clone()],
        readable,
        writable: set.writable.iter().map(at_home).collect(),
        network: set.network.unwrap_or(true),
        home,
    })
}

/// What a person should know of how commands are kept.
pub(crate) fn concerns(config: &Config, policy: Policy) -> Vec<String> {
    let mut concerns = Vec::new();
    if policy != Policy::Full && !Confinement::is_supported() {
        concerns.push(match policy {
            Policy::ReadOnly => "this kernel cannot confine commands (Landlock of Linux 6.2 or later), so bash is refused".to_owned(),
            Policy::WorkspaceWrite | Policy::Full => "this kernel cannot confine commands (Landlock of Linux 6.2 or later): bash can do whatever you can; with --ask you are asked first".to_owned(),
        });
    }
    let store = config.store.parent().and_then(|parent| parent.canonicalize().ok());
    if store.is_some_and(|store| store.starts_with(&config.workspace)) {
        concerns.push(format!(
            "the store {} lies in the workspace, where members can write: keep it elsewhere, or work in another directory",
            config.store.display()
        ));
    }
    concerns
}
