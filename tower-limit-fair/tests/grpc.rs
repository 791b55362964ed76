//! A real tonic server: one limit for the server, and a status that clients can retry on.
#![cfg(all(feature = "grpc", feature = "time"))]
#![forbid(unsafe_code)]

mod support;

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes};
use support::server::{Gauge, until, within};
use tokio::sync::Semaphore as Gate;
use tonic::{
    Code, Status,
    body::Body,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    server::NamedService,
    transport::{Channel, Endpoint, Server},
};
use tonic_types::StatusExt;
use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimitLayer, Grpc, Limit, Mode, Reason};
use tower_service::Service;

/// Answers every call with its own message, once the gate lets it.
#[derive(Clone)]
struct Echo {
    gauge: Gauge,
    gate: Arc<Gate>,
}

impl NamedService for Echo {
    const NAME: &'static str = "test.Echo";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let echo = self.clone();
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(Raw);
            Ok(grpc.unary(echo, request).await)
        })
    }
}

impl tonic::server::UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Bytes>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let Echo { gauge, gate } = self.clone();
        Box::pin(async move {
            let _inside = gauge.enter();
            gate.acquire().await.unwrap().forget();
            Ok(tonic::Response::new(request.into_inner()))
        })
    }
}

/// Messages as they are.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buf: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buf.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buf.copy_to_bytes(buf.remaining())))
    }
}

fn layer(policy: Grpc) -> (ConcurrencyLimitLayer<Grpc>, Limit) {
    let layer = ConcurrencyLimitLayer::builder()
        .limit(2)
        .mode(Mode::Deferred)
        .queue(2)
        .queue_timeout(Duration::from_secs(600))
        .policy(policy)
        .build()
        .unwrap();
    let limit = layer.handle();
    (layer, limit)
}

async fn serve(layer: ConcurrencyLimitLayer<Grpc>, echo: Echo) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    tokio::spawn(Server::builder().layer(layer).add_service(echo).serve_with_incoming(incoming));
    addr
}

async fn call(channel: Channel, message: &'static str) -> Result<Bytes, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let path = http::uri::PathAndQuery::from_static("/test.Echo/Call");
    let answer = client.unary(tonic::Request::new(Bytes::from_static(message.as_bytes())), path, Raw).await;
    answer.map(tonic::Response::into_inner)
}

async fn overload(policy: Grpc) -> Status {
    let (layer, limit) = layer(policy);
    let echo = Echo { gauge: Gauge::default(), gate: Arc::new(Gate::new(0)) };
    let addr = serve(layer, echo.clone()).await;
    let channel = async || {
        let endpoint = Endpoint::from_shared(format!("http://{addr}")).unwrap();
        endpoint.connect().await.unwrap()
    };
    // Each on its own connection: the limit is the server's.
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let channel = channel().await;
        calls.spawn(call(channel, "hello"));
    }
    until("two run and two wait", || echo.gauge.now() == 2 && limit.queued() == 2).await;
    let refused = within("the fifth is answered", call(channel().await, "fifth")).await.unwrap_err();
    echo.gate.add_permits(4);
    while let Some(answer) = within("the others are answered", calls.join_next()).await {
        assert_eq!(answer.unwrap().unwrap(), "hello");
    }
    assert_eq!((echo.gauge.peak(), echo.gauge.total()), (2, 4));
    assert_eq!(limit.stats().rejected(Reason::QueueFull), 1);
    until("every lease comes home with the trailers", || limit.in_flight() == 0).await;
    refused
}

#[tokio::test]
async fn a_full_server_answers_unavailable_with_retry_info_and_counts_all_connections_together() {
    let refused = overload(Grpc::unavailable()).await;
    assert_eq!(refused.code(), Code::Unavailable);
    assert_eq!(refused.message(), "request rejected: the queue is full (limit 2, in flight 2, queued 2)");
    let retry = refused.get_details_retry_info().expect("no RetryInfo").retry_delay.unwrap();
    assert!(retry >= Duration::from_secs(1) && retry <= Duration::from_secs(60), "{retry:?}");
}

#[tokio::test]
async fn a_quota_answers_resource_exhausted() {
    let refused = overload(Grpc::resource_exhausted()).await;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.get_details_retry_info().is_some());
}

#[test]
fn the_name_of_the_service_passes_through() {
    fn name<S: NamedService>(_: &S) -> &'static str {
        S::NAME
    }
    let echo = Echo { gauge: Gauge::default(), gate: Arc::new(Gate::new(0)) };
    assert_eq!(name(&layer(Grpc::unavailable()).0.layer(echo.clone())), "test.Echo");
    let deferred = ConcurrencyLimitLayer::builder()
        .limit(1)
        .mode(Mode::Deferred)
        .grpc()
        .deferred_clone()
        .build()
        .unwrap();
    assert_eq!(name(&deferred.layer(echo)), "test.Echo");
}
