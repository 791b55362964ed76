//! Small random numbers for jitter; nothing here is secret.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A seed that differs from process to process and from call to call.
pub(crate) fn seed() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// A number from 0 to below 1 (SplitMix64, Steele and others 2014).
pub(crate) fn fraction(dice: &AtomicU64) -> f64 {
    let mut x = dice.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The `n`th of a sequence from 0 to below 1 of which any stretch is spread evenly: multiples of the golden ratio.
pub(crate) fn stratum(n: u64) -> f64 {
    (n.wrapping_mul(GOLDEN) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Full jitter over an exponential backoff.
pub(crate) fn backoff(dice: &AtomicU64, min: Duration, max: Duration, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(20);
    let longest = min.saturating_mul(1 << doublings).min(max);
    longest.mul_f64(fraction(dice))
}
