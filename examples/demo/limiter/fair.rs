//! This project's limit around the routes.
use std::time::Duration;

use axum::Router;
use tokio::time::timeout;
use tower_limit_fair::{ConcurrencyLimitLayer, DrainPolicy, Limit};

use crate::flags::Flags;

pub(crate) struct Fair {
    routes: Router,
    limit: Limit,
}

impl Fair {
    pub(crate) fn new(flags: &Flags, routes: Router) -> Result<Fair, String> {
        let layer = ConcurrencyLimitLayer::server_builder(flags.limit)
            .name("http")
            .max_limit(flags.max_limit)
            .queue(flags.queue)
            .queue_timeout(flags.queue_timeout)
            .lease_time()
            .build()
            .map_err(|error| error.to_string())?;
        let limit = layer.handle();
        Ok(Fair { routes: routes.layer(layer), limit })
    }

    pub(crate) fn service(&self) -> Router {
        self.routes.clone()
    }

    pub(crate) fn set_limit(&self, limit: usize) -> Result<(), String> {
        self.limit.set_limit(limit).map_err(|error| error.to_string())
    }

    pub(crate) fn publish(&self) {
        self.limit.publish();
    }

    /// Lets what runs and waits end; afterwards every permit must be back.
    pub(crate) async fn drain(&self, patience: Duration) -> Result<(), String> {
        let drained = timeout(patience, self.limit.drain(DrainPolicy::FinishQueued)).await;
        let (busy, queued, limit) = (self.limit.in_flight(), self.limit.queued(), self.limit.limit());
        match drained {
            Ok(Ok(())) if busy + queued == 0 => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            _ => Err(format!("permits: {busy} of {limit} in flight and {queued} queued after {patience:?}")),
        }
    }
}
