//! Deadlines on tokio's paused clock: exactly at the instant, in the same tick as the grant, and on entry.
#![cfg(all(feature = "time", not(any(fair_loom, fair_shuttle))))]

mod support;

use semaphore_core::{AcquireError, Fairness, Semaphore};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use support::Held;
use support::clock::Clock;
use support::setup::{BOTH, FIFO};
use support::wakers::{Counter, Hooks, counting, hooked};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

type Timed<'s> = Pin<Box<dyn Future<Output = Result<Held<'s>, AcquireError>> + 's>>;

/// The four forms with a deadline `after` from now, measured from the call.
fn forms<'s>(semaphore: &'s Arc<Semaphore>, permits: usize, after: Duration) -> [Timed<'s>; 4] {
    let tally = Rc::new(Cell::new(0));
    let tallies = [0; 4].map(|_| Rc::clone(&tally));
    let [one, two, three, four] = tallies;
    let until = semaphore.acquire_many_until(permits, Instant::now() + after);
    let until_owned = Arc::clone(semaphore).acquire_many_until_owned(permits, Instant::now() + after);
    let timeout = semaphore.acquire_many_timeout(permits, after);
    let timeout_owned = Arc::clone(semaphore).acquire_many_timeout_owned(permits, after);
    [
        Box::pin(async move { Ok(Held::borrowed(until.await?, &one)) }),
        Box::pin(async move { Ok(Held::owned(until_owned.await?, &two)) }),
        Box::pin(async move { Ok(Held::borrowed(timeout.await?, &three)) }),
        Box::pin(async move { Ok(Held::owned(timeout_owned.await?, &four)) }),
    ]
}

/// One form at a time, on a semaphore of `capacity` that is all held.
fn each(fairness: &[Fairness], case: impl Fn(&Clock, &Arc<Semaphore>, usize)) {
    for &fairness in fairness {
        for form in 0..4 {
            println!("{fairness:?}, form {form}");
            let clock = Clock::paused();
            let _entered = clock.enter();
            let semaphore = Arc::new(Semaphore::builder(2).fairness(fairness).build().unwrap());
            case(&clock, &semaphore, form);
        }
    }
}

fn one<'s>(semaphore: &'s Arc<Semaphore>, form: usize, permits: usize, after: Duration) -> Timed<'s> {
    let [first, second, third, fourth] = forms(semaphore, permits, after);
    [first, second, third, fourth].into_iter().nth(form).expect("one of four")
}

fn poll<'s>(future: &mut Timed<'s>, waker: &Waker) -> Poll<Result<Held<'s>, AcquireError>> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

fn numbers(semaphore: &Semaphore) -> (usize, usize, usize, usize) {
    let seen = semaphore.snapshot();
    (seen.available, seen.held, seen.granted, seen.waiters)
}

#[test]
fn a_deadline_fires_at_its_instant_and_not_before() {
    each(BOTH, |clock, semaphore, form| {
        let held = semaphore.try_acquire_many(2).unwrap();
        let (counter, waker) = counting();
        let mut future = one(semaphore, form, 1, SECOND);
        assert!(poll(&mut future, &waker).is_pending());
        clock.advance(SECOND - TICK);
        assert_eq!(counter.count(), 0, "a tick too early");
        assert!(poll(&mut future, &waker).is_pending());
        assert_eq!(numbers(semaphore), (0, 2, 0, 1));
        clock.advance(TICK);
        assert_eq!(counter.count(), 1, "at the deadline");
        let Poll::Ready(Err(AcquireError::TimedOut { waited, .. })) = poll(&mut future, &waker) else {
            panic!("timed out was due")
        };
        // Known only where times are kept.
        let _ = waited;
        assert_eq!(numbers(semaphore), (0, 2, 0, 0));
        drop(held);
        assert_eq!(numbers(semaphore), (2, 0, 0, 0));
    });
}

#[test]
fn a_grant_and_a_deadline_in_the_same_tick_give_the_lease() {
    each(FIFO, |clock, semaphore, form| {
        let held = semaphore.try_acquire_many(2).unwrap();
        let (_, waker) = counting();
        let mut future = one(semaphore, form, 1, SECOND);
        assert!(poll(&mut future, &waker).is_pending());
        // Granted before the deadline, polled after it.
        drop(held);
        clock.advance(2 * SECOND);
        let Poll::Ready(Ok(lease)) = poll(&mut future, &waker) else { panic!("a grant is final") };
        assert_eq!(numbers(semaphore), (1, 1, 0, 0));
        drop(lease);
        assert_eq!(numbers(semaphore), (2, 0, 0, 0));
    });
}

#[test]
fn a_release_after_the_deadline_and_before_the_poll_loses_no_permit() {
    each(BOTH, |clock, semaphore, form| {
        let held = semaphore.try_acquire_many(2).unwrap();
        let (_, waker) = counting();
        let mut future = one(semaphore, form, 2, SECOND);
        assert!(poll(&mut future, &waker).is_pending());
        clock.advance(SECOND);
        drop(held);
        match poll(&mut future, &waker) {
            Poll::Ready(Ok(lease)) => drop(lease),
            Poll::Ready(Err(AcquireError::TimedOut { .. })) => {}
            other => panic!("the lease or the error, not {other:?}"),
        }
        assert_eq!(numbers(semaphore), (2, 0, 0, 0));
    });
}

#[test]
fn an_expired_deadline_makes_one_fair_attempt_and_never_queues() {
    each(BOTH, |clock, semaphore, form| {
        let (counter, waker) = counting();
        // Free: it gets the lease although its time is over.
        for after in [Duration::ZERO, SECOND] {
            let mut late = one(semaphore, form, 2, after);
            clock.advance(SECOND);
            assert!(matches!(poll(&mut late, &waker), Poll::Ready(Ok(_))), "one attempt, {after:?}");
        }
        // Taken: it fails at once.
        let held = semaphore.try_acquire_many(2).unwrap();
        let mut late = one(semaphore, form, 1, Duration::ZERO);
        assert!(matches!(poll(&mut late, &waker), Poll::Ready(Err(AcquireError::TimedOut { .. }))));
        assert_eq!(numbers(semaphore), (0, 2, 0, 0));
        drop(held);
        assert_eq!(counter.count(), 0);
    });
}

#[test]
fn an_expired_deadline_does_not_pass_a_waiter() {
    each(FIFO, |_, semaphore, form| {
        let held = semaphore.try_acquire().unwrap();
        let (_, waker) = counting();
        let mut head = Box::pin(semaphore.acquire_many(2));
        assert!(head.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let mut late = one(semaphore, form, 1, Duration::ZERO);
        assert!(
            matches!(poll(&mut late, &waker), Poll::Ready(Err(AcquireError::TimedOut { .. }))),
            "one is free"
        );
        assert_eq!(numbers(semaphore), (1, 1, 0, 1));
        drop((held, head));
    });
}

#[test]
fn an_expired_deadline_says_closed_and_too_large_first() {
    each(BOTH, |_, semaphore, form| {
        let (_, waker) = counting();
        let mut large = one(semaphore, form, 3, Duration::ZERO);
        assert!(matches!(poll(&mut large, &waker), Poll::Ready(Err(AcquireError::TooLarge { .. }))));
        let mut nothing = one(semaphore, form, 0, Duration::ZERO);
        assert!(matches!(poll(&mut nothing, &waker), Poll::Ready(Ok(_))));
        semaphore.close();
        let mut closed = one(semaphore, form, 3, Duration::ZERO);
        assert!(matches!(poll(&mut closed, &waker), Poll::Ready(Err(AcquireError::Closed { .. }))));
    });
}

#[test]
fn the_deadline_of_a_large_head_lets_the_next_in() {
    each(BOTH, |clock, semaphore, form| {
        let held = semaphore.try_acquire().unwrap();
        let (_, waker) = counting();
        let mut head = one(semaphore, form, 2, SECOND);
        assert!(poll(&mut head, &waker).is_pending());
        let (counter, next_waker) = counting();
        // Under barging it would not wait for one: it waits for two as well.
        let permits = if semaphore.fairness() == Fairness::Fifo { 1 } else { 2 };
        let mut next = one(semaphore, form, permits, 2 * SECOND);
        assert!(poll(&mut next, &next_waker).is_pending());
        clock.advance(SECOND);
        assert!(matches!(poll(&mut head, &waker), Poll::Ready(Err(AcquireError::TimedOut { .. }))));
        if permits == 2 {
            held.release();
        }
        assert_eq!(counter.count(), 1, "the head went");
        assert!(matches!(poll(&mut next, &next_waker), Poll::Ready(Ok(_))));
    });
}

#[test]
fn many_deadlines_in_one_tick_leave_in_any_order() {
    each(BOTH, |clock, semaphore, form| {
        let held = semaphore.try_acquire_many(2).unwrap();
        let (_, waker) = counting();
        let mut waiting: Vec<_> = (0..20).map(|_| one(semaphore, form, 1, SECOND)).collect();
        for future in &mut waiting {
            assert!(poll(future, &waker).is_pending());
        }
        clock.advance(SECOND);
        for at in (0..20).rev().step_by(2).chain((0..20).step_by(2)) {
            assert!(matches!(
                poll(&mut waiting[at], &waker),
                Poll::Ready(Err(AcquireError::TimedOut { .. }))
            ));
        }
        assert_eq!(numbers(semaphore), (0, 2, 0, 0));
        drop(held);
    });
}

#[test]
fn the_timer_goes_with_its_future() {
    each(BOTH, |clock, semaphore, form| {
        let hooks = Arc::new(Hooks::default());
        let held = semaphore.try_acquire_many(2).unwrap();
        {
            let waker = hooked(&hooks);
            let mut future = one(semaphore, form, 1, SECOND);
            assert!(poll(&mut future, &waker).is_pending());
            assert!(hooks.alive() > 1, "the queue and the timer keep one");
        }
        assert_eq!(hooks.alive(), 0, "dropped with the future");
        clock.advance(2 * SECOND);
        assert_eq!(hooks.wakes(), 0);
        drop(held);
    });
}

#[test]
fn no_timer_and_no_runtime_until_it_has_to_queue() {
    // Outside any runtime: a timer would panic.
    let semaphore = Arc::new(Semaphore::new(1));
    let (_, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let mut free = Box::pin(semaphore.acquire_timeout(SECOND));
    let polled = free.as_mut().poll(&mut context);
    assert!(matches!(polled, Poll::Ready(Ok(_))));
    drop(polled);
    semaphore.close();
    assert!(matches!(
        Box::pin(semaphore.acquire_timeout(SECOND)).as_mut().poll(&mut context),
        Poll::Ready(Err(AcquireError::Closed { .. }))
    ));
}

#[test]
fn a_deadline_beyond_the_clocks_range_waits_without_a_panic() {
    each(BOTH, |clock, semaphore, form| {
        let held = semaphore.try_acquire_many(2).unwrap();
        let (counter, waker): (Arc<Counter>, Waker) = counting();
        let mut future: Timed<'_> = if form % 2 == 0 {
            let tally = Rc::default();
            let future = semaphore.acquire_many_timeout(1, Duration::MAX);
            Box::pin(async move { Ok(Held::borrowed(future.await?, &tally)) })
        } else {
            one(semaphore, form, 1, Duration::from_secs(60 * 60 * 24 * 365 * 20))
        };
        assert!(poll(&mut future, &waker).is_pending());
        clock.advance(3600 * SECOND);
        assert!(poll(&mut future, &waker).is_pending());
        held.release();
        assert_eq!(counter.count(), 1);
        assert!(matches!(poll(&mut future, &waker), Poll::Ready(Ok(_))));
    });
}

#[test]
fn close_before_the_deadline_says_closed() {
    each(BOTH, |clock, semaphore, form| {
        let held = semaphore.try_acquire_many(2).unwrap();
        let (counter, waker) = counting();
        let mut future = one(semaphore, form, 1, SECOND);
        assert!(poll(&mut future, &waker).is_pending());
        semaphore.close();
        assert_eq!(counter.count(), 1);
        clock.advance(2 * SECOND);
        assert!(matches!(poll(&mut future, &waker), Poll::Ready(Err(AcquireError::Closed { .. }))));
        drop(held);
        assert_eq!(numbers(semaphore), (2, 0, 0, 0));
    });
}

#[test]
fn leaving_by_a_timer_of_ones_own_counts_as_timed_out() {
    let semaphore = Arc::new(Semaphore::builder(1).name("shared timer").build().unwrap());
    let held = semaphore.try_acquire().unwrap();
    let (_, waker) = counting();
    let mut context = Context::from_waker(&waker);
    let mut waiting = Box::pin(Arc::clone(&semaphore).acquire_owned());
    let mut granted = Box::pin(Arc::clone(&semaphore).acquire_owned());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    assert!(granted.as_mut().poll(&mut context).is_pending());
    assert!(waiting.as_mut().time_out());
    assert!(!waiting.as_mut().time_out(), "it has left already");
    assert_eq!(numbers(&semaphore), (0, 1, 0, 1));
    assert!(waiting.as_mut().poll(&mut context).is_pending(), "its driver knows");
    held.release();
    // A grant is final: the call changes nothing.
    assert!(!granted.as_mut().time_out());
    assert!(matches!(granted.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    let stats = semaphore.stats();
    assert_eq!((stats.timed_out, stats.queued, stats.cancelled), (1, 1, 0));
}
