//! A world, and its API on a listener.

use longboat_core::id::SessionId;
use longboat_http::{Access, App, Bounds, Scope, Setup};
use longboat_scripted::{Agent, Step};
use longboat_testkit::{Life, Logs, World};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) life: Life,
    pub(crate) app: App,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) client: reqwest::Client,
    serving: JoinSet<()>,
}

impl Place {
    pub(crate) async fn of(agents: Vec<Agent>) -> Self {
        Self::in_world(World::of(agents).await).await
    }

    pub(crate) async fn in_world(world: World) -> Self {
        Self::bounded(world, Bounds::default()).await
    }

    pub(crate) async fn bounded(world: World, bounds: Bounds) -> Self {
        let life = world.live();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let access = Access::new(address, false).unwrap();
        let token = access.token().expose_secret().to_owned();
        let setup = Setup {
            teams: life.teams.clone(),
            store: Arc::clone(&life.store) as Arc<dyn longboat_store::Store>,
            workspace: world.workspace().display().to_string(),
            default_model: Some("scripted".to_owned()),
            prices: longboat_core::price::Prices::default(),
            access,
            scope: Scope::All,
        };
        let app = App::new(setup);
        let router = longboat_http::router(app.clone(), longboat_http::pages());
        let mut serving = JoinSet::new();
        serving.spawn(longboat_http::serve(listener, router, bounds, app.ending().clone()));
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { world, life, app, address, token, client, serving }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request with the token.
    pub(crate) fn ask(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, self.url(path)).bearer_auth(&self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.ask("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        answer(self.ask("POST", path).json(&body)).await
    }

    /// Sends bytes as they are, and returns what comes back until the other side closes.
    pub(crate) async fn raw(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // Whoever refuses the beginning need not take, or wait for, the rest.
        stream.write_all(bytes.as_bytes()).await.ok();
        let mut back = Vec::new();
        stream.read_to_end(&mut back).await.ok();
        String::from_utf8_lossy(&back).into_owned()
    }

    /// Ends the process in good order.
    pub(crate) async fn end(self) {
        self.end_and(|_| ()).await;
    }

    /// Ends the process in good order, and looks at its logs.
    pub(crate) async fn end_and(mut self, look: impl FnOnce(Logs)) {
        self.app.ending().cancel();
        while self.serving.join_next().await.is_some() {}
        self.app.sessions().close_all().await;
        self.life.store.close().await;
        look(self.world.logs().await);
    }
}

pub(crate) async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

impl Place {
    /// Makes a run, and returns its session.
    pub(crate) async fn create(&self, prompt: &str) -> String {
        let body = json!({"prompt": prompt, "model": "chat"});
        let (status, team) = self.post("/api/v1/sessions", body).await;
        assert_eq!(status, 201, "{team}");
        team["id"].as_str().unwrap().to_owned()
    }

    /// Says something to a member.
    pub(crate) async fn say(&self, id: &str, member: &str, how: &str, text: &str) -> Value {
        let path = format!("/api/v1/sessions/{id}/members/{member}/{how}");
        let (status, taken) = self.post(&path, json!({"text": text})).await;
        assert_eq!(status, 202, "{taken}");
        taken
    }

    /// Waits until nothing moves any more.
    pub(crate) async fn rest(&self, id: &str) {
        let team = self.app.sessions().opened(&SessionId::new(id).unwrap()).unwrap();
        team.quiescent().await.unwrap();
    }

    /// Waits until so many streams of events are open.
    pub(crate) async fn streams_are(&self, wanted: usize) {
        while self.app.open_streams() != wanted {
            tokio::task::yield_now().await;
        }
    }

    /// How many records a team's logs have.
    pub(crate) async fn records(&self, id: &str) -> usize {
        let (_, page) = self.get("/api/v1/sessions").await;
        let sessions = page["sessions"].as_array().unwrap();
        let session = sessions.iter().find(|session| session["id"] == id).unwrap();
        session["records"].as_u64().unwrap() as usize
    }
}

pub(crate) fn spawn(name: &str) -> Step {
    let arguments = json!({"name": name, "description": "works", "prompt": "begin"});
    Step::call("spawn_teammate", arguments)
}

pub(crate) fn send(target: &str, message: &str) -> Step {
    Step::call("send_message", json!({"target": target, "message": message}))
}

pub(crate) fn wait() -> Step {
    Step::call("wait_agent", json!({}))
}

pub(crate) fn done() -> Step {
    Step::text("done")
}
