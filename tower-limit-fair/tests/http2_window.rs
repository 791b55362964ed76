//! Uploads that queue on one HTTP/2 connection must not stall the ones that run.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::time::Duration;

use axum::{Router, body::Body, body::Bytes, routing::post};
use http::Request;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use support::server::{Gauge, body_of, http2, until, within};
use tower_limit_fair::{ConcurrencyLimitLayer, Limit, max_concurrent_streams};

/// A plain hyper server, with its window of 1 MiB per connection and this many streams.
async fn serve_http2(app: Router, streams: u32) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (io, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(app.clone());
            let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(streams)
                .serve_connection(TokioIo::new(io), service);
            tokio::spawn(connection);
        }
    });
    addr
}

/// Sends 150 uploads of 64 KiB over one connection; returns how many got which status.
async fn upload(streams: u32, queue_timeout: Duration, pause: Duration) -> (usize, usize, Gauge, Limit) {
    let gauge = Gauge::default();
    let counted = gauge.clone();
    let layer =
        ConcurrencyLimitLayer::server_builder(4).queue(1000).queue_timeout(queue_timeout).build().unwrap();
    let limit = layer.handle();
    // The lease is there before the body is read: the handler runs, and then wants its bytes.
    let handler = move |body: Body| {
        let counted = counted.clone();
        async move {
            let _inside = counted.enter();
            tokio::time::sleep(pause).await;
            let read: Bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            read.len().to_string()
        }
    };
    let addr = serve_http2(Router::new().route("/", post(handler)).layer(layer), streams).await;
    let mut client = http2(addr).await;
    // Until the server's settings have come, a client opens as many streams as it likes, and they are refused.
    let first = Request::post("http://localhost/").body(Body::empty()).unwrap();
    assert_eq!(client.send_request(first).await.unwrap().status(), 200);
    let mut uploads = tokio::task::JoinSet::new();
    for _ in 0..150 {
        let mut client = client.clone();
        uploads.spawn(async move {
            let request = Request::post("http://localhost/").body(Body::from(vec![1_u8; 64 << 10])).unwrap();
            match client.send_request(request).await {
                Ok(response) => {
                    let status = response.status().as_u16();
                    (status, body_of(response).await.unwrap_or_default())
                }
                // A rejection may end the stream before the whole body was sent.
                Err(_) => (503, Vec::new()),
            }
        });
    }
    let (mut done, mut rejected) = (0, 0);
    while let Some(upload) = within("every upload ends", uploads.join_next()).await {
        match upload.unwrap() {
            (200, length) => {
                assert_eq!(length, b"65536");
                done += 1;
            }
            (503, _) => rejected += 1,
            other => panic!("{other:?}"),
        }
    }
    until("all is home", || limit.in_flight() == 0 && limit.queued() == 0).await;
    assert!(gauge.peak() <= 4);
    (done, rejected, gauge, limit)
}

#[tokio::test]
async fn a_stream_limit_from_the_helper_lets_150_uploads_finish() {
    let streams = max_concurrent_streams(1 << 20, 1 << 20, 64 << 10);
    let (done, rejected, ..) = upload(streams, Duration::from_secs(600), Duration::ZERO).await;
    assert_eq!((done, rejected), (150, 0));
}

#[tokio::test]
async fn with_too_many_streams_the_queue_timeout_ends_the_stall_and_none_hangs() {
    let (done, rejected, ..) = upload(200, Duration::from_millis(300), Duration::from_millis(20)).await;
    assert_eq!(done + rejected, 150);
    assert!(done >= 4, "those that ran first finish: {done}");
}
