//! tower's own concurrency limit, as its users know it: no bound on the queue, no answer for overload.
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use axum::Router;
use tokio::sync::Semaphore;
use tower::limit::GlobalConcurrencyLimitLayer;

pub(crate) struct TowerOwn {
    routes: Router,
    semaphore: Arc<Semaphore>,
    limit: Mutex<usize>,
}

impl TowerOwn {
    pub(crate) fn new(limit: usize, routes: Router) -> TowerOwn {
        let semaphore = Arc::new(Semaphore::new(limit));
        let routes = routes.layer(GlobalConcurrencyLimitLayer::with_semaphore(semaphore.clone()));
        TowerOwn { routes, semaphore, limit: Mutex::new(limit) }
    }

    pub(crate) fn service(&self) -> Router {
        self.routes.clone()
    }

    /// tower's layer has no call for this: the tokio semaphore under it is grown, or permits are taken out of it
    /// as they come home.
    pub(crate) fn set_limit(&self, limit: usize) {
        let mut present = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        if limit >= *present {
            self.semaphore.add_permits(limit - *present);
        } else {
            let surplus = *present - limit;
            let rest = surplus - self.semaphore.forget_permits(surplus);
            for _ in 0..rest {
                let semaphore = self.semaphore.clone();
                tokio::spawn(async move {
                    if let Ok(permit) = semaphore.acquire_owned().await {
                        permit.forget();
                    }
                });
            }
        }
        *present = limit;
    }
}
