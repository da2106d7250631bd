//! The way in to a process that holds a store: it serves the API, and leaves a note beside the store
//! that says where, for the commands of the same user.

use crate::assemble::Assembly;
use crate::config::Config;
use crate::exit::CommandError;
use crate::note::{Note, cookie_of_the_dead};
use longboat_engine::TeamHandle;
use longboat_http::{Access, App, Bounds, Scope, Setup, pages, router, serve};
use longboat_store::Store;
use secrecy::{ExposeSecret, SecretString};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Where a process listens that was told nothing: on this machine alone, at any port.
pub(crate) const ANYWHERE_HERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Who may come in, to what.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    /// Where to listen.
    pub(crate) listen: SocketAddr,
    /// Says whether others than this machine may.
    pub(crate) remote: bool,
    /// Which teams may be opened.
    pub(crate) scope: Scope,
    /// The model of a new run that names none.
    pub(crate) model: Option<String>,
}

/// The open door of a process.
#[derive(Debug)]
pub(crate) struct Door {
    app: App,
    note: Option<Note>,
    serving: JoinSet<()>,
}

impl Door {
    /// Begins to serve.
    pub(crate) async fn open(
        config: &Config,
        assembly: &Assembly,
        opening: Opening,
    ) -> Result<Self, CommandError> {
        let Opening { listen, remote, scope, model } = opening;
        let failed = |source| CommandError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut access = Access::new(address, remote)?;
        // The store is held by now, so whoever left a note there is gone.
        if let Some(cookie) = cookie_of_the_dead(assembly.store.path(), address) {
            access.keep_cookie(cookie);
        }
        let note = Note::leave(assembly.store.path(), &access);
        let app = App::new(Setup {
            teams: assembly.teams.clone(),
            store: Arc::clone(&assembly.store) as Arc<dyn Store>,
            workspace: config.workspace.display().to_string(),
            default_model: model,
            prices: config.prices(),
            access,
            scope,
        });
        let router = router(app.clone(), pages());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, router, Bounds::default(), app.ending().clone()));
        let note = note.map_err(|source| CommandError::Io {
            doing: "leaving a note beside the store for other commands",
            source,
        })?;
        Ok(Self { app, note: Some(note), serving })
    }

    /// Begins to serve what a run does; a run that cannot be reached is a run all the same, and says
    /// why.
    pub(crate) async fn of_run(
        config: &Config,
        assembly: &Assembly,
        team: &TeamHandle,
    ) -> Result<Self, String> {
        let (listen, scope) = (ANYWHERE_HERE, Scope::OwnRun);
        let opening = Opening { listen, remote: false, scope, model: None };
        match Self::open(config, assembly, opening).await {
            Ok(door) => {
                door.app.sessions().adopt(team.clone());
                Ok(door)
            }
            Err(error) => Err(format!("no other command can reach this run: {error}")),
        }
    }

    /// The address for a person's browser, with the token.
    pub(crate) fn url(&self) -> SecretString {
        self.app.access().url()
    }

    /// Says where to look at a team with a browser.
    pub(crate) fn page_of(&self, team: &TeamHandle) -> String {
        let url = self.url();
        let url = url.expose_secret();
        match url.split_once("/?") {
            Some((address, query)) => format!("{address}/sessions/{}?{query}", team.team()),
            None => url.to_owned(),
        }
    }

    /// Lets nobody in any more, and takes every team out of memory.
    pub(crate) async fn close(mut self) {
        drop(self.note.take());
        self.app.ending().cancel();
        while self.serving.join_next().await.is_some() {}
        self.app.sessions().close_all().await;
    }
}

/// Reads where to listen: a port of this machine, or an address with one.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| "it has to be PORT or ADDRESS:PORT, such as 127.0.0.1:8700".to_owned())
}

/// Says that an address is taken, in words.
pub(crate) fn why_not(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "; choose another port with --listen, or 0 for any",
        _ => "",
    }
}
