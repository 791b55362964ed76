//! A hundred requests over four HTTP/1 connections, some of whose bodies are dropped half way.
//!
//! Without `HTTP_URL` it starts a small server of its own.
//!
//! ```text
//! cargo run -p examples --features http --bin http_pool
//! HTTP_URL=http://localhost:8080/ cargo run -p examples --features http --bin http_pool
//! ```

use std::convert::Infallible;

use http_body_util::{BodyExt, Empty, Full};
use hyper::Uri;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use lease_pool::Pool;
use lease_pool::http::{self, Bytes, HttpManager, Request, Response};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const REQUESTS: usize = 100;
const CONNECTIONS: usize = 4;

/// Answers everything with twenty thousand bytes.
async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        let answer = service_fn(|_: Request<Incoming>| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(vec![b'.'; 20_000]))))
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer),
        );
    }
}

async fn target() -> Result<Uri, Failure> {
    if let Ok(url) = std::env::var("HTTP_URL") {
        return Ok(url.parse()?);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(serve(listener));
    Ok(url.parse()?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let url = target().await?;
    let host = url.host().ok_or("HTTP_URL names no host")?;
    let authority = format!("{host}:{}", url.port_u16().unwrap_or(80));
    let pool = Pool::builder(HttpManager::<Empty<Bytes>>::new(authority)).max(CONNECTIONS).build()?;

    let mut tasks = JoinSet::new();
    for n in 0..REQUESTS {
        let (pool, url) = (pool.clone(), url.clone());
        tasks.spawn(async move {
            let request = Request::get(url).body(Empty::new())?;
            let mut body = http::send(&pool, request).await?.into_body();
            if n % 5 == 0 {
                // One frame is enough for this caller; the pool reads the rest and keeps the connection.
                return Ok::<usize, Failure>(body.frame().await.transpose()?.map_or(0, |_| 1));
            }
            Ok(body.collect().await?.to_bytes().len())
        });
    }
    let mut bytes = 0;
    for answer in tasks.join_all().await {
        bytes += answer?;
    }
    let made = pool.stats().created;
    println!("{REQUESTS} requests to {url}, {bytes} bytes read, {made} connections made");
    assert!(bytes > 0);
    assert!(made <= CONNECTIONS as u64, "every connection was kept");
    Ok(())
}
