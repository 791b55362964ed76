//! A tonic server that runs two calls at a time over all connections; the others learn when to try again.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::http::uri::PathAndQuery;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tonic::body::Body;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Response, Status, server};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt;
use tower_limit_fair::ConcurrencyLimitLayer;

#[derive(Clone, PartialEq, prost::Message)]
struct Dish {
    #[prost(string, tag = "1")]
    name: String,
}

/// What a generated server would be; written out here so that the example needs no protoc.
#[derive(Clone)]
struct Kitchen(Arc<Stove>);

struct Stove {
    /// Holds the calls up, so that the outcome does not depend on the clock.
    gate: Semaphore,
    cooking: AtomicUsize,
    most: AtomicUsize,
}

impl server::UnaryService<Dish> for Kitchen {
    type Response = Dish;
    type Future = BoxFuture<'static, Result<Response<Dish>, Status>>;

    fn call(&mut self, request: Request<Dish>) -> Self::Future {
        let stove = self.0.clone();
        Box::pin(async move {
            stove.most.fetch_max(stove.cooking.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let _open = stove.gate.acquire().await;
            stove.cooking.fetch_sub(1, Ordering::SeqCst);
            Ok(Response::new(Dish { name: format!("hot {}", request.into_inner().name) }))
        })
    }
}

impl tower::Service<hyper::Request<Body>> for Kitchen {
    type Response = hyper::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<Body>) -> Self::Future {
        let kitchen = self.clone();
        Box::pin(async move {
            Ok(server::Grpc::new(ProstCodec::<Dish, Dish>::default()).unary(kitchen, request).await)
        })
    }
}

impl server::NamedService for Kitchen {
    const NAME: &'static str = "demo.Kitchen";
}

async fn order(channel: Channel, name: &str) -> Result<String, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let path = PathAndQuery::from_static("/demo.Kitchen/Cook");
    let codec = ProstCodec::<Dish, Dish>::default();
    let answer = client.unary(Request::new(Dish { name: name.to_owned() }), path, codec).await?;
    Ok(answer.into_inner().name)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stove =
        Arc::new(Stove { gate: Semaphore::new(0), cooking: AtomicUsize::new(0), most: AtomicUsize::new(0) });
    let layer = ConcurrencyLimitLayer::builder()
        .limit(2)
        .mode(tower_limit_fair::Mode::Deferred)
        .queue(2)
        .queue_timeout(Duration::from_secs(60))
        .grpc()
        .build()?;
    let limit = layer.handle();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = Server::builder()
        .layer(layer)
        .add_service(Kitchen(stove.clone()))
        .serve_with_incoming(TcpIncoming::from(listener));
    let serving = tokio::spawn(serving);

    // Two connections, four calls on each: the limit belongs to the server, not to a connection.
    let (answers, mut answered) = mpsc::unbounded_channel();
    for _ in 0..2 {
        let channel = Endpoint::from_shared(format!("http://{address}"))?.connect().await?;
        for dish in ["soup", "stew", "rice", "fish"] {
            let (channel, answers) = (channel.clone(), answers.clone());
            tokio::spawn(async move { answers.send(order(channel, dish).await) });
        }
    }
    for _ in 0..4 {
        let status =
            answered.recv().await.ok_or("no answer")?.expect_err("two cook, two wait, four are refused");
        let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
        println!("{:?}: {}; retry in {retry:?}", status.code(), status.message());
        assert_eq!(status.code(), Code::Unavailable);
        assert!(retry.is_some_and(|delay| delay > Duration::ZERO));
    }
    assert_eq!((limit.in_flight(), limit.queued()), (2, 2));
    stove.gate.add_permits(8);
    for _ in 0..4 {
        println!("{}", answered.recv().await.ok_or("no answer")??);
    }
    let most = stove.most.load(Ordering::SeqCst);
    println!("at most {most} at a time");
    assert_eq!(most, 2);
    serving.abort();
    Ok(())
}
