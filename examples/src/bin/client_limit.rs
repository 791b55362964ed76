//! Outgoing calls: however many tasks call, the other side sees at most three at a time, in order.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::task::{JoinSet, yield_now};
use tower::{Layer, ServiceExt};
use tower_limit_fair::ConcurrencyLimitLayer;

/// What the other side saw.
#[derive(Default)]
struct Seen {
    running: AtomicUsize,
    most: AtomicUsize,
}

async fn fragile(State(seen): State<Arc<Seen>>) -> &'static str {
    seen.most.fetch_max(seen.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    for _ in 0..20 {
        yield_now().await;
    }
    seen.running.fetch_sub(1, Ordering::SeqCst);
    "ok"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seen = Arc::new(Seen::default());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new().route("/", get(fragile)).with_state(seen.clone());
    let server = tokio::spawn(axum::serve(listener, app).into_future());

    // `new` is pure backpressure: it never refuses, its callers wait in `poll_ready`.
    let layer = ConcurrencyLimitLayer::new(3);
    let limit = layer.handle();
    let client = layer.layer(Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>());
    let mut calls = JoinSet::new();
    for _ in 0..30 {
        // A clone has neither a lease nor a place in the queue; it shares the limit.
        let client = client.clone();
        let request = Request::get(format!("http://{address}/")).body(Empty::new())?;
        calls.spawn(async move {
            let response = client.oneshot(request).await?;
            response.into_body().collect().await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
    }
    while let Some(call) = calls.join_next().await {
        call?.map_err(|error| error.to_string())?;
    }
    let most = seen.most.load(Ordering::SeqCst);
    println!("30 calls, the other side saw at most {most} at a time");
    assert!((1..=3).contains(&most), "{most} calls at a limit of 3");
    assert_eq!((limit.in_flight(), limit.queued()), (0, 0));
    server.abort();
    Ok(())
}
