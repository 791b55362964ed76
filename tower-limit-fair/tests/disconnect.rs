//! Clients that go away while they wait.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::{sync::Arc, time::Duration};

use axum::{Router, routing::get};
use support::server::{Gauge, get as request, http1, http2, serve, until};
use tokio::sync::Notify;
use tower_limit_fair::{ConcurrencyLimitLayer, Limit};

fn app(gauge: &Gauge, go: &Arc<Notify>) -> (Router, Limit) {
    let layer = ConcurrencyLimitLayer::server_builder(1)
        .queue(64)
        .queue_timeout(Duration::from_secs(600))
        .build()
        .unwrap();
    let limit = layer.handle();
    let (gauge, go) = (gauge.clone(), Arc::clone(go));
    let handler = move || {
        let (gauge, go) = (gauge.clone(), Arc::clone(&go));
        async move {
            let _inside = gauge.enter();
            go.notified().await;
        }
    };
    (Router::new().route("/", get(handler)).layer(layer), limit)
}

#[tokio::test]
async fn a_closed_http1_connection_removes_its_waiter_and_never_reaches_the_handler() {
    use tokio::io::AsyncWriteExt;
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let (app, limit) = app(&gauge, &go);
    let addr = serve(app).await;
    let mut first = http1(addr).await;
    let running = tokio::spawn(async move { first.send_request(request("/")).await.unwrap().status() });
    until("one runs", || gauge.now() == 1).await;
    let mut sockets = Vec::new();
    for n in 1..=4 {
        let mut socket = tokio::net::TcpStream::connect(addr).await.unwrap();
        socket.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        sockets.push(socket);
        until("it waits", || limit.queued() == n).await;
    }
    // The head of the queue, one in the middle, the tail; one stays.
    for (left, at) in [(3, 0), (2, 1), (1, 1)] {
        drop(sockets.remove(at));
        until("it is gone from the queue", || limit.queued() == left).await;
    }
    assert_eq!(limit.stats().cancelled_queued, 3);
    go.notify_one();
    assert_eq!(running.await.unwrap(), 200);
    until("the one that stayed runs", || gauge.now() == 1 && limit.queued() == 0).await;
    assert_eq!(gauge.total(), 2, "those that left never reached the handler");
    go.notify_one();
    until("all is home", || limit.in_flight() == 0).await;
}

#[tokio::test]
async fn a_reset_http2_stream_removes_its_waiter_and_never_reaches_the_handler() {
    let (gauge, go) = (Gauge::default(), Arc::new(Notify::new()));
    let (app, limit) = app(&gauge, &go);
    let addr = serve(app).await;
    let client = http2(addr).await;
    let send = |client: &support::server::Http2| {
        let mut client = client.clone();
        tokio::spawn(async move { client.send_request(request("http://localhost/")).await.unwrap().status() })
    };
    let running = send(&client);
    until("one runs", || gauge.now() == 1).await;
    let (gone, stays) = (send(&client), send(&client));
    until("two wait", || limit.queued() == 2).await;
    gone.abort();
    until("one is gone from the queue", || limit.queued() == 1).await;
    assert_eq!(limit.stats().cancelled_queued, 1);
    go.notify_one();
    assert_eq!(running.await.unwrap(), 200);
    until("the one that stayed runs", || gauge.now() == 1).await;
    go.notify_one();
    assert_eq!(stays.await.unwrap(), 200);
    assert_eq!(gauge.total(), 2);

    // The whole connection at once, while a request of another one runs.
    let other = http2(addr).await;
    let running = send(&other);
    until("one runs", || gauge.now() == 1).await;
    let waiting: Vec<_> = (0..5).map(|_| send(&client)).collect();
    until("five wait", || limit.queued() == 5).await;
    drop(client);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    until("nobody waits", || limit.queued() == 0).await;
    assert_eq!(limit.stats().cancelled_queued, 6);
    go.notify_one();
    assert_eq!(running.await.unwrap(), 200);
    assert_eq!(gauge.total(), 3);
}
