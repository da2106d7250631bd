//! The way in over HTTP: it translates for people and programs outside what the engine understands,
//! and lets nobody in who does not hold the token of this process.
//!
//! [`router`] joins the API under `/api/v1` with pages of somebody else's making, and puts the same
//! doors before both; [`serve`] runs it on a listener. What handlers share is an [`App`].

mod access;
mod api;
mod app;
mod feed;
mod impatient;
mod pages;
mod problem;
mod serve;
mod sessions;

pub use access::{Access, NotLoopback};
pub use app::{App, Setup};
pub use pages::pages;
pub use problem::Problem;
pub use serve::{Bounds, serve};
pub use sessions::{Scope, Sessions};

use axum::Router;
use axum::middleware::from_fn_with_state;

/// The most bytes of a request's body: a prompt of the longest kind, with every character escaped.
const BODY_BYTES: usize = 2 * 1_048_576;

/// Joins the API and the pages, behind the same doors.
// Layers run from the last to the first: headers are put on every answer, refusals among them.
pub fn router(app: App, pages: Router<App>) -> Router {
    let (api, document) = api::routes();
    Router::new()
        .nest(api::PREFIX, api)
        .merge(api::document(&document))
        .merge(pages)
        .fallback(problem::no_such_place)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(axum::extract::DefaultBodyLimit::max(BODY_BYTES))
        .layer(from_fn_with_state(app.clone(), access::guard))
        .layer(from_fn_with_state(app.clone(), pages::for_people))
        .layer(axum::middleware::map_response(access::harden))
        .with_state(app)
}
