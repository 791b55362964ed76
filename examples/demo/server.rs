//! The HTTP server: page, state, metrics and controls beside the limited routes.
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Deserialize;
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::app::App;
use crate::{control, ledger};

/// Binds 127.0.0.1 at `port`, or at a free port if that one is taken.
pub(crate) async fn bind(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            println!("port {port} is in use; took {}", listener.local_addr()?.port());
            Ok(listener)
        }
        bound => bound,
    }
}

pub(crate) fn router(app: Arc<App>, exporter: PrometheusHandle) -> Router {
    let data = Router::new()
        .fallback(limited)
        .layer(middleware::from_fn_with_state(app.ledger.clone(), ledger::arrivals))
        .with_state(app.clone());
    Router::new()
        .route("/", get(page))
        .route("/state", get(state))
        .route("/metrics", get(move |State(app): State<Arc<App>>| async move { metrics(&app, &exporter) }))
        .with_state(app.clone())
        .merge(control::routes(app))
        .route("/favicon.ico", get(|| async { axum::http::StatusCode::NO_CONTENT }))
        .fallback_service(data)
}

const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The page is one file; nothing else may be loaded, and nobody may frame it.
async fn page() -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
             img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
    ];
    (headers, include_str!("page.html"))
}

/// Brings in what the immediate paths counted by themselves, then renders.
fn metrics(app: &App, exporter: &PrometheusHandle) -> impl IntoResponse + use<> {
    app.limiters.publish();
    app.database.publish();
    ([(CONTENT_TYPE, METRICS_TYPE)], exporter.render())
}

#[derive(Deserialize)]
struct Since {
    #[serde(default)]
    after: u64,
}

async fn state(State(app): State<Arc<App>>, Query(Since { after }): Query<Since>) -> Response {
    ([(CACHE_CONTROL, "no-store")], Json(app.state(after))).into_response()
}

async fn limited(State(app): State<Arc<App>>, request: Request) -> Response {
    match app.limiters.service().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
