//! The number of open connections, for axum::serve and for a hyper accept loop.
#![cfg(all(feature = "axum", feature = "hyper"))]
#![forbid(unsafe_code)]

mod support;

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::ConnectInfo, routing::get, serve::ListenerExt};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use support::server::{Gauge, body_of, get as request, http1, until, within};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tower_limit_fair::{ConcurrencyLimitLayer, ConnectionLimit, LimitedListener};

async fn bind() -> (TcpListener, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

/// A hundred connections, ten at a time: each is answered once, and the place comes back.
async fn hundred(addr: std::net::SocketAddr, connections: &ConnectionLimit) {
    let mut clients = tokio::task::JoinSet::new();
    let peak = Gauge::default();
    for _ in 0..100 {
        let peak = peak.clone();
        clients.spawn(async move {
            let mut client = http1(addr).await;
            let response = client.send_request(request("/")).await.unwrap();
            // Answered, so this connection is among the open ones.
            let _inside = peak.enter();
            assert_eq!(response.status(), 200);
            body_of(response).await.unwrap();
        });
    }
    while let Some(client) = within("every client is served", clients.join_next()).await {
        client.unwrap();
        assert!(connections.open() <= 10);
    }
    assert!(peak.peak() <= 10, "{}", peak.peak());
    until("every place comes back", || connections.open() == 0).await;
}

#[tokio::test]
async fn axum_never_has_more_than_ten_of_a_hundred_connections_open() {
    let (tcp, addr) = bind().await;
    let listener = LimitedListener::new(tcp, 10);
    let connections = listener.connections();
    let app = Router::new().route("/", get(|| async { "hello" })).layer(ConcurrencyLimitLayer::server(4));
    tokio::spawn(async move { axum::serve(listener, app).await });
    hundred(addr, &connections).await;
}

#[tokio::test]
async fn a_hyper_accept_loop_never_has_more_than_ten_of_a_hundred_connections_open() {
    let (tcp, addr) = bind().await;
    let connections = ConnectionLimit::new(10);
    let app = Router::new().route("/", get(|| async { "hello" })).layer(ConcurrencyLimitLayer::server(4));
    let accepting = connections.clone();
    tokio::spawn(async move {
        loop {
            let (io, _) = accepting.accept(&tcp).await.unwrap();
            let service = TowerToHyperService::new(app.clone());
            let server = hyper::server::conn::http1::Builder::new();
            tokio::spawn(async move { server.serve_connection(TokioIo::new(io), service).await });
        }
    });
    hundred(addr, &connections).await;
}

#[tokio::test]
async fn the_place_comes_back_on_close_error_panic_and_timeout() {
    let (tcp, addr) = bind().await;
    let connections = ConnectionLimit::new(1);
    let go = Arc::new(Notify::new());
    let held = Arc::clone(&go);
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .route(
            "/panic",
            get(|| async {
                if true {
                    panic!("the handler panics")
                }
            }),
        )
        .route("/slow", get(move || async move { held.notified().await }));
    let accepting = connections.clone();
    tokio::spawn(async move {
        loop {
            let (io, _) = accepting.accept(&tcp).await.unwrap();
            let service = TowerToHyperService::new(app.clone());
            let server =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service);
            tokio::spawn(tokio::time::timeout(Duration::from_millis(500), server));
        }
    });

    // Closed by the client.
    drop(TcpStream::connect(addr).await.unwrap());
    until("the place is back after a close", || connections.open() == 0).await;
    // An error: this is not HTTP.
    let mut socket = TcpStream::connect(addr).await.unwrap();
    until("it is open", || connections.open() == 1).await;
    socket.write_all(b"\x00\x01not http\r\n\r\n").await.unwrap();
    until("the place is back after an error", || connections.open() == 0).await;
    // A panic of the connection's task.
    let panicked = http1(addr).await.send_request(request("/panic")).await;
    assert!(panicked.is_err());
    until("the place is back after a panic", || connections.open() == 0).await;
    // The server's timeout; the client stays connected.
    let mut slow = http1(addr).await;
    assert!(slow.send_request(request("/slow")).await.is_err());
    until("the place is back after a timeout", || connections.open() == 0).await;
    assert_eq!(http1(addr).await.send_request(request("/")).await.unwrap().status(), 200);
    drop(go);
}

#[tokio::test]
async fn a_second_connection_is_not_accepted_before_the_first_ends_and_connect_info_passes() {
    let (tcp, addr) = bind().await;
    let listener = LimitedListener::new(tcp, 1);
    let connections = listener.connections();
    let app = Router::new().route(
        "/",
        get(|ConnectInfo(peer): ConnectInfo<std::net::SocketAddr>| async move { peer.to_string() }),
    );
    let service = app.into_make_service_with_connect_info::<std::net::SocketAddr>();
    tokio::spawn(async move { axum::serve(listener.tap_io(|_| {}), service).await });
    let mut first = http1(addr).await;
    let response = first.send_request(request("/")).await.unwrap();
    assert!(String::from_utf8(body_of(response).await.unwrap()).unwrap().starts_with("127.0.0.1:"));
    let mut second = http1(addr).await;
    let mut waiting = Box::pin(second.send_request(request("/")));
    let task = support::Task::new();
    assert!(task.poll_future(&mut waiting).is_pending());
    assert_eq!(connections.open(), 1);
    // A request on the first goes on meanwhile, and the second has no answer afterwards.
    let response = first.send_request(request("/")).await.unwrap();
    body_of(response).await.unwrap();
    assert!(task.poll_future(&mut waiting).is_pending());
    drop(first);
    assert_eq!(within("the second is accepted", waiting).await.unwrap().status(), 200);
}
