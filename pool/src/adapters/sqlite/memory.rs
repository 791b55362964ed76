use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A database in memory, shared by name between connections and kept alive by one of its own.
pub(super) struct Memory {
    uri: String,
    /// SQLite frees the database with its last connection, and a pool may have none for a while.
    anchor: Mutex<Option<rusqlite::Connection>>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl Memory {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Only a name with a slash in front is shared between connections.
        let uri = format!("file:/lease-pool-{number}?vfs=memdb");
        Memory { uri, anchor: Mutex::new(None) }
    }

    /// Where to open it; from the first call on it lives as long as this value.
    pub(super) fn anchored(&self) -> rusqlite::Result<&str> {
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        if anchor.is_none() {
            let connection = rusqlite::Connection::open(&self.uri)?;
            // The database comes to be with the first read, not with the open.
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            *anchor = Some(connection);
        }
        Ok(&self.uri)
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }
}
