use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::redis::aio::ConnectionLike;
use ::redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use super::Error;
use super::condition::{Blocks, Condition};
use super::effect::Effect;
use super::link::Link;
use super::options::Settings;

/// One Redis connection with one user.
///
/// It is a [`ConnectionLike`], so commands, pipelines, scripts and the traits of the `redis` crate work on it.
///
/// ```no_run
/// # async fn example(pool: lease_pool::RedisPool) -> Result<(), Box<dyn std::error::Error>> {
/// let mut connection = pool.get().await?;
/// redis::cmd("SET").arg("key").arg(7).exec_async(&mut *connection).await?;
/// let seven: i64 = redis::cmd("GET").arg("key").query_async(&mut *connection).await?;
/// assert_eq!(seven, 7);
/// # Ok(()) }
/// ```
///
/// # Cancel safety
///
/// Dropping the future of a command does not stop it at the server, but its answer reaches nobody else. The pool
/// resets the connection when it comes back, and closes it if the command was one that blocks.
pub struct Connection {
    link: Link,
    condition: Condition,
    settings: Arc<Settings>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("address", &self.settings.info.addr())
            .field("condition", &self.condition)
            .field("has_ended", &self.link.has_ended())
            .finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) async fn open(settings: Arc<Settings>) -> Result<Self, Error> {
        let link = Link::open(&settings.info).await?;
        Ok(Connection { link, condition: Condition::default(), settings })
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.condition.cut_off
    }

    pub(super) fn needs_reset(&self) -> bool {
        self.condition.needs_reset()
    }

    pub(super) fn is_spoiled(&self) -> bool {
        self.condition.spoiled || self.link.has_ended()
    }

    /// Sends a word that was never sent before and expects it back.
    pub(super) async fn ping(&mut self) -> Result<(), Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let sent = format!("lease-pool-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let received: String = ::redis::cmd("PING").arg(&sent).query_async(self).await?;
        if received == sent { Ok(()) } else { Err(Error::OutOfStep { sent, received }) }
    }

    pub(super) async fn reset(&mut self) -> Result<(), Error> {
        if self.condition.may_be_in_multi() {
            let discarded: RedisResult<()> = ::redis::cmd("DISCARD").exec_async(self).await;
            // Outside a transaction the server refuses, which is as good.
            match discarded {
                Err(error) if error.is_unrecoverable_error() => return Err(error.into()),
                _ => {}
            }
        }
        let database = self.settings.info.redis_settings().db();
        ::redis::pipe().cmd("UNWATCH").cmd("SELECT").arg(database).exec_async(self).await?;
        self.ping().await?;
        self.condition.mark_reset();
        Ok(())
    }

    pub(super) async fn end(self) {
        self.link.end().await;
    }

    /// Bounds the wait for an answer, unless the command is one that blocks.
    async fn bounded<T>(
        limit: Option<Duration>,
        blocks: Blocks,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Option<RedisResult<T>> {
        match limit {
            Some(limit) if blocks == Blocks::Never => tokio::time::timeout(limit, answer).await.ok(),
            _ => Some(answer.await),
        }
    }
}

fn timed_out(limit: Option<Duration>) -> RedisError {
    let limit = limit.unwrap_or_default();
    io::Error::new(io::ErrorKind::TimedOut, format!("no answer from Redis within {limit:?}")).into()
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let running = self.condition.start(std::iter::once(Effect::of(cmd)));
            let limit = self.settings.response_timeout;
            let answer = self.link.connection.send_packed_command(cmd);
            match Connection::bounded(limit, running.blocks, answer).await {
                Some(answer) => running.finish(answer),
                // `running` goes without an answer: cut off like any other.
                None => Err(timed_out(limit)),
            }
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let running = self.condition.start(Effect::all_of(pipeline));
            let limit = self.settings.response_timeout;
            let answer = self.link.connection.send_packed_commands(pipeline, offset, count);
            match Connection::bounded(limit, running.blocks, answer).await {
                Some(answer) => running.finish(answer),
                None => Err(timed_out(limit)),
            }
        })
    }

    fn get_db(&self) -> i64 {
        self.settings.info.redis_settings().db()
    }
}
