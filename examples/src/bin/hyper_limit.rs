//! A plain hyper server with the limit around its service, and a bound on its connections.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::{JoinSet, yield_now};
use tower::{Layer, service_fn};
use tower_limit_fair::{ConcurrencyLimitLayer, ConnectionLimit};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = most.clone();
    let handler = service_fn(move |_request: Request<Incoming>| {
        let (running, most) = (running.clone(), most.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..20 {
                yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"done\n"))))
        }
    });
    // A clone per connection shares the limit.
    let layer = ConcurrencyLimitLayer::server_builder(3).queue(100).build()?;
    let limit = layer.handle();
    let service = layer.layer(handler);

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let connections = ConnectionLimit::new(64);
    let server = tokio::spawn(async move {
        // The place of a connection is taken before `accept` and comes back when its stream is dropped.
        while let Ok((stream, _peer)) = connections.accept(&listener).await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let served = auto::Builder::new(TokioExecutor::new());
                if let Err(error) = served.serve_connection(TokioIo::new(stream), service).await {
                    eprintln!("a connection ended early: {error}");
                }
            });
        }
    });

    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let mut calls = JoinSet::new();
    for _ in 0..40 {
        calls.spawn(client.request(Request::get(format!("http://{address}/")).body(Empty::new())?));
    }
    let mut served = 0;
    while let Some(answer) = calls.join_next().await {
        assert!(answer??.status().is_success());
        served += 1;
    }
    let peak = peak.load(Ordering::SeqCst);
    println!("{served} requests served, at most {peak} at a time");
    assert_eq!(served, 40);
    assert!((1..=3).contains(&peak), "{peak} ran at a limit of 3");
    assert_eq!(limit.queued(), 0);
    server.abort();
    Ok(())
}
