//! The database behind the routes: a `lease-pool` of SQLite or PostgreSQL connections.
mod outage;
#[cfg(feature = "postgres")]
mod postgres;
mod shop;
mod sqlite;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lease_pool::sqlite::SqliteManager;
use lease_pool::{CreateState, GetError, Manager, Pool, Pooled};
use serde::Serialize;
use tokio::time::sleep;

use crate::flags::Flags;
use outage::{Interruptible, OpenError, Outage};
pub(crate) use shop::CUSTOMERS;
use shop::{Customer, Line, Order};

/// What the page shows of the pool.
#[derive(Clone, Debug, Serialize, Default)]
pub(crate) struct PoolView {
    pub(crate) max: usize,
    pub(crate) idle: usize,
    pub(crate) used: usize,
    pub(crate) creating: usize,
    pub(crate) checking: usize,
    pub(crate) resetting: usize,
    pub(crate) closing: usize,
    pub(crate) waiting: usize,
    pub(crate) create_state: &'static str,
    pub(crate) retry_in_ms: Option<f64>,
    pub(crate) last_error: Option<String>,
    pub(crate) opened: u64,
    pub(crate) closed: u64,
}

/// Why a route got no answer from the database.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) text: String,
    pub(crate) retry_in: Option<Duration>,
}

impl Trouble {
    fn query(error: impl std::error::Error) -> Trouble {
        Trouble { text: format!("the query failed: {error}"), retry_in: None }
    }
}

type SqlitePool = Pool<Interruptible<SqliteManager>>;

#[derive(Debug)]
enum Kind {
    Sqlite(SqlitePool, #[expect(dead_code, reason = "its drop removes the file")] sqlite::Folder),
    #[cfg(feature = "postgres")]
    Postgres(Pool<Interruptible<lease_pool::postgres::PgManager>>),
}

#[derive(Debug)]
struct Shared {
    kind: Kind,
    outage: Outage,
    /// What the pool told the last caller that it refused.
    refusal: Mutex<Option<String>>,
}

/// The handle that routes, page and drain share.
#[derive(Clone, Debug)]
pub(crate) struct Database(Arc<Shared>);

/// The same expression over the pool of either kind.
macro_rules! each {
    ($database:expr, $pool:ident => $body:expr) => {
        match &$database.0.kind {
            Kind::Sqlite($pool, _) => $body,
            #[cfg(feature = "postgres")]
            Kind::Postgres($pool) => $body,
        }
    };
}

/// Runs the query of that name on whichever connection the pool keeps.
macro_rules! query {
    ($database:expr, $name:ident, $argument:expr, $work:expr) => {
        match &$database.0.kind {
            Kind::Sqlite(pool, _) => {
                let mut connection = $database.get(pool).await?;
                sleep($work).await;
                sqlite::$name(&mut connection, $argument).await.map_err(Trouble::query)
            }
            #[cfg(feature = "postgres")]
            Kind::Postgres(pool) => {
                let mut connection = $database.get(pool).await?;
                sleep($work).await;
                postgres::$name(&mut connection, $argument).await.map_err(Trouble::query)
            }
        }
    };
}

fn pool<M: Manager>(flags: &Flags, manager: M, outage: &Outage) -> Result<Pool<Interruptible<M>>, String> {
    Pool::builder(Interruptible { manager, outage: outage.clone() })
        .name("database")
        .max(flags.pool)
        .min_idle(flags.pool.min(2))
        // Short enough that the page and the dashboard show connections being renewed.
        .lifetime(Duration::from_secs(20))
        .lease_time()
        .build()
        .map_err(|error| error.to_string())
}

impl Database {
    /// Makes schema, data and pool.
    pub(crate) async fn open(flags: &Flags) -> Result<Database, String> {
        let outage = Outage::default();
        let kind = Database::kind_of(flags, &outage).await?;
        Ok(Database(Arc::new(Shared { kind, outage, refusal: Mutex::new(None) })))
    }

    async fn kind_of(flags: &Flags, outage: &Outage) -> Result<Kind, String> {
        #[cfg(feature = "postgres")]
        if let Some(url) = &flags.postgres {
            return Ok(Kind::Postgres(pool(flags, postgres::manager(url).await?, outage)?));
        }
        let folder =
            sqlite::Folder::create().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        sqlite::fill(&folder)?;
        Ok(Kind::Sqlite(pool(flags, sqlite::manager(&folder), outage)?, folder))
    }

    async fn get<M: Manager>(
        &self,
        pool: &Pool<Interruptible<M>>,
    ) -> Result<Pooled<Interruptible<M>>, Trouble> {
        pool.get().await.map_err(|error| self.trouble(&error))
    }

    fn trouble<E: std::error::Error>(&self, error: &GetError<OpenError<E>>) -> Trouble {
        let retry_in = match error {
            GetError::Unavailable { retry_in, .. } => Some(*retry_in),
            _ => None,
        };
        let text = error.to_string();
        if retry_in.is_some() {
            *self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
        }
        Trouble { text, retry_in }
    }

    pub(crate) async fn customer(&self, id: i64, work: Duration) -> Result<Option<Customer>, Trouble> {
        query!(self, customer, id, work)
    }

    pub(crate) async fn report(&self, month: i64, work: Duration) -> Result<Vec<Line>, Trouble> {
        query!(self, report, month, work)
    }

    pub(crate) async fn order(&self, customer: i64, work: Duration) -> Result<Order, Trouble> {
        query!(self, order, customer, work)
    }

    pub(crate) fn view(&self) -> PoolView {
        let (seen, stats) = each!(self, pool => (pool.snapshot(), pool.stats()));
        let refusal = self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = refusal.as_ref().filter(|_| seen.create_state != CreateState::Healthy);
        PoolView {
            max: seen.max,
            idle: seen.idle,
            used: seen.leased,
            creating: seen.creating,
            checking: seen.checking,
            resetting: seen.resetting,
            closing: seen.closing,
            waiting: seen.waiters,
            create_state: match seen.create_state {
                CreateState::Healthy => "healthy",
                CreateState::BackingOff => "backing_off",
                CreateState::Open => "open",
            },
            retry_in_ms: seen.retry_in.map(crate::history::milliseconds),
            last_error: refusal.cloned(),
            opened: stats.created,
            closed: stats.closed_total(),
        }
    }

    /// Sends what the pool has counted since the last time to the exporter.
    pub(crate) fn publish(&self) {
        each!(self, pool => pool.publish());
    }

    pub(crate) fn set_outage(&self, on: bool) {
        self.0.outage.set(on);
    }

    pub(crate) fn is_out(&self) -> bool {
        self.0.outage.is_on()
    }

    pub(crate) fn kind(&self) -> &'static str {
        match &self.0.kind {
            Kind::Sqlite(..) => "SQLite",
            #[cfg(feature = "postgres")]
            Kind::Postgres(_) => "PostgreSQL",
        }
    }

    pub(crate) fn describe(&self) -> String {
        let max = each!(self, pool => pool.snapshot().max);
        let (customers, orders) = (CUSTOMERS, shop::ORDERS);
        format!("{}, at most {max} connections, {customers} customers with {orders} orders", self.kind())
    }

    /// One line for the summary.
    pub(crate) fn account(&self) -> String {
        let stats = each!(self, pool => pool.stats());
        format!(
            "{} connections opened, {} closed; {} gets at once, {} after a wait, {} timed out, {} given up",
            stats.created,
            stats.closed_total(),
            stats.immediate,
            stats.ok,
            stats.timed_out,
            stats.cancelled
        )
    }

    /// Ends the pool; says what did not come home.
    pub(crate) async fn drain(&self, patience: Duration) -> Result<(), String> {
        let report = each!(self, pool => pool.drain(patience).await);
        let stats = each!(self, pool => pool.stats());
        match report {
            Err(left) => {
                let holders: Vec<_> = left.holders.iter().map(ToString::to_string).collect();
                Err(format!("connections: {} still alive, held by: {}", left.alive, holders.join(", ")))
            }
            Ok(_) if stats.created != stats.closed_total() => {
                Err(format!("connections: {} opened, but {} closed", stats.created, stats.closed_total()))
            }
            Ok(_) => Ok(()),
        }
    }
}
