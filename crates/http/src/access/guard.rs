//! The door before every path: the right name, not too often, no page of somebody else's, and one of
//! this start's secrets.

use super::hosts::{is_own_origin, names};
use crate::app::App;
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// How a caller showed that it may come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// By the token, which no browser sends by itself.
    Token,
    /// By the cookie, which a browser sends whoever made it ask.
    Cookie,
}

/// Lets a request through, or says why not.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    match admit(&app, &request) {
        Ok(None) => next.run(request).await,
        Ok(Some(answer)) => answer,
        Err(problem) => problem.into_response(),
    }
}

fn admit(app: &App, request: &Request) -> Result<Option<Response>, Problem> {
    let host = host(app, request)?;
    if !app.pace().admits() {
        let detail = "too many requests; ask less often";
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail);
        return Err(problem.retry_after(1));
    }
    if let Some(answer) = exchange(app, request) {
        return Ok(Some(answer));
    }
    let Some(shown) = shown(app, request.headers()) else {
        let detail = "this needs the token of this process: open the address that longboat printed, or send it as a bearer token";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "not_admitted", detail));
    };
    own_page(request, shown, host)?;
    Ok(None)
}

/// The one name the request is for, when it is one of ours.
fn host<'a>(app: &App, request: &'a Request) -> Result<&'a str, Problem> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let address = app.access().address();
    let elsewhere = request.uri().authority().is_some_and(|asked| asked.as_str() != host);
    if hosts.next().is_some() || elsewhere || !names(address, host) {
        let detail = format!("this is {address}, which was not asked for by that name");
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", detail));
    }
    Ok(host)
}

/// Takes a token out of a page's address: a cookie is given for it, and the address goes on without.
fn exchange(app: &App, request: &Request) -> Option<Response> {
    let uri = request.uri();
    if request.method() != Method::GET || uri.path().starts_with("/api/") {
        return None;
    }
    let query = uri.query()?;
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
    let location = HeaderValue::from_str(&without_token(uri, query)).ok()?;
    let mut answer = (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response();
    if app.access().is_token(token) {
        let cookie = HeaderValue::from_str(&app.access().set_cookie()).ok()?;
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    Some(answer)
}

/// The same place, without the token.
fn without_token(uri: &Uri, query: &str) -> String {
    let rest: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("token=")).collect();
    // Two slashes, or one the other way round, would lead to another host.
    let path = match uri.path() {
        path if path.starts_with("//") || path.contains('\\') => "/",
        path => path,
    };
    if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) }
}

fn shown(app: &App, headers: &HeaderMap) -> Option<Shown> {
    if let Some(given) = headers.get(AUTHORIZATION) {
        // Whoever shows a wrong token is not let in by a cookie.
        let token = given.to_str().ok()?;
        let (scheme, token) = token.split_once(' ')?;
        let right = scheme.eq_ignore_ascii_case("bearer") && app.access().is_token(token.trim());
        return right.then_some(Shown::Token);
    }
    let name = app.access().cookie_name();
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|line| line.split(';')).filter_map(|p| p.trim().split_once('='));
    let right = pairs.any(|(given, value)| given == name && app.access().is_cookie(value));
    right.then_some(Shown::Cookie)
}

/// Refuses what a page of somebody else's makes a browser ask for. Pages may be looked at from
/// anywhere: what they look at cannot be read there.
fn own_page(request: &Request, shown: Shown, host: &str) -> Result<(), Problem> {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    if reads && !request.uri().path().starts_with("/api/") {
        return Ok(());
    }
    let text = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
    let (origin, site) = (text(ORIGIN.as_str()), text("sec-fetch-site"));
    let foreign = origin.is_some_and(|origin| !is_own_origin(origin, host))
        || site.is_some_and(|site| !["same-origin", "none"].contains(&site));
    // A browser names the origin of everything that may change something.
    let unnamed = !reads && shown == Shown::Cookie && origin.is_none();
    if foreign || unnamed {
        let detail = "a page that longboat did not give out asks for this";
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign_page", detail));
    }
    Ok(())
}
