//! The semaphore agrees with its sequential reference model over random operations.
//!
//! Each case is up to 256 operations; `PROPTEST_CASES` sets how many cases run.
#![cfg(all(feature = "time", not(any(fair_loom, fair_shuttle))))]

mod model;

use model::driver::{Start, run};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::sync::atomic::{AtomicU64, Ordering};

static OPERATIONS: AtomicU64 = AtomicU64::new(0);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("one thread")
}

/// At least a million operations, whatever `PROPTEST_CASES` adds.
const CASES: u32 = 8_000;

fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    config.cases = config.cases.max(CASES);
    config.max_shrink_iters = 5_000;
    config.source_file = Some(file!());
    config.failure_persistence = Some(Box::new(FileFailurePersistence::WithSource("regressions")));
    config
}

#[test]
fn random_operations_agree_with_the_reference_model() {
    let mut runner = proptest::test_runner::TestRunner::new(config());
    let operations = proptest::collection::vec(any::<[u8; 3]>(), 1..256);
    runner
        .run(&(any::<u8>(), operations), |(start, operations)| {
            OPERATIONS.fetch_add(operations.len() as u64, Ordering::Relaxed);
            run(&runtime(), Start::decode(start), &operations);
            Ok(())
        })
        .unwrap();
    let total = OPERATIONS.load(Ordering::Relaxed);
    println!("{total} operations");
    assert!(total >= 1_000_000, "only {total} operations");
}
