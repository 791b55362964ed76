//! The same over real HTTP/1 connections on the loopback interface and the real clock.
//!
//! A client that gives up closes its connection, so here departures are always told.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tower::limit::ConcurrencyLimit as TowerLimit;
use tower::{Layer, Service};
use tower_limit_fair::ConcurrencyLimitLayer;

use super::limiters::Limiter;
use super::model::Outcome;
use super::{DEADLINE, SERVICE, SLOTS, capacity};
use crate::random::Random;
use crate::statistics::quantile;

/// A stretch of the run.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// Arrivals as a multiple of the capacity.
    pub factor: f64,
    /// How long it lasts.
    pub span: Duration,
}

struct Fate {
    phase: usize,
    status: Option<StatusCode>,
    latency: Duration,
}

/// Runs the phases one after the other against one server, and gives the outcome of each.
///
/// # Errors
/// For limiters that need more than a service to stand in a server (LoadShed, the bulkhead: their errors are not
/// answers), and when no port can be had.
pub fn run(limiter: Limiter, phases: &[Phase], seed: u64) -> Result<Vec<Outcome>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let fates = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| format!("no port: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("no address: {error}"))?;
        let handler = tower::service_fn(handle);
        let server = match limiter {
            Limiter::New => tokio::spawn(serve(listener, ConcurrencyLimitLayer::new(SLOTS).layer(handler))),
            Limiter::Server => {
                tokio::spawn(serve(listener, ConcurrencyLimitLayer::server(SLOTS).layer(handler)))
            }
            Limiter::Tower => tokio::spawn(serve(listener, TowerLimit::new(handler, SLOTS))),
            Limiter::TowerShed | Limiter::Bulkhead => {
                return Err(format!("{}: its error is not an HTTP answer", limiter.name()));
            }
        };
        let fates = offer(address, phases, seed).await;
        server.abort();
        Ok(fates)
    })?;
    Ok(phases.iter().enumerate().map(|(place, phase)| outcome(&fates, place, *phase)).collect())
}

/// Works for the microseconds in the path.
async fn handle(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let micros = request.uri().path().trim_start_matches('/').parse().unwrap_or(0);
    sleep(Duration::from_micros(micros)).await;
    Ok(Response::new(Full::new(Bytes::from_static(b"done"))))
}

async fn serve<S, B>(listener: TcpListener, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync,
{
    while let Ok((stream, _)) = listener.accept().await {
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            // A client that goes away is an error of its connection and of nothing else.
            _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn offer(address: SocketAddr, phases: &[Phase], seed: u64) -> Vec<Fate> {
    let (mut random, mut clients) = (Random::new(seed), Vec::new());
    let mut begin = Instant::now();
    for (place, phase) in phases.iter().enumerate() {
        let mut at = 0.0;
        loop {
            at += random.exponential(1.0 / (capacity() * phase.factor));
            if at >= phase.span.as_secs_f64() {
                break;
            }
            let service = Duration::from_secs_f64(random.exponential(SERVICE.as_secs_f64()));
            tokio::time::sleep_until((begin + Duration::from_secs_f64(at)).into()).await;
            clients.push(tokio::spawn(async move {
                let asked = Instant::now();
                let status = timeout(DEADLINE, ask(address, service)).await.ok().flatten();
                Fate { phase: place, status, latency: asked.elapsed() }
            }));
        }
        begin += phase.span;
    }
    let mut fates = Vec::with_capacity(clients.len());
    for client in clients {
        fates.push(client.await.expect("a client does not panic"));
    }
    fates
}

/// One request on a connection of its own; dropping this closes the connection.
async fn ask(address: SocketAddr, service: Duration) -> Option<StatusCode> {
    let stream = TcpStream::connect(address).await.ok()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::get(format!("/{}", service.as_micros()));
    let request = request.header("host", "loopback").body(Empty::<Bytes>::new()).ok()?;
    let exchange = async {
        let response = sender.send_request(request).await.ok()?;
        let status = response.status();
        response.into_body().collect().await.ok()?;
        Some(status)
    };
    tokio::select! {
        status = exchange => status,
        _ = connection => None,
    }
}

fn outcome(fates: &[Fate], place: usize, phase: Phase) -> Outcome {
    let mine: Vec<&Fate> = fates.iter().filter(|fate| fate.phase == place).collect();
    let good: Vec<f64> = mine
        .iter()
        .filter(|fate| fate.status == Some(StatusCode::OK))
        .map(|fate| fate.latency.as_secs_f64() * 1000.0)
        .collect();
    let shed = mine.iter().filter(|fate| fate.status == Some(StatusCode::SERVICE_UNAVAILABLE)).count();
    Outcome {
        goodput: good.len() as f64 / (capacity() * phase.span.as_secs_f64()),
        p50: quantile(&good, 0.5).unwrap_or(0.0),
        p99: quantile(&good, 0.99).unwrap_or(0.0),
        shed: shed as f64 / mine.len().max(1) as f64,
        offered: mine.len(),
    }
}
