//! The data routes: what the limiter protects.
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use std::time::Duration;

use crate::database::{Database, Trouble};
use crate::ledger;

/// Marks a 503 that the database caused, to tell it from a refusal by the limiter.
pub(crate) const BY_DATABASE: &str = "x-database-unavailable";

/// The routes with the inner half of the counting; a limiter goes around them.
pub(crate) fn routes(database: Database) -> Router {
    Router::new()
        .route("/customers/{id}", get(customer))
        .route("/report", get(report))
        .route("/orders", post(order))
        .with_state(database)
        .layer(middleware::from_fn(ledger::starts))
}

/// How long the request keeps its connection besides the query; part of the plan, so that a replay is equal.
#[derive(Deserialize)]
struct Work {
    #[serde(default)]
    work_us: u64,
}

impl Work {
    fn time(&self) -> Duration {
        Duration::from_micros(self.work_us.min(10_000_000))
    }
}

async fn customer(
    State(database): State<Database>,
    Path(id): Path<i64>,
    Query(work): Query<Work>,
) -> Result<Response, Trouble> {
    match database.customer(id, work.time()).await? {
        Some(customer) => Ok(Json(customer).into_response()),
        None => Ok((StatusCode::NOT_FOUND, format!("no customer {id}\n")).into_response()),
    }
}

#[derive(Deserialize)]
struct Month {
    month: i64,
}

async fn report(
    State(database): State<Database>,
    Query(Month { month }): Query<Month>,
    Query(work): Query<Work>,
) -> Result<Response, Trouble> {
    Ok(Json(database.report(month, work.time()).await?).into_response())
}

#[derive(Deserialize)]
struct Buyer {
    customer: i64,
}

async fn order(
    State(database): State<Database>,
    Query(Buyer { customer }): Query<Buyer>,
    Query(work): Query<Work>,
) -> Result<Response, Trouble> {
    let order = database.order(customer, work.time()).await?;
    Ok((StatusCode::CREATED, Json(order)).into_response())
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let seconds = self.retry_in.map_or(1, |retry_in| retry_in.as_secs_f64().ceil().max(1.0) as u64);
        let headers = [(BY_DATABASE, "1".to_owned()), ("retry-after", seconds.to_string())];
        (StatusCode::SERVICE_UNAVAILABLE, headers, self.text + "\n").into_response()
    }
}
