//! Everything is taken: what it costs to say no.

use std::convert::Infallible;
use std::future::{Pending, pending};
use std::task::{Context, Poll, Waker};

use tower::Service;

use super::SUBJECT;
use super::services::{rejecting_bulkhead, request, shedding, tower_shed};
use crate::poll;
use crate::scenario::{Batch, Contender, Effort, Rival, Scenario, Target, Work};

pub(super) fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(20_000);
    let contenders = vec![
        Contender::timed("ours", move || refuse(shedding(1, Stuck), n)),
        Contender::timed("tower LoadShed", move || refuse(tower_shed(1, Stuck), n)),
        Contender::timed("bulkhead", move || refuse(rejecting_bulkhead(1, Stuck), n)),
    ];
    vec![
        Scenario::new(SUBJECT, "a rejected request", contenders)
            .target(Target::time(Rival::Peer("tower LoadShed"), 0.3))
            .target(Target::at_most("allocations", Rival::Nobody, 0.0)),
    ]
}

/// Fills the one place with a request that never ends, then has `n` refused.
fn refuse<S>(mut service: S, n: u64) -> Work
where
    S: Service<u64, Response = u64> + Clone + 'static,
    S::Future: 'static,
{
    // The bulkhead arms a timer even for its immediate attempt, so everybody runs where timers can be made.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let inside = runtime.enter();
    let mut first = service.clone();
    assert!(first.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready());
    let mut running = Box::pin(first.call(0));
    assert!(poll::once(running.as_mut()).is_pending());
    drop(inside);
    Box::new(move || {
        let (_held, _inside) = (&running, runtime.enter());
        Batch::time(n, || (0..n).for_each(|_| assert!(request(&mut service).is_err())))
    })
}

/// Never answers.
#[derive(Debug, Clone, Copy)]
struct Stuck;

impl Service<u64> for Stuck {
    type Response = u64;
    type Error = Infallible;
    type Future = Pending<Result<u64, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u64) -> Self::Future {
        pending()
    }
}
