//! What a get and a return cost: no allocation, small guards and futures.
//!
//! The counting allocator sees the whole process, so this file has one test that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use lease_pool::manager::{self, CheckContext, CreateContext};
use lease_pool::{Manager, Pool, Pooled};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct Large;

impl Manager for Large {
    type Resource = [u64; 100];
    type Error = std::io::Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<[u64; 100], std::io::Error> {
        Ok([0; 100])
    }

    async fn check(&self, _resource: &mut [u64; 100], _ctx: CheckContext<'_>) -> Result<(), std::io::Error> {
        let ballast = [1_u8; 1000];
        tokio::task::yield_now().await;
        assert_eq!(ballast[999], 1);
        Ok(())
    }
}

#[test]
fn an_uncontended_get_and_return_allocates_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>([0_u8; 64]) }))
            .name("without allocation")
            .build()
            .unwrap();
        drop(pool.get().await.unwrap());
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        for _ in 0..1000 {
            drop(pool.get().await.unwrap());
            drop(pool.try_get().unwrap());
        }
        let counted = ALLOCATIONS.load(Ordering::SeqCst) - before;
        assert_eq!(counted, 0, "allocations in 2000 gets");
        assert_eq!(pool.stats().immediate, 2000);
    });
}

#[test]
fn a_guard_is_at_most_48_bytes_with_any_resource() {
    assert!(size_of::<Pooled<Large>>() <= 48, "{}", size_of::<Pooled<Large>>());
}

#[test]
fn the_future_of_get_is_at_most_256_bytes_beyond_the_managers_check() {
    let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
    let small = size_of_val(&pool.get());
    let large = Pool::builder(Large).build().unwrap();
    let with_large_check = size_of_val(&large.get());
    println!("get: {small} bytes, with a check of 1000 bytes: {with_large_check}");
    assert!(small <= 256 + 32, "{small} bytes; a boxed check is 16 and its holder");
    assert!(with_large_check <= 256 + 1100, "{with_large_check}");
}
