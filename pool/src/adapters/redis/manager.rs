use std::sync::Arc;

use super::options::Settings;
use super::{Connection, Error};
use crate::Manager;
use crate::manager::{CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass, ResetContext};

/// Connects, checks, resets and closes the connections of a [`RedisPool`](super::RedisPool).
///
/// Made by [`Options::manager`](super::Options::manager).
///
/// ```
/// use lease_pool::{Pool, redis::Options};
/// let pool = Pool::builder(Options::from_url("redis://localhost").unwrap().manager()).build().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct RedisManager {
    settings: Arc<Settings>,
}

impl RedisManager {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        RedisManager { settings }
    }
}

impl Manager for RedisManager {
    type Resource = Connection;
    type Error = Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<Connection, Error> {
        Connection::open(Arc::clone(&self.settings)).await
    }

    async fn check(&self, connection: &mut Connection, _ctx: CheckContext<'_>) -> Result<(), Error> {
        connection.ping().await
    }

    async fn reset(&self, connection: &mut Connection, _ctx: ResetContext<'_>) -> Result<(), Error> {
        connection.reset().await
    }

    fn needs_reset(&self, connection: &Connection) -> bool {
        connection.needs_reset()
    }

    fn is_dirty(&self, connection: &Connection) -> bool {
        connection.is_cut_off()
    }

    fn is_broken(&self, connection: &Connection) -> bool {
        connection.is_spoiled()
    }

    async fn close(&self, connection: Connection, _ctx: CloseContext<'_>) {
        connection.end().await;
    }

    fn classify(&self, error: &Error) -> ErrorClass {
        error.class()
    }

    /// Nothing is left half done once the reset has got its word back.
    fn cancel_safety(&self) -> CancelSafety {
        CancelSafety::Safe
    }
}
