//! The operation stream of the reference model, written by libFuzzer.
//!
//! The first byte chooses the setup, each three bytes after it are one operation; everything that
//! `tests/model_sequences.rs` compares is compared here.
#![no_main]

#[path = "../../tests/model/mod.rs"]
mod model;

use libfuzzer_sys::fuzz_target;
use model::driver::{Start, run};

/// Long streams find nothing that short ones do not, and take their time.
const LONGEST: usize = 512;

fuzz_target!(|bytes: &[u8]| {
    let Some((start, rest)) = bytes.split_first() else { return };
    let operations: Vec<[u8; 3]> =
        rest.chunks_exact(3).take(LONGEST).map(|bytes| [bytes[0], bytes[1], bytes[2]]).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread");
    run(&runtime, Start::decode(*start), &operations);
});
