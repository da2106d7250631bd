//! Speaking to the process that holds the store, on behalf of a second one.

use crate::config::Config;
use crate::exit::{CommandError, UsageError};
use crate::note::{Note, Reach};
use longboat_core::id::SessionId;
use longboat_store::SqliteStore;
use reqwest::{Method, Response};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// How long an answer may take: a member may have to be brought back for it.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// The process that holds the store.
#[derive(Debug)]
pub(crate) struct Holding {
    reach: Reach,
    client: reqwest::Client,
}

/// What the holder refuses, in its words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HoldingError {
    /// It answered with a problem.
    #[error("{detail}")]
    Problem {
        /// The status code.
        status: u16,
        /// Its words.
        detail: String,
    },
    /// It did not answer.
    #[error("the process that holds the store does not answer: {cause}")]
    Silent {
        /// What the system said.
        cause: String,
    },
    /// It answered something else.
    #[error(
        "the process that holds the store answers what cannot be understood ({cause}); it may be of another version"
    )]
    Strange {
        /// What is wrong.
        cause: String,
    },
}

impl Holding {
    /// The process that holds the store. `wanted` says what cannot be done without one.
    pub(crate) fn of(config: &Config, wanted: &'static str) -> Result<Self, CommandError> {
        let mute = || {
            let store = config.store.display().to_string();
            CommandError::Usage(match SqliteStore::holder(&config.store) {
                Some(holder) => UsageError::HolderMute { store, holder: holder.to_string() },
                None => UsageError::NobodyHolds { wanted, store, flag: config.store_flag() },
            })
        };
        let reach = Note::read(&config.store).ok_or_else(mute)?;
        // Nothing on the way to this machine itself.
        let client =
            reqwest::Client::builder().no_proxy().build().map_err(|error| silent(&error))?;
        Ok(Self { reach, client })
    }

    /// Asks, and reads the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, HoldingError> {
        let mut request = self.request(method, path).timeout(ANSWER_WITHIN);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| silent(&error))?;
        let response = refused(response).await?;
        let text = response.text().await.map_err(|error| silent(&error))?;
        serde_json::from_str(&text)
            .map_err(|error| HoldingError::Strange { cause: error.to_string() })
    }

    /// Opens the stream of a team's events, after an id.
    pub(crate) async fn events(
        &self,
        session: &SessionId,
        after: Option<&str>,
    ) -> Result<Response, HoldingError> {
        let mut request = self.request(Method::GET, &format!("/sessions/{session}/events"));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        refused(request.send().await.map_err(|error| silent(&error))?).await
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("http://{}/api/v1{path}", self.reach.address);
        self.client.request(method, url).bearer_auth(self.reach.token.expose_secret())
    }

    /// The session a person means: the one that is named, or the one at work, or the latest.
    pub(crate) async fn session(
        &self,
        config: &Config,
        asked: Option<&str>,
    ) -> Result<SessionId, CommandError> {
        if asked.is_none()
            && let Some(one) = self.only_open().await?
        {
            return Ok(one);
        }
        let store = SqliteStore::open_read_only(&config.store)?;
        let asked = asked.unwrap_or("latest");
        let session = crate::commands::resume::pick(&store, asked, config).await;
        store.close().await;
        Ok(crate::commands::resume::lead_of(&session?))
    }

    /// The one session in the holder's memory, when there is just one.
    async fn only_open(&self) -> Result<Option<SessionId>, HoldingError> {
        let page: Value = self.ask(Method::GET, "/sessions?limit=200", None).await?;
        let sessions = page.get("sessions").and_then(Value::as_array);
        let open = |session: &&Value| session.get("open") == Some(&Value::Bool(true));
        let mut open = sessions.into_iter().flatten().filter(open);
        let first = open.next().and_then(|session| session.get("id")?.as_str());
        let first = first.and_then(|id| SessionId::new(id).ok());
        Ok(first.filter(|_| open.next().is_none()))
    }
}

fn silent(error: &reqwest::Error) -> HoldingError {
    // The address has no secrets in it, and says nothing to a person.
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    HoldingError::Silent { cause: deepest.to_string() }
}

async fn refused(response: Response) -> Result<Response, HoldingError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = response.text().await.unwrap_or_default();
    let problem: Value = serde_json::from_str(&text).unwrap_or_default();
    let detail = problem.get("detail").and_then(Value::as_str).map(str::to_owned);
    let detail = detail.unwrap_or_else(|| status.to_string());
    Err(HoldingError::Problem { status: status.as_u16(), detail })
}
