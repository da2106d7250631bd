//! One call of a server's tool: made in a task of its own, so that the server is told of a
//! cancellation even when whoever called is gone already.

use crate::connection::{Live, said};
use crate::keeper::Keeping;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, PingRequest, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long a request or a notification may take to be handed over to a server.
const HAND_OVER: Duration = Duration::from_secs(5);
/// How long a server that was too slow may take to show that it lives.
const PING: Duration = Duration::from_secs(5);
/// How long the reason of a broken connection may take to be known.
const REASON: Duration = Duration::from_secs(1);

/// Says why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failed {
    /// It was not made, or the server refused it.
    #[error("{0}")]
    Refused(String),
    /// It took too long, and the server was told to stop.
    #[error(
        "it did not answer within {} s and was told to stop; whether it had an effect is unknown, check before you call it again", .0.as_secs()
    )]
    TooSlow(Duration),
    /// The connection broke.
    #[error(
        "the connection to its server broke during the call: {0}; whether it had an effect is unknown, check before you call it again. The server is tried anew with the next call"
    )]
    Lost(String),
    /// Nobody waits for the result any more.
    #[error("it was interrupted, and the server was told to stop")]
    Interrupted,
}

/// A call, ready to be made.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) keeping: Keeping,
    pub(crate) live: Live,
    /// What the server calls the tool.
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) cancel: CancellationToken,
}

impl Call {
    /// Makes the call. Dropped early, it cancels it.
    pub(crate) async fn run(self) -> Result<ServerResult, Failed> {
        let supervisor = self.keeping.supervisor.clone();
        let (answer, answered) = oneshot::channel();
        supervisor.spawn(self.make(answer));
        let closing = || Failed::Lost("this process is about to end".to_owned());
        answered.await.unwrap_or_else(|_| Err(closing()))
    }

    async fn make(self, mut answer: oneshot::Sender<Result<ServerResult, Failed>>) {
        let params =
            CallToolRequestParams::new(self.tool.clone()).with_arguments(self.arguments.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent =
            self.live.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match timeout(HAND_OVER, sent).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(error)) => return drop(answer.send(Err(self.lost(&error).await))),
            Err(_) => {
                self.keeping.broken(self.live.generation).await;
                let failed = Failed::Refused("its server does not take calls".to_owned());
                return drop(answer.send(Err(failed)));
            }
        };
        let limit = self.keeping.settings.timeout;
        let result = tokio::select! {
            biased;
            () = self.keeping.supervisor.token().cancelled() => Err(Failed::Interrupted),
            () = self.cancel.cancelled() => Err(Failed::Interrupted),
            () = answer.closed() => Err(Failed::Interrupted),
            result = &mut handle.rx => match result {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(error)) => Err(self.failed(error).await),
                Err(_) => Err(self.lost(&ServiceError::TransportClosed).await),
            },
            () = sleep(limit) => Err(Failed::TooSlow(limit)),
        };
        let slow = matches!(result, Err(Failed::TooSlow(_)));
        let stop = slow || matches!(result, Err(Failed::Interrupted));
        // Whoever waits goes on at once; the server is told behind their back.
        drop(answer.send(result));
        if stop {
            cancel(&handle, if slow { "it took too long" } else { "it was interrupted" }).await;
        }
        if slow {
            self.probe().await;
        }
    }

    async fn failed(&self, error: ServiceError) -> Failed {
        match error {
            ServiceError::McpError(_) => {
                Failed::Refused(format!("its server refused the call: {}", said(&error)))
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                self.lost(&error).await
            }
            error => Failed::Refused(format!("its server answered amiss: {}", said(&error))),
        }
    }

    /// Has a broken connection closed, and says why it broke.
    async fn lost(&self, error: &ServiceError) -> Failed {
        self.keeping.broken(self.live.generation).await;
        let known = async {
            loop {
                if let Some(reason) = self.live.reason.get() {
                    break reason.clone();
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        let reason = timeout(REASON, known).await.unwrap_or_else(|_| said(error));
        Failed::Lost(self.keeping.settings.redacted(&reason))
    }

    /// Has a server that does not even answer a ping started anew with the next call.
    async fn probe(&self) {
        let ping = self.live.peer.send_request(ClientRequest::PingRequest(PingRequest::default()));
        let lives = match timeout(PING, ping).await {
            Ok(Ok(_) | Err(ServiceError::McpError(_))) => true,
            Ok(Err(_)) | Err(_) => false,
        };
        if !lives {
            self.keeping.broken(self.live.generation).await;
        }
    }
}

/// Tells a server that nobody waits for the result.
async fn cancel(handle: &RequestHandle<RoleClient>, reason: &str) {
    let id = Some(handle.id.clone());
    let params = CancelledNotificationParam::new(id, Some(reason.to_owned()));
    let told = handle.peer.send_notification(CancelledNotification::new(params).into());
    // A server that takes nothing in any more is none to tell.
    drop(timeout(HAND_OVER, told).await);
}
