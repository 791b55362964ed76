//! Every stage x every way to end x the caller's patience x the runtime alive or gone, with one oracle.

mod support;

use std::time::Duration;

use lease_pool::Pool;
use lease_pool::testing::{Act, Scripted, Stage};
use support::{ms, scripted};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Caller {
    Waits,
    CancelsEarly,
    CancelsLate,
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Brings a pool of one to the point where the next get passes through the stage.
async fn prepare(pool: &Pool<Scripted>, stage: Stage) {
    if stage == Stage::Create {
        return;
    }
    let guard = pool.get().await.unwrap();
    match stage {
        Stage::Create => {}
        Stage::Check => guard.set_dirty(true),
        Stage::Reset => guard.set_used(true),
        Stage::Close => guard.set_broken(true),
    }
    drop(guard);
}

fn oracle(pool: &Pool<Scripted>, script: &Scripted, case: &str) {
    let now = pool.snapshot();
    assert_eq!((now.leased, now.waiters, now.granted), (0, 0, 0), "{case}: {now:?}");
    assert!(now.live() + now.creating + now.closing <= 1, "{case}: {now:?}");
    assert!(script.max_live() <= 1, "{case}: never two");
    let totals = pool.stats();
    assert_eq!(totals.created, totals.closed_total() + now.live() as u64, "{case}: {totals:?} {now:?}");
}

fn run(stage: Stage, act: Act, caller: Caller, runtime_goes: bool) {
    let case = format!("{stage:?} {act:?} {caller:?}, runtime goes: {runtime_goes}");
    let (script, builder) = scripted(1);
    let pool = builder
        .create_timeout(ms(100))
        .check_timeout(ms(100))
        .reset_timeout(ms(100))
        .close_timeout(ms(100))
        .backoff(ms(5), ms(5))
        .build()
        .unwrap();
    let first = runtime();
    let served = first.block_on(async {
        script.next(Stage::Create, if stage == Stage::Create { act } else { Act::Ok });
        if stage != Stage::Create {
            script.next(stage, act);
        }
        prepare(&pool, stage).await;
        let get = pool.get_timeout(Duration::from_secs(5));
        let served = match caller {
            Caller::Waits if !runtime_goes => Some(get.await.map(drop).is_ok()),
            Caller::Waits => timeout(ms(1), get).await.ok().map(|got| got.map(drop).is_ok()),
            Caller::CancelsEarly => timeout(Duration::ZERO, get).await.ok().map(|got| got.map(drop).is_ok()),
            Caller::CancelsLate => timeout(ms(20), get).await.ok().map(|got| got.map(drop).is_ok()),
        };
        if !runtime_goes {
            sleep(Duration::from_secs(1)).await;
        }
        served
    });
    if caller == Caller::Waits && !runtime_goes {
        assert_eq!(served, Some(true), "{case}: one failure is no reason not to be served");
    }
    let second = if runtime_goes {
        drop(first);
        runtime()
    } else {
        first
    };
    second.block_on(async {
        let guard = pool.get_timeout(Duration::from_secs(5)).await;
        assert!(guard.is_ok(), "{case}: served afterwards: {guard:?}");
        drop(guard);
        sleep(Duration::from_secs(1)).await;
        oracle(&pool, &script, &case);
        let report = pool.drain(Duration::from_secs(5)).await;
        assert!(report.is_ok(), "{case}: {report:?}");
        assert_eq!(script.live(), 0, "{case}");
        oracle(&pool, &script, &case);
    });
}

#[test]
fn every_combination_leaves_the_pool_whole() {
    let acts = [Act::Ok, Act::Fail, Act::After(ms(10)), Act::FailAfter(ms(10)), Act::Never, Act::Panic];
    let mut combinations = 0;
    for stage in Stage::ALL {
        for act in acts {
            for caller in [Caller::Waits, Caller::CancelsEarly, Caller::CancelsLate] {
                for runtime_goes in [false, true] {
                    run(stage, act, caller, runtime_goes);
                    combinations += 1;
                }
            }
        }
    }
    assert_eq!(combinations, 4 * 6 * 3 * 2);
}
