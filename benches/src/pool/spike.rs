//! Bursts, slow creates, callers who give up: what each pool does, on the paused clock.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use super::{Bb8, Deadpool, DeadpoolBare, Fastpool, Mobc, Ours, Pooling, SUBJECT, Sqlx, World};
use super::{every_pool, gated, milliseconds, on_paused_clock};
use crate::scenario::{Contender, Figure, Rival, Scenario, Target};
use crate::statistics::jain;

/// The most tries of a caller whose patience is shorter than a create.
const TRIES: u32 = 40;

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::new(
            SUBJECT,
            "spike: 50 callers, 5 warm of 50, create 150 ms, use 2 ms",
            every_pool!(spike()),
        )
        .target(Target::at_most("total", Rival::Nobody, 24.0))
        .target(Target::at_most("created", Rival::Nobody, 2.0)),
        Scenario::new(SUBJECT, "create 50 ms, callers give up after 20 ms", every_pool!(impatient()))
            .target(Target::at_most("created", Rival::Nobody, 1.0))
            .target(Target::at_most("served at try", Rival::Nobody, 3.0)),
        Scenario::new(
            SUBJECT,
            "4 idle, check 20 ms, 4 callers give up after 5 ms",
            every_pool!(cut_off_checks()),
        )
        .target(Target::at_least("alive", Rival::Nobody, 4.0)),
        Scenario::new(SUBJECT, "own create 500 ms, another returns after 5 ms", every_pool!(overtaken()))
            .target(Target::at_most("served after", Rival::Nobody, 5.0)),
        Scenario::new(SUBJECT, "64 callers on 8 resources held 1 ms, one second", every_pool!(closed_loop()))
            .target(Target::at_most("worst wait / round", Rival::Nobody, 2.0))
            .target(Target::at_least("Jain index", Rival::Nobody, 0.999)),
    ]
}

/// What came of a burst of callers.
#[derive(Debug, Clone, Copy)]
pub struct Burst {
    /// From the burst to the end of the last use.
    pub total: Duration,
    /// Resources made because of it.
    pub created: u64,
}

/// Fifty callers at once on a pool of fifty with five warm: create 150 ms, use 2 ms.
///
/// # Errors
/// When a caller is not served.
pub async fn burst<P: Pooling>() -> Result<Burst, String> {
    let world = World::new(Duration::from_millis(150), Duration::ZERO);
    let pool = P::with(&world, 50);
    drop(join_all((0..5).map(|_| pool.get())).await.into_iter().collect::<Result<Vec<_>, _>>()?);
    // Returns and creates that a pool does in tasks of its own settle first.
    sleep(Duration::from_millis(500)).await;
    let (before, start) = (world.created(), Instant::now());
    let callers = (0..50).map(|_| async {
        let guard = pool.get().await?;
        sleep(Duration::from_millis(2)).await;
        drop(guard);
        Ok::<(), String>(())
    });
    join_all(callers).await.into_iter().collect::<Result<(), _>>()?;
    let total = start.elapsed();
    // What is still being made for a demand that is gone counts too.
    sleep(Duration::from_secs(1)).await;
    Ok(Burst { total, created: world.created() - before })
}

fn spike<P: Pooling>() -> Contender {
    gated::<P>(Contender::read(P::NAME, || {
        on_paused_clock(|| async {
            let burst = burst::<P>().await?;
            Ok(vec![
                Figure::new("total", milliseconds(burst.total), "ms"),
                Figure::new("created", burst.created as f64, ""),
            ])
        })
    }))
}

fn impatient<P: Pooling>() -> Contender {
    gated::<P>(Contender::read(P::NAME, || {
        on_paused_clock(|| async {
            let world = World::new(Duration::from_millis(50), Duration::ZERO);
            let pool = P::with(&world, 4);
            let mut served = f64::INFINITY;
            for attempt in 1..=TRIES {
                if timeout(Duration::from_millis(20), pool.get()).await.is_ok() {
                    served = f64::from(attempt);
                    break;
                }
            }
            Ok(vec![
                Figure::new("served at try", served, ""),
                Figure::new("attempts", world.attempts() as f64, ""),
                Figure::new("created", world.created() as f64, ""),
            ])
        })
    }))
}

fn cut_off_checks<P: Pooling>() -> Contender {
    gated::<P>(Contender::read(P::NAME, || {
        on_paused_clock(|| async {
            let world = World::new(Duration::from_millis(1), Duration::from_millis(20));
            let pool = P::with(&world, 4);
            drop(join_all((0..4).map(|_| pool.get())).await);
            // Long enough to be due for a check in pools that check only what lay idle.
            sleep(Duration::from_secs(5)).await;
            let before = world.alive();
            join_all((0..4).map(|_| timeout(Duration::from_millis(5), pool.get()))).await;
            sleep(Duration::from_millis(200)).await;
            Ok(vec![
                Figure::new("alive before", before as f64, ""),
                Figure::new("alive", world.alive() as f64, ""),
                Figure::new("created", world.created() as f64, ""),
            ])
        })
    }))
}

fn overtaken<P: Pooling>() -> Contender {
    gated::<P>(Contender::read(P::NAME, || {
        on_paused_clock(|| async {
            let world = World::new(Duration::from_millis(500), Duration::ZERO);
            let pool = P::with(&world, 2);
            let first = pool.get().await?;
            let start = Instant::now();
            let second = async {
                drop(pool.get().await?);
                Ok::<_, String>(start.elapsed())
            };
            let returning = async {
                sleep(Duration::from_millis(5)).await;
                drop(first);
            };
            let (served, ()) = tokio::join!(second, returning);
            Ok(vec![Figure::new("served after", milliseconds(served?), "ms")])
        })
    }))
}

fn closed_loop<P: Pooling>() -> Contender {
    gated::<P>(Contender::read(P::NAME, || {
        on_paused_clock(|| async {
            let world: Arc<World> = World::new(Duration::from_millis(1), Duration::ZERO);
            let pool = P::with(&world, 8);
            drop(join_all((0..8).map(|_| pool.get())).await);
            sleep(Duration::from_millis(100)).await;
            let start = Instant::now();
            let callers = (0..64).map(|_| async {
                let (mut worst, mut served) = (Duration::ZERO, 0.0);
                while start.elapsed() < Duration::from_secs(1) {
                    let asked = Instant::now();
                    let guard = pool.get().await?;
                    worst = worst.max(asked.elapsed());
                    sleep(Duration::from_millis(1)).await;
                    drop(guard);
                    served += 1.0;
                }
                Ok::<_, String>((worst, served))
            });
            let results = join_all(callers).await.into_iter().collect::<Result<Vec<_>, _>>()?;
            let worst = results.iter().map(|(worst, _)| *worst).max().unwrap_or_default();
            let served: Vec<f64> = results.iter().map(|(_, served)| *served).collect();
            Ok(vec![
                // 64 callers on 8 resources for 1 ms each: a round is 8 ms.
                Figure::new("worst wait / round", milliseconds(worst) / 8.0, ""),
                Figure::new("Jain index", jain(&served).unwrap_or(f64::NAN), ""),
                Figure::new("served", served.iter().sum(), ""),
            ])
        })
    }))
}
