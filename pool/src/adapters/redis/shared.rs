use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use ::redis::aio::{ConnectionLike, MultiplexedConnection};
use ::redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use tokio::sync::Mutex;

use super::Error;
use super::effect::Effect;
use super::link::Link;
use super::options::Settings;
use crate::Manager;
use crate::manager::{CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass};

/// Lends one connection to several users at once, as many as the pool's maximum.
///
/// Made by [`Options::shared_manager`](super::Options::shared_manager); see [`shared`](super::shared).
///
/// ```
/// use lease_pool::{Pool, redis::Options};
/// let manager = Options::from_url("redis://localhost").unwrap().shared_manager();
/// let pool = Pool::builder(manager).max(100).build().unwrap();
/// ```
#[derive(Debug)]
pub struct SharedManager {
    settings: Settings,
    /// Held while connecting, so that many users of a lost connection make one new one.
    current: Mutex<Weak<Common>>,
}

/// What the clones of one connection have in common; the last one closes it.
struct Common {
    link: Link,
    lost: AtomicBool,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").field("is_lost", &self.is_lost()).finish_non_exhaustive()
    }
}

impl Common {
    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire) || self.link.has_ended()
    }
}

/// A clone of the connection that all users of the pool share.
///
/// It is a [`ConnectionLike`]. Commands that would block the others or change the connection for them (`BLPOP`,
/// `MULTI`, `WATCH`, `SELECT`, `SUBSCRIBE`…) are refused before they are sent; an atomic pipeline is fine.
///
/// ```no_run
/// # async fn example(pool: lease_pool::redis::SharedRedisPool) -> Result<(), Box<dyn std::error::Error>> {
/// let mut connection = pool.get().await?;
/// let n: i64 = redis::cmd("INCR").arg("visits").query_async(&mut *connection).await?;
/// # Ok(()) }
/// ```
///
/// # Cancel safety
///
/// A command whose future is dropped runs on at the server; its answer reaches nobody.
pub struct SharedConnection {
    connection: MultiplexedConnection,
    common: Arc<Common>,
    settings: Settings,
}

impl fmt::Debug for SharedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedConnection")
            .field("address", &self.settings.info.addr())
            .field("is_lost", &self.common.is_lost())
            .finish_non_exhaustive()
    }
}

impl SharedManager {
    pub(super) fn new(settings: Settings) -> Self {
        SharedManager { settings, current: Mutex::new(Weak::new()) }
    }
}

impl Manager for SharedManager {
    type Resource = SharedConnection;
    type Error = Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<SharedConnection, Error> {
        let mut current = self.current.lock().await;
        let common = match current.upgrade().filter(|common| !common.is_lost()) {
            Some(common) => common,
            None => {
                let link = Link::open(&self.settings.info).await?;
                let common = Arc::new(Common { link, lost: AtomicBool::new(false) });
                *current = Arc::downgrade(&common);
                common
            }
        };
        let connection = common.link.connection.clone();
        Ok(SharedConnection { connection, common, settings: self.settings.clone() })
    }

    async fn check(&self, connection: &mut SharedConnection, _ctx: CheckContext<'_>) -> Result<(), Error> {
        Ok(::redis::cmd("PING").exec_async(connection).await?)
    }

    fn is_broken(&self, connection: &SharedConnection) -> bool {
        connection.common.is_lost()
    }

    async fn close(&self, connection: SharedConnection, _ctx: CloseContext<'_>) {
        let SharedConnection { connection, common, .. } = connection;
        drop(connection);
        if let Some(common) = Arc::into_inner(common) {
            common.link.end().await;
        }
    }

    fn classify(&self, error: &Error) -> ErrorClass {
        error.class()
    }

    /// Answers are matched to their commands, so one that nobody waits for harms nobody.
    fn cancel_safety(&self) -> CancelSafety {
        CancelSafety::Safe
    }
}

impl SharedConnection {
    fn refuse(effect: Effect) -> RedisResult<()> {
        match effect {
            Effect::Plain => Ok(()),
            _ => Err(RedisError::from((
                ErrorKind::InvalidClientConfig,
                "this command needs a connection of its own, and the pool shares one",
            ))),
        }
    }

    async fn bounded<T>(&self, answer: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
        let answer = match self.settings.response_timeout {
            Some(limit) => tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
                let text = format!("no answer from Redis within {limit:?}");
                Err(io::Error::new(io::ErrorKind::TimedOut, text).into())
            }),
            None => answer.await,
        };
        if answer.as_ref().is_err_and(RedisError::is_unrecoverable_error) {
            self.common.lost.store(true, Ordering::Release);
        }
        answer
    }
}

impl ConnectionLike for SharedConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            SharedConnection::refuse(Effect::of(cmd))?;
            let mut connection = self.connection.clone();
            self.bounded(connection.send_packed_command(cmd)).await
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            Effect::all_of(pipeline).try_for_each(SharedConnection::refuse)?;
            let mut connection = self.connection.clone();
            self.bounded(connection.send_packed_commands(pipeline, offset, count)).await
        })
    }

    fn get_db(&self) -> i64 {
        self.settings.info.redis_settings().db()
    }
}
