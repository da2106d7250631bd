//! What a deployment may set.

use crate::sandbox::Confinement;
use std::collections::BTreeMap;
use std::time::Duration;

/// Settings of the workspace tools.
#[derive(Debug, Clone)]
pub struct WorkspaceSettings {
    /// The environment that commands get; see [`WorkspaceSettings::allowed`].
    pub environment: BTreeMap<String, String>,
    /// How long a command may run when the model does not say.
    pub bash_timeout: Duration,
    /// What the system keeps commands to; `None` for what the user can who started this.
    pub confinement: Option<Confinement>,
    /// Whose commands these are: what they left running is found again by it.
    pub tag: String,
}

/// Variables that commands may see, and beginnings of such.
const ALLOWED: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "PWD",
    "COLORTERM",
    "NO_COLOR",
];
const ALLOWED_BEGINNINGS: [&str; 5] = ["LC_", "CARGO_", "RUSTUP_", "NODE_", "XDG_"];
/// Leads to the services of the user's desktop, which can do whatever the user can.
const DESKTOP: &str = "XDG_RUNTIME_DIR";
/// Parts of names that are secrets, whatever else allows them.
const SECRET: [&str; 10] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "PRIVATE",
    "COOKIE",
    "AUTH",
];

impl WorkspaceSettings {
    /// The defaults, with what of `environment` commands may see: an allow-list, and `also`, which
    /// a person adds. What looks like a secret is never passed on.
    #[must_use]
    pub fn allowed(environment: impl Iterator<Item = (String, String)>, also: &[String]) -> Self {
        let environment =
            environment.filter(|(name, value)| may_see(name, also) && !has_credentials(value));
        let environment = environment.collect();
        Self {
            environment,
            bash_timeout: Duration::from_secs(120),
            confinement: None,
            tag: format!("process-{}", std::process::id()),
        }
    }
}

/// Says whether a variable of this name holds something that nobody is to be shown.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let upper = name.to_uppercase().replace("AUTHOR", "");
    SECRET.iter().any(|secret| upper.contains(secret))
}

fn may_see(name: &str, also: &[String]) -> bool {
    if looks_secret(name) {
        return false;
    }
    if name == DESKTOP {
        return also.iter().any(|also| also == name);
    }
    ALLOWED.contains(&name)
        || ALLOWED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || also.iter().any(|also| also == name)
}

/// Says whether a value is an address with a name or a password in it.
fn has_credentials(value: &str) -> bool {
    let mut rests = value.split("://").skip(1);
    rests.any(|rest| rest.split(['/', '?', '#']).next().is_some_and(|host| host.contains('@')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_unknown_variables_are_not_passed_on() {
        let all = [
            "XDG_RUNTIME_DIR",
            "PATH",
            "LC_ALL",
            "OPENAI_API_KEY",
            "CARGO_REGISTRY_TOKEN",
            "GIT_AUTHOR_NAME",
            "FOO",
            "BAR",
        ];
        let all = all.into_iter().map(|name| (name.to_owned(), "x".to_owned()));
        let proxy = ("PROXY".to_owned(), "http://me:pass@host:1/".to_owned());
        let also = ["FOO".to_owned(), "PROXY".to_owned(), "GIT_AUTHOR_NAME".to_owned()];
        let settings = WorkspaceSettings::allowed(all.chain([proxy]), &also);
        let names: Vec<&str> = settings.environment.keys().map(String::as_str).collect();
        assert_eq!(names, ["FOO", "GIT_AUTHOR_NAME", "LC_ALL", "PATH"]);
    }
}
