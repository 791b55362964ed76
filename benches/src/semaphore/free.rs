//! Permits are free: nobody waits.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use super::{AsyncLock, Barging, Counting, Fair, Intrusive, OwnedCounting, Tokio, Weighted, against_tokio};
use crate::gate;
use crate::poll;
use crate::scenario::{Batch, Contender, Effort, Scenario, Work};

const WAIT: Duration = Duration::from_secs(30);

pub(super) fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(40_000);
    vec![
        against_tokio("uncontended acquire + release, bare poll", 0.30, all(move |who| bare(who, n))),
        against_tokio(
            "uncontended acquire + release, in a tokio task",
            0.35,
            all(move |who| in_task(who, n)),
        ),
        against_tokio(
            "uncontended owned acquire + release",
            0.45,
            vec![owned::<Fair>(n), owned::<Tokio>(n), owned::<AsyncLock>(n)],
        ),
        against_tokio(
            "uncontended acquire_many mix (1, 2, 3, 8)",
            0.30,
            vec![many::<Fair>(n), many::<Tokio>(n), many::<Intrusive>(n)],
        ),
        against_tokio("try_acquire + release", 0.60, all(move |who| trying(who, n))),
        against_tokio("failing try_acquire", 0.50, all(move |who| failing(who, n))),
        against_tokio("acquire with a timeout, permits free", 0.20, vec![ours_in_time(n), tokio_in_time(n)]),
    ]
}

/// Which semaphore a contender is made of.
#[derive(Clone, Copy)]
pub(super) enum Who {
    Fair,
    Barging,
    Tokio,
    AsyncLock,
    Intrusive,
}

/// Calls a generic function with the type that stands for `who`.
macro_rules! with_type {
    ($who:expr, $function:ident ( $($argument:expr),* )) => {
        match $who {
            Who::Fair => $function::<Fair>($($argument),*),
            Who::Barging => $function::<Barging>($($argument),*),
            Who::Tokio => $function::<Tokio>($($argument),*),
            Who::AsyncLock => $function::<AsyncLock>($($argument),*),
            Who::Intrusive => $function::<Intrusive>($($argument),*),
        }
    };
}
pub(super) use with_type;

/// Everybody, ours first, each gated.
pub(super) fn all(make: impl Fn(Who) -> Contender) -> Vec<Contender> {
    [Who::Fair, Who::Tokio, Who::AsyncLock, Who::Intrusive]
        .map(|who| with_type!(who, gated(make(who))))
        .into()
}

/// Adds the gate of semaphore `S`.
pub(super) fn gated<S: Counting>(contender: Contender) -> Contender {
    contender.gated(|| {
        let semaphore = S::with(3);
        gate::check(3, || async { Ok(S::permit(semaphore.acquire().await)) })
    })
}

fn bare(who: Who, n: u64) -> Contender {
    fn work<S: Counting>(n: u64) -> Contender {
        Contender::timed(S::NAME, move || {
            let semaphore = S::with(4);
            Box::new(move || {
                Batch::time(n, || (0..n).for_each(|_| drop(S::permit(poll::ready(semaphore.acquire())))))
            })
        })
    }
    with_type!(who, work(n))
}

fn in_task(who: Who, n: u64) -> Contender {
    fn work<S: Counting>(n: u64) -> Contender {
        Contender::timed(S::NAME, move || {
            let runtime = single_thread();
            let semaphore = Arc::new(S::with(4));
            Box::new(move || {
                let semaphore = Arc::clone(&semaphore);
                let task = runtime.spawn(async move {
                    for _ in 0..n {
                        drop(S::permit(semaphore.acquire().await));
                    }
                });
                Batch::time(n, || runtime.block_on(task).expect("the task ends"))
            })
        })
    }
    with_type!(who, work(n))
}

fn owned<S: OwnedCounting>(n: u64) -> Contender {
    gated::<S>(Contender::timed(S::NAME, move || {
        let semaphore = Arc::new(S::with(4));
        Box::new(move || Batch::time(n, || (0..n).for_each(|_| drop(poll::ready(semaphore.acquire_owned())))))
    }))
}

fn many<S: Weighted>(n: u64) -> Contender {
    gated::<S>(Contender::timed(S::NAME, move || {
        let semaphore = S::with(8);
        Box::new(move || {
            Batch::time(n, || {
                for _ in 0..n / 4 {
                    for permits in [1, 2, 3, 8] {
                        drop(S::permit(poll::ready(semaphore.acquire_many(black_box(permits)))));
                    }
                }
            })
        })
    }))
}

fn trying(who: Who, n: u64) -> Contender {
    fn work<S: Counting>(n: u64) -> Contender {
        Contender::timed(S::NAME, move || {
            let semaphore = S::with(4);
            Box::new(move || Batch::time(n, || (0..n).for_each(|_| drop(black_box(semaphore.try_acquire())))))
        })
    }
    with_type!(who, work(n))
}

fn failing(who: Who, n: u64) -> Contender {
    fn work<S: Counting>(n: u64) -> Contender {
        Contender::timed(S::NAME, move || {
            let semaphore = S::with(1);
            S::keep(semaphore.try_acquire().expect("one is free"));
            Box::new(move || {
                Batch::time(n, || (0..n).for_each(|_| assert!(black_box(semaphore.try_acquire()).is_none())))
            })
        })
    }
    with_type!(who, work(n))
}

fn ours_in_time(n: u64) -> Contender {
    Contender::timed("ours", move || {
        let semaphore = semaphore_core::Semaphore::new(4);
        timed_loop(n, move || drop(poll::ready(semaphore.acquire_timeout(WAIT))))
    })
}

fn tokio_in_time(n: u64) -> Contender {
    Contender::timed("tokio", move || {
        let semaphore = tokio::sync::Semaphore::new(4);
        timed_loop(n, move || {
            drop(poll::ready(tokio::time::timeout(WAIT, semaphore.acquire())).expect("a permit is free"));
        })
    })
}

/// Repeats `step` inside a runtime's context, where timers can be made.
fn timed_loop(n: u64, mut step: impl FnMut() + 'static) -> Work {
    let runtime = single_thread();
    Box::new(move || {
        let _inside = runtime.enter();
        Batch::time(n, || (0..n).for_each(|_| step()))
    })
}

pub(super) fn single_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
}
