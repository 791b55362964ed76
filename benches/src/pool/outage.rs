//! The server is down, then up again: load on it, time until callers know, time until all is well.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use super::{Bb8, Deadpool, DeadpoolBare, Fastpool, Mobc, Ours, Pooling, SUBJECT, Sqlx, World};
use super::{every_pool, gated, milliseconds, on_paused_clock};
use crate::scenario::{Contender, Figure, Scenario, Target};
use crate::scenario::{Rival::Nobody, Sense};
use crate::statistics::median;

const CALLERS: u64 = 1000;
const OUTAGE: Duration = Duration::from_secs(10);

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::new(SUBJECT, "outage of 10 s under 1000 callers", every_pool!(outage()))
            .target(Target { metric: "attempts at once", rival: Nobody, bound: 3.0, sense: Sense::AtMost })
            // The largest backoff step.
            .target(Target::at_most("full service after", Nobody, 5000.0)),
    ]
}

/// Refusals come 1 ms after an attempt, as from a port where nobody listens.
fn outage<P: Pooling>() -> Contender {
    gated::<P>(Contender::read(P::NAME, || {
        on_paused_clock(|| async {
            let world = World::new(Duration::from_millis(1), Duration::ZERO);
            world.set_down(true);
            let pool = P::with(&world, 10);
            let start = Instant::now();
            let crowd = join_all((0..CALLERS).map(|_| async {
                _ = timeout(OUTAGE, pool.get()).await;
                milliseconds(start.elapsed())
            }));
            let watch = async {
                sleep(Duration::from_millis(20)).await;
                world.attempts()
            };
            let (told, at_once) = tokio::join!(crowd, watch);
            tokio::time::sleep_until(start + OUTAGE).await;
            let attempts = world.attempts();
            world.set_down(false);
            let back = Instant::now();
            // Full service: as many at once as the pool may have.
            let mut guards = Vec::new();
            while guards.len() < 10 && back.elapsed() < Duration::from_secs(60) {
                match pool.get().await {
                    Ok(guard) => guards.push(guard),
                    Err(_) => sleep(Duration::from_millis(1)).await,
                }
            }
            Ok(vec![
                Figure::new("attempts at once", at_once as f64, ""),
                Figure::new("attempts per second", attempts as f64 / OUTAGE.as_secs_f64(), ""),
                Figure::new("callers know after", median(&told).unwrap_or(f64::NAN), "ms"),
                Figure::new("full service after", milliseconds(back.elapsed()), "ms"),
            ])
        })
    }))
}
