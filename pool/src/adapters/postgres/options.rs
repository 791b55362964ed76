use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};

use super::connect::{Connector, connector};
use super::{Error, PgManager, Socket};

/// What happens to a connection between two users.
///
/// In every mode a use that was cut off is cancelled and waited for.
///
/// | mode | sent at a clean return | sent after a use that was cut off or left a transaction open |
/// |---|---|---|
/// | `None` | nothing | one round trip; the transaction stays open |
/// | `IfDirty` | nothing | one round trip, then `ROLLBACK` if a transaction is open |
/// | `Clean` | all that `DISCARD ALL` does, without losing the prepared statements | both |
///
/// ```
/// assert_eq!(lease_pool::postgres::Reset::default(), lease_pool::postgres::Reset::IfDirty);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reset {
    /// The session is handed on as it is.
    None,
    /// An open transaction is rolled back, however it was begun.
    #[default]
    IfDirty,
    /// Cursors, settings, LISTEN, advisory locks, temporary tables and sequences are discarded too.
    Clean,
}

/// How the connections of a pool are made and reset.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lease_pool::{Pool, postgres::{Options, Reset}};
///
/// let options = Options::from_url("postgres://app@localhost/orders")?.reset(Reset::Clean);
/// let pool = Pool::builder(options.manager()).name("orders").max(16).build()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing before `manager`"]
pub struct Options {
    settings: Settings,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) tls: Option<Arc<Connector>>,
    pub(super) reset: Reset,
    pub(super) cancel_after: Duration,
    pub(super) statement_cache: usize,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("config", &self.config)
            .field("tls", &self.tls.is_some())
            .field("reset", &self.reset)
            .field("cancel_after", &self.cancel_after)
            .field("statement_cache", &self.statement_cache)
            .finish()
    }
}

impl Options {
    /// Options for the servers of this configuration.
    ///
    /// ```
    /// let mut config = tokio_postgres::Config::new();
    /// config.host("localhost").user("app").dbname("orders");
    /// let options = lease_pool::postgres::Options::new(config);
    /// ```
    pub fn new(config: Config) -> Self {
        let settings = Settings {
            config,
            tls: None,
            reset: Reset::default(),
            cancel_after: Duration::from_millis(100),
            statement_cache: 256,
        };
        Options { settings }
    }

    /// Options for the servers of this URL or key-value string, as `tokio_postgres` reads it.
    ///
    /// # Errors
    ///
    /// [`Error::Postgres`] if it cannot be read.
    ///
    /// ```
    /// assert!(lease_pool::postgres::Options::from_url("host=localhost user=app").is_ok());
    /// ```
    pub fn from_url(url: &str) -> Result<Self, Error> {
        Ok(Options::new(url.parse::<Config>()?))
    }

    /// Encrypts connections and cancel requests as the configuration's `sslmode` says.
    ///
    /// Any connector that works for every stream will do; those for rustls and native-tls do. Without one,
    /// `sslmode=prefer` speaks plain and `sslmode=require` fails.
    ///
    /// ```no_run
    /// # use lease_pool::postgres::{Options, Socket};
    /// fn encrypted<T>(options: Options, connector: T) -> Options
    /// where
    ///     T: tokio_postgres::tls::MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    ///     T::Stream: Send + 'static,
    ///     T::TlsConnect: Send,
    ///     <T::TlsConnect as tokio_postgres::tls::TlsConnect<Socket>>::Future: Send + 'static,
    /// {
    ///     options.tls(connector)
    /// }
    /// ```
    pub fn tls<T>(mut self, tls: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + 'static,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send + 'static,
    {
        self.settings.tls = Some(connector(tls));
        self
    }

    /// What happens to a connection between two users ([`Reset::IfDirty`]).
    ///
    /// ```
    /// # use lease_pool::postgres::{Options, Reset};
    /// let options = Options::from_url("host=localhost").unwrap().reset(Reset::None);
    /// ```
    pub fn reset(mut self, reset: Reset) -> Self {
        self.settings.reset = reset;
        self
    }

    /// How long a query may run on after its future was dropped before the server is asked to cancel it (100 ms).
    ///
    /// ```
    /// # use lease_pool::postgres::Options;
    /// # use std::time::Duration;
    /// let options = Options::from_url("host=localhost").unwrap().cancel_after(Duration::from_millis(20));
    /// ```
    pub fn cancel_after(mut self, cancel_after: Duration) -> Self {
        self.settings.cancel_after = cancel_after;
        self
    }

    /// How many statements of `prepare_cached` each connection keeps (256).
    ///
    /// ```
    /// # use lease_pool::postgres::Options;
    /// let options = Options::from_url("host=localhost").unwrap().statement_cache(32);
    /// ```
    pub fn statement_cache(mut self, capacity: usize) -> Self {
        self.settings.statement_cache = capacity;
        self
    }

    /// The manager for `Pool::builder`.
    ///
    /// ```
    /// # use lease_pool::{Pool, postgres::Options};
    /// let manager = Options::from_url("host=localhost").unwrap().manager();
    /// let pool = Pool::builder(manager).max(4).build().unwrap();
    /// ```
    pub fn manager(self) -> PgManager {
        PgManager::new(self.settings)
    }
}
