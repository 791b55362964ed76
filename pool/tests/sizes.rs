//! The sizes of what a caller holds.

use lease_pool::manager::{self, CheckContext, CreateContext};
use lease_pool::{Manager, Pool, Pooled};

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
fn a_guard_is_at_most_48_bytes_with_any_resource() {
    assert!(size_of::<Pooled<Large>>() <= 48, "{}", size_of::<Pooled<Large>>());
}

#[test]
fn the_future_of_get_is_at_most_256_bytes_whatever_the_managers_check() {
    let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
    let small = size_of_val(&pool.get());
    let large = Pool::builder(Large).build().unwrap();
    assert_eq!(size_of_val(&large.get()), small, "a check does not live in it");
    assert!(small <= 256, "{small} bytes");
}
