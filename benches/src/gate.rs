//! The correctness gate: whoever hangs, loses places or lets too many in has no speed to show.
//!
//! The paused clock makes a hang visible at once: when every task waits and no timer is left but the
//! gate's own, the clock jumps to it.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::poll_immediate;
use futures_util::stream::{FuturesUnordered, TryStreamExt};

use crate::random::Random;

const CALLERS: u64 = 24;
const TURNS: u64 = 40;
const LONG: Duration = Duration::from_secs(24 * 3600);

/// Passes when `enter` lets at most `limit` in at a time, wakes everybody, and has all places back at the end.
///
/// A third of the callers give up after their first poll, another third after a short wait.
///
/// # Errors
/// What went wrong, in words for the table.
pub fn check<G, F>(limit: usize, enter: impl Fn() -> F) -> Result<(), String>
where
    F: Future<Output = Result<G, String>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(async {
        let crowd = Crowd::default();
        // Each caller has a waker of its own: a crowd that is polled as one would find what no wake-up told it.
        let callers: FuturesUnordered<_> =
            (0..CALLERS).map(|seed| crowd.caller(seed, limit, &enter)).collect();
        tokio::time::timeout(LONG, callers.try_collect::<()>())
            .await
            .map_err(|_| "hangs: everybody waits and nobody is served".to_owned())??;
        everybody_home(limit, &enter).await
    })
}

#[derive(Default)]
struct Crowd {
    inside: Cell<usize>,
}

impl Crowd {
    async fn caller<G, F>(&self, seed: u64, limit: usize, enter: &impl Fn() -> F) -> Result<(), String>
    where
        F: Future<Output = Result<G, String>>,
    {
        let mut random = Random::new(seed);
        for _ in 0..TURNS {
            let guard = match random.below(3) {
                0 => poll_immediate(enter()).await,
                1 => tokio::time::timeout(Duration::from_millis(random.below(5)), enter()).await.ok(),
                _ => Some(enter().await),
            };
            let Some(guard) = guard else {
                tokio::task::yield_now().await;
                continue;
            };
            let guard = guard?;
            self.inside.set(self.inside.get() + 1);
            if self.inside.get() > limit {
                return Err(format!("lets {} in where {limit} is the maximum", self.inside.get()));
            }
            if random.below(2) == 0 {
                tokio::time::sleep(Duration::from_millis(1 + random.below(3))).await;
            } else {
                tokio::task::yield_now().await;
            }
            self.inside.set(self.inside.get() - 1);
            drop(guard);
        }
        Ok(())
    }
}

/// All places can be had at once, and no more than these.
async fn everybody_home<G, F>(limit: usize, enter: &impl Fn() -> F) -> Result<(), String>
where
    F: Future<Output = Result<G, String>>,
{
    // Hand-backs that a pool does in a task of its own get their turn.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut guards = Vec::new();
    for place in 0..limit {
        match tokio::time::timeout(LONG, enter()).await {
            Ok(guard) => guards.push(guard?),
            Err(_) => return Err(format!("loses places: {place} of {limit} are left after the cancels")),
        }
    }
    let mut one_more = pin!(enter());
    match one_more.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => Ok(()),
        Poll::Ready(Err(_)) => Ok(()),
        Poll::Ready(Ok(_)) => Err(format!("lets {} in where {limit} is the maximum", limit + 1)),
    }
}
