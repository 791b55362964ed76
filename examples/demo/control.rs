//! The routes that change something: POST only, and only for pages that this demo itself served.
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;

use crate::app::App;
use crate::flags::Kind;

pub(crate) fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/control/limit", post(limit))
        .route("/control/limiter", post(limiter))
        .route("/control/burst", post(burst))
        .route("/control/outage", post(outage))
        .route("/control/drain", post(drain))
        .layer(middleware::from_fn_with_state(app.port, own_page))
        .with_state(app)
}

/// Refuses what another site's page could send: a foreign `Origin`, or a `Host` that merely resolves to us.
///
/// A request without `Origin` comes from a tool such as curl, not from a page: browsers put it on every POST.
async fn own_page(State(port): State<u16>, request: Request, next: Next) -> Response {
    match stranger(request.headers(), port) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    }
}

fn stranger(headers: &HeaderMap, port: u16) -> Option<String> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let host = text(HOST).unwrap_or_default();
    if !hosts.contains(&host) {
        return Some(format!("Host is {host:?}, but this demo answers to {} only\n", hosts.join(" and ")));
    }
    let origin = text(ORIGIN)?;
    (origin != format!("http://{host}")).then(|| format!("Origin {origin:?} is not this demo's page\n"))
}

#[derive(Deserialize)]
struct NewLimit {
    limit: usize,
}

async fn limit(State(app): State<Arc<App>>, Json(NewLimit { limit }): Json<NewLimit>) -> Response {
    done(app.limiters.set_limit(limit))
}

#[derive(Deserialize)]
struct NewLimiter {
    limiter: String,
}

/// Exchanges the limiter and replays the load from its beginning.
async fn limiter(State(app): State<Arc<App>>, Json(NewLimiter { limiter }): Json<NewLimiter>) -> Response {
    done(match Kind::from_name(&limiter) {
        Some(kind) => app.exchange(kind),
        None => Err(format!("the limiter must be fair, tower or none, not {limiter:?}")),
    })
}

async fn burst(State(app): State<Arc<App>>) -> Response {
    done(app.burst())
}

#[derive(Deserialize)]
struct Outage {
    on: bool,
}

async fn outage(State(app): State<Arc<App>>, Json(Outage { on }): Json<Outage>) -> Response {
    app.database.set_outage(on);
    done(Ok(()))
}

async fn drain(State(app): State<Arc<App>>) -> Response {
    app.ask_to_drain();
    done(Ok(()))
}

fn done(result: Result<(), String>) -> Response {
    match result {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(why) => (StatusCode::BAD_REQUEST, why + "\n").into_response(),
    }
}
