//! Workloads of the semaphore.

use std::hint::black_box;
use std::sync::Arc;
use std::task::Poll;

use super::{Workload, measured};
use crate::poll;
use crate::random::Random;
use crate::semaphore::{AsyncLock, Barging, Counting, Fair, Intrusive, OwnedCounting, Tokio, Weighted};

const LOOPS: u64 = 10_000;

/// One line per type that takes part.
macro_rules! each {
    ($all:ident, $name:literal, $function:ident, [$($who:ty),*]) => {
        $($all.push(Workload::new($name, <$who>::NAME, LOOPS, $function::<$who>));)*
    };
}

pub(super) fn workloads() -> Vec<Workload> {
    let mut all = vec![Workload::new("acquire + release", "ours", LOOPS, free::<Fair>).at_most(60.0)];
    each!(all, "acquire + release", free, [Barging, Tokio, AsyncLock, Intrusive]);
    all.push(
        Workload::new("acquire + release, named", "ours", LOOPS, named).at_most_of("acquire + release", 1.12),
    );
    each!(all, "owned acquire + release", owned, [Fair, Tokio, AsyncLock]);
    each!(all, "acquire_many(3) + release", many, [Fair, Tokio, Intrusive]);
    all.push(Workload::new("try_acquire + release", "ours", LOOPS, trying::<Fair>).at_most(40.0));
    each!(all, "try_acquire + release", trying, [Tokio, AsyncLock, Intrusive]);
    each!(all, "failing try_acquire", failing, [Fair, Tokio, AsyncLock, Intrusive]);
    each!(all, "enqueue", joining, [Fair, Tokio, AsyncLock, Intrusive]);
    all.push(Workload::new("hand-off", "ours", LOOPS, handing::<Fair>).at_most(260.0));
    each!(all, "hand-off", handing, [Barging, Tokio, AsyncLock, Intrusive]);
    for (name, waiters) in [("hand-off, 10 waiters", 10), ("hand-off, 1,000,000 waiters", 1_000_000)] {
        all.push(Workload::new(name, "ours", waiters, handing::<Fair>).at_most_of("hand-off", 1.02));
    }
    each!(all, "release to 10,000 at once", flooding, [Fair, Tokio, AsyncLock, Intrusive]);
    all.push(Workload::new("cancel", "ours", LOOPS, cancelling::<Fair>).at_most(215.0));
    each!(all, "cancel", cancelling, [Tokio, AsyncLock, Intrusive]);
    all
}

fn free<S: Counting>(n: u64) {
    let semaphore = S::with(4);
    measured(|| (0..n).for_each(|_| drop(S::permit(poll::ready(semaphore.acquire())))));
}

fn named(n: u64) {
    let semaphore = semaphore_core::Semaphore::new_named("instructions", 4);
    measured(|| (0..n).for_each(|_| drop(poll::ready(semaphore.acquire()).expect("nobody closes it"))));
}

fn owned<S: OwnedCounting>(n: u64) {
    let semaphore = Arc::new(S::with(4));
    measured(|| (0..n).for_each(|_| drop(poll::ready(semaphore.acquire_owned()))));
}

fn many<S: Weighted>(n: u64) {
    let semaphore = S::with(4);
    measured(|| (0..n).for_each(|_| drop(S::permit(poll::ready(semaphore.acquire_many(black_box(3)))))));
}

fn trying<S: Counting>(n: u64) {
    let semaphore = S::with(4);
    measured(|| (0..n).for_each(|_| drop(black_box(semaphore.try_acquire()))));
}

fn exhausted<S: Counting>() -> S {
    let semaphore = S::with(1);
    S::keep(semaphore.try_acquire().expect("one is free"));
    semaphore
}

fn failing<S: Counting>(n: u64) {
    let semaphore = exhausted::<S>();
    measured(|| (0..n).for_each(|_| assert!(black_box(semaphore.try_acquire()).is_none())));
}

fn joining<S: Counting>(n: u64) {
    let semaphore = exhausted::<S>();
    let mut waiters: Vec<_> = (0..n).map(|_| Box::pin(semaphore.acquire())).collect();
    measured(|| poll::enqueue(&mut waiters));
}

fn handing<S: Counting>(n: u64) {
    let semaphore = exhausted::<S>();
    let mut waiters = poll::queue((0..n).map(|_| semaphore.acquire()));
    measured(|| {
        semaphore.grant(1);
        for waiter in &mut waiters {
            match poll::once(waiter.as_mut()) {
                Poll::Ready(grant) => drop(S::permit(grant)),
                Poll::Pending => panic!("a waiter was not served in its turn"),
            }
        }
    });
}

fn flooding<S: Counting>(n: u64) {
    let semaphore = exhausted::<S>();
    let mut waiters = poll::queue((0..n).map(|_| semaphore.acquire()));
    measured(|| {
        semaphore.grant(n as usize);
        for waiter in &mut waiters {
            match poll::once(waiter.as_mut()) {
                Poll::Ready(grant) => S::keep(S::permit(grant)),
                Poll::Pending => panic!("a waiter was not served"),
            }
        }
    });
}

fn cancelling<S: Counting>(n: u64) {
    let semaphore = exhausted::<S>();
    let mut waiters: Vec<_> =
        poll::queue((0..n).map(|_| semaphore.acquire())).into_iter().map(Some).collect();
    let mut order: Vec<usize> = (0..waiters.len()).collect();
    Random::new(7).shuffle(&mut order);
    measured(|| order.iter().for_each(|&place| drop(waiters[place].take())));
}
