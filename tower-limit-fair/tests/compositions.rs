//! With tower's own middleware inside and outside of the limit, everything makes progress.
#![cfg(feature = "time")]
#![forbid(unsafe_code)]

mod support;

use std::{
    convert::Infallible,
    future::Ready,
    task::{Context, Poll},
    time::Duration,
};

use support::{Script, Spawned, Task};
use tower::{
    Service, ServiceExt,
    balance::p2c::Balance,
    buffer::Buffer,
    discover::ServiceList,
    hedge::{Hedge, Policy as HedgePolicy},
    load::Constant,
    load_shed::LoadShed,
    ready_cache::ReadyCache,
    retry::{Policy as RetryPolicy, Retry},
    spawn_ready::SpawnReady,
    timeout::Timeout,
};
use tower_layer::Layer;
use tower_limit_fair::{ConcurrencyLimit, ConcurrencyLimitLayer, Limit, Mode};

const TTL: Duration = Duration::from_millis(100);

/// Answers after a while.
#[derive(Clone)]
struct Slow(Duration);

impl Service<u32> for Slow {
    type Response = u32;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<u32, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u32) -> Self::Future {
        let time = self.0;
        Box::pin(async move {
            tokio::time::sleep(time).await;
            Ok(n)
        })
    }
}

fn slow(limit: usize) -> (ConcurrencyLimit<Slow>, Limit) {
    let layer = ConcurrencyLimitLayer::new(limit);
    (layer.layer(Slow(Duration::from_millis(10))), layer.handle())
}

fn idle(limit: &Limit) {
    let snapshot = limit.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.reserved, snapshot.unclaimed, snapshot.queued), (0, 0, 0, 0));
    assert_eq!(snapshot.available, snapshot.limit);
}

async fn run_all<S>(service: S, requests: u32)
where
    S: Service<u32, Response = u32> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: std::fmt::Debug + Send,
{
    let mut all = tokio::task::JoinSet::new();
    for n in 0..requests {
        let service = service.clone();
        all.spawn(async move { service.oneshot(n).await.unwrap() });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn buffer_with_many_clones_drains_inside_and_outside() {
    let (limited, limit) = slow(2);
    run_all(Buffer::new(limited, 8), 40).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    idle(&limit);

    let layer = ConcurrencyLimitLayer::new(2);
    run_all(layer.layer(Buffer::new(Slow(Duration::from_millis(10)), 8)), 40).await;
    idle(&layer.handle());

    let layer =
        ConcurrencyLimitLayer::builder().limit(2).mode(Mode::Deferred).deferred_clone().build().unwrap();
    run_all(layer.layer(Buffer::new(Slow(Duration::from_millis(10)), 8)), 40).await;
    idle(&layer.handle());
}

#[tokio::test(start_paused = true)]
async fn three_load_shed_services_share_one_limit() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::new(1);
    let shed = || Spawned::new(LoadShed::new(layer.layer(script.service())));
    let (mut a, mut b, mut c) = (shed(), shed(), shed());
    let task = Task::new();
    assert_ready_ok!(a.poll_ready());
    let mut running = Box::pin(a.service.call("a"));
    assert_pending!(task.poll_future(&mut running));

    // b is shed, and its inner service stays in the queue with nobody polling.
    assert_ready_ok!(b.poll_ready());
    assert!(assert_ready!(task.poll_future(&mut Box::pin(b.service.call("b")))).is_err());
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut running));

    // c is shed while b's unpolled grant lives, and no longer.
    let start = tokio::time::Instant::now();
    loop {
        assert_ready_ok!(c.poll_ready());
        let mut request = Box::pin(c.service.call("c"));
        if task.poll_future(&mut request).is_pending() {
            break;
        }
        assert!(
            start.elapsed() <= TTL * 2 + Duration::from_millis(5),
            "still shed after {:?}",
            start.elapsed()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(script.started(), ["a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_spawn_ready_does_not_starve_the_others() {
    let (limited, limit) = slow(1);
    let mut parked = SpawnReady::new(limited.clone());
    parked.ready().await.unwrap();
    assert_eq!(limit.snapshot().reserved, 1);
    let start = tokio::time::Instant::now();
    assert_eq!(limited.oneshot(1).await, Ok(1));
    assert!(start.elapsed() <= TTL * 2 + Duration::from_millis(15), "{:?}", start.elapsed());
    assert_eq!(parked.call(2).await.unwrap(), 2);
    drop(parked);
    idle(&limit);
}

#[tokio::test(start_paused = true)]
async fn two_balances_over_four_endpoints_share_a_limit_and_one_may_be_idle() {
    let layer = ConcurrencyLimitLayer::new(4);
    let balance = || {
        let endpoints = (0..4)
            .map(|load| Constant::new(layer.layer(Slow(Duration::from_millis(10))), load))
            .collect::<Vec<_>>();
        Balance::new(ServiceList::new(endpoints))
    };
    let (mut idle_one, mut busy) = (balance(), balance());
    ServiceExt::<u32>::ready(&mut idle_one).await.unwrap();
    let start = tokio::time::Instant::now();
    for n in 0..20_u32 {
        let answer = busy.ready().await.unwrap().call(n).await.unwrap();
        assert_eq!(answer, n);
    }
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    // The idle one's readiness was revoked, and its call still works.
    assert_eq!(idle_one.call(99).await.unwrap(), 99);
}

#[tokio::test(start_paused = true)]
async fn balance_inside_of_the_limit_works() {
    let endpoints =
        (0..4).map(|load| Constant::new(Slow(Duration::from_millis(10)), load)).collect::<Vec<_>>();
    let layer = ConcurrencyLimitLayer::new(2);
    let mut limited = layer.layer(Balance::<_, u32>::new(ServiceList::new(endpoints)));
    for n in 0..10 {
        assert_eq!(limited.ready().await.unwrap().call(n).await.unwrap(), n);
    }
    idle(&layer.handle());
}

#[derive(Clone)]
struct Twice;

impl HedgePolicy<u32> for Twice {
    fn clone_request(&self, n: &u32) -> Option<u32> {
        Some(*n)
    }
    fn can_retry(&self, _: &u32) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn hedge_at_limit_one_does_not_deadlock_inside_or_outside() {
    let (limited, limit) = slow(1);
    let hedged = Hedge::new(limited, Twice, 1, 0.5, Duration::from_secs(10));
    run_all_in_turn(hedged).await;
    idle(&limit);

    let layer = ConcurrencyLimitLayer::new(1);
    let hedge = Hedge::new(Slow(Duration::from_millis(10)), Twice, 1, 0.5, Duration::from_secs(10));
    run_all_in_turn(layer.layer(hedge)).await;
    idle(&layer.handle());
}

async fn run_all_in_turn<S>(mut service: S)
where
    S: Service<u32, Response = u32>,
    S::Error: std::fmt::Debug,
{
    for n in 0..20 {
        let answer = tokio::time::timeout(Duration::from_secs(5), async {
            service.ready().await.unwrap().call(n).await.unwrap()
        });
        assert_eq!(answer.await.expect("hangs"), n);
    }
}

/// Fails every first attempt.
#[derive(Clone, Default)]
struct Flaky {
    calls: std::sync::Arc<std::sync::atomic::AtomicU32>,
}

impl Service<u32> for Flaky {
    type Response = u32;
    type Error = support::Boom;
    type Future = Ready<Result<u32, support::Boom>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), support::Boom>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u32) -> Self::Future {
        let call = self.calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::future::ready(if call % 2 == 0 { Err(support::Boom) } else { Ok(n) })
    }
}

#[derive(Clone)]
struct Again;

impl<E> RetryPolicy<u32, u32, E> for Again {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut u32, result: &mut Result<u32, E>) -> Option<Ready<()>> {
        result.is_err().then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, n: &u32) -> Option<u32> {
        Some(*n)
    }
}

#[tokio::test(start_paused = true)]
async fn retry_at_limit_one_gets_its_second_attempt_inside_and_outside() {
    let layer = ConcurrencyLimitLayer::new(1);
    run_all(Retry::new(Again, layer.layer(Flaky::default())), 1).await;
    run_all_in_turn(Retry::new(Again, layer.layer(Flaky::default()))).await;
    run_all_in_turn(layer.layer(Retry::new(Again, Flaky::default()))).await;
    idle(&layer.handle());
}

#[tokio::test(start_paused = true)]
async fn timeout_outside_frees_the_lease_of_what_it_gives_up() {
    let layer = ConcurrencyLimitLayer::new(1);
    let limited = layer.layer(Slow(Duration::from_secs(60)));
    let mut timed = Timeout::new(limited, Duration::from_secs(1));
    assert!(timed.ready().await.unwrap().call(1).await.is_err());
    idle(&layer.handle());
    let mut inside = layer.layer(Timeout::new(Slow(Duration::from_secs(60)), Duration::from_secs(1)));
    assert!(inside.ready().await.unwrap().call(1).await.is_err());
    idle(&layer.handle());
}

#[tokio::test(start_paused = true)]
async fn a_ready_cache_of_limited_services_makes_progress_and_evicts_without_a_trace() {
    let (limited, limit) = slow(2);
    let mut cache: ReadyCache<u32, _, u32> = ReadyCache::default();
    for key in 0..4 {
        cache.push(key, limited.clone());
    }
    for n in 0..8 {
        std::future::poll_fn(|cx| {
            let _ = cache.poll_pending(cx).map_err(|error| panic!("{error}"));
            if cache.ready_len() > 0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        assert_eq!(cache.call_ready_index(0, n).await.unwrap(), n);
    }
    for key in 0..4 {
        cache.evict(&key);
    }
    drop(cache);
    idle(&limit);
}
