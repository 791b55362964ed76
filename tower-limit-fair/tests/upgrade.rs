//! A handler that carries its lease into an upgraded connection or a spawned task.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::Body,
    extract::{Request, WebSocketUpgrade},
    routing::{any, get},
};
use hyper_util::rt::TokioIo;
use support::server::{body_of, get as request, http1, serve, until, within};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Notify,
};
use tower_limit_fair::{ConcurrencyLimitLayer, LeaseHandle, Limit};

fn layer() -> (ConcurrencyLimitLayer<tower_limit_fair::Http>, Limit) {
    let layer = ConcurrencyLimitLayer::server_builder(1).queue(0).lease_handle().build().unwrap();
    let limit = layer.handle();
    (layer, limit)
}

#[tokio::test]
async fn the_lease_of_a_websocket_follows_the_handle_and_not_the_101() {
    let (layer, limit) = layer();
    let app = Router::new()
        .route(
            "/ws",
            any(|ws: WebSocketUpgrade, Extension(lease): Extension<LeaseHandle>| async move {
                ws.on_upgrade(move |mut socket| async move {
                    assert!(lease.is_held());
                    while let Some(Ok(_)) = socket.recv().await {}
                    drop(lease);
                })
            }),
        )
        .route("/", get(|| async { "hello" }))
        .layer(layer);
    let addr = serve(app).await;
    let mut socket = TcpStream::connect(addr).await.unwrap();
    let upgrade = "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    socket.write_all(upgrade.as_bytes()).await.unwrap();
    let mut head = [0_u8; 12];
    within("the upgrade is answered", socket.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");

    // The 101 is out, its response is gone, and the lease is still in use.
    let refused = http1(addr).await.send_request(request("/")).await.unwrap();
    assert_eq!((refused.status().as_u16(), limit.in_flight()), (503, 1));
    drop(socket);
    until("the lease ends with the socket", || limit.in_flight() == 0).await;
    assert_eq!(http1(addr).await.send_request(request("/")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn without_the_handle_the_lease_ends_with_the_101() {
    let layer = ConcurrencyLimitLayer::server(1);
    let limit = layer.handle();
    let (open, opened) = tokio::sync::oneshot::channel::<()>();
    let opened = Arc::new(std::sync::Mutex::new(Some(opened)));
    let handler = move |mut request: Request| {
        let opened = opened.lock().unwrap().take();
        async move {
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let io = upgrade.await.unwrap();
                let _ = opened.unwrap().await;
                drop(io);
            });
            http::Response::builder()
                .status(101)
                .header("connection", "upgrade")
                .header("upgrade", "echo")
                .body(Body::empty())
                .unwrap()
        }
    };
    let addr = serve(Router::new().route("/", any(handler)).layer(layer)).await;
    let io = TokioIo::new(TcpStream::connect(addr).await.unwrap());
    let (mut client, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let upgrade = http::Request::get("/")
        .header("host", "localhost")
        .header("connection", "upgrade")
        .header("upgrade", "echo")
        .body(Body::empty())
        .unwrap();
    let response = client.send_request(upgrade).await.unwrap();
    assert_eq!(response.status(), 101);
    until("the lease is free while the upgraded connection lives", || limit.in_flight() == 0).await;
    open.send(()).unwrap();
}

#[tokio::test]
async fn a_spawned_task_keeps_the_lease_and_every_clone_counts_once() {
    let (layer, limit) = layer();
    let done = Arc::new(Notify::new());
    let work = Arc::clone(&done);
    let app = Router::new()
        .route(
            "/",
            get(move |Extension(lease): Extension<LeaseHandle>| async move {
                let clone = lease.clone();
                tokio::spawn(async move {
                    work.notified().await;
                    drop((lease, clone));
                });
                "accepted"
            }),
        )
        .layer(layer);
    let addr = serve(app).await;
    let response = http1(addr).await.send_request(request("/")).await.unwrap();
    assert_eq!(body_of(response).await.unwrap(), b"accepted");
    assert_eq!(limit.in_flight(), 1, "the response is over, the work is not");
    done.notify_one();
    until("the lease ends with the work", || limit.in_flight() == 0).await;
    assert_eq!(limit.snapshot().available, 1);
}
