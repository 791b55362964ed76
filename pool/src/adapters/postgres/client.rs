use std::fmt;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error as PgError, Row, SimpleQueryMessage, Statement, ToStatement, Transaction};

use super::Error;
use super::address::Address;
use super::connect::{Connected, connect};
use super::options::Settings;
use super::statements::Statements;
use super::uses::Uses;
use super::wire::TransactionStatus;

/// One PostgreSQL connection.
///
/// It has the methods of `tokio_postgres::Client` that wait for the whole answer, and counts the queries that
/// are in flight, so that the pool sees a query whose future was dropped. Everything else is there through
/// [`raw`](Client::raw).
///
/// ```no_run
/// # async fn example(pool: lease_pool::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// let client = pool.get().await?;
/// let row = client.query_one("SELECT $1::int4 + 1", &[&41]).await?;
/// assert_eq!(row.get::<_, i32>(0), 42);
/// # Ok(()) }
/// ```
///
/// # Cancel safety
///
/// A query whose future is dropped goes on at the server. The pool cancels it when the connection comes back,
/// see [`settle`](Client::settle); the place is free when the server is done with it.
pub struct Client {
    pub(super) raw: tokio_postgres::Client,
    pub(super) task: JoinHandle<()>,
    pub(super) uses: Uses,
    pub(super) statements: Statements,
    pub(super) status: Arc<TransactionStatus>,
    pub(super) address: Address,
    pub(super) settings: Arc<Settings>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("address", &format_args!("{}", self.address))
            .field("in_flight", &self.in_flight())
            .field("is_in_transaction", &self.is_in_transaction())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

impl Client {
    pub(super) async fn connect(settings: Arc<Settings>) -> Result<Self, Error> {
        let Connected { raw, task, status, address } =
            connect(&settings.config, settings.tls.as_deref()).await?;
        let statements = Statements::new(settings.statement_cache);
        Ok(Client { raw, task, uses: Uses::default(), statements, status, address, settings })
    }

    async fn counted<T>(&self, answer: impl Future<Output = Result<T, PgError>>) -> Result<T, PgError> {
        let running = self.uses.start();
        let answer = answer.await;
        running.finish();
        if let Err(error) = &answer {
            self.forget_stale_statements(error);
        }
        answer
    }

    /// After a change of a table, or behind a proxy that changes servers, a kept statement fails for good.
    fn forget_stale_statements(&self, error: &PgError) {
        let stale = [SqlState::FEATURE_NOT_SUPPORTED, SqlState::INVALID_SQL_STATEMENT_NAME];
        if error.code().is_some_and(|code| stale.contains(code)) {
            self.statements.clear();
        }
    }

    pub(super) async fn round_trip(&self) -> Result<(), Error> {
        Ok(self.counted(self.raw.check_connection()).await?)
    }

    /// Whether a use was cut off and the server may still work for it.
    pub(super) fn is_cut_off(&self) -> bool {
        self.uses.unsettled_since().is_some() || self.in_flight() > 0
    }

    /// A dropped `Transaction` sends its ROLLBACK without waiting, so an open one counts too.
    pub(super) fn is_unsettled(&self) -> bool {
        self.is_cut_off() || self.is_in_transaction()
    }

    /// Prepares a statement.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let statement = client.prepare("SELECT $1::text").await?;
    /// let row = client.query_one(&statement, &[&"word"]).await?;
    /// # Ok(()) }
    /// ```
    pub async fn prepare(&self, query: &str) -> Result<Statement, PgError> {
        self.counted(self.raw.prepare(query)).await
    }

    /// Prepares a statement with these parameter types.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// use tokio_postgres::types::Type;
    /// let statement = client.prepare_typed("SELECT $1", &[Type::INT8]).await?;
    /// # Ok(()) }
    /// ```
    pub async fn prepare_typed(&self, query: &str, types: &[Type]) -> Result<Statement, PgError> {
        self.counted(self.raw.prepare_typed(query, types)).await
    }

    /// Gives the kept statement of this text, or prepares and keeps it.
    ///
    /// The statements live as long as the connection, through all its users. They are forgotten when the server
    /// says that one has become invalid; the query that found out fails.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let statement = client.prepare_cached("SELECT $1::text").await?;
    /// let row = client.query_one(&statement, &[&"word"]).await?;
    /// # Ok(()) }
    /// ```
    pub async fn prepare_cached(&self, query: &str) -> Result<Statement, PgError> {
        if let Some(statement) = self.statements.get(query) {
            return Ok(statement);
        }
        let statement = self.prepare(query).await?;
        self.statements.keep(query, &statement);
        Ok(statement)
    }

    /// How many statements are kept.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// client.prepare_cached("SELECT 1").await?;
    /// assert_eq!(client.cached_statements(), 1);
    /// # Ok(()) }
    /// ```
    pub fn cached_statements(&self) -> usize {
        self.statements.len()
    }

    /// Runs a query and gives its rows.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let rows = client.query("SELECT n FROM generate_series(1, $1::int4) AS n", &[&3]).await?;
    /// assert_eq!(rows.len(), 3);
    /// # Ok(()) }
    /// ```
    pub async fn query<T>(&self, statement: &T, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, PgError>
    where
        T: ?Sized + ToStatement,
    {
        self.counted(self.raw.query(statement, params)).await
    }

    /// Runs a query that gives exactly one row.
    ///
    /// # Errors
    ///
    /// What the server says, and any other number of rows.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let row = client.query_one("SELECT 1", &[]).await?;
    /// # Ok(()) }
    /// ```
    pub async fn query_one<T>(&self, statement: &T, params: &[&(dyn ToSql + Sync)]) -> Result<Row, PgError>
    where
        T: ?Sized + ToStatement,
    {
        self.counted(self.raw.query_one(statement, params)).await
    }

    /// Runs a query that gives one row or none.
    ///
    /// # Errors
    ///
    /// What the server says, and more than one row.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// assert!(client.query_opt("SELECT 1 WHERE false", &[]).await?.is_none());
    /// # Ok(()) }
    /// ```
    pub async fn query_opt<T>(
        &self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, PgError>
    where
        T: ?Sized + ToStatement,
    {
        self.counted(self.raw.query_opt(statement, params)).await
    }

    /// Runs a query with typed parameters in one round trip, without preparing it.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// use tokio_postgres::types::Type;
    /// let rows = client.query_typed("SELECT $1", &[(&7_i64, Type::INT8)]).await?;
    /// # Ok(()) }
    /// ```
    pub async fn query_typed(
        &self,
        query: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, PgError> {
        self.counted(self.raw.query_typed(query, params)).await
    }

    /// Runs a statement and gives the number of rows it changed.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let changed = client.execute("DELETE FROM orders WHERE id = $1", &[&7_i32]).await?;
    /// # Ok(()) }
    /// ```
    pub async fn execute<T>(&self, statement: &T, params: &[&(dyn ToSql + Sync)]) -> Result<u64, PgError>
    where
        T: ?Sized + ToStatement,
    {
        self.counted(self.raw.execute(statement, params)).await
    }

    /// Runs statements without parameters and gives their answers as text.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let answers = client.simple_query("SELECT 1; SELECT 2").await?;
    /// # Ok(()) }
    /// ```
    pub async fn simple_query(&self, query: &str) -> Result<Vec<SimpleQueryMessage>, PgError> {
        self.counted(self.raw.simple_query(query)).await
    }

    /// Runs statements without parameters and without an answer.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// client.batch_execute("CREATE TEMP TABLE t (n int4); INSERT INTO t VALUES (1)").await?;
    /// # Ok(()) }
    /// ```
    pub async fn batch_execute(&self, query: &str) -> Result<(), PgError> {
        self.counted(self.raw.batch_execute(query)).await
    }

    /// Begins a transaction; dropped without `commit` it rolls back.
    ///
    /// # Errors
    ///
    /// What the server says.
    ///
    /// ```no_run
    /// # async fn example(mut client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let transaction = client.transaction().await?;
    /// transaction.execute("UPDATE accounts SET balance = balance - 1", &[]).await?;
    /// transaction.commit().await?;
    /// # Ok(()) }
    /// ```
    pub async fn transaction(&mut self) -> Result<Transaction<'_>, PgError> {
        let running = self.uses.start();
        let transaction = self.raw.transaction().await;
        running.finish();
        transaction
    }

    /// The whole `tokio_postgres::Client`: streams of rows, COPY, options of transactions.
    ///
    /// What is done through it is not counted, so the return of this connection costs a round trip.
    ///
    /// ```no_run
    /// # async fn example(mut client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// let builder = client.raw().build_transaction().read_only(true);
    /// let transaction = builder.start().await?;
    /// # Ok(()) }
    /// ```
    pub fn raw(&mut self) -> &mut tokio_postgres::Client {
        self.uses.mark_unsettled();
        &mut self.raw
    }

    /// How many queries wait for their answer.
    ///
    /// ```no_run
    /// # fn example(client: lease_pool::postgres::Client) {
    /// assert_eq!(client.in_flight(), 0);
    /// # }
    /// ```
    pub fn in_flight(&self) -> usize {
        self.uses.in_flight()
    }

    /// Whether a transaction is open, as of the last answer of the server.
    ///
    /// ```no_run
    /// # async fn example(client: lease_pool::postgres::Client) -> Result<(), tokio_postgres::Error> {
    /// client.batch_execute("BEGIN").await?;
    /// assert!(client.is_in_transaction());
    /// # Ok(()) }
    /// ```
    pub fn is_in_transaction(&self) -> bool {
        self.status.is_open()
    }

    /// Whether the connection is known to be lost.
    ///
    /// ```no_run
    /// # fn example(client: lease_pool::postgres::Client) {
    /// assert!(!client.is_closed());
    /// # }
    /// ```
    pub fn is_closed(&self) -> bool {
        self.raw.is_closed()
    }
}
