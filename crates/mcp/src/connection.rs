//! A connection to a server: made, its tools listed, and closed.

use crate::line_bound::{LineBound, MESSAGE_BYTES};
use crate::offer::{Offer, shortened};
use crate::process::Process;
use crate::settings::{Reach, ServerSettings};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use longboat_engine::Supervisor;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams, Tool};
use rmcp::service::{
    ClientInitializeError, Peer, RoleClient, RunningService, RunningServiceCancellationToken,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::timeout;

/// Pages of a list of tools, and tools in it: a server with more is broken.
const PAGES: usize = 64;
const LISTED: usize = 1_024;
/// How long leaving may take a server that is reached over HTTP.
const LEAVING: Duration = Duration::from_secs(2);
/// Bytes of what a server says of an error that are told.
pub(crate) const ERROR_BYTES: usize = 2_048;
/// What is said when nothing more is known.
const CLOSED: &str = "it closed the connection";
/// What is said when a server lets nobody in without a token.
const CLOSED_TO_US: &str =
    "it does not let us in: set bearer_token_env to a variable with a token that it takes";
/// How long a server over HTTP may take to take a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// What calls need of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) offer: Arc<Offer>,
    /// Tells one connection from the next.
    pub(crate) generation: u64,
    /// Why it broke, when that is known.
    pub(crate) reason: Arc<OnceLock<String>>,
}

/// An open connection.
pub(crate) struct Connection {
    pub(crate) live: Live,
    /// Ready when the session is over, however often it is asked.
    running: Shared<BoxFuture<'static, ()>>,
    stop: RunningServiceCancellationToken,
    process: Option<Process>,
}

type Session = RunningService<RoleClient, ClientConfig>;

impl Connection {
    /// Starts or reaches a server and lists its tools, in the time that its settings allow.
    ///
    /// # Errors
    /// Why it cannot be used, for people and models.
    pub(crate) async fn open(
        settings: &Arc<ServerSettings>,
        supervisor: &Supervisor,
        generation: u64,
    ) -> Result<Self, String> {
        let within = settings.start_timeout;
        let reason = Arc::new(OnceLock::new());
        let mut process = None;
        let opened = async {
            let session = match &settings.reach {
                Reach::Command { program, arguments, environment, directory } => {
                    let started = Process::start(
                        settings,
                        program,
                        arguments,
                        environment,
                        directory,
                        supervisor,
                    );
                    let (started, pipes) =
                        started.map_err(|error| format!("{program} cannot be started: {error}"))?;
                    process = Some(started);
                    let output = LineBound::new(pipes.output, Arc::clone(&reason));
                    let transport = AsyncRwTransport::new_client(output, pipes.input)
                        .with_max_line_length(MESSAGE_BYTES * 2);
                    Box::pin(rmcp::serve_client(introduction(), transport)).await
                }
                Reach::Http { url, headers, bearer } => {
                    let transport = http(url, headers, bearer.as_ref())?;
                    Box::pin(rmcp::serve_client(introduction(), transport)).await
                }
            };
            let session = session?;
            let tools = list(session.peer()).await?;
            Ok((session, tools))
        };
        let opened: Result<(Session, Vec<Tool>), Unready> = match timeout(within, opened).await {
            Ok(opened) => opened,
            Err(_) => Err(format!("it was not ready within {} s", within.as_secs()).into()),
        };
        match opened {
            Ok((session, tools)) => {
                let offer = Arc::new(Offer::of(settings, tools));
                let live = Live { peer: session.peer().clone(), offer, generation, reason };
                Ok(Self::running(live, session, process))
            }
            Err(problem) => Err(settings.redacted(&post_mortem(problem, &reason, process).await)),
        }
    }

    fn running(live: Live, session: Session, process: Option<Process>) -> Self {
        let stop = session.cancellation_token();
        let running = async move { drop(session.waiting().await) }.boxed().shared();
        Self { live, running, stop, process }
    }

    /// Waits until the server is gone.
    pub(crate) async fn ended(&mut self) {
        match &mut self.process {
            None => self.running.clone().await,
            Some(process) => tokio::select! {
                () = self.running.clone() => {}
                () = process.exited() => {}
            },
        }
    }

    /// Closes it and ends what was started for it. Returns how the server ended, when it did so by
    /// itself.
    pub(crate) async fn close(self, gone: bool) -> String {
        let Self { live, running, stop, mut process } = self;
        let mut obituary = String::new();
        if let (true, Some(process)) = (gone, &mut process) {
            obituary = process.obituary().await.unwrap_or_else(|| CLOSED.to_owned());
        }
        stop.cancel();
        drop(timeout(LEAVING, running).await);
        if let Some(process) = process {
            process.end().await;
        }
        live.reason.get().cloned().unwrap_or(obituary)
    }
}

/// Why a server is not ready.
struct Unready {
    text: String,
    /// The connection broke: how the server ended says more.
    broken: bool,
}

impl From<String> for Unready {
    fn from(text: String) -> Self {
        Self { text, broken: false }
    }
}

impl From<ClientInitializeError> for Unready {
    fn from(error: ClientInitializeError) -> Self {
        let broken = matches!(
            error,
            ClientInitializeError::TransportError { .. }
                | ClientInitializeError::ConnectionClosed(_)
        );
        let text = match &error {
            error if error.is_authorization_required() => CLOSED_TO_US.to_owned(),
            ClientInitializeError::TransportError { error, .. } => told(error.error.as_ref()),
            ClientInitializeError::ConnectionClosed(_) => CLOSED.to_owned(),
            ClientInitializeError::JsonRpcError(error) => {
                format!("it refused the session: {}", shortened(&error.message, ERROR_BYTES))
            }
            error => told(error),
        };
        Self { text, broken }
    }
}

impl From<ServiceError> for Unready {
    fn from(error: ServiceError) -> Self {
        let broken =
            matches!(error, ServiceError::TransportSend(_) | ServiceError::TransportClosed);
        Self { text: format!("its tools cannot be listed: {}", said(&error)), broken }
    }
}

/// What a failed start is told as, after what was started has been ended.
async fn post_mortem(
    unready: Unready,
    reason: &OnceLock<String>,
    process: Option<Process>,
) -> String {
    let Unready { mut text, broken } = unready;
    if let Some(mut process) = process {
        if broken {
            text = process.obituary().await.unwrap_or(text);
        }
        process.end().await;
    }
    reason.get().cloned().unwrap_or(text)
}

fn introduction() -> ClientConfig {
    let this = Implementation::new("longboat", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), this)
}

fn http(
    url: &str,
    headers: &BTreeMap<String, SecretString>,
    bearer: Option<&SecretString>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // A redirect could take headers with secrets to somebody else.
    let client = reqwest::Client::builder()
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| format!("no HTTP client can be made: {}", told(&error)))?;
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let header = HeaderName::try_from(name.as_str());
        let header = header.map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::try_from(value.expose_secret())
            .map_err(|_| format!("the value of the header {name:?} cannot be sent"))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .max_sse_event_size(MESSAGE_BYTES)
        .max_json_response_size(MESSAGE_BYTES)
        .max_error_response_size(ERROR_BYTES);
    if let Some(bearer) = bearer {
        config = config.auth_header(bearer.expose_secret());
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// All tools of a server. The library's own way follows a list that never ends.
async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, Unready> {
    let offers = peer.peer_info().is_some_and(|server| server.capabilities.tools.is_some());
    if !offers {
        return Err("it offers no tools".to_owned().into());
    }
    let mut tools: Vec<Tool> = Vec::new();
    let mut page = None;
    for _ in 0..PAGES {
        let listed = peer.list_tools(page).await?;
        tools.extend(listed.tools);
        match listed.next_cursor {
            Some(cursor) if tools.len() <= LISTED => {
                page = Some(PaginatedRequestParams::default().with_cursor(Some(cursor)));
            }
            Some(_) => break,
            None => return Ok(tools),
        }
    }
    Err(format!("it lists more than {LISTED} tools, or more than {PAGES} pages of them").into())
}

/// What a request came to, in words.
pub(crate) fn said(error: &ServiceError) -> String {
    match error {
        error if error.is_authorization_required() => CLOSED_TO_US.to_owned(),
        ServiceError::McpError(error) => shortened(&error.message, ERROR_BYTES),
        ServiceError::TransportSend(error) => told(error.error.as_ref()),
        ServiceError::TransportClosed => CLOSED.to_owned(),
        error => told(error),
    }
}

/// An error with its causes.
pub(crate) fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    shortened(&text, ERROR_BYTES)
}
