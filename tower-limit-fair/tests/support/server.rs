//! A real server on loopback, and a real client.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use axum::{Router, body::Body};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

/// Serves the router until the test ends.
pub async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    addr
}

pub type Http1 = hyper::client::conn::http1::SendRequest<Body>;
pub type Http2 = hyper::client::conn::http2::SendRequest<Body>;

/// One HTTP/1 connection.
pub async fn http1(addr: SocketAddr) -> Http1 {
    let io = TokioIo::new(TcpStream::connect(addr).await.unwrap());
    let (sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// One HTTP/2 connection.
pub async fn http2(addr: SocketAddr) -> Http2 {
    let io = TokioIo::new(TcpStream::connect(addr).await.unwrap());
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    sender
}

pub fn get(path: &str) -> Request<Body> {
    Request::get(path).header("host", "localhost").body(Body::empty()).unwrap()
}

pub async fn body_of(response: Response<Incoming>) -> Result<Vec<u8>, hyper::Error> {
    use http_body_util::BodyExt;
    Ok(response.into_body().collect().await?.to_bytes().to_vec())
}

/// Counts how many are inside at a time.
#[derive(Clone, Default)]
pub struct Gauge {
    now: Arc<AtomicUsize>,
    peak: Arc<AtomicUsize>,
    total: Arc<AtomicUsize>,
}

impl Gauge {
    pub fn enter(&self) -> Inside {
        let now = self.now.fetch_add(1, SeqCst) + 1;
        self.peak.fetch_max(now, SeqCst);
        self.total.fetch_add(1, SeqCst);
        Inside { now: Arc::clone(&self.now) }
    }

    pub fn now(&self) -> usize {
        self.now.load(SeqCst)
    }

    pub fn peak(&self) -> usize {
        self.peak.load(SeqCst)
    }

    pub fn total(&self) -> usize {
        self.total.load(SeqCst)
    }
}

pub struct Inside {
    now: Arc<AtomicUsize>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.now.fetch_sub(1, SeqCst);
    }
}

/// Waits for a state of the server that has to come, and fails when it does not within ten seconds.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    within(what, async {
        while !condition() {
            tokio::task::yield_now().await;
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// Fails instead of hanging.
pub async fn within<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(std::time::Duration::from_secs(20), future).await {
        Ok(output) => output,
        Err(_) => panic!("not within 20 s: {what}"),
    }
}
