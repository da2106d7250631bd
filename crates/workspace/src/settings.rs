//! What a deployment may set.

use std::collections::BTreeMap;
use std::time::Duration;

/// Settings of the workspace tools.
#[derive(Debug, Clone)]
pub struct WorkspaceSettings {
    /// The environment that commands get; see [`WorkspaceSettings::allowed`].
    pub environment: BTreeMap<String, String>,
    /// How long a command may run when the model does not say.
    pub bash_timeout: Duration,
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
/// Parts of names that are secrets, whatever else allows them.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

impl WorkspaceSettings {
    /// The defaults, with what of `environment` commands may see: an allow-list, and `also`, which
    /// a person adds. What looks like a secret is never passed on.
    #[must_use]
    pub fn allowed(environment: impl Iterator<Item = (String, String)>, also: &[String]) -> Self {
        let environment = environment.filter(|(name, _)| may_see(name, also)).collect();
        Self { environment, bash_timeout: Duration::from_secs(120) }
    }
}

fn may_see(name: &str, also: &[String]) -> bool {
    let upper = name.to_uppercase();
    if SECRET.iter().any(|secret| upper.contains(secret)) {
        return false;
    }
    ALLOWED.contains(&name)
        || ALLOWED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || also.iter().any(|also| also == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_unknown_variables_are_not_passed_on() {
        let all = ["PATH", "LC_ALL", "OPENAI_API_KEY", "CARGO_REGISTRY_TOKEN", "FOO", "BAR"];
        let all = all.into_iter().map(|name| (name.to_owned(), "x".to_owned()));
        let settings = WorkspaceSettings::allowed(all, &["FOO".to_owned()]);
        let names: Vec<&str> = settings.environment.keys().map(String::as_str).collect();
        assert_eq!(names, ["FOO", "LC_ALL", "PATH"]);
    }
}
