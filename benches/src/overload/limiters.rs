//! The limiters under overload, behind one call.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tower::limit::ConcurrencyLimit as TowerLimit;
use tower::load_shed::LoadShed;
use tower::{Layer, Service, ServiceExt};
use tower_limit_fair::ConcurrencyLimitLayer;
use tower_resilience_bulkhead::BulkheadLayer;

use super::SLOTS;

/// Who limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limiter {
    /// Ours as `new`: pure backpressure.
    New,
    /// Ours as `server`: a short queue, a queue timeout, a 503.
    Server,
    /// tower's ConcurrencyLimit: an unbounded queue.
    Tower,
    /// tower's ConcurrencyLimit behind LoadShed.
    TowerShed,
    /// tower-resilience's bulkhead, waiting at most as long as our server does.
    Bulkhead,
}

/// How a request ended for the limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It ran to its end.
    Served,
    /// It was refused.
    Shed,
}

type Answer = Pin<Box<dyn Future<Output = Ending> + Send>>;

/// One limiter around a service whose request is the time it takes.
pub(super) struct Door(Box<dyn Fn(Duration) -> Answer + Send + Sync>);

impl Limiter {
    /// All of them, ours first.
    pub const ALL: [Self; 5] = [Self::New, Self::Server, Self::Tower, Self::TowerShed, Self::Bulkhead];

    /// Its name in tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "ours new",
            Self::Server => "ours server",
            Self::Tower => "tower",
            Self::TowerShed => "tower LoadShed",
            Self::Bulkhead => "bulkhead",
        }
    }

    pub(super) fn door(self) -> Door {
        let sleepy = tower::service_fn(|time: Request<Duration>| async move {
            tokio::time::sleep(*time.body()).await;
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"done"))))
        });
        match self {
            Self::New => Door::of(ConcurrencyLimitLayer::new(SLOTS).layer(sleepy)),
            Self::Server => Door::of(ConcurrencyLimitLayer::server(SLOTS).layer(sleepy)),
            Self::Tower => Door::of(TowerLimit::new(sleepy, SLOTS)),
            Self::TowerShed => Door::of(LoadShed::new(TowerLimit::new(sleepy, SLOTS))),
            Self::Bulkhead => {
                let builder = BulkheadLayer::builder().max_concurrent_calls(SLOTS);
                let layer = builder.max_wait_duration(Duration::from_secs(1)).build().expect("valid options");
                Door::of(layer.layer(sleepy))
            }
        }
    }
}

impl Door {
    fn of<S, B>(service: S) -> Self
    where
        S: Service<Request<Duration>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: Send,
        B: Send,
    {
        Self(Box::new(move |time| {
            let service = service.clone();
            Box::pin(async move {
                match service.oneshot(Request::new(time)).await {
                    Ok(response) if response.status() == StatusCode::OK => Ending::Served,
                    _ => Ending::Shed,
                }
            })
        }))
    }

    pub(super) fn enter(&self, time: Duration) -> Answer {
        (self.0)(time)
    }
}
