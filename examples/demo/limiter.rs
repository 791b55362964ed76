//! The three limiters, all built at start and exchanged while the demo runs.
mod fair;
mod tower_own;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;

use crate::flags::{Flags, Kind};
use fair::Fair;
use tower_own::TowerOwn;

/// Who may run now: the present limiter and its limit.
pub(crate) struct Limiters {
    fair: Fair,
    tower: TowerOwn,
    unlimited: Router,
    present: Mutex<Present>,
    max_limit: usize,
}

#[derive(Clone, Copy, Debug)]
struct Present {
    kind: Kind,
    limit: usize,
}

impl Limiters {
    /// Puts each limiter around its own clone of the routes.
    pub(crate) fn new(flags: &Flags, routes: Router) -> Result<Limiters, String> {
        Ok(Limiters {
            fair: Fair::new(flags, routes.clone())?,
            tower: TowerOwn::new(flags.limit, routes.clone()),
            unlimited: routes,
            present: Mutex::new(Present { kind: flags.limiter, limit: flags.limit }),
            max_limit: flags.max_limit,
        })
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kind(&self) -> Kind {
        self.present().kind
    }

    pub(crate) fn limit(&self) -> usize {
        self.present().limit
    }

    /// The limited routes; a clone shares the limit.
    pub(crate) fn service(&self) -> Router {
        match self.kind() {
            Kind::Fair => self.fair.service(),
            Kind::Tower => self.tower.service(),
            Kind::None => self.unlimited.clone(),
        }
    }

    /// Sets the limit of both limiters, so that an exchange keeps it.
    pub(crate) fn set_limit(&self, limit: usize) -> Result<(), String> {
        if limit == 0 || limit > self.max_limit {
            return Err(format!("the limit must be from 1 to {}, not {limit}", self.max_limit));
        }
        let mut present = self.present();
        self.fair.set_limit(limit)?;
        self.tower.set_limit(limit);
        present.limit = limit;
        Ok(())
    }

    /// Sends the counts of our limit to the exporter; the others have none.
    pub(crate) fn publish(&self) {
        self.fair.publish();
    }

    pub(crate) fn exchange(&self, kind: Kind) {
        self.present().kind = kind;
    }

    /// Lets what runs and waits end, and answers what did not come home.
    pub(crate) async fn drain(&self, patience: Duration) -> Result<(), String> {
        self.fair.drain(patience).await
    }

    /// One line for the start of the demo.
    pub(crate) fn describe(&self, flags: &Flags) -> String {
        let Present { kind, limit } = *self.present();
        match kind {
            Kind::Fair => format!(
                "fair: {limit} requests at a time, {} may wait for {:?}, the next is refused",
                flags.queue, flags.queue_timeout
            ),
            Kind::Tower => format!("tower: {limit} requests at a time, the others wait without bound"),
            Kind::None => "none: every request goes to the pool at once".to_owned(),
        }
    }
}
