//! hyper's HTTP/2 client connections in the pool, through a manager of twenty lines.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use lease_pool::manager::{CheckContext, CreateContext};
use lease_pool::{Manager, Pool};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

struct Connections(SocketAddr);

impl Manager for Connections {
    type Resource = SendRequest<Empty<Bytes>>;
    type Error = io::Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> io::Result<Self::Resource> {
        let stream = TokioIo::new(TcpStream::connect(self.0).await?);
        let (sender, connection) = handshake(TokioExecutor::new(), stream).await.map_err(io::Error::other)?;
        // Ends when the sender is dropped, or when the server hangs up: then `is_broken` says so.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn check(&self, sender: &mut Self::Resource, _ctx: CheckContext<'_>) -> io::Result<()> {
        sender.ready().await.map_err(io::Error::other)
    }

    fn is_broken(&self, sender: &Self::Resource) -> bool {
        sender.is_closed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(serve(listener));

    let pool = Pool::builder(Connections(address)).name("http2").max(3).build()?;
    let mut calls = JoinSet::new();
    for _ in 0..30 {
        let pool = pool.clone();
        calls.spawn(async move {
            let mut sender = pool.get().await?;
            let request = Request::get(format!("http://{address}/")).body(Empty::new())?;
            let response = sender.send_request(request).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(
                response.into_body().collect().await?.to_bytes(),
            )
        });
    }
    let mut served = 0;
    while let Some(call) = calls.join_next().await {
        assert_eq!(call??, "hello\n");
        served += 1;
    }
    let stats = pool.stats();
    println!("{served} calls over {} connections, {} of them without a wait", stats.created, stats.immediate);
    assert_eq!(served, 30);
    assert!((1..=3).contains(&stats.created), "{} connections at a maximum of 3", stats.created);
    let report = pool.drain(Duration::from_secs(10)).await.map_err(|left| format!("{left:?}"))?;
    assert_eq!(report.alive, 0);
    server.abort();
    Ok(())
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _peer) = listener.accept().await?;
        let hello = service_fn(|_request| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello\n"))))
        });
        tokio::spawn(http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), hello));
    }
}
