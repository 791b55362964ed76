//! Accounting: who owns a permit between release and poll, and what split, merge, forget and resize leave behind.
#![cfg(not(any(fair_loom, fair_shuttle)))]

mod support;

use semaphore_core::{MergeError, Semaphore, TryAcquireError};
use std::sync::Arc;
use support::scene::with_clock;
use support::setup::{BOTH, FIFO};
use support::{Scene, Start, each_form, each_setup};

#[test]
fn nobody_gets_between_a_release_and_the_waiters_poll() {
    with_clock(|_| {
        each_form(FIFO, |setup| {
            let semaphore = setup.semaphore(0, 8);
            let mut scene = Scene::start(setup, &semaphore, 0);
            let waiter = scene.queue(2);
            scene.free_up(2);
            assert!(matches!(semaphore.try_acquire(), Err(TryAcquireError::NoPermits { available: 0, .. })));
            assert!(Arc::clone(&semaphore).try_acquire_owned().is_err());
            assert!(semaphore.drain_permits().is_none_or(|lease| lease.permits() == 0));
            let late = scene.queue(1);
            scene.expect(0, &[2], 1);
            waiter.claim().release();
            scene.expect(1, &[1], 0);
            late.claim().release();
            scene.finish();
        });
    });
}

#[test]
fn shrinking_and_growing_back_while_everything_is_held_admits_nobody() {
    with_clock(|_| {
        each_form(BOTH, |mut setup| {
            setup.start = Start::OthersHold;
            let semaphore = setup.semaphore(0, 2);
            let mut scene = Scene::start(setup, &semaphore, 0);
            semaphore.resize(1).expect("a shrink");
            let waiter = scene.queue(1);
            semaphore.resize(2).expect("growth");
            scene.expect(0, &[], 1);
            assert!(!waiter.woken());
            scene.free_up(1);
            scene.expect(0, &[1], 0);
            waiter.claim().release();
            scene.finish();
        });
    });
}

#[test]
fn any_walk_of_sizes_leaves_the_count_that_its_end_asks_for() {
    each_setup(BOTH, |mut setup| {
        setup.start = Start::OthersHold;
        let semaphore = setup.semaphore(0, 6);
        let mut scene = Scene::start(setup, &semaphore, 0);
        for size in [1, 9, 2, 6, 3, 12, 5] {
            semaphore.resize(size).expect("any size but zero");
            let seen = semaphore.snapshot();
            assert_eq!((seen.capacity, seen.held), (size, 6));
            assert_eq!((seen.available, seen.debt), (size.saturating_sub(6), 6_usize.saturating_sub(size)));
            assert_eq!(semaphore.available_permits(), seen.available);
        }
        scene.free_up(1);
        assert_eq!(semaphore.snapshot().debt, 0);
        scene.finish();
    });
}

#[test]
fn split_takes_nothing_all_or_refuses_and_never_loses_a_permit() {
    let semaphore = Semaphore::new(5);
    let mut lease = semaphore.try_acquire_many(4).unwrap();
    assert!(lease.split(5).is_none());
    assert!(lease.split(usize::MAX).is_none());
    assert_eq!(lease.permits(), 4, "a refused split leaves the source alone");
    let nothing = lease.split(0).unwrap();
    assert_eq!((nothing.permits(), lease.permits()), (0, 4));
    let all = lease.split(4).unwrap();
    assert_eq!((all.permits(), lease.permits()), (4, 0));
    assert!(lease.split(1).is_none());
    drop((nothing, lease));
    assert_eq!(semaphore.snapshot().held, 4);
    all.release();
    assert_eq!((semaphore.snapshot().held, semaphore.available_permits()), (0, 5));
}

#[test]
fn an_owned_lease_splits_and_merges_like_a_borrowed_one() {
    let semaphore = Arc::new(Semaphore::new(5));
    let mut lease = Arc::clone(&semaphore).try_acquire_many_owned(5).unwrap();
    let mut parts: Vec<_> = (0..5).map(|_| lease.split(1).unwrap()).collect();
    assert!(lease.split(1).is_none());
    assert_eq!(semaphore.snapshot().held, 5);
    let mut whole = parts.pop().unwrap();
    for part in parts.drain(..2) {
        whole.merge(part).unwrap();
    }
    lease.merge(whole).unwrap();
    assert_eq!(lease.permits(), 3);
    drop(parts);
    assert_eq!((semaphore.snapshot().held, semaphore.available_permits()), (3, 2));
    drop(lease);
    assert_eq!(Arc::strong_count(&semaphore), 1, "no lease left a handle behind");
}

#[test]
fn merging_leases_of_two_semaphores_refuses_and_gives_the_lease_back() {
    let (left, right) = (Semaphore::new(3), Semaphore::new(3));
    let mut ours = left.try_acquire_many(2).unwrap();
    let theirs = right.try_acquire_many(3).unwrap();
    let refused: MergeError<_> = ours.merge(theirs).unwrap_err();
    assert_eq!((left.snapshot().held, right.snapshot().held), (2, 3));
    let theirs = refused.into_lease();
    assert_eq!((ours.permits(), theirs.permits()), (2, 3));
    drop(ours);
    assert_eq!((left.available_permits(), right.available_permits()), (3, 0));
    drop(theirs);
    assert_eq!(right.available_permits(), 3);
}

#[test]
fn a_refused_merge_that_is_dropped_returns_the_permits_to_their_own_semaphore() {
    let (left, right) = (Arc::new(Semaphore::new(3)), Arc::new(Semaphore::new(3)));
    let mut ours = Arc::clone(&left).try_acquire_owned().unwrap();
    let theirs = Arc::clone(&right).try_acquire_many_owned(2).unwrap();
    drop(ours.merge(theirs));
    assert_eq!((left.available_permits(), right.available_permits()), (2, 3));
    drop(ours);
    assert_eq!((left.available_permits(), Arc::strong_count(&left), Arc::strong_count(&right)), (3, 1, 1));
}

#[test]
fn the_largest_lease_splits_and_merges_without_overflow() {
    let most = Semaphore::MAX_PERMITS;
    let semaphore = Semaphore::new(most);
    let mut lease = semaphore.try_acquire_many(most).unwrap();
    let mut one = lease.split(1).unwrap();
    assert_eq!(lease.permits(), most - 1);
    one.merge(lease).unwrap();
    assert_eq!((one.permits(), semaphore.available_permits()), (most, 0));
    one.release();
    assert_eq!(semaphore.available_permits(), most);
}

#[test]
fn growth_while_the_merged_whole_is_held_cannot_overflow_a_lease() {
    let most = Semaphore::MAX_PERMITS;
    let semaphore = Semaphore::new(most);
    let mut first = semaphore.try_acquire_many(most).unwrap();
    // Shrunk and grown again, so that more is held over time than the maximum; never at once.
    semaphore.resize(1).unwrap();
    assert_eq!(semaphore.snapshot().debt, most - 1);
    semaphore.resize(most).unwrap();
    assert_eq!((semaphore.snapshot().debt, semaphore.available_permits()), (0, 0));
    assert!(semaphore.try_acquire().is_err());
    let second = first.split(most / 2).unwrap();
    first.merge(second).unwrap();
    assert_eq!(first.permits(), most);
    drop(first);
    assert_eq!(semaphore.available_permits(), most);
}

#[test]
fn forgotten_permits_lower_the_capacity_and_not_the_ceiling() {
    with_clock(|_| {
        each_form(BOTH, |setup| {
            let semaphore = setup.semaphore(3, 8);
            let scene = Scene::start(setup, &semaphore, 3);
            let before = semaphore.snapshot();
            scene.take(2).forget();
            let seen = semaphore.snapshot();
            assert_eq!((seen.capacity, seen.ceiling), (before.capacity - 2, before.ceiling));
            scene.expect(1, &[], 0);
            // Within the ceiling still: it waits instead of failing.
            let large = scene.queue(8);
            drop(large);
            scene.finish();
        });
    });
}

#[test]
fn forgetting_everything_may_reach_zero_and_growth_starts_again() {
    let semaphore = Semaphore::new(3);
    semaphore.try_acquire_many(3).unwrap().forget();
    let seen = semaphore.snapshot();
    assert_eq!((seen.capacity, seen.available, seen.held, seen.debt), (0, 0, 0, 0));
    assert!(matches!(semaphore.try_acquire(), Err(TryAcquireError::NoPermits { .. })));
    semaphore.add_permits(2).unwrap();
    assert_eq!(semaphore.try_acquire_many(2).unwrap().permits(), 2);
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn forgotten_permits_repay_debt_before_they_lower_the_capacity() {
    let semaphore = Semaphore::new(5);
    let mut lease = semaphore.try_acquire_many(5).unwrap();
    semaphore.resize(2).unwrap();
    let numbers = || {
        let seen = semaphore.snapshot();
        (seen.available, seen.held, seen.capacity, seen.debt)
    };
    assert_eq!(numbers(), (0, 5, 2, 3));
    lease.split(1).unwrap().forget();
    assert_eq!(numbers(), (0, 4, 2, 2));
    lease.split(3).unwrap().forget();
    assert_eq!(numbers(), (0, 1, 1, 0), "two repaid, one gone for good");
    drop(lease);
    assert_eq!(numbers(), (1, 0, 1, 0));
}

#[test]
fn leases_of_nothing_are_free_and_change_no_number() {
    each_setup(BOTH, |setup| {
        let semaphore = setup.semaphore(0, 4);
        let mut scene = Scene::start(setup, &semaphore, 0);
        let waiter = scene.queue(1);
        let nothing = scene.take(0);
        scene.expect(0, &[], 1);
        nothing.release();
        semaphore.try_acquire_many(0).unwrap().forget();
        scene.expect(0, &[], 1);
        scene.free_up(1);
        waiter.claim().release();
        scene.finish();
    });
}

#[test]
fn a_task_that_panics_with_a_lease_gives_it_back_once() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let semaphore = Arc::new(Semaphore::new(3));
    for permits in [1, 2, 3] {
        let own = Arc::clone(&semaphore);
        let task = runtime.spawn(async move {
            let _lease = own.acquire_many_owned(permits).await.unwrap();
            panic!("on purpose");
        });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        assert_eq!((semaphore.available_permits(), semaphore.snapshot().held), (3, 0));
    }
}
