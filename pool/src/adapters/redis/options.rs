use std::sync::Arc;
use std::time::Duration;

use ::redis::{ConnectionInfo, IntoConnectionInfo};

use super::{Error, RedisManager, SharedManager};

/// How the connections of a pool are made.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lease_pool::{Pool, redis::Options};
/// use std::time::Duration;
///
/// let options = Options::from_url("redis://localhost/0")?.response_timeout(Duration::from_secs(1));
/// let pool = Pool::builder(options.manager()).name("cache").max(16).build()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing before `manager` or `shared_manager`"]
pub struct Options {
    settings: Settings,
}

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) info: ConnectionInfo,
    pub(super) response_timeout: Option<Duration>,
}

impl Options {
    /// Options for the server of this URL (`redis://` or `redis+unix://`), as the `redis` crate reads it.
    ///
    /// # Errors
    ///
    /// [`Error::Redis`] if it cannot be read.
    ///
    /// ```
    /// assert!(lease_pool::redis::Options::from_url("redis://localhost:6379/0").is_ok());
    /// ```
    pub fn from_url(url: &str) -> Result<Self, Error> {
        let info = url.into_connection_info()?;
        Ok(Options { settings: Settings { info, response_timeout: Some(Duration::from_secs(5)) } })
    }

    /// How long a command waits for its answer (5 s); `None` waits for ever.
    ///
    /// It does not bound commands that block at the server (`BLPOP`, `XREAD BLOCK` and the like): those have a
    /// timeout of their own among their arguments.
    ///
    /// ```
    /// # use lease_pool::redis::Options;
    /// let options = Options::from_url("redis://localhost").unwrap().response_timeout(None);
    /// ```
    pub fn response_timeout(mut self, response_timeout: impl Into<Option<Duration>>) -> Self {
        self.settings.response_timeout = response_timeout.into();
        self
    }

    /// The manager for a pool of connections with one user each.
    ///
    /// ```
    /// # use lease_pool::{Pool, redis::Options};
    /// let manager = Options::from_url("redis://localhost").unwrap().manager();
    /// let pool = Pool::builder(manager).max(4).build().unwrap();
    /// ```
    pub fn manager(self) -> RedisManager {
        RedisManager::new(Arc::new(self.settings))
    }

    /// The manager for one connection with several users, as many as the pool's maximum.
    ///
    /// ```
    /// # use lease_pool::{Pool, redis::Options};
    /// let manager = Options::from_url("redis://localhost").unwrap().shared_manager();
    /// let pool = Pool::builder(manager).max(100).build().unwrap();
    /// ```
    pub fn shared_manager(self) -> SharedManager {
        SharedManager::new(self.settings)
    }
}
