//! A database for sqlx's pool whose connections are the scripted resources.
//!
//! Nothing is ever queried, so whatever a query would need is a type without a value.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx_core::arguments::Arguments;
use sqlx_core::column::{Column, ColumnIndex};
use sqlx_core::connection::{ConnectOptions, Connection};
use sqlx_core::database::Database;
use sqlx_core::encode::Encode;
use sqlx_core::error::{BoxDynError, Error};
use sqlx_core::row::Row;
use sqlx_core::sql_str::SqlStr;
use sqlx_core::statement::Statement;
use sqlx_core::transaction::{Transaction, TransactionManager};
use sqlx_core::type_info::TypeInfo;
use sqlx_core::types::Type;
use sqlx_core::value::{Value, ValueRef};
use sqlx_core::{Either, Url, impl_statement_query};

use super::world::{Resource, World};

/// The database.
#[derive(Debug)]
pub struct Fake;

/// A connection: one resource.
#[derive(Debug)]
pub struct FakeConnection(Resource);

/// Where to connect to.
#[derive(Debug, Clone)]
pub struct Options(pub Arc<World>);

/// No value of this type exists.
#[derive(Debug, Clone, PartialEq)]
pub enum Nothing {}

/// The arguments of no query.
#[derive(Debug, Default)]
pub struct NoArguments;

/// The result of no query.
#[derive(Debug, Default)]
pub struct NoResult;

impl Extend<NoResult> for NoResult {
    fn extend<I: IntoIterator<Item = NoResult>>(&mut self, _: I) {}
}

impl Database for Fake {
    type Connection = FakeConnection;
    type TransactionManager = Fake;
    type Row = Nothing;
    type QueryResult = NoResult;
    type Column = Nothing;
    type TypeInfo = Nothing;
    type Value = Nothing;
    type ValueRef<'r> = Nothing;
    type Arguments = NoArguments;
    type ArgumentBuffer = ();
    type Statement = Nothing;
    const NAME: &'static str = "fake";
    const URL_SCHEMES: &'static [&'static str] = &["fake"];
}

impl ConnectOptions for Options {
    type Connection = FakeConnection;

    fn from_url(url: &Url) -> Result<Self, Error> {
        Err(Error::Configuration(format!("a fake database has no address: {url}").into()))
    }

    async fn connect(&self) -> Result<FakeConnection, Error> {
        self.0.connect().await.map(FakeConnection).map_err(|refused| Error::Protocol(refused.to_string()))
    }

    fn log_statements(self, _: log::LevelFilter) -> Self {
        self
    }

    fn log_slow_statements(self, _: log::LevelFilter, _: Duration) -> Self {
        self
    }
}

impl FromStr for Options {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Err(Error::Configuration(format!("a fake database has no address: {text}").into()))
    }
}

impl Connection for FakeConnection {
    type Database = Fake;
    type Options = Options;

    async fn close(self) -> Result<(), Error> {
        Ok(())
    }

    async fn close_hard(self) -> Result<(), Error> {
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), Error> {
        self.0.check().await.map_err(|refused| Error::Protocol(refused.to_string()))
    }

    async fn begin(&mut self) -> Result<Transaction<'_, Fake>, Error> {
        Transaction::begin(self, None).await
    }

    fn shrink_buffers(&mut self) {}

    async fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn should_flush(&self) -> bool {
        false
    }
}

impl TransactionManager for Fake {
    type Database = Fake;

    async fn begin(_: &mut FakeConnection, _: Option<SqlStr>) -> Result<(), Error> {
        Err(Error::BeginFailed)
    }

    async fn commit(_: &mut FakeConnection) -> Result<(), Error> {
        Ok(())
    }

    async fn rollback(_: &mut FakeConnection) -> Result<(), Error> {
        Ok(())
    }

    fn start_rollback(_: &mut FakeConnection) {}

    fn get_transaction_depth(_: &FakeConnection) -> usize {
        0
    }
}

impl Arguments for NoArguments {
    type Database = Fake;

    fn reserve(&mut self, _: usize, _: usize) {}

    fn add<'t, T>(&mut self, _: T) -> Result<(), BoxDynError>
    where
        T: Encode<'t, Fake> + Type<Fake>,
    {
        Err("a fake database takes no arguments".into())
    }

    fn len(&self) -> usize {
        0
    }
}

sqlx_core::impl_into_arguments_for_arguments!(NoArguments);

impl Row for Nothing {
    type Database = Fake;

    fn columns(&self) -> &[Nothing] {
        match *self {}
    }

    fn try_get_raw<I: ColumnIndex<Self>>(&self, _: I) -> Result<Nothing, Error> {
        match *self {}
    }
}

impl Column for Nothing {
    type Database = Fake;

    fn ordinal(&self) -> usize {
        match *self {}
    }

    fn name(&self) -> &str {
        match *self {}
    }

    fn type_info(&self) -> &Nothing {
        match *self {}
    }
}

impl std::fmt::Display for Nothing {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl TypeInfo for Nothing {
    fn is_null(&self) -> bool {
        match *self {}
    }

    fn name(&self) -> &str {
        match *self {}
    }
}

impl Value for Nothing {
    type Database = Fake;

    fn as_ref(&self) -> Nothing {
        match *self {}
    }

    fn type_info(&self) -> Cow<'_, Nothing> {
        match *self {}
    }

    fn is_null(&self) -> bool {
        match *self {}
    }
}

impl ValueRef<'_> for Nothing {
    type Database = Fake;

    fn to_owned(&self) -> Nothing {
        match *self {}
    }

    fn type_info(&self) -> Cow<'_, Nothing> {
        match *self {}
    }

    fn is_null(&self) -> bool {
        match *self {}
    }
}

impl Statement for Nothing {
    type Database = Fake;

    fn into_sql(self) -> SqlStr {
        match self {}
    }

    fn sql(&self) -> &SqlStr {
        match *self {}
    }

    fn parameters(&self) -> Option<Either<&[Nothing], usize>> {
        match *self {}
    }

    fn columns(&self) -> &[Nothing] {
        match *self {}
    }

    impl_statement_query!(NoArguments);
}
