//! An axum server that runs two requests at a time, lets two wait, and answers the others at once.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tower_limit_fair::{ConcurrencyLimitLayer, LimitedListener};

/// The slow part of the handler, held up by a gate so that the outcome does not depend on the clock.
struct Kitchen {
    gate: Semaphore,
    cooking: AtomicUsize,
    most: AtomicUsize,
}

async fn cook(State(kitchen): State<Arc<Kitchen>>) -> &'static str {
    let cooking = kitchen.cooking.fetch_add(1, Ordering::SeqCst) + 1;
    kitchen.most.fetch_max(cooking, Ordering::SeqCst);
    let _open = kitchen.gate.acquire().await;
    kitchen.cooking.fetch_sub(1, Ordering::SeqCst);
    "soup\n"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let layer = ConcurrencyLimitLayer::server_builder(2)
        .name("kitchen")
        .queue(2)
        .queue_timeout(Duration::from_secs(60))
        .build()?;
    let limit = layer.handle();
    let kitchen = Arc::new(Kitchen {
        gate: Semaphore::new(0),
        cooking: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
    });
    let app = Router::new()
        .route("/soup", get(cook))
        .route("/stew", get(cook))
        // One layer value is one limit, however many routes and connections it serves.
        .layer(layer)
        .with_state(kitchen.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // The number of open connections is bounded too, by the same engine.
    let server = tokio::spawn(axum::serve(LimitedListener::new(listener, 100), app).into_future());

    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let (answers, mut answered) = mpsc::unbounded_channel();
    for number in 0..8 {
        let path = if number % 2 == 0 { "soup" } else { "stew" };
        let request = Request::get(format!("http://{address}/{path}")).body(Empty::new())?;
        let (client, answers) = (client.clone(), answers.clone());
        tokio::spawn(async move { answers.send(client.request(request).await) });
    }

    // Two cook, two wait: the other four are told to come back, although nothing has ended yet.
    for _ in 0..4 {
        let response = answered.recv().await.ok_or("no answer")??;
        println!("{}, retry after {:?} s", response.status(), response.headers().get("retry-after"));
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
    }
    assert_eq!((limit.in_flight(), limit.queued()), (2, 2));
    kitchen.gate.add_permits(8);
    for _ in 0..4 {
        let response = answered.recv().await.ok_or("no answer")??;
        println!("{}", response.status());
        assert_eq!(response.status(), StatusCode::OK);
    }
    let most = kitchen.most.load(Ordering::SeqCst);
    println!("at most {most} at a time");
    assert_eq!(most, 2);
    server.abort();
    Ok(())
}
