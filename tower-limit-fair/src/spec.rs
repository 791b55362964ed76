//! The checked options of a layer, which gates are made from.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use semaphore_core::{Name, Semaphore};

use crate::{
    ConcurrencyLimitLayer, Mode,
    calling::Direct,
    gate::{Gate, GateParts},
    name::NameGuard,
    rule::AnyRequest,
};

/// How long a reservation may lie unused while others wait, if nothing else was said.
pub(crate) const RESERVATION_TTL: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) name: Option<Name>,
    pub(crate) mode: Mode,
    pub(crate) rejects: bool,
    pub(crate) max_limit: Option<usize>,
    pub(crate) queue: Option<usize>,
    pub(crate) queue_timeout: Option<Duration>,
    pub(crate) reservation_ttl: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) lease_time: bool,
    pub(crate) warn_lease_after: Option<Duration>,
    /// Whether answered requests hold their lease beyond the head.
    pub(crate) holds_body: bool,
}

impl Spec {
    pub(crate) fn plain(mode: Mode, rejects: bool) -> Self {
        Spec {
            name: None,
            mode,
            rejects,
            max_limit: None,
            queue: None,
            queue_timeout: None,
            reservation_ttl: Some(RESERVATION_TTL),
            max_hold: None,
            lease_time: false,
            warn_lease_after: None,
            holds_body: true,
        }
    }

    /// A layer without rules, on this semaphore.
    pub(crate) fn layer<P>(
        self,
        semaphore: Arc<Semaphore>,
        policy: P,
    ) -> ConcurrencyLimitLayer<P, AnyRequest, Direct> {
        let gate = self.gate(semaphore, None);
        ConcurrencyLimitLayer { gate, spec: Arc::new(self), policy, rule: AnyRequest, calling: PhantomData }
    }

    pub(crate) fn gate(&self, semaphore: Arc<Semaphore>, name: Option<NameGuard>) -> Arc<Gate> {
        Gate::new(GateParts {
            semaphore,
            name,
            mode: self.mode,
            rejects: self.rejects,
            reservation_ttl: self.reservation_ttl,
            queue_timeout: self.queue_timeout,
            max_waiters: self.queue,
            max_hold: self.max_hold,
        })
    }

    /// The semaphore that these options describe. The numbers were checked before: a layer of them exists.
    pub(crate) fn semaphore(&self, limit: usize) -> Result<Semaphore, semaphore_core::BuildError> {
        let mut builder = Semaphore::builder(limit);
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(most) = self.queue {
            builder = builder.max_waiters(most);
        }
        if let Some(ceiling) = self.max_limit {
            builder = builder.ceiling(ceiling);
        }
        if self.lease_time {
            builder = builder.lease_time();
        }
        if let Some(age) = self.warn_lease_after {
            builder = builder.warn_lease_after(age);
        }
        builder.build()
    }

    pub(crate) fn gate_of_one_service(&self, limit: usize) -> Arc<Gate> {
        // Built once before with the same numbers, except that the shared limit may have been 0.
        let semaphore = self.semaphore(limit).unwrap_or_else(|_| Semaphore::empty(Semaphore::MAX_PERMITS));
        self.gate(Arc::new(semaphore), self.name.clone().map(NameGuard::shared))
    }
}
