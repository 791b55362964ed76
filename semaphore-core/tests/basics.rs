//! Acquire, lease, cancel, close: the first things that must hold.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use semaphore_core::{Acquire, AcquireError, Lease, Reservation, Semaphore};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counting() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (count.clone(), Waker::from(count))
}

fn poll<'a>(future: Pin<&mut Acquire<'a>>, waker: &Waker) -> Poll<Result<Lease<'a>, AcquireError>> {
    future.poll(&mut Context::from_waker(waker))
}

#[test]
fn sizes_stay_small() {
    assert!(size_of::<Semaphore>() <= 64, "{}", size_of::<Semaphore>());
    assert!(size_of::<Acquire<'static>>() <= 64, "{}", size_of::<Acquire<'static>>());
    assert!(size_of::<semaphore_core::AcquireOwned>() <= 64);
    assert!(size_of::<Lease<'static>>() <= 24);
}

#[test]
fn a_release_serves_the_head_and_wakes_it_once() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire().unwrap();
    let (one, waker_one) = counting();
    let (two, waker_two) = counting();
    let (mut first, mut second) = (pin!(semaphore.acquire()), pin!(semaphore.acquire()));
    assert!(poll(first.as_mut(), &waker_one).is_pending());
    assert!(poll(second.as_mut(), &waker_two).is_pending());
    drop(held);
    assert_eq!((one.0.load(Ordering::SeqCst), two.0.load(Ordering::SeqCst)), (1, 0));
    assert_eq!(semaphore.snapshot().granted, 1);
    assert!(semaphore.try_acquire().is_err());
    assert!(poll(second.as_mut(), &waker_two).is_pending());
    let Poll::Ready(Ok(lease)) = poll(first.as_mut(), &waker_one) else { panic!() };
    assert_eq!(semaphore.snapshot().held, 1);
    drop(lease);
    assert!(poll(second.as_mut(), &waker_two).is_ready());
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn a_large_head_that_goes_lets_the_next_in() {
    let semaphore = Semaphore::new(5);
    let held = semaphore.try_acquire_many(2).unwrap();
    let (woken, waker) = counting();
    let mut small = pin!(semaphore.acquire());
    {
        let mut large = pin!(semaphore.acquire_many(5));
        assert!(poll(large.as_mut(), Waker::noop()).is_pending());
        assert!(poll(small.as_mut(), &waker).is_pending());
        assert_eq!(semaphore.available_permits(), 3);
    }
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(poll(small, &waker).is_ready());
    drop(held);
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
fn a_granted_waiter_that_is_dropped_passes_the_grant_on() {
    for name in [None, Some("named")] {
        let mut builder = Semaphore::builder(1);
        if let Some(name) = name {
            builder = builder.name(name);
        }
        let semaphore = builder.build().unwrap();
        let held = semaphore.try_acquire().unwrap();
        let mut second = pin!(semaphore.acquire());
        {
            let mut first = pin!(semaphore.acquire());
            assert!(poll(first.as_mut(), Waker::noop()).is_pending());
            assert!(poll(second.as_mut(), Waker::noop()).is_pending());
            drop(held);
            assert_eq!(semaphore.snapshot().granted, 1);
        }
        assert_eq!(semaphore.snapshot().granted, 1);
        assert!(poll(second, Waker::noop()).is_ready());
        assert_eq!(semaphore.available_permits(), 1);
        let stats = semaphore.stats();
        assert_eq!((stats.enqueued, stats.queued, stats.cancelled), (2, 1, 1));
    }
}

#[test]
fn close_fails_those_who_wait_and_spares_a_grant() {
    let semaphore = Semaphore::new_named("db", 1);
    let held = semaphore.try_acquire().unwrap();
    let (mut first, mut second) = (pin!(semaphore.acquire()), pin!(semaphore.acquire()));
    assert!(poll(first.as_mut(), Waker::noop()).is_pending());
    assert!(poll(second.as_mut(), Waker::noop()).is_pending());
    drop(held);
    semaphore.close();
    let Poll::Ready(Ok(lease)) = poll(first, Waker::noop()) else { panic!("the grant came first") };
    match poll(second, Waker::noop()) {
        Poll::Ready(Err(AcquireError::Closed { name, .. })) => assert_eq!(name.unwrap(), "db"),
        other => panic!("{other:?}"),
    }
    lease.release();
    assert_eq!(semaphore.available_permits(), 1);
    assert!(semaphore.try_acquire().is_err());
}

#[test]
fn an_idle_reservation_is_revoked_after_its_time_and_rejoins_first() {
    use std::time::{Duration, Instant};
    let ttl = Duration::from_millis(100);
    let semaphore = Arc::new(Semaphore::new(1));
    let mut idle = Reservation::new(semaphore.clone()).revocable(ttl);
    let mut busy = idle.clone();
    let mut last = idle.clone();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(idle.poll_reserve(&mut cx).is_ready());
    assert!(busy.poll_reserve(&mut cx).is_pending());
    assert!(last.poll_reserve(&mut cx).is_pending());
    let start = Instant::now();
    assert_eq!(semaphore.reap(start), Some(start + ttl));
    assert_eq!(semaphore.reap(start + ttl / 2), Some(start + ttl));
    assert!(idle.is_reserved());
    semaphore.reap(start + ttl);
    assert!(!idle.is_reserved());
    assert!(busy.poll_reserve(&mut cx).is_ready());
    let lease = busy.take().unwrap();
    assert!(idle.poll_reserve(&mut cx).is_pending(), "the revoked one is back in line");
    drop(lease);
    assert!(last.poll_reserve(&mut cx).is_pending());
    assert!(idle.poll_reserve(&mut cx).is_ready(), "ahead of who was in line before");
    drop(idle);
    assert!(last.poll_reserve(&mut cx).is_ready());
    drop(last);
    let view = semaphore.snapshot();
    assert_eq!((view.available, view.reserved, view.granted, view.held), (1, 0, 0, 0));
}

#[test]
fn woken_waiters_that_go_back_keep_their_places_in_every_view() {
    use semaphore_core::Fairness;
    let semaphore = Semaphore::builder(4).fairness(Fairness::Barging).build().unwrap();
    let held = semaphore.try_acquire_many(4).unwrap();
    let (mut one, mut two) = (pin!(semaphore.acquire()), pin!(semaphore.acquire_many(2)));
    assert!(poll(one.as_mut(), Waker::noop()).is_pending());
    assert!(poll(two.as_mut(), Waker::noop()).is_pending());
    let mut held = held;
    drop(held.split(3));
    let barged = semaphore.try_acquire_many(3).unwrap();
    assert!(poll(one.as_mut(), Waker::noop()).is_pending(), "too early");
    drop(barged);
    let permits: Vec<_> = semaphore.waiters(9).into_iter().map(|waiter| waiter.permits).collect();
    assert_eq!(permits, [1, 2]);
}
