//! Sixty-four clones on eight places: each request yields once inside the service.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Runtime};
use tower::{Service, ServiceExt};

use super::services::{bulkhead, deferred, ours, tower_limit};
use super::{SUBJECT, TOWER};
use crate::scenario::{Batch, Contender, Effort, Rival, Scenario, Target};

const CLONES: u64 = 64;
const LIMIT: usize = 8;

pub(super) fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(6_400);
    // Sixty-four tasks are spawned per batch; beyond these nothing may be allocated.
    let spawned = Target::at_most("allocations", Rival::Nobody, 2.0 * CLONES as f64 / n as f64);
    let mut all = Vec::new();
    for (threads, bound, runtime) in
        [("one thread", 0.8, one_thread as fn() -> Runtime), ("two threads", 1.0, two_threads)]
    {
        for (mode, ours) in [
            ("", crowd("ours", || ours(LIMIT, Yielding), n, runtime)),
            ("Deferred: ", crowd("ours", || deferred(LIMIT, Yielding), n, runtime)),
        ] {
            let contenders = vec![
                ours,
                crowd("tower", || tower_limit(LIMIT, Yielding), n, runtime),
                crowd("bulkhead", || bulkhead(LIMIT, Yielding), n, runtime),
            ];
            all.push(
                Scenario::new(
                    SUBJECT,
                    format!("{mode}64 clones on 8, cloned per request, {threads}"),
                    contenders,
                )
                .target(Target::time(TOWER, bound))
                .target(spawned),
            );
        }
    }
    all
}

fn crowd<S>(who: &'static str, make: fn() -> S, n: u64, runtime: fn() -> Runtime) -> Contender
where
    S: Service<u64, Response = u64> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Send + std::fmt::Debug,
{
    Contender::timed(who, move || {
        let (service, runtime) = (make(), runtime());
        Box::new(move || {
            Batch::time(n, || {
                runtime.block_on(async {
                    let tasks: Vec<_> = (0..CLONES)
                        .map(|_| {
                            let service = service.clone();
                            tokio::spawn(async move {
                                for _ in 0..n / CLONES {
                                    service.clone().oneshot(7).await.expect("it never rejects");
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        task.await.expect("the task ends");
                    }
                });
            })
        })
    })
}

/// Answers after one yield.
#[derive(Debug, Clone, Copy)]
struct Yielding;

impl Service<u64> for Yielding {
    type Response = u64;
    type Error = Infallible;
    type Future = Yield;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u64) -> Yield {
        Yield { request, yielded: false }
    }
}

/// Pending once, and it wakes itself. Unboxed, so that no allocation is the service's.
#[derive(Debug)]
struct Yield {
    request: u64,
    yielded: bool,
}

impl Future for Yield {
    type Output = Result<u64, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.yielded {
            return Poll::Ready(Ok(self.request));
        }
        self.yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime of two threads")
}
