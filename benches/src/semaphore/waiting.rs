//! Ten thousand waiters: joining, serving, giving up.

use std::pin::Pin;
use std::task::Poll;

use super::free::{Who, all, gated, with_type};
use super::{AsyncLock, Barging, Counting, Fair, Intrusive, Tokio, Weighted, against_tokio};
use crate::poll;
use crate::random::Random;
use crate::scenario::{Batch, Contender, Effort, Scenario};

const WAITERS: u64 = 10_000;

pub(super) fn scenarios(_effort: Effort) -> Vec<Scenario> {
    vec![
        against_tokio("enqueue one of 10,000 waiters", 0.40, all(joining)),
        against_tokio("one permit handed through 10,000 waiters", 0.45, all(handing)),
        against_tokio("10,000 permits to 10,000 waiters", 0.35, all(flooding)),
        against_tokio("random cancel of one of 10,000 waiters", 1.05, all(cancelling)),
        against_tokio("half of 10,000 cancelled, the rest served", 0.65, all(surviving)),
        against_tokio(
            "64 single releases under a waiting acquire of 64",
            0.70,
            vec![gathering::<Fair>(), gathering::<Tokio>(), gathering::<Intrusive>()],
        ),
    ]
}

/// A semaphore without a free permit, leaked into the batch by reference.
fn exhausted<S: Counting>() -> S {
    let semaphore = S::with(1);
    S::keep(semaphore.try_acquire().expect("one is free"));
    semaphore
}

fn joining(who: Who) -> Contender {
    fn work<S: Counting>() -> Contender {
        Contender::timed(S::NAME, || {
            Box::new(|| {
                let semaphore = exhausted::<S>();
                let mut waiters: Vec<_> = (0..WAITERS).map(|_| Box::pin(semaphore.acquire())).collect();
                Batch::time(WAITERS, || poll::enqueue(&mut waiters))
            })
        })
    }
    with_type!(who, work())
}

fn handing(who: Who) -> Contender {
    fn work<S: Counting>() -> Contender {
        Contender::timed(S::NAME, || {
            Box::new(|| {
                let semaphore = exhausted::<S>();
                let mut waiters = poll::queue((0..WAITERS).map(|_| semaphore.acquire()));
                Batch::time(WAITERS, || {
                    semaphore.grant(1);
                    // Each guard is dropped at once, which serves the next one.
                    serve(&mut waiters, |grant| drop(S::permit(grant)));
                })
            })
        })
    }
    with_type!(who, work())
}

fn flooding(who: Who) -> Contender {
    fn work<S: Counting>() -> Contender {
        Contender::timed(S::NAME, || {
            Box::new(|| {
                let semaphore = exhausted::<S>();
                let mut waiters = poll::queue((0..WAITERS).map(|_| semaphore.acquire()));
                Batch::time(WAITERS, || {
                    semaphore.grant(WAITERS as usize);
                    serve(&mut waiters, |grant| S::keep(S::permit(grant)));
                })
            })
        })
    }
    with_type!(who, work())
}

fn cancelling(who: Who) -> Contender {
    fn work<S: Counting>() -> Contender {
        Contender::timed(S::NAME, || {
            Box::new(|| {
                let semaphore = exhausted::<S>();
                let mut waiters = poll::queue((0..WAITERS).map(|_| semaphore.acquire()));
                Random::new(7).shuffle(&mut waiters);
                Batch::time(WAITERS, || waiters.clear())
            })
        })
    }
    with_type!(who, work())
}

fn surviving(who: Who) -> Contender {
    fn work<S: Counting>() -> Contender {
        Contender::timed(S::NAME, || {
            Box::new(|| {
                let semaphore = exhausted::<S>();
                let mut waiters = poll::queue((0..WAITERS).map(|_| semaphore.acquire()));
                let mut random = Random::new(11);
                waiters.retain(|_| random.below(2) == 0);
                Batch::time(waiters.len() as u64, || {
                    semaphore.grant(1);
                    serve(&mut waiters, |grant| drop(S::permit(grant)));
                })
            })
        })
    }
    with_type!(who, work())
}

fn gathering<S: Weighted>() -> Contender {
    gated::<S>(Contender::timed(S::NAME, || {
        let semaphore = S::with(64);
        Box::new(move || {
            let mut batch = Batch { elapsed: std::time::Duration::ZERO, operations: 0 };
            for _ in 0..64 {
                let held: Vec<_> = (0..64).map(|_| semaphore.try_acquire().expect("one is free")).collect();
                let mut waiter = Box::pin(semaphore.acquire_many(64));
                assert!(poll::once(waiter.as_mut()).is_pending());
                let part = Batch::time(64, || {
                    drop(held);
                    drop(S::permit(poll::ready(waiter.as_mut())));
                });
                batch.elapsed += part.elapsed;
                batch.operations += part.operations;
            }
            batch
        })
    }))
}

/// Polls each waiter once, in order; all have been or are being served.
fn serve<F: Future>(waiters: &mut [Pin<Box<F>>], mut then: impl FnMut(F::Output)) {
    for waiter in waiters {
        match poll::once(waiter.as_mut()) {
            Poll::Ready(permit) => then(permit),
            Poll::Pending => panic!("a waiter was not served in its turn"),
        }
    }
}
