//! The pools behind one face, each with its own defaults except for the size and the deadline.

#![expect(
    deprecated,
    reason = "fastpool's author moved on to another crate; it is still what people compare with"
)]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{Metrics, RecycleResult, Timeouts};

use super::sqlx::{Fake, Options};
use super::world::{Refused, Resource, World};

/// How long a caller is willing to wait, in every pool that has such an option.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A pool.
pub trait Pooling: Clone + Send + Sync + 'static {
    /// Its name in the tables.
    const NAME: &'static str;
    /// A checked-out resource.
    type Guard<'a>: Send;
    /// At most `max` resources of `world`. Call it inside a runtime.
    fn with(world: &Arc<World>, max: usize) -> Self;
    /// Waits for a resource.
    fn get(&self) -> impl Future<Output = Result<Self::Guard<'_>, String>> + Send;
}

/// Makes the resources of a world, for each pool by its own trait.
#[derive(Debug, Clone)]
pub struct Manager(pub Arc<World>);

/// Ours.
#[derive(Debug, Clone)]
pub struct Ours(pub lease_pool::Pool<Manager>);

/// deadpool managed, with its three timeouts set.
#[derive(Debug, Clone)]
pub struct Deadpool(pub deadpool::managed::Pool<Manager>);

/// deadpool managed as it comes: without timeouts and without a runtime.
#[derive(Debug, Clone)]
pub struct DeadpoolBare(pub deadpool::managed::Pool<Manager>);

/// bb8.
#[derive(Debug, Clone)]
pub struct Bb8(pub bb8::Pool<Manager>);

/// mobc.
#[derive(Clone)]
pub struct Mobc(pub mobc::Pool<Manager>);

/// fastpool, which has no timeouts.
#[derive(Debug, Clone)]
pub struct Fastpool(pub Arc<fastpool::bounded::Pool<Manager>>);

/// sqlx's pool over a database that does nothing.
#[derive(Debug, Clone)]
pub struct Sqlx(pub sqlx_core::pool::Pool<Fake>);

impl std::fmt::Debug for Mobc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mobc")
    }
}

impl Pooling for Ours {
    const NAME: &'static str = "ours";
    type Guard<'a> = lease_pool::Pooled<Manager>;

    fn with(world: &Arc<World>, max: usize) -> Self {
        let manager = Manager(Arc::clone(world));
        Self(
            lease_pool::Pool::builder(manager)
                .max(max)
                .acquire_timeout(PATIENCE)
                .build()
                .expect("valid options"),
        )
    }

    async fn get(&self) -> Result<Self::Guard<'_>, String> {
        self.0.get().await.map_err(|error| error.to_string())
    }
}

impl Pooling for Deadpool {
    const NAME: &'static str = "deadpool (timeouts)";
    type Guard<'a> = deadpool::managed::Object<Manager>;

    fn with(world: &Arc<World>, max: usize) -> Self {
        let timeouts =
            Timeouts { wait: Some(PATIENCE), create: Some(PATIENCE), recycle: Some(Duration::from_secs(5)) };
        let builder =
            deadpool::managed::Pool::builder(Manager(Arc::clone(world))).max_size(max).timeouts(timeouts);
        Self(builder.runtime(deadpool::Runtime::Tokio1).build().expect("valid options"))
    }

    async fn get(&self) -> Result<Self::Guard<'_>, String> {
        self.0.get().await.map_err(|error| error.to_string())
    }
}

impl Pooling for DeadpoolBare {
    const NAME: &'static str = "deadpool";
    type Guard<'a> = deadpool::managed::Object<Manager>;

    fn with(world: &Arc<World>, max: usize) -> Self {
        let builder = deadpool::managed::Pool::builder(Manager(Arc::clone(world))).max_size(max);
        Self(builder.build().expect("valid options"))
    }

    async fn get(&self) -> Result<Self::Guard<'_>, String> {
        self.0.get().await.map_err(|error| error.to_string())
    }
}

impl Pooling for Bb8 {
    const NAME: &'static str = "bb8";
    type Guard<'a> = bb8::PooledConnection<'a, Manager>;

    fn with(world: &Arc<World>, max: usize) -> Self {
        let builder = bb8::Pool::builder().max_size(max as u32).connection_timeout(PATIENCE);
        Self(builder.build_unchecked(Manager(Arc::clone(world))))
    }

    async fn get(&self) -> Result<Self::Guard<'_>, String> {
        self.0.get().await.map_err(|error| format!("{error:?}"))
    }
}

impl Pooling for Mobc {
    const NAME: &'static str = "mobc";
    type Guard<'a> = mobc::Connection<Manager>;

    fn with(world: &Arc<World>, max: usize) -> Self {
        let builder =
            mobc::Pool::builder().max_open(max as u64).max_idle(max as u64).get_timeout(Some(PATIENCE));
        Self(builder.build(Manager(Arc::clone(world))))
    }

    async fn get(&self) -> Result<Self::Guard<'_>, String> {
        self.0.get().await.map_err(|error| error.to_string())
    }
}

impl Pooling for Fastpool {
    const NAME: &'static str = "fastpool";
    type Guard<'a> = fastpool::bounded::Object<Manager>;

    fn with(world: &Arc<World>, max: usize) -> Self {
        let config = fastpool::bounded::PoolConfig::new(max);
        Self(fastpool::bounded::Pool::new(config, Manager(Arc::clone(world))))
    }

    async fn get(&self) -> Result<Self::Guard<'_>, String> {
        self.0.get().await.map_err(|error| error.to_string())
    }
}

impl Pooling for Sqlx {
    const NAME: &'static str = "sqlx";
    type Guard<'a> = sqlx_core::pool::PoolConnection<Fake>;

    fn with(world: &Arc<World>, max: usize) -> Self {
        let options =
            sqlx_core::pool::PoolOptions::new().max_connections(max as u32).acquire_timeout(PATIENCE);
        Self(options.connect_lazy_with(Options(Arc::clone(world))))
    }

    async fn get(&self) -> Result<Self::Guard<'_>, String> {
        self.0.acquire().await.map_err(|error| error.to_string())
    }
}

impl lease_pool::Manager for Manager {
    type Resource = Resource;
    type Error = Refused;

    async fn create(&self, _: lease_pool::manager::CreateContext<'_>) -> Result<Resource, Refused> {
        self.0.connect().await
    }

    async fn check(
        &self,
        resource: &mut Resource,
        _: lease_pool::manager::CheckContext<'_>,
    ) -> Result<(), Refused> {
        resource.check().await
    }
}

impl deadpool::managed::Manager for Manager {
    type Type = Resource;
    type Error = Refused;

    async fn create(&self) -> Result<Resource, Refused> {
        self.0.connect().await
    }

    async fn recycle(&self, resource: &mut Resource, _: &Metrics) -> RecycleResult<Refused> {
        Ok(resource.check().await?)
    }
}

impl bb8::ManageConnection for Manager {
    type Connection = Resource;
    type Error = Refused;

    async fn connect(&self) -> Result<Resource, Refused> {
        self.0.connect().await
    }

    async fn is_valid(&self, resource: &mut Resource) -> Result<(), Refused> {
        resource.check().await
    }

    fn has_broken(&self, _: &mut Resource) -> bool {
        false
    }
}

#[mobc::async_trait]
impl mobc::Manager for Manager {
    type Connection = Resource;
    type Error = Refused;

    async fn connect(&self) -> Result<Resource, Refused> {
        self.0.connect().await
    }

    async fn check(&self, resource: Resource) -> Result<Resource, Refused> {
        resource.check().await.map(|()| resource)
    }
}

impl fastpool::ManageObject for Manager {
    type Object = Resource;
    type Error = Refused;

    async fn create(&self) -> Result<Resource, Refused> {
        self.0.connect().await
    }

    async fn is_recyclable(
        &self,
        resource: &mut Resource,
        _: &fastpool::ObjectStatus,
    ) -> Result<(), Refused> {
        resource.check().await
    }
}
