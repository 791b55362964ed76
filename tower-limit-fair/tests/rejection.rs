//! What a client of a full server sees, in a real axum server.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::Request, routing::get};
use support::server::{Gauge, body_of, get as request, http1, serve, until, within};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
};
use tower_limit_fair::{ConcurrencyLimitLayer, Reason, Rejected, TooManyRequests};

/// A route that stays until it is told to go on.
fn busy(gauge: &Gauge, go: &Arc<Notify>) -> axum::routing::MethodRouter {
    let (gauge, go) = (gauge.clone(), Arc::clone(go));
    let handler = move || {
        let (gauge, go) = (gauge.clone(), Arc::clone(&go));
        async move {
            let _inside = gauge.enter();
            go.notified().await;
            "done"
        }
    };
    get(handler.clone()).post(handler)
}

#[tokio::test]
async fn a_full_queue_answers_503_with_a_retry_after_that_varies_and_health_checks_pass() {
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let layer = ConcurrencyLimitLayer::server_builder(1)
        .queue(1)
        .queue_timeout(Duration::from_secs(600))
        .exempt(|request: &Request<Body>| request.uri().path() == "/health")
        .build()
        .unwrap();
    let limit = layer.handle();
    let app =
        Router::new().route("/", busy(&gauge, &go)).route("/health", get(|| async { "well" })).layer(layer);
    let addr = serve(app).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..2 {
        waiting.spawn(async move { http1(addr).await.send_request(request("/")).await.unwrap().status() });
    }
    until("one runs and one waits", || gauge.now() == 1 && limit.queued() == 1).await;

    let mut client = http1(addr).await;
    let mut waits = HashSet::new();
    for _ in 0..60 {
        let response = client.send_request(request("/")).await.unwrap();
        assert_eq!(response.status(), 503);
        let seconds: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
        waits.insert(seconds);
        body_of(response).await.unwrap();
    }
    assert!(waits.len() > 1, "always the same Retry-After: {waits:?}");
    let health = client.send_request(request("/health")).await.unwrap();
    assert_eq!((health.status().as_u16(), body_of(health).await.unwrap()), (200, b"well".to_vec()));
    let stats = limit.stats();
    assert_eq!((stats.rejected(Reason::QueueFull), stats.exempt), (60, 1));

    for _ in 0..2 {
        until("the next one runs", || gauge.now() == 1).await;
        go.notify_one();
        assert_eq!(within("an answer", waiting.join_next()).await.unwrap().unwrap(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn the_queue_timeout_answers_503() {
    use tower::{Layer, ServiceExt};
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let layer = ConcurrencyLimitLayer::server(1);
    let app = Router::new().route("/", busy(&gauge, &go));
    let limited = layer.layer(app);
    let _running = tokio::spawn(limited.clone().oneshot(request("/")));
    tokio::task::yield_now().await;
    let start = tokio::time::Instant::now();
    let response = limited.oneshot(request("/")).await.unwrap();
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    let waited = start.elapsed();
    assert!(waited >= Duration::from_secs(1) && waited < Duration::from_millis(1005), "{waited:?}");
    assert_eq!(layer.handle().stats().rejected(Reason::QueueTimeout), 1);
}

#[tokio::test(start_paused = true)]
async fn the_queue_timeout_means_the_same_inside_and_outside_of_a_timeout_layer() {
    use tower::{Layer, ServiceExt, timeout::TimeoutLayer};
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let layer = ConcurrencyLimitLayer::server(1);
    let app = Router::new().route("/", busy(&gauge, &go));
    let _running = tokio::spawn(layer.layer(app.clone()).oneshot(request("/")));
    tokio::task::yield_now().await;
    let outside = TimeoutLayer::new(Duration::from_secs(5)).layer(layer.layer(app.clone()));
    let inside = layer.layer(TimeoutLayer::new(Duration::from_secs(5)).layer(app));
    let start = tokio::time::Instant::now();
    let (outside, inside) = tokio::join!(outside.oneshot(request("/")), inside.oneshot(request("/")));
    assert_eq!((outside.unwrap().status().as_u16(), inside.unwrap().status().as_u16()), (503, 503));
    assert!(start.elapsed() < Duration::from_millis(1005));
}

#[tokio::test]
async fn a_quota_answers_429_and_a_closure_answers_as_it_likes() {
    use tower::{Layer, ServiceExt};
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let app = Router::new().route("/", busy(&gauge, &go));
    let quota = ConcurrencyLimitLayer::server_builder(1)
        .queue(0)
        .on_reject(TooManyRequests)
        .build()
        .unwrap()
        .layer(app.clone());
    let _running = tokio::spawn(quota.clone().oneshot(request("/")));
    until("it runs", || gauge.now() == 1).await;
    let response = quota.oneshot(request("/")).await.unwrap();
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key("retry-after"));

    let own = ConcurrencyLimitLayer::server_builder(1)
        .queue(0)
        .on_reject(|rejected: Rejected| {
            http::Response::builder().status(529).body(Body::from(rejected.to_string())).unwrap()
        })
        .build()
        .unwrap()
        .layer(app);
    let _running = tokio::spawn(own.clone().oneshot(request("/")));
    until("it runs", || gauge.now() == 2).await;
    let response = own.oneshot(request("/")).await.unwrap();
    assert_eq!(response.status(), 529);
    let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    assert_eq!(&body[..], b"request rejected: the queue is full (limit 1, in flight 1, queued 0)");
}

#[tokio::test]
async fn a_client_that_writes_its_whole_post_first_gets_its_rejection_or_a_clean_close() {
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let layer = ConcurrencyLimitLayer::server_builder(1).queue(0).build().unwrap();
    let app = Router::new().route("/", busy(&gauge, &go)).layer(layer);
    let addr = serve(app).await;
    let mut first = http1(addr).await;
    let running = tokio::spawn(async move { first.send_request(request("/")).await.unwrap().status() });
    until("one runs", || gauge.now() == 1).await;

    for size in [10_usize, 64 << 10, 8 << 20] {
        let mut socket = tokio::net::TcpStream::connect(addr).await.unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let sent = within("the body is taken or refused", socket.write_all(&vec![b'x'; size])).await;
        let mut answer = Vec::new();
        let read = within("an answer or an end", async {
            let mut chunk = [0_u8; 4096];
            loop {
                match socket.read(&mut chunk).await {
                    Ok(0) => return Ok(()),
                    Ok(n) => answer.extend_from_slice(&chunk[..n]),
                    Err(error) => return Err(error),
                }
                if answer.windows(4).any(|end| end == b"\r\n\r\n") {
                    return Ok(());
                }
            }
        })
        .await;
        let answered = answer.starts_with(b"HTTP/1.1 503");
        assert!(
            answered || (sent.is_err() || read.is_err()),
            "{size}: {:?}",
            String::from_utf8_lossy(&answer)
        );
        if size <= 64 << 10 {
            assert!(answered, "a body that fits the socket buffers gets its answer");
        }
    }
    go.notify_one();
    assert_eq!(running.await.unwrap(), 200);
}
