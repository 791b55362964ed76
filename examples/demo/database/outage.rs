//! A manager that can be told to fail: the outage button.
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lease_pool::Manager;
use lease_pool::manager::{
    CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass, ResetContext,
};

/// Shared by button and manager. While it is on, opens are refused and every live connection reports broken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outage(Arc<AtomicBool>);

impl Outage {
    pub(crate) fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// `M`, until the outage begins.
#[derive(Debug)]
pub(crate) struct Interruptible<M> {
    pub(crate) manager: M,
    pub(crate) outage: Outage,
}

/// Why no connection was opened.
#[derive(Debug)]
pub(crate) enum OpenError<E> {
    Outage,
    Database(E),
}

impl<E: fmt::Display> fmt::Display for OpenError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Outage => f.write_str("the database is out, as the outage button says"),
            OpenError::Database(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for OpenError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            OpenError::Outage => None,
            OpenError::Database(error) => Some(error),
        }
    }
}

impl<M: Manager> Manager for Interruptible<M> {
    type Resource = M::Resource;
    type Error = OpenError<M::Error>;

    async fn create(&self, ctx: CreateContext<'_>) -> Result<M::Resource, Self::Error> {
        if self.outage.is_on() {
            return Err(OpenError::Outage);
        }
        self.manager.create(ctx).await.map_err(OpenError::Database)
    }

    async fn check(&self, connection: &mut M::Resource, ctx: CheckContext<'_>) -> Result<(), Self::Error> {
        if self.outage.is_on() {
            return Err(OpenError::Outage);
        }
        self.manager.check(connection, ctx).await.map_err(OpenError::Database)
    }

    async fn reset(&self, connection: &mut M::Resource, ctx: ResetContext<'_>) -> Result<(), Self::Error> {
        self.manager.reset(connection, ctx).await.map_err(OpenError::Database)
    }

    fn needs_reset(&self, connection: &M::Resource) -> bool {
        self.manager.needs_reset(connection)
    }

    fn is_dirty(&self, connection: &M::Resource) -> bool {
        self.manager.is_dirty(connection)
    }

    fn is_broken(&self, connection: &M::Resource) -> bool {
        self.outage.is_on() || self.manager.is_broken(connection)
    }

    async fn close(&self, connection: M::Resource, ctx: CloseContext<'_>) {
        self.manager.close(connection, ctx).await;
    }

    fn classify(&self, error: &Self::Error) -> ErrorClass {
        match error {
            OpenError::Outage => ErrorClass::Transient,
            OpenError::Database(error) => self.manager.classify(error),
        }
    }

    fn cancel_safety(&self) -> CancelSafety {
        self.manager.cancel_safety()
    }
}
