//! What happens above the capacity: the same requests against several limiters.
//!
//! Eight slots, exponential service of 10 ms on average: a capacity of 800 requests a second.
//! Arrivals are a Poisson stream at a multiple of that; a client waits 100 ms and then goes away.
//! Goodput counts the answers that came while the client was still there.

mod limiters;
mod loopback;
mod model;

pub use limiters::Limiter;
pub use loopback::{Phase, run as run_loopback};
pub use model::{Departures, Load, Outcome, run};

use std::time::Duration;

/// Requests served at a time.
pub const SLOTS: usize = 8;
/// The mean time of a service.
pub const SERVICE: Duration = Duration::from_millis(10);
/// How long a client waits for its answer.
pub const DEADLINE: Duration = Duration::from_millis(100);

/// Requests per second that the slots can serve.
pub fn capacity() -> f64 {
    SLOTS as f64 / SERVICE.as_secs_f64()
}
