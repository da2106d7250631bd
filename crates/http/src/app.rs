//! What every handler shares.

use crate::access::{Access, Pace};
use crate::api::MailIndex;
use crate::pages::Watches;
use crate::sessions::{Scope, Sessions};
use longboat_core::price::Prices;
use longboat_engine::Teams;
use longboat_store::Store;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Event streams open at once. Each holds a page of records and a connection.
const EVENT_STREAMS: usize = 64;

/// What a process brings to serve its teams.
#[derive(Debug)]
pub struct Setup {
    /// Its teams.
    pub teams: Teams,
    /// The store it owns.
    pub store: Arc<dyn Store>,
    /// The directory in which new runs work.
    pub workspace: String,
    /// The model of a new run that names none.
    pub default_model: Option<String>,
    /// What models cost.
    pub prices: Prices,
    /// Who may come in.
    pub access: Access,
    /// Which teams may be opened.
    pub scope: Scope,
}

/// What every handler shares. Clones share the same.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    sessions: Sessions,
    workspace: String,
    default_model: Option<String>,
    prices: Arc<Prices>,
    access: Access,
    pace: Pace,
    mail: MailIndex,
    watches: Watches,
    streams: Arc<Semaphore>,
    ending: CancellationToken,
}

impl App {
    /// Joins the parts.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let Setup { teams, store, workspace, default_model, prices, access, scope } = setup;
        Self(Arc::new(Parts {
            sessions: Sessions::new(teams, store, scope),
            workspace,
            default_model,
            prices: Arc::new(prices),
            access,
            pace: Pace::default(),
            mail: MailIndex::default(),
            watches: Watches::default(),
            streams: Arc::new(Semaphore::new(EVENT_STREAMS)),
            ending: CancellationToken::new(),
        }))
    }

    /// The teams, open or not.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// Who may come in.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.0.access
    }

    /// Where new runs work.
    #[must_use]
    pub fn workspace(&self) -> &str {
        &self.0.workspace
    }

    /// The model of a new run that names none.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        self.0.default_model.as_deref()
    }

    /// What models cost.
    pub(crate) fn prices(&self) -> &Arc<Prices> {
        &self.0.prices
    }

    pub(crate) fn mail(&self) -> &MailIndex {
        &self.0.mail
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.0.pace
    }

    pub(crate) fn watches(&self) -> &Watches {
        &self.0.watches
    }

    /// A place for one event stream; `None` when all are taken.
    pub(crate) fn stream_place(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        Arc::clone(&self.0.streams).try_acquire_owned().ok()
    }

    /// How many event streams are open.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        EVENT_STREAMS - self.0.streams.available_permits()
    }

    /// Is cancelled when the process stops serving.
    #[must_use]
    pub fn ending(&self) -> &CancellationToken {
        &self.0.ending
    }
}
