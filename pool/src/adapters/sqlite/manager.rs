use std::sync::Arc;

use rusqlite::ErrorCode;

use super::{Connection, Error, Options};
use crate::Manager;
use crate::manager::{CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass, ResetContext};

/// Opens, checks, resets and closes the connections of a [`SqlitePool`](super::SqlitePool).
///
/// Made by [`Options::manager`].
///
/// ```
/// use lease_pool::{Pool, sqlite::Options};
/// let pool = Pool::builder(Options::memory().manager()).build().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct SqliteManager {
    options: Arc<Options>,
}

impl SqliteManager {
    pub(super) fn new(options: Options) -> Self {
        SqliteManager { options: Arc::new(options) }
    }
}

impl Manager for SqliteManager {
    type Resource = Connection;
    type Error = Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<Connection, Error> {
        Connection::open(Arc::clone(&self.options)).await
    }

    /// A statement might wait for a lock of somebody else, which says nothing about this connection.
    async fn check(&self, connection: &mut Connection, _ctx: CheckContext<'_>) -> Result<(), Error> {
        connection.run(|_| ()).await
    }

    async fn reset(&self, connection: &mut Connection, _ctx: ResetContext<'_>) -> Result<(), Error> {
        connection.roll_back().await
    }

    fn needs_reset(&self, connection: &Connection) -> bool {
        connection.is_working() || connection.is_in_transaction()
    }

    fn is_dirty(&self, connection: &Connection) -> bool {
        connection.is_working()
    }

    fn is_broken(&self, connection: &Connection) -> bool {
        connection.has_ended()
    }

    async fn close(&self, connection: Connection, _ctx: CloseContext<'_>) {
        connection.end().await;
    }

    fn classify(&self, error: &Error) -> ErrorClass {
        match error.sqlite().and_then(rusqlite::Error::sqlite_error_code) {
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::NotADatabase
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::DatabaseCorrupt,
            ) => ErrorClass::Fatal,
            _ => ErrorClass::Transient,
        }
    }

    /// Nothing is left half done once the reset has waited for the thread.
    fn cancel_safety(&self) -> CancelSafety {
        CancelSafety::Safe
    }
}
