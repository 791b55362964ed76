//! An uncontended get allocates nothing. The profiler sees the whole process, so this test is alone in it.

use lease_pool::{Pool, manager};

#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn main() {
    an_uncontended_get_and_return_allocates_nothing();
}

fn an_uncontended_get_and_return_allocates_nothing() {
    // The clock stands still while the loop runs, so that no housekeeping falls into it.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>([0_u8; 64]) }))
            .name("without allocation")
            .build()
            .unwrap();
        drop(pool.get().await.unwrap());
        let _profiler = dhat::Profiler::builder().testing().build();
        let before = dhat::HeapStats::get().total_blocks;
        for _ in 0..1000 {
            drop(pool.get().await.unwrap());
            drop(pool.try_get().unwrap());
        }
        assert_eq!(dhat::HeapStats::get().total_blocks - before, 0, "allocations in 2000 gets");
        assert_eq!(pool.stats().immediate, 2000);
    });
}
