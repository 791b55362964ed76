//! Random sequences over several clones: never above the limit, and everything home at the end.
#![cfg(feature = "time")]
#![forbid(unsafe_code)]

mod support;

use std::{future::Future, pin::Pin, task::Poll, time::Duration};

use proptest::prelude::*;
use support::{Boom, Readiness, Script, Spawned, Task};
use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimit, ConcurrencyLimitLayer, DrainPolicy, Fail, LimitError, Mode};
use tower_service::Service;

#[derive(Clone, Debug)]
enum Step {
    Ready(usize),
    Call(usize),
    Clone(usize),
    DropService(usize),
    Poll(usize),
    DropFuture(usize),
    Answer(bool),
    SetLimit(usize),
    Inner(u8),
    Pass(u64),
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..6_usize).prop_map(Step::Ready),
        6 => (0..6_usize).prop_map(Step::Call),
        2 => (0..6_usize).prop_map(Step::Clone),
        1 => (0..6_usize).prop_map(Step::DropService),
        6 => (0..8_usize).prop_map(Step::Poll),
        2 => (0..8_usize).prop_map(Step::DropFuture),
        5 => any::<bool>().prop_map(Step::Answer),
        1 => (1..5_usize).prop_map(Step::SetLimit),
        1 => (0..3_u8).prop_map(Step::Inner),
        3 => (0..250_u64).prop_map(Step::Pass),
        1 => Just(Step::Drain),
    ]
}

type Answer = Pin<Box<dyn Future<Output = Result<String, LimitError<Boom>>>>>;

async fn run(mode: Mode, limit: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let script = Script::new();
    let mut builder = ConcurrencyLimitLayer::builder().limit(limit).mode(mode).fail();
    if mode != Mode::Shed {
        builder = builder.queue(4).queue_timeout(Duration::from_millis(300));
    }
    let layer = builder.build().unwrap();
    let handle = layer.handle();
    let mut services: Vec<Spawned<ConcurrencyLimit<support::Scripted, Fail>>> =
        vec![Spawned::new(layer.layer(script.service()))];
    let mut futures: Vec<Answer> = Vec::new();
    let task = Task::new();
    let mut allowed = limit;
    let admitted = || {
        let snapshot = handle.snapshot();
        snapshot.in_flight + snapshot.reserved + snapshot.unclaimed
    };
    for step in steps {
        let before = admitted();
        match *step {
            Step::Ready(at) if at < services.len() => drop(services[at].poll_ready::<&'static str>()),
            Step::Call(at) if at < services.len() => {
                futures.push(Box::pin(services[at].service.call("request")))
            }
            Step::Clone(at) if at < services.len() && services.len() < 6 => {
                let clone = services[at].clone();
                services.push(clone);
            }
            Step::DropService(at) if at < services.len() && services.len() > 1 => drop(services.remove(at)),
            Step::Poll(at) if at < futures.len() && task.poll_future(&mut futures[at]).is_ready() => {
                drop(futures.remove(at));
            }
            Step::DropFuture(at) if at < futures.len() => drop(futures.remove(at)),
            Step::Answer(good) if script.waits() => script.answer(if good { Ok("done") } else { Err(Boom) }),
            Step::SetLimit(new) => {
                handle.set_limit(new).unwrap();
                allowed = new;
            }
            Step::Inner(kind) => {
                script.set([Readiness::Ready, Readiness::Pending, Readiness::Broken][usize::from(kind)]);
            }
            Step::Pass(time) => tokio::time::sleep(Duration::from_millis(time)).await,
            Step::Drain => drop(handle.drain(DrainPolicy::FinishQueued)),
            _ => {}
        }
        let snapshot = handle.snapshot();
        // Leases are out above the limit only if they were before it was lowered.
        prop_assert!(admitted() <= allowed.max(before), "{} admitted at limit {allowed}", admitted());
        prop_assert!(script.running() <= snapshot.in_flight, "a request runs without a lease: {snapshot:?}");
        let all = snapshot.in_flight + snapshot.reserved + snapshot.unclaimed + snapshot.available;
        prop_assert_eq!(all, snapshot.limit + snapshot.excess, "{:?}", snapshot);
    }
    drop((services, futures));
    let snapshot = handle.snapshot();
    prop_assert_eq!(
        (snapshot.in_flight, snapshot.reserved, snapshot.unclaimed, snapshot.queued),
        (0, 0, 0, 0),
        "{:?}",
        &snapshot
    );
    prop_assert_eq!((snapshot.available, snapshot.excess), (allowed, 0));
    Ok(())
}

fn check(mode: Mode, limit: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run(mode, limit, steps))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn reserve_never_over_admits_and_loses_nothing(limit in 1..4_usize, steps in prop::collection::vec(step(), 1..120)) {
        check(Mode::Reserve, limit, &steps)?;
    }

    #[test]
    fn deferred_never_over_admits_and_loses_nothing(limit in 1..4_usize, steps in prop::collection::vec(step(), 1..120)) {
        check(Mode::Deferred, limit, &steps)?;
    }

    #[test]
    fn shed_never_over_admits_and_loses_nothing(limit in 1..4_usize, steps in prop::collection::vec(step(), 1..120)) {
        check(Mode::Shed, limit, &steps)?;
    }
}

/// The order of arrival among waiters of one limit, whatever their number.
#[tokio::test(start_paused = true)]
async fn waiters_run_in_the_order_of_their_first_poll() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::new(1);
    let mut first = layer.layer(script.service());
    let task = Task::new();
    let mut running: Plain = Box::pin(first.call("0"));
    assert!(task.poll_future(&mut running).is_pending());
    let mut waiting: Vec<Plain> = Vec::new();
    for name in ["1", "2", "3", "4", "5"] {
        let mut request: Plain = Box::pin(first.clone().call(name));
        assert!(task.poll_future(&mut request).is_pending());
        waiting.push(request);
    }
    for next in 0..waiting.len() {
        script.answer(Ok("done"));
        assert!(matches!(task.poll_future(&mut running), Poll::Ready(Ok(_))));
        for request in waiting.iter_mut().rev() {
            assert!(task.poll_future(request).is_pending());
        }
        assert_eq!(script.started().len(), next + 2);
        running = waiting.remove(0);
    }
    assert_eq!(script.started(), ["0", "1", "2", "3", "4", "5"]);
}

type Plain = Pin<Box<dyn Future<Output = Result<String, Boom>>>>;
