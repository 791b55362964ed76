//! What the pool's tests share.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "each test file uses its own part"
)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use lease_pool::testing::Scripted;
use lease_pool::{Builder, Manager, Pool};

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn scripted(max: usize) -> (Scripted, Builder<Scripted>) {
    let script = Scripted::new();
    let builder = Pool::builder(script.clone()).max(max);
    (script, builder)
}

/// The states add up, and what is out is what the test holds.
#[track_caller]
pub fn assert_books<M: Manager>(pool: &Pool<M>, held: usize) {
    let now = pool.snapshot();
    assert_eq!(now.leased, held, "held by the test: {now:?}");
    let occupied = now.live() + now.creating + now.closing;
    assert!(occupied <= now.max + now.excess + now.closing, "{now:?}");
    assert_eq!(occupied + now.vacant, now.max.max(occupied), "{now:?}");
}

/// Nothing is under way, nobody waits.
#[track_caller]
pub fn assert_quiet<M: Manager>(pool: &Pool<M>) {
    let now = pool.snapshot();
    let busy = (now.creating, now.checking, now.leased, now.resetting, now.closing, now.waiters, now.granted);
    assert_eq!(busy, (0, 0, 0, 0, 0, 0, 0), "{now:?}");
}

/// Lets every task that can run do so, without moving the clock far.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// A waker that counts.
#[derive(Default)]
pub struct Count(AtomicUsize);

impl Count {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn wakes(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once with a waker that does nothing.
pub fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
