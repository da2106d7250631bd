//! The API: one file a noun. Its description is made from the routes and types, so neither can be
//! without the other.

mod events;
mod extract;
mod input;
mod messages;
mod position;
mod questions;
mod records;
mod sessions;
mod tasks;
mod team;
mod when;

pub(crate) use extract::{lead, member};
pub(crate) use messages::MailIndex;
pub(crate) use sessions::page as sessions_page;

use crate::app::App;
use axum::Router;
use axum::http::header;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What all its paths begin with.
pub(crate) const PREFIX: &str = "/api/v1";
/// Where it is described.
const DOCUMENT: &str = "/api/v1/openapi.json";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Longboat",
        description = "Teams of language-model agents: what they do, and what a person says to them. \
                       A person is the only one who speaks here; no field names a sender.",
    ),
    servers((url = "/api/v1")),
    security(("token" = [])),
)]
struct Description;

/// The routes below the prefix, and their description as JSON.
pub(crate) fn routes() -> (Router<App>, String) {
    let (router, mut document) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(sessions::list, team::create))
        .routes(routes!(team::get))
        .routes(routes!(team::resume))
        .routes(routes!(team::close))
        .routes(routes!(events::follow))
        .routes(routes!(messages::list))
        .routes(routes!(tasks::list, tasks::create))
        .routes(routes!(tasks::get, tasks::update))
        .routes(routes!(records::list))
        .routes(routes!(input::prompt))
        .routes(routes!(input::steer))
        .routes(routes!(input::interrupt))
        .routes(routes!(questions::answer))
        .split_for_parts();
    let token = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    document.components.get_or_insert_default().add_security_scheme("token", token);
    (router, document.to_json().unwrap_or_default())
}

/// Serves the description.
pub(crate) fn document(json: &str) -> Router<App> {
    let json = json.to_owned();
    let serve = move || async move { ([(header::CONTENT_TYPE, "application/json")], json) };
    Router::new().route(DOCUMENT, get(serve))
}
