//! What a person says of a server: how it is reached, and who may use what of it.

use longboat_core::id::MemberName;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Characters of a server's name: the rest of a tool's name must have room behind it.
pub const NAME_CHARS: usize = 24;

/// The name of a server: letters, digits, and single `-` or `_` between them. What a tool is called
/// by models begins with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

/// Says what a server's name must look like.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "an MCP server cannot be named {name:?}: use at most {NAME_CHARS} letters and digits, with single - or _ between them"
)]
pub struct NameRefused {
    /// What was given.
    pub name: String,
}

impl ServerName {
    /// Takes a name that is well formed.
    ///
    /// # Errors
    /// [`NameRefused`] when it is not.
    pub fn new(name: impl Into<String>) -> Result<Self, NameRefused> {
        let name = name.into();
        let parts_are_good = name.split(['-', '_']).all(|part| {
            !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric())
        });
        if parts_are_good && name.len() <= NAME_CHARS {
            Ok(Self(name))
        } else {
            Err(NameRefused { name })
        }
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// It is started here and speaks over its standard input and output.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// All of its environment.
        environment: BTreeMap<String, SecretString>,
        /// Where it runs.
        directory: PathBuf,
    },
    /// It runs somewhere and speaks streamable HTTP.
    Http {
        /// Its endpoint, `http://` or `https://`.
        url: String,
        /// Headers that every request has.
        headers: BTreeMap<String, SecretString>,
        /// The token that every request has.
        bearer: Option<SecretString>,
    },
}

/// One server, and who may use what of it.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// What it is called here.
    pub name: ServerName,
    /// How it is reached.
    pub reach: Reach,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long it may take to start and to list its tools.
    pub start_timeout: Duration,
    /// The tools to offer, by the server's own names; all when `None`.
    pub tools: Option<BTreeSet<String>>,
    /// The members that are offered them, by name.
    pub members: Option<BTreeSet<String>>,
    /// The roles whose members are offered them.
    pub roles: Option<BTreeSet<String>>,
    /// What nobody may be shown, besides what [`Reach`] holds: it is cut out of what the server
    /// writes on its standard error before anybody sees it.
    pub secrets: Vec<SecretString>,
}

impl ServerSettings {
    /// Whether a new member is offered the server's tools: everybody when nothing is said, and else
    /// whoever is named or has a role that is.
    #[must_use]
    pub fn serves(&self, member: &MemberName, role: Option<&str>) -> bool {
        if self.members.is_none() && self.roles.is_none() {
            return true;
        }
        let named = self.members.as_ref().is_some_and(|names| names.contains(member.as_str()));
        let roles = self.roles.as_ref();
        named || role.is_some_and(|role| roles.is_some_and(|roles| roles.contains(role)))
    }

    /// The text without any of the server's secrets.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let bearer = match &self.reach {
            Reach::Command { .. } => None,
            Reach::Http { bearer, .. } => bearer.as_ref(),
        };
        let headers = match &self.reach {
            Reach::Command { .. } => None,
            Reach::Http { headers, .. } => Some(headers.values()),
        };
        let secrets = self.secrets.iter().chain(bearer).chain(headers.into_iter().flatten());
        let mut text = text.to_owned();
        // Some put their keys there.
        if let Reach::Http { url, .. } = &self.reach
            && let Some((_, query)) = url.split_once('?')
            && !query.is_empty()
        {
            text = text.replace(query, "[…]");
        }
        for secret in secrets.map(ExposeSecret::expose_secret) {
            // A word this short would take innocent ones with it.
            if secret.len() >= 4 {
                text = text.replace(secret, "[secret]");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_all_kinds_are_cut_out_of_what_is_said() {
        let secret = |text: &str| SecretString::from(text.to_owned());
        let mut settings = ServerSettings {
            name: ServerName::new("a").unwrap(),
            reach: Reach::Http {
                url: "https://x.example/mcp?key=abc123".to_owned(),
                headers: BTreeMap::from([("X-Key".to_owned(), secret("header-secret"))]),
                bearer: Some(secret("bearer-secret")),
            },
            timeout: Duration::ZERO,
            start_timeout: Duration::ZERO,
            tools: None,
            members: None,
            roles: None,
            secrets: vec![secret("other-secret"), secret("1")],
        };
        let said = "https://x.example/mcp?key=abc123 header-secret bearer-secret other-secret 1";
        assert_eq!(
            settings.redacted(said),
            "https://x.example/mcp?[…] [secret] [secret] [secret] 1"
        );
        assert!(!format!("{settings:?}").contains("-secret"), "nor when it is printed whole");
        settings.reach = Reach::Http {
            url: "https://x.example/mcp?".to_owned(),
            headers: BTreeMap::new(),
            bearer: None,
        };
        assert_eq!(settings.redacted("as it is"), "as it is");
    }

    #[test]
    fn a_servers_name_never_blurs_with_its_tools() {
        for name in ["docs", "my-server", "my_server2", "A1"] {
            assert!(ServerName::new(name).is_ok(), "{name}");
        }
        let long = "a".repeat(25);
        for name in ["", "a__b", "_a", "a_", "a-", "a.b", "grüße", "a b", long.as_str()] {
            assert!(ServerName::new(name).is_err(), "{name}");
        }
    }
}
