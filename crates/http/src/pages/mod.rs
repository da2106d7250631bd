//! The pages: what a person sees and follows in a browser. They only show; what a person does goes
//! to the API.

mod live;
mod steps;
mod watched;

pub(crate) use watched::Watches;

use crate::api;
use crate::app::App;
use crate::problem::Problem;
use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::tz::TimeZone;
use longboat_core::id::{MemberName, MessageId, SessionId};
use longboat_core::log::Event;
use longboat_engine::decode_stored;
use longboat_web::pages::{
    self, Amount, Conversation, SessionRow, SessionState, mail_page, message_page,
};
use longboat_web::watch::TeamWatch;
use longboat_web::{Moment, assets};
use maud::Markup;
use serde::Deserialize;
use std::sync::Arc;
use watched::Watched;

/// Sessions on one page.
const SESSIONS: usize = 30;

/// The pages, and what a browser needs with them; [`crate::router`] puts the doors before them.
pub fn pages() -> Router<App> {
    Router::new()
        .route("/", get(sessions))
        .route("/live", get(live::sessions))
        .route("/sessions/{id}", get(team))
        .route("/sessions/{id}/live", get(live::team))
        .route("/sessions/{id}/mail", get(mail))
        .route("/sessions/{id}/mail/{message}", get(message))
        .route("/sessions/{id}/m/{member}", get(member))
        .route("/sessions/{id}/m/{member}/live", get(live::member))
        .route("/assets/{name}", get(asset))
}

/// A page, or why there is none.
type Page = Result<Markup, Problem>;

/// Which part of a list.
#[derive(Debug, Default, Deserialize)]
struct Part {
    #[serde(default)]
    skip: usize,
    before: Option<u64>,
    step: Option<usize>,
}

fn moment(app: &App) -> Moment {
    let prices = Arc::clone(app.prices());
    Moment { now: app.sessions().now(), zone: TimeZone::system(), prices }
}

/// Shows a refusal as a page where a browser asked for one.
pub(crate) async fn for_people(State(app): State<App>, request: Request, next: Next) -> Response {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let person = accepted.is_some_and(|kinds| kinds.contains("text/html"));
    let mut response = next.run(request).await;
    if person && let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let title = problem.status().canonical_reason().unwrap_or("Problem");
        let page = pages::problem_page(title, problem.detail(), &moment(&app));
        return (problem.status(), page).into_response();
    }
    response
}

async fn sessions(State(app): State<App>, Query(part): Query<Part>) -> Page {
    let (rows, total) = rows(&app, part.skip).await?;
    let place = (part.skip, total);
    let (model, workspace) = (app.default_model(), app.workspace());
    Ok(pages::sessions_page(&rows, place, model, workspace, &moment(&app)))
}

/// A page of the sessions, the last used first, and how many there are.
async fn rows(app: &App, skip: usize) -> Result<(Vec<SessionRow>, usize), Problem> {
    let page = api::sessions_page(app.sessions(), skip, SESSIONS).await?;
    let mut rows = Vec::new();
    for item in page.sessions {
        let Ok(id) = SessionId::new(item.id) else { continue };
        let state = match app.sessions().opened(&id) {
            None => SessionState::Closed,
            Some(team) => match team.look().await {
                Ok(view) if view.members.iter().any(|m| m.status.word() == "running") => {
                    SessionState::Running
                }
                Ok(_) => SessionState::Idle,
                Err(_) => SessionState::Closed,
            },
        };
        rows.push(SessionRow {
            id,
            state,
            first_prompt: item.first_prompt,
            forked_from: item.forked_from,
            updated: item.used,
            teammates: item.teammates,
        });
    }
    Ok((rows, page.total))
}

async fn team(State(app): State<App>, Path(id): Path<String>) -> Page {
    let watched = look_at(&app, &id).await?;
    let here = watched.presence(&app).await;
    Ok(watched.with(|team| pages::team_page(team, &here, &moment(&app))))
}

async fn mail(State(app): State<App>, Path(id): Path<String>, Query(part): Query<Part>) -> Page {
    let watched = look_at(&app, &id).await?;
    Ok(watched.with(|team| mail_page(team, part.before, &moment(&app))))
}

async fn message(State(app): State<App>, Path((id, message)): Path<(String, String)>) -> Page {
    let watched = look_at(&app, &id).await?;
    let text = text_of(&app, &watched, &message).await?;
    let (id, text) = text.ok_or_else(|| {
        let detail = "there is no such message in this team";
        Problem::new(StatusCode::NOT_FOUND, "unknown_message", detail)
    })?;
    Ok(watched.with(|team| message_page(team, &id, &text, &moment(&app))))
}

/// The whole text of a message, from the log that has it.
async fn text_of(
    app: &App,
    watched: &Watched,
    message: &str,
) -> Result<Option<(MessageId, Arc<str>)>, Problem> {
    let Ok(id) = MessageId::new(message) else { return Ok(None) };
    let place = watched.with(|team| Some((team.lead().clone(), team.mail().get(&id)?.at?)));
    let Some((lead, seq)) = place else { return Ok(None) };
    let stored = app.sessions().store().read(&lead, seq, 1).await?.into_iter().next();
    let event = stored.and_then(|stored| decode_stored(stored).ok()).map(|record| record.event);
    Ok(match event {
        Some(Event::TeamMessageQueued { text, .. }) => Some((id, text)),
        _ => None,
    })
}

async fn member(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    Query(part): Query<Part>,
) -> Page {
    let watched = look_at(&app, &id).await?;
    let name = member_of(&watched, &name)?;
    let here = watched.presence(&app).await;
    let moment = moment(&app);
    let newest = part.step.is_none() && part.before.is_none();
    let (range, amount) = match (part.step, part.before) {
        (Some(step), _) => (step..step.saturating_add(1), Amount::Whole),
        (None, before) => {
            (watched.with(|team| steps::page(team, &name, before)), Amount::Beginning)
        }
    };
    let wanted = steps::Wanted { name: &name, here: &here, amount, moment: &moment };
    let first = range.start;
    let items = steps::items(&app, &watched, &wanted, range).await?;
    if part.step.is_some() && items.is_empty() {
        let detail = "there is no such step";
        return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_step", detail));
    }
    Ok(watched.with(|watch| {
        let shown =
            Conversation { watch, name: &name, here: &here, steps: &items, first, moment: &moment };
        match part.step {
            Some(_) => pages::step_page(&shown),
            None => pages::transcript_page(&shown, newest),
        }
    }))
}

/// A team as far as it is known now.
async fn look_at(app: &App, id: &str) -> Result<Arc<Watched>, Problem> {
    let lead = api::lead(id)?;
    app.sessions().exists(&lead).await?;
    let watched = app.watches().of(app.sessions(), &lead)?;
    watched.catch_up(app.sessions()).await;
    Ok(watched)
}

fn member_of(watched: &Watched, name: &str) -> Result<MemberName, Problem> {
    let name = api::member(name)?;
    let known = watched.with(|team: &TeamWatch| team.session_of(&name).is_some());
    if known {
        return Ok(name);
    }
    let detail = format!("there is no member {name} in this team");
    Err(Problem::new(StatusCode::NOT_FOUND, "unknown_member", detail))
}

async fn asset(Path(name): Path<String>) -> Result<impl IntoResponse, Problem> {
    let missing = || Problem::new(StatusCode::NOT_FOUND, "not_found", "there is no such file");
    let asset = assets::find(&name).ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, asset.media_type)], asset.bytes))
}
