//! Places are free: the price of a limiter that has nothing to do.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tower::{Layer, Service};
use tower_limit_fair::ConcurrencyLimitLayer;

use super::services::{Echo, bulkhead, deferred, ours, request, tower_limit};
use super::{SUBJECT, TOWER};
use crate::poll;
use crate::scenario::{Batch, Contender, Effort, Rival, Scenario, Target, Work};

pub(super) fn scenarios(effort: Effort) -> Vec<Scenario> {
    let n = effort.operations(20_000);
    let no_allocation = Target::at_most("allocations", Rival::Nobody, 0.0);
    let against = |name: &str, bound: f64, contenders: Vec<Contender>| {
        Scenario::new(SUBJECT, name, contenders).target(Target::time(TOWER, bound)).target(no_allocation)
    };
    let reused = || Contender::timed("tower", move || reuse(tower_limit(8, Echo), n));
    let cloned = || Contender::timed("tower", move || clone(tower_limit(8, Echo), n));
    let padded = || Contender::timed("bulkhead", move || reuse(bulkhead(8, Echo), n));
    let padded_clone = || Contender::timed("bulkhead", move || clone(bulkhead(8, Echo), n));
    vec![
        against(
            "ready + call, re-used",
            1.0,
            vec![Contender::timed("ours", move || reuse(ours(8, Echo), n)), reused(), padded()],
        ),
        against(
            "ready + call, cloned per request",
            1.0,
            vec![Contender::timed("ours", move || clone(ours(8, Echo), n)), cloned(), padded_clone()],
        ),
        against(
            "Deferred: ready + call, re-used",
            0.7,
            vec![Contender::timed("ours", move || reuse(deferred(8, Echo), n)), reused(), padded()],
        ),
        against(
            "Deferred: ready + call, cloned per request",
            0.7,
            vec![Contender::timed("ours", move || clone(deferred(8, Echo), n)), cloned(), padded_clone()],
        ),
        Scenario::new(
            SUBJECT,
            "server(8): a response with a body, read to its end",
            vec![Contender::timed("ours", move || bodies(n / 4))],
        )
        .target(no_allocation),
    ]
}

fn reuse<S>(mut service: S, n: u64) -> Work
where
    S: Service<u64, Response = u64> + 'static,
{
    Box::new(move || Batch::time(n, || (0..n).for_each(|_| assert!(request(&mut service).is_ok()))))
}

fn clone<S>(service: S, n: u64) -> Work
where
    S: Service<u64, Response = u64> + Clone + 'static,
{
    Box::new(move || Batch::time(n, || (0..n).for_each(|_| assert!(request(&mut service.clone()).is_ok()))))
}

/// The layer of a server around a handler whose body is static: whatever is allocated is the layer's.
fn bodies(n: u64) -> Work {
    let handler = tower::service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello"))))
    });
    let mut service = ConcurrencyLimitLayer::server(8).layer(handler);
    Box::new(move || {
        Batch::time(n, || {
            for _ in 0..n {
                let mut context = Context::from_waker(Waker::noop());
                assert!(service.poll_ready(&mut context).is_ready());
                let response = poll::ready(service.call(Request::new(()))).expect("infallible");
                let mut body = pin!(response.into_body());
                while let Poll::Ready(Some(frame)) = http_body::Body::poll_frame(body.as_mut(), &mut context)
                {
                    assert!(frame.is_ok());
                }
            }
        })
    })
}
