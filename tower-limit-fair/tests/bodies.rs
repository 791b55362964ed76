//! How long a response keeps its lease, over real HTTP/1 and HTTP/2 connections.
#![cfg(all(feature = "http", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, http::StatusCode, routing::get};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use support::server::{Gauge, Inside, body_of, get as request, http1, http2, serve, until, within};
use tokio::sync::mpsc;
use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimitLayer, HoldUntil, Limit};

/// A body that the test feeds, and that counts among the live ones until it is dropped.
struct Fed {
    frames: mpsc::UnboundedReceiver<Result<Frame<Bytes>, std::io::Error>>,
    _inside: Inside,
}

impl http_body::Body for Fed {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.frames.poll_recv(cx)
    }
}

type Feed = mpsc::UnboundedSender<Result<Frame<Bytes>, std::io::Error>>;

/// An app whose `/stream` hands the feeding end of each body to the test.
fn app(layer: impl Fn(Router) -> Router, gauge: &Gauge) -> (Router, mpsc::UnboundedReceiver<Feed>) {
    let (feeds, fed) = mpsc::unbounded_channel();
    let gauge = gauge.clone();
    let stream = move || {
        let (feed, frames) = mpsc::unbounded_channel();
        feeds.send(feed).unwrap();
        let body = Fed { frames, _inside: gauge.enter() };
        async move { Body::new(body) }
    };
    let app = Router::new()
        .route("/stream", get(stream))
        .route("/empty", get(|| async { Body::empty() }))
        .route("/none", get(|| async { StatusCode::NO_CONTENT }))
        .route("/full", get(|| async { "full" }));
    (layer(app), fed)
}

fn limited(limit: usize, until: HoldUntil) -> (impl Fn(Router) -> Router, Limit) {
    let layer = ConcurrencyLimitLayer::server_builder(limit).hold(until).build().unwrap();
    let limit = layer.handle();
    (move |app: Router| app.layer(layer.clone()), limit)
}

async fn stream_all(version2: bool, hold: HoldUntil) -> (usize, Gauge) {
    let gauge = Gauge::default();
    let (layer, limit) = limited(1, hold);
    // Room for all eight, so that only the lease decides.
    let (app, mut feeds) = app(layer, &gauge);
    let addr = serve(app).await;
    let mut clients = tokio::task::JoinSet::new();
    let shared = if version2 { Some(http2(addr).await) } else { None };
    for _ in 0..5 {
        let shared = shared.clone();
        clients.spawn(async move {
            let response = match shared {
                Some(mut sender) => {
                    let request = request("http://localhost/stream");
                    sender.send_request(request).await.unwrap()
                }
                None => http1(addr).await.send_request(request("/stream")).await.unwrap(),
            };
            body_of(response).await.unwrap()
        });
    }
    let mut live = Vec::new();
    let together = if hold == HoldUntil::Head { 5 } else { 1 };
    for _ in 0..5 / together {
        for _ in 0..together {
            live.push(within("a body starts", feeds.recv()).await.unwrap());
        }
        assert_eq!(gauge.now(), together);
        until("the leases are where they belong", || {
            limit.in_flight() == usize::from(hold == HoldUntil::BodyEnd)
        })
        .await;
        for feed in live.drain(..) {
            feed.send(Ok(Frame::data(Bytes::from_static(b"chunk")))).unwrap();
        }
    }
    while let Some(body) = within("every body ends", clients.join_next()).await {
        assert_eq!(body.unwrap(), b"chunk");
    }
    until("every lease comes home", || limit.in_flight() == 0 && limit.snapshot().available == 1).await;
    (gauge.peak(), gauge)
}

#[tokio::test]
async fn under_body_end_one_body_is_sent_at_a_time_over_http1() {
    assert_eq!(stream_all(false, HoldUntil::BodyEnd).await.0, 1);
}

#[tokio::test]
async fn under_body_end_one_body_is_sent_at_a_time_over_http2() {
    assert_eq!(stream_all(true, HoldUntil::BodyEnd).await.0, 1);
}

#[tokio::test]
async fn under_head_all_bodies_are_sent_together_over_http1() {
    assert_eq!(stream_all(false, HoldUntil::Head).await.0, 5);
}

#[tokio::test]
async fn under_head_all_bodies_are_sent_together_over_http2() {
    assert_eq!(stream_all(true, HoldUntil::Head).await.0, 5);
}

/// Sends through the layer without a connection, so that nobody but the test drops the body.
async fn respond(
    layer: &ConcurrencyLimitLayer<tower_limit_fair::Http>,
    app: &Router,
    request: http::Request<Body>,
) -> http::Response<tower_limit_fair::LimitedBody<Body>> {
    use tower::ServiceExt;
    layer.layer(app.clone()).oneshot(request).await.unwrap()
}

#[tokio::test]
async fn a_body_known_to_be_empty_keeps_no_lease() {
    let gauge = Gauge::default();
    let (app, mut feeds) = app(|app| app, &gauge);
    let layer = ConcurrencyLimitLayer::server(1);
    let limit = layer.handle();
    for path in ["/empty", "/none"] {
        let response = respond(&layer, &app, request(path)).await;
        assert_eq!((path, limit.in_flight()), (path, 0), "{response:?}");
    }
    let head = http::Request::head("/full").body(Body::empty()).unwrap();
    let response = respond(&layer, &app, head).await;
    assert_eq!(limit.in_flight(), 0, "HEAD: {response:?}");

    let full = respond(&layer, &app, request("/full")).await;
    assert_eq!(limit.in_flight(), 1, "a body with content does");
    assert_eq!(http_body::Body::size_hint(full.body()).exact(), Some(4), "size hints pass through");
    drop(full);
    assert_eq!(limit.in_flight(), 0);
    assert!(feeds.try_recv().is_err());
}

#[tokio::test]
async fn the_last_frame_the_trailers_an_error_and_a_drop_half_way_free_the_lease() {
    let gauge = Gauge::default();
    let (app, mut feeds) = app(|app| app, &gauge);
    let layer = ConcurrencyLimitLayer::server_builder(1).name("frames").build().unwrap();
    let limit = layer.handle();
    let data = || Frame::data(Bytes::from_static(b"chunk"));

    let mut ended = respond(&layer, &app, request("/stream")).await.into_body();
    let feed = feeds.recv().await.unwrap();
    feed.send(Ok(data())).unwrap();
    assert!(ended.frame().await.unwrap().unwrap().is_data());
    assert_eq!(limit.in_flight(), 1);
    drop(feed);
    assert!(ended.frame().await.is_none());
    assert_eq!(limit.in_flight(), 0, "the body is still here, and its end was seen");

    let mut trailed = respond(&layer, &app, request("/stream")).await.into_body();
    let feed = feeds.recv().await.unwrap();
    feed.send(Ok(Frame::trailers(http::HeaderMap::new()))).unwrap();
    assert!(trailed.frame().await.unwrap().unwrap().is_trailers());
    assert_eq!(limit.in_flight(), 0);

    let mut broken = respond(&layer, &app, request("/stream")).await.into_body();
    let feed = feeds.recv().await.unwrap();
    feed.send(Err(std::io::Error::other("broken"))).unwrap();
    assert!(broken.frame().await.unwrap().is_err());
    assert_eq!(limit.in_flight(), 0);

    let mut dropped = respond(&layer, &app, request("/stream")).await.into_body();
    let feed = feeds.recv().await.unwrap();
    feed.send(Ok(data())).unwrap();
    assert!(dropped.frame().await.unwrap().is_ok());
    drop(dropped);
    assert_eq!(limit.in_flight(), 0);

    let stats = limit.stats();
    assert_eq!((stats.completed, stats.failed, stats.cancelled_running), (Some(2), Some(1), Some(1)));
}

struct Panicking;

impl http_body::Body for Panicking {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        panic!("the body panics");
    }
}

#[tokio::test]
async fn a_panic_in_the_body_frees_the_lease() {
    let layer = ConcurrencyLimitLayer::server(1);
    let limit = layer.handle();
    let app = Router::new().route("/", get(|| async { Body::new(Panicking) }));
    let mut body = respond(&layer, &app, request("/")).await.into_body();
    assert_eq!(limit.in_flight(), 1);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        support::Task::new().poll(|cx| http_body::Body::poll_frame(Pin::new(&mut body), cx))
    }));
    assert!(caught.is_err());
    assert_eq!(limit.in_flight(), 0, "freed although the wreck is still here");
}

#[tokio::test(start_paused = true)]
async fn max_hold_frees_the_lease_of_a_client_that_never_reads_and_counts_it() {
    let gauge = Gauge::default();
    let (app, mut feeds) = app(|app| app, &gauge);
    let layer = ConcurrencyLimitLayer::server_builder(2).max_hold(Duration::from_secs(8)).build().unwrap();
    let limit = layer.handle();
    let unread = respond(&layer, &app, request("/stream")).await;
    let read = respond(&layer, &app, request("/stream")).await;
    tokio::time::sleep(Duration::from_millis(7990)).await;
    assert_eq!((limit.in_flight(), limit.stats().overdue), (2, 0), "not before its time");
    drop(read);
    assert_eq!(limit.in_flight(), 1);
    tokio::time::sleep(Duration::from_millis(1030)).await;
    assert_eq!((limit.in_flight(), limit.stats().overdue), (0, 1), "at most an eighth late");

    // The body goes on without a lease, and its end frees nothing twice.
    let feed = feeds.recv().await.unwrap();
    feed.send(Ok(Frame::data(Bytes::from_static(b"late")))).unwrap();
    let mut unread = unread.into_body();
    assert!(unread.frame().await.unwrap().is_ok());
    drop(unread);
    assert_eq!((limit.in_flight(), limit.snapshot().available), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn max_hold_lets_waiters_in_and_keeps_its_generations_apart() {
    let gauge = Gauge::default();
    let (app, _feeds) = app(|app| app, &gauge);
    let layer = ConcurrencyLimitLayer::server_builder(3)
        .max_hold(Duration::from_secs(8))
        .queue_timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let limit = layer.handle();
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(respond(&layer, &app, request("/stream")).await);
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let start = tokio::time::Instant::now();
    // The first was given out 6 s ago, so it is due within 2 to 3 s; the second 2 s later.
    for _ in 0..2 {
        held.push(respond(&layer, &app, request("/stream")).await);
        let waited = start.elapsed();
        let due = Duration::from_secs(2 * (held.len() as u64 - 3));
        assert!(waited >= due && waited <= due + Duration::from_millis(1005), "{waited:?}");
    }
    assert_eq!((limit.in_flight(), limit.stats().overdue), (3, 2));
}

#[tokio::test]
async fn a_lease_counts_once_however_many_frames_a_large_body_has_over_http1() {
    let layer = ConcurrencyLimitLayer::server(1);
    let limit = layer.handle();
    let big = Arc::new(vec![7_u8; 4 << 20]);
    let body = Arc::clone(&big);
    let app = Router::new().route("/", get(move || async move { body.to_vec() })).layer(layer);
    let addr = serve(app).await;
    let mut client = http1(addr).await;
    for _ in 0..3 {
        let response = client.send_request(request("/")).await.unwrap();
        assert_eq!(within("the body is read", body_of(response)).await.unwrap().len(), big.len());
        until("the lease comes home", || limit.in_flight() == 0).await;
    }
}
