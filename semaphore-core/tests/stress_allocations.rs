//! No acquire, wait, cancel or release allocates, and futures and semaphore keep to their sizes.
#![cfg(not(any(fair_loom, fair_shuttle)))]

use semaphore_core::{Acquire, AcquireOwned, Fairness, Lease, OwnedLease, Reservation, Semaphore};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

thread_local! { static ALLOCATIONS: Cell<usize> = const { Cell::new(0) }; }

struct Counting;

// SAFETY: everything is passed on to the system's allocator; the count touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread allocates in `work`.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

fn noop() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Takes, waits, cancels, is granted, passes a grant on, splits and merges: everything but building.
fn round(semaphore: &Arc<Semaphore>) {
    let mut lease = semaphore.try_acquire_many(3).unwrap();
    {
        let (mut first, mut second, mut third) =
            (pin!(semaphore.acquire_many(2)), pin!(semaphore.acquire()), pin!(semaphore.acquire()));
        let mut owned = pin!(Arc::clone(semaphore).acquire_many_owned(2));
        assert!(first.as_mut().poll(&mut noop()).is_pending());
        assert!(second.as_mut().poll(&mut noop()).is_pending());
        assert!(third.as_mut().poll(&mut noop()).is_pending());
        assert!(owned.as_mut().poll(&mut noop()).is_pending());
        let part = lease.split(2).unwrap();
        part.release();
        let Poll::Ready(Ok(granted)) = first.as_mut().poll(&mut noop()) else { panic!("granted") };
        drop(granted);
        // The second and the third are granted and dropped unpolled, the owned one is cancelled in the queue.
    }
    let rest = semaphore.try_acquire_many(2).unwrap();
    lease.merge(rest).unwrap();
    drop(lease);
    let Poll::Ready(Ok(whole)) = pin!(semaphore.acquire_many(3)).as_mut().poll(&mut noop()) else {
        panic!("free")
    };
    whole.release();
}

#[test]
fn nothing_that_waits_or_does_not_wait_allocates() {
    for fairness in [Fairness::Fifo, Fairness::Barging] {
        let semaphore = Arc::new(Semaphore::builder(3).fairness(fairness).build().unwrap());
        assert_eq!(allocations(|| round(&semaphore)), 0, "{fairness:?}, from the first round");
    }
    let plain = Arc::new(Semaphore::new(3));
    assert_eq!(allocations(|| round(&plain)), 0, "without an extension");
    let named = Arc::new(Semaphore::builder(3).name("named").build().unwrap());
    assert_eq!(allocations(|| round(&named)), 0, "named");
    assert_eq!(allocations(|| drop(Box::new(0_u8))), 1, "the count works");
}

#[test]
fn a_release_that_wakes_many_does_not_allocate() {
    let semaphore = Semaphore::new(200);
    let held = semaphore.try_acquire_many(200).unwrap();
    let mut waiters: Vec<_> = (0..200).map(|_| Box::pin(semaphore.acquire())).collect();
    assert_eq!(
        allocations(|| {
            for waiter in &mut waiters {
                assert!(waiter.as_mut().poll(&mut noop()).is_pending());
            }
            held.release();
            for waiter in &mut waiters {
                assert!(waiter.as_mut().poll(&mut noop()).is_ready());
            }
        }),
        0
    );
}

#[test]
fn reservations_allocate_no_more_once_their_slab_is_warm() {
    let semaphore = Arc::new(Semaphore::new(1));
    let cycle = || {
        let held = semaphore.try_acquire().unwrap();
        let mut slot = Reservation::new(Arc::clone(&semaphore));
        assert!(slot.poll_reserve(&mut noop()).is_pending());
        let mut clone = slot.clone();
        assert!(clone.poll_reserve(&mut noop()).is_pending());
        held.release();
        assert!(slot.poll_reserve(&mut noop()).is_ready());
        drop(slot.take());
        assert!(clone.poll_reserve(&mut noop()).is_ready());
        assert!(clone.is_reserved());
    };
    cycle();
    assert_eq!(allocations(|| (0..100).for_each(|_| cycle())), 0);
}

#[test]
fn futures_semaphores_and_leases_keep_to_their_sizes() {
    fn at_most<T>(bytes: usize) {
        let size = size_of::<T>();
        println!("{}: {size} bytes", std::any::type_name::<T>());
        assert!(size <= bytes, "{}: {size} bytes, more than {bytes}", std::any::type_name::<T>());
    }
    at_most::<Acquire<'static>>(64);
    at_most::<AcquireOwned>(64);
    at_most::<Semaphore>(64);
    at_most::<Lease<'static>>(24);
    at_most::<OwnedLease>(24);
    at_most::<Option<OwnedLease>>(24);
    at_most::<Reservation>(64);
}
