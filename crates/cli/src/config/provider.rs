//! Providers: those everybody has, those of the files, and the names of models at them.

use super::Environment;
use super::file::{ConfigError, ProviderSection};
use longboat_core::content::Wire;
use longboat_model::Endpoint;
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A provider of models.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    /// What it speaks.
    pub(crate) wire: Wire,
    /// Where it is.
    pub(crate) base_url: String,
    /// The variable with its key; `None` when it wants none.
    pub(crate) key_env: Option<String>,
    /// The key.
    pub(crate) key: Option<SecretString>,
    /// Beginnings of model names that are its, for names without a provider.
    beginnings: &'static [&'static str],
    /// The context window of its models, when nothing is set.
    context_tokens: Option<u64>,
    section: ProviderSection,
}

/// A model as people name it: `provider/model`, and `@URL` when it is somewhere else than usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelName {
    /// The provider.
    pub(crate) provider: String,
    /// The model's name there.
    pub(crate) model: String,
    /// The base URL, when it is not the provider's usual one.
    pub(crate) base_url: Option<String>,
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)?;
        match &self.base_url {
            Some(url) => write!(f, "@{url}"),
            None => Ok(()),
        }
    }
}

impl ModelName {
    /// Reads a name. One without a known provider goes to the provider whose models begin so.
    pub(crate) fn parse(
        text: &str,
        providers: &BTreeMap<String, Provider>,
    ) -> Result<Self, ConfigError> {
        let (name, base_url) = match text.find("@http") {
            Some(at) => (text.get(..at), text.get(at + 1..).map(str::to_owned)),
            None => (Some(text), None),
        };
        let name = name.unwrap_or_default();
        if let Some((provider, model)) = name.split_once('/')
            && providers.contains_key(provider)
            && !model.is_empty()
        {
            return Ok(Self { provider: provider.to_owned(), model: model.to_owned(), base_url });
        }
        let fits = |provider: &&Provider| {
            provider.beginnings.iter().any(|beginning| name.starts_with(beginning))
        };
        match providers.iter().find(|(_, provider)| fits(provider)) {
            Some((provider, _)) => {
                Ok(Self { provider: provider.clone(), model: name.to_owned(), base_url })
            }
            None => Err(ConfigError::UnknownProvider {
                model: text.to_owned(),
                known: providers.keys().cloned().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";
const DEEPSEEK: &str = "https://api.deepseek.com/v1";
const OPENROUTER: &str = "https://openrouter.ai/api/v1";

/// The providers that need no file.
pub(super) fn built_in(environment: &Environment) -> BTreeMap<String, Provider> {
    let with =
        |wire, base_url: &str, key: Option<&str>, beginnings: &'static [_], echo: bool| Provider {
            wire,
            base_url: base_url.to_owned(),
            key_env: key.map(str::to_owned),
            key: key.and_then(|key| environment.get(key)).map(SecretString::from),
            beginnings,
            // What its present models take.
            context_tokens: (wire == Wire::Anthropic).then_some(200_000),
            section: ProviderSection { echo_reasoning: Some(echo), ..ProviderSection::default() },
        };
    let openai: &[&str] = &["gpt-", "o1", "o3", "o4", "chatgpt-"];
    let (chat, responses) = (Wire::OpenaiChat, Wire::OpenaiResponses);
    let mut providers = BTreeMap::from([
        ("openai", with(chat, OPENAI, Some("OPENAI_API_KEY"), openai, false)),
        ("openai-responses", with(responses, OPENAI, Some("OPENAI_API_KEY"), &[], true)),
        (
            "anthropic",
            with(Wire::Anthropic, ANTHROPIC, Some("ANTHROPIC_API_KEY"), &["claude-"], false),
        ),
        ("deepseek", with(chat, DEEPSEEK, Some("DEEPSEEK_API_KEY"), &["deepseek-"], true)),
        ("openrouter", with(chat, OPENROUTER, Some("OPENROUTER_API_KEY"), &[], false)),
        ("ollama", with(chat, "http://127.0.0.1:11434/v1", None, &[], false)),
        ("llamacpp", with(chat, "http://127.0.0.1:8080/v1", None, &[], false)),
    ]);
    for (name, variable) in [
        ("openai", "OPENAI_BASE_URL"),
        ("openai-responses", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_BASE_URL"),
    ] {
        if let (Some(provider), Some(url)) = (providers.get_mut(name), environment.get(variable)) {
            url.clone_into(&mut provider.base_url);
        }
    }
    providers.into_iter().map(|(name, provider)| (name.to_owned(), provider)).collect()
}

impl ProviderSection {
    /// This section over what is known of the provider without it.
    pub(super) fn over(
        &self,
        name: &str,
        known: Option<Provider>,
        environment: &Environment,
    ) -> Result<Provider, ConfigError> {
        let missing = |what| ConfigError::Provider { provider: name.to_owned(), what };
        let context_tokens = known.as_ref().and_then(|known| known.context_tokens);
        let (wire, base_url, key_env, beginnings) = match known {
            Some(known) => {
                (Some(known.wire), Some(known.base_url), known.key_env, known.beginnings)
            }
            None => (None, None, None, [].as_slice()),
        };
        let key_env = self.api_key_env.clone().or(key_env);
        Ok(Provider {
            wire: self.wire.or(wire).ok_or_else(|| missing("wire"))?,
            base_url: self.base_url.clone().or(base_url).ok_or_else(|| missing("base_url"))?,
            key: key_env.as_deref().and_then(|key| environment.get(key)).map(SecretString::from),
            key_env,
            beginnings,
            context_tokens,
            section: self.clone(),
        })
    }
}

impl Provider {
    /// A provider for one run, that speaks a wire at a URL and wants no key.
    pub(crate) fn keyless(wire: Wire, base_url: String) -> Self {
        let section = ProviderSection::default();
        Self {
            wire,
            base_url,
            key_env: None,
            key: None,
            beginnings: &[],
            context_tokens: None,
            section,
        }
    }

    /// Where a model of this provider is. `None` when the provider wants a key and has none; at
    /// another URL than the provider's own the key is sent when there is one, and not needed.
    pub(crate) fn endpoint(&self, name: &ModelName) -> Option<Endpoint> {
        if self.key.is_none() && self.key_env.is_some() && name.base_url.is_none() {
            return None;
        }
        let base_url = name.base_url.as_ref().unwrap_or(&self.base_url);
        let mut endpoint = Endpoint::new(&name.provider, self.wire, base_url, &name.model);
        endpoint.key.clone_from(&self.key);
        if let Some(key_env) = &self.key_env {
            endpoint.key_name.clone_from(key_env);
        }
        let section = &self.section;
        endpoint.max_output_tokens = section.max_output_tokens;
        endpoint.reasoning_effort.clone_from(&section.reasoning_effort);
        endpoint.thinking_tokens = section.thinking_tokens;
        if let Some(tokens) = section.context_tokens.or(self.context_tokens) {
            endpoint.context_tokens = tokens;
        }
        endpoint.echo_reasoning = section.echo_reasoning.unwrap_or(false);
        endpoint.headers = section.headers.clone().into_iter().collect();
        if let Some(seconds) = section.idle_timeout_s {
            endpoint.idle_timeout = Duration::from_secs(seconds.max(1));
        }
        Some(endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(String, String, Option<String>)> {
        let providers = built_in(&Environment(BTreeMap::new()));
        let name = ModelName::parse(text, &providers).ok()?;
        Some((name.provider, name.model, name.base_url))
    }

    fn some(
        provider: &str,
        model: &str,
        url: Option<&str>,
    ) -> Option<(String, String, Option<String>)> {
        Some((provider.to_owned(), model.to_owned(), url.map(str::to_owned)))
    }

    #[test]
    fn names_are_read_with_and_without_their_provider() {
        assert_eq!(parsed("openai/gpt-5"), some("openai", "gpt-5", None));
        assert_eq!(parsed("claude-opus-4"), some("anthropic", "claude-opus-4", None));
        assert_eq!(parsed("deepseek-chat"), some("deepseek", "deepseek-chat", None));
        assert_eq!(
            parsed("openrouter/qwen/qwen3@http://127.0.0.1:1/v1"),
            some("openrouter", "qwen/qwen3", Some("http://127.0.0.1:1/v1"))
        );
        assert_eq!(parsed("unheard-of"), None);
        assert_eq!(parsed("nobody/x"), None);
    }

    #[test]
    fn a_name_is_the_same_after_it_was_written_down() {
        let providers = built_in(&Environment(BTreeMap::new()));
        let name = ModelName::parse("openai/a@http://127.0.0.1:1/v1", &providers).unwrap();
        assert_eq!(ModelName::parse(&name.to_string(), &providers).ok(), Some(name));
    }

    #[test]
    fn a_key_is_needed_at_the_providers_own_place_only() {
        let provider = &built_in(&Environment(BTreeMap::new()))["openai"];
        let name = |base_url: Option<&str>| ModelName {
            provider: "openai".to_owned(),
            model: "m".to_owned(),
            base_url: base_url.map(str::to_owned),
        };
        assert!(provider.endpoint(&name(None)).is_none());
        assert!(provider.endpoint(&name(Some("http://127.0.0.1:1/v1"))).is_some());
    }
}
