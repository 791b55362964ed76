//! Admission after `call`: the queue, its bound, its timeout, lazy and eager inner services.
#![forbid(unsafe_code)]

mod support;

use std::{task::Poll, time::Duration};

use support::{Script, Task};
use tower_layer::Layer;
use tower_limit_fair::{
    AnyRequest, Builder, ConcurrencyLimit, ConcurrencyLimitLayer, Fail, ForRequest, Limit, LimitError, Mode,
    Reason,
};
use tower_service::Service;

fn builder(limit: usize) -> Builder<Fail> {
    ConcurrencyLimitLayer::builder().limit(limit).mode(Mode::Deferred).fail()
}

type Limited = ConcurrencyLimit<support::Scripted, Fail>;

fn limited(options: Builder<Fail>) -> (Limited, Script, Limit) {
    let script = Script::new();
    let layer = options.build().unwrap();
    (layer.layer(script.service()), script, layer.handle())
}

fn reason<T: std::fmt::Debug, E: std::fmt::Debug>(result: Result<T, LimitError<E>>) -> Reason {
    match result {
        Err(LimitError::Rejected(rejected)) => rejected.reason,
        other => panic!("not rejected: {other:?}"),
    }
}

#[tokio::test]
async fn ready_says_only_what_the_inner_service_says() {
    let (mut service, _script, limit) = limited(builder(1));
    let task = Task::new();
    let _running = service.call("one");
    assert_ready_ok!(task.poll(|cx| service.poll_ready(cx)));
    assert_eq!(limit.snapshot().reserved, 0);
}

#[tokio::test]
async fn requests_start_in_the_order_of_their_first_poll() {
    let (mut service, script, limit) = limited(builder(1));
    let task = Task::new();
    let mut first = Box::pin(service.call("first"));
    let mut second = Box::pin(service.call("second"));
    let mut third = Box::pin(service.call("third"));
    assert_pending!(task.poll_future(&mut first));
    assert_pending!(task.poll_future(&mut third));
    assert_pending!(task.poll_future(&mut second));
    assert_eq!(limit.queued(), 2);
    assert_eq!((script.called(), script.started().len()), (3, 1), "called at once, polled only with a lease");
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut first));
    assert_pending!(task.poll_future(&mut second));
    assert_pending!(task.poll_future(&mut third));
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut third));
    assert_pending!(task.poll_future(&mut second));
    assert_eq!(script.started(), ["first", "third", "second"]);
}

#[tokio::test]
async fn a_full_queue_is_known_in_call_and_never_calls_the_inner() {
    let (mut service, script, limit) = limited(builder(1).queue(1));
    let task = Task::new();
    let mut running = Box::pin(service.call("running"));
    let mut queued = Box::pin(service.call("queued"));
    assert_pending!(task.poll_future(&mut running));
    assert_pending!(task.poll_future(&mut queued));
    let mut refused = Box::pin(service.call("refused"));
    assert_eq!(script.called(), 2);
    let rejected = match task.poll_future(&mut refused) {
        Poll::Ready(Err(LimitError::Rejected(rejected))) => rejected,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (rejected.reason, rejected.limit, rejected.in_flight, rejected.queued, rejected.waited),
        (Reason::QueueFull, 1, 1, 1, None)
    );
    assert_eq!(rejected.to_string(), "request rejected: the queue is full (limit 1, in flight 1, queued 1)");
    assert_eq!(limit.stats().rejected(Reason::QueueFull), 1);
}

#[tokio::test]
async fn a_queue_that_fills_between_call_and_first_poll_drops_the_inner_future_unpolled() {
    let (mut service, script, _limit) = limited(builder(1).queue(1));
    let task = Task::new();
    let mut running = Box::pin(service.call("running"));
    let mut late = Box::pin(service.call("late"));
    let mut queued = Box::pin(service.call("queued"));
    assert_pending!(task.poll_future(&mut running));
    assert_pending!(task.poll_future(&mut queued));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut late))), Reason::QueueFull);
    assert_eq!((script.called(), script.started().len()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn the_queue_timeout_ends_each_wait_at_its_own_time() {
    let (mut service, script, limit) = limited(builder(1).queue_timeout(Duration::from_secs(1)));
    let _running = service.call("running");
    let start = tokio::time::Instant::now();
    let mut waits = tokio::task::JoinSet::new();
    for step in 0..3_u64 {
        let request = service.call("queued");
        waits.spawn(async move {
            tokio::time::sleep(Duration::from_millis(100 * step)).await;
            match request.await {
                Err(LimitError::Rejected(rejected)) => (step, rejected, tokio::time::Instant::now()),
                other => panic!("{other:?}"),
            }
        });
    }
    while let Some(done) = waits.join_next().await {
        let (step, rejected, at) = done.unwrap();
        assert_eq!(rejected.reason, Reason::QueueTimeout);
        let waited = rejected.waited.unwrap();
        assert!(waited >= Duration::from_secs(1) && waited < Duration::from_millis(1003), "{waited:?}");
        let late = at.duration_since(start) - Duration::from_millis(1000 + 100 * step);
        assert!(late < Duration::from_millis(3), "{late:?}");
    }
    assert_eq!((limit.queued(), limit.stats().rejected(Reason::QueueTimeout)), (0, 3));
    assert_eq!(script.called(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_queue_timeout_means_the_same_in_reserve_mode_and_one_attempt_is_left() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::builder()
        .limit(1)
        .queue_timeout(Duration::from_secs(1))
        .reservation_ttl(None)
        .fail()
        .build()
        .unwrap();
    let mut a = support::Spawned::new(layer.layer(script.service()));
    let (mut b, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_pending!(c.poll_ready());
    tokio::time::sleep(Duration::from_millis(502)).await;
    assert!(b.is_woken() && !c.is_woken());
    assert_ready_ok!(b.poll_ready());
    let task = Task::new();
    let mut refused = Box::pin(b.service.call("refused"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut refused))), Reason::QueueTimeout);
    assert_eq!(script.called(), 0);

    // The mark is gone with the next poll_ready, and b stands behind c.
    assert_pending!(b.poll_ready());
    tokio::time::sleep(Duration::from_millis(502)).await;
    assert_ready_ok!(c.poll_ready());
    // One attempt is left: the permit came free meanwhile, and b waits before c.
    drop(a);
    assert!(b.is_woken());
    assert_ready_ok!(b.poll_ready());
    let mut run = Box::pin(b.service.call("run"));
    assert_pending!(task.poll_future(&mut run));
    drop(run);
    let mut attempt = Box::pin(c.service.call("attempt"));
    assert_pending!(task.poll_future(&mut attempt));
    assert_eq!(script.started(), ["run", "attempt"]);
}

#[tokio::test]
async fn a_full_queue_in_reserve_mode_is_ready_and_rejects_in_call() {
    let script = Script::new();
    let layer = ConcurrencyLimitLayer::builder().limit(1).queue(1).fail().build().unwrap();
    let mut a = support::Spawned::new(layer.layer(script.service()));
    let (mut b, mut c) = (a.clone(), a.clone());
    assert_ready_ok!(a.poll_ready());
    assert_pending!(b.poll_ready());
    assert_ready_ok!(c.poll_ready());
    let task = Task::new();
    let mut refused = Box::pin(c.service.call("refused"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut refused))), Reason::QueueFull);
    assert_eq!(script.called(), 0);
    // Afterwards it is an ordinary clone.
    drop(b);
    assert_pending!(c.poll_ready());
    drop(a);
    assert_ready_ok!(c.poll_ready());
}

#[tokio::test]
async fn shed_makes_one_attempt_and_parks_nothing() {
    let options = ConcurrencyLimitLayer::builder().limit(1).mode(Mode::Shed).fail();
    let (mut service, script, limit) = limited(options);
    let task = Task::new();
    let mut running = Box::pin(service.call("running"));
    assert_ready_ok!(task.poll(|cx| service.poll_ready(cx)));
    let mut shed = Box::pin(service.call("shed"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut shed))), Reason::Shed);
    assert_eq!((script.called(), limit.queued()), (1, 0));
    assert_pending!(task.poll_future(&mut running));
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut running));
    let mut again = Box::pin(service.call("again"));
    assert_pending!(task.poll_future(&mut again));
    assert_eq!(script.started(), ["running", "again"]);
}

#[tokio::test]
async fn exempt_requests_pass_a_full_limit_and_are_counted_apart() {
    let script = Script::new();
    let layer = builder(1).queue(0).exempt(|request: &&'static str| *request == "health").build().unwrap();
    let mut service = layer.layer(script.service());
    let limit = layer.handle();
    let task = Task::new();
    let _running = service.call("running");
    let mut health = Box::pin(service.call("health"));
    assert_pending!(task.poll_future(&mut health));
    assert_eq!(script.started(), ["health"]);
    let mut other = Box::pin(service.call("other"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut other))), Reason::QueueFull);
    assert_eq!((limit.stats().exempt, limit.in_flight()), (1, 1));
}

#[tokio::test]
async fn weights_take_permits_wait_in_order_and_know_what_can_never_fit() {
    let script = Script::new();
    let layer = builder(4).max_limit(6).weight(|request: &&'static str| request.len()).build().unwrap();
    let mut service: ConcurrencyLimit<_, Fail, ForRequest<&'static str>> = layer.layer(script.service());
    let limit = layer.handle();
    let task = Task::new();
    let mut two = Box::pin(service.call("ab"));
    assert_pending!(task.poll_future(&mut two));
    let mut four = Box::pin(service.call("abcd"));
    assert_pending!(task.poll_future(&mut four));
    let mut one = Box::pin(service.call("a"));
    assert_pending!(task.poll_future(&mut one));
    assert_eq!((limit.in_flight(), limit.queued()), (2, 2), "a small request does not pass a large head");
    let mut seven = Box::pin(service.call("abcdefg"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut seven))), Reason::TooLarge);
    let mut six = Box::pin(service.call("abcdef"));
    assert_pending!(task.poll_future(&mut six));
    limit.set_limit(6).unwrap();
    assert_pending!(task.poll_future(&mut four));
    assert_eq!((limit.in_flight(), limit.queued()), (6, 2));
    assert!(limit.set_limit(7).is_err());
    drop((two, four, one));
    assert_pending!(task.poll_future(&mut six));
    assert_eq!(limit.in_flight(), 6);
}

/// Counts and runs in `call` already.
#[derive(Clone, Default)]
struct Eager {
    worked: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Service<&'static str> for Eager {
    type Response = ();
    type Error = support::Boom;
    type Future = std::future::Pending<Result<(), support::Boom>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), support::Boom>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: &'static str) -> Self::Future {
        self.worked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::future::pending()
    }
}

#[tokio::test]
async fn an_eager_inner_works_before_its_admission_unless_deferred_clone_is_set() {
    use std::sync::atomic::Ordering::SeqCst;
    let task = Task::new();
    let eager = Eager::default();
    let mut plain = builder(1).build().unwrap().layer(eager.clone());
    let _running = plain.call("running");
    let _queued = plain.call("queued");
    assert_eq!(eager.worked.load(SeqCst), 2);

    let eager = Eager::default();
    let layer = builder(1).deferred_clone().build().unwrap();
    let mut deferred = layer.layer(eager.clone());
    let mut running = Box::pin(deferred.call("running"));
    let mut queued = Box::pin(deferred.call("queued"));
    assert_pending!(task.poll_future(&mut running));
    assert_pending!(task.poll_future(&mut queued));
    assert_eq!(eager.worked.load(SeqCst), 1);
    drop(running);
    assert_pending!(task.poll_future(&mut queued));
    assert_eq!(eager.worked.load(SeqCst), 2);
}

#[tokio::test]
async fn an_eager_inner_is_called_late_for_a_call_without_ready_and_for_a_revoked_one() {
    use std::sync::atomic::Ordering::SeqCst;
    let task = Task::new();
    let eager = Eager::default();
    let layer = ConcurrencyLimitLayer::builder().limit(1).deferred_clone().build().unwrap();
    let mut service = layer.layer(eager.clone());
    let mut running = Box::pin(service.call("running"));
    assert_pending!(task.poll_future(&mut running));
    let mut without_ready = Box::pin(service.call("queued"));
    assert_pending!(task.poll_future(&mut without_ready));
    assert_eq!(eager.worked.load(SeqCst), 1);
    drop(running);
    assert_pending!(task.poll_future(&mut without_ready));
    assert_eq!(eager.worked.load(SeqCst), 2);
}

#[tokio::test]
async fn dropping_a_queued_future_leaves_the_queue_and_is_counted() {
    let (mut service, script, limit) = limited(builder(1));
    let task = Task::new();
    let running = service.call("running");
    let mut gone = Box::pin(service.call("gone"));
    let mut next = Box::pin(service.call("next"));
    assert_pending!(task.poll_future(&mut gone));
    assert_pending!(task.poll_future(&mut next));
    drop(gone);
    assert_eq!((limit.queued(), limit.stats().cancelled_queued), (1, 1));
    drop(running);
    assert_pending!(task.poll_future(&mut next));
    assert_eq!(script.started(), ["next"]);
}

#[test]
fn a_wait_outside_a_runtime_is_a_clear_rejection() {
    let (mut service, script, limit) = limited(builder(1).queue_timeout(Duration::from_secs(1)));
    let task = Task::new();
    let _running = service.call("running");
    let mut wait = Box::pin(service.call("wait"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut wait))), Reason::NoRuntime);
    assert_eq!((script.started().len(), limit.queued()), (0, 0));
}

#[tokio::test]
async fn a_closed_limit_rejects_queued_and_new_requests_and_lets_running_ones_finish() {
    let (mut service, script, limit) = limited(builder(1));
    let task = Task::new();
    let mut running = Box::pin(service.call("running"));
    let mut queued = Box::pin(service.call("queued"));
    assert_pending!(task.poll_future(&mut running));
    assert_pending!(task.poll_future(&mut queued));
    limit.close().unwrap();
    assert_eq!(reason(assert_ready!(task.poll_future(&mut queued))), Reason::Closed);
    let mut new = Box::pin(service.call("new"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut new))), Reason::Closed);
    assert_eq!(script.called(), 2, "a rejection known in call does not call the inner");
    script.answer(Ok("done"));
    assert_ready_ok!(task.poll_future(&mut running));
}

#[tokio::test]
async fn an_owner_who_closes_the_shared_semaphore_rejects_in_both_modes() {
    let semaphore = std::sync::Arc::new(semaphore_core::Semaphore::new(1));
    let script = Script::new();
    let mut service: ConcurrencyLimit<_, Fail, AnyRequest> =
        ConcurrencyLimitLayer::with_semaphore(std::sync::Arc::clone(&semaphore)).layer(script.service());
    let held = semaphore.try_acquire().unwrap();
    let task = Task::new();
    assert_pending!(task.poll(|cx| service.poll_ready(cx)));
    semaphore.close();
    assert_ready_ok!(task.poll(|cx| service.poll_ready(cx)));
    let mut refused = Box::pin(service.call("refused"));
    assert_eq!(reason(assert_ready!(task.poll_future(&mut refused))), Reason::Closed);
    drop(held);
}
