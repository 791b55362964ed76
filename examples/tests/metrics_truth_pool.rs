//! Scripted runs of a named pool on the paused clock: what is exported is what the script did, to the count.
#![forbid(unsafe_code)]

#[path = "monitoring/recorded.rs"]
#[allow(dead_code)]
mod recorded;

use std::time::Duration;

use lease_pool::testing::{Act, Scripted, Stage};
use lease_pool::{Pool, Pooled};
use metrics::set_default_local_recorder;
use metrics_util::debugging::DebuggingRecorder;
use proptest::prelude::*;
use recorded::Recorded;
use tokio::task::JoinHandle;
use tokio::time::sleep;

type Got = Option<Pooled<Scripted>>;

const OUTCOMES: [&str; 6] = ["immediate", "ok", "error", "cancelled", "timed_out", "rejected"];
const REASONS: [&str; 13] = [
    "broken",
    "check_failed",
    "reset_failed",
    "cut_off",
    "panicked",
    "discarded",
    "max_lifetime",
    "idle_timeout",
    "invalidated",
    "resized",
    "surplus",
    "detached",
    "shutdown",
];
const LIVE: [&str; 4] = ["idle", "used", "checking", "resetting"];
/// Gauges that say how a pool is set up, not what goes on in it.
const SET_UP: [&str; 4] = [
    "fair_pool_resources_max",
    "fair_pool_resources_min_idle",
    "fair_pool_create_state",
    "fair_semaphore_permits_limit",
];

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn outcome(metric: &str, outcome: &str) -> String {
    format!("fair_pool_{metric}{{outcome={outcome},pool={}}}", name())
}

fn state(state: &str) -> String {
    format!("fair_pool_resources{{pool={},state={state}}}", name())
}

fn create_state(state: &str) -> String {
    format!("fair_pool_create_state{{pool={},state={state}}}", name())
}

fn closed(reason: &str) -> String {
    format!("fair_pool_closed_total{{pool={},reason={reason}}}", name())
}

fn added() -> String {
    format!("fair_pool_added_total{{pool={}}}", name())
}

fn semaphore(metric: &str) -> String {
    format!("fair_semaphore_{metric}{{semaphore={}}}", name())
}

/// Two live pools cannot have one name, and tests run side by side, each on its own thread.
fn name() -> String {
    std::thread::current().name().expect("the harness names its threads").to_owned()
}

/// A pool of two whose creates take 30 ms and which ends nothing for its age.
fn pool(manager: Scripted) -> Pool<Scripted> {
    manager.always(Stage::Create, Act::After(milliseconds(30)));
    Pool::builder(manager)
        .name(name())
        .max(2)
        .lifetime(None)
        .idle_timeout(None)
        .check_if_idle(None)
        .build()
        .unwrap()
}

/// Publishes, reads, and checks what must hold whenever nothing is under way.
fn settle(pool: &Pool<Scripted>, recorded: &mut Recorded) {
    pool.publish();
    recorded.read();
    for timed in ["ok", "error", "cancelled", "timed_out"] {
        let times = recorded.milliseconds(&outcome("checkout_seconds", timed)).len() as u64;
        assert_eq!(times, recorded.counter(&outcome("checkouts_total", timed)), "checkouts: {timed}");
    }
    let created = recorded.milliseconds(&outcome("create_seconds", "ok")).len() as u64;
    let added = recorded.counter(&added());
    let gone: u64 = REASONS.iter().map(|reason| recorded.counter(&closed(reason))).sum();
    let live: f64 = LIVE.iter().map(|name| recorded.gauge(&state(name))).sum();
    assert_eq!(created + added, gone + live as u64, "created {created}, added {added}, closed {gone}");
    if !pool.snapshot().closed {
        assert_eq!(recorded.gauge(&semaphore("permits_limit")), live, "permits are live resources");
    }
    let view = pool.snapshot();
    let gauges = ["idle", "used", "creating", "checking", "resetting", "closing"]
        .map(|name| recorded.gauge(&state(name)));
    let slots = [view.idle, view.leased, view.creating, view.checking, view.resetting, view.closing];
    assert_eq!(gauges, slots.map(|count| count as f64));
    let states = ["healthy", "backing_off", "open"];
    let present = states.map(|name| recorded.gauge(&create_state(name)));
    assert_eq!(present.iter().sum::<f64>(), 1.0, "{present:?}");
}

fn counts(recorded: &Recorded) -> [u64; 6] {
    OUTCOMES.map(|ended| recorded.counter(&outcome("checkouts_total", ended)))
}

fn closes(recorded: &Recorded) -> Vec<(&'static str, u64)> {
    let all = REASONS.iter().map(|reason| (*reason, recorded.counter(&closed(reason))));
    all.filter(|(_, count)| *count > 0).collect()
}

fn get(pool: &Pool<Scripted>) -> JoinHandle<Got> {
    let pool = pool.clone();
    tokio::spawn(async move { pool.get().await.ok() })
}

#[tokio::test(start_paused = true)]
async fn every_outcome_and_every_duration_of_a_script_is_exported() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let manager = Scripted::new();
    let pool = pool(manager.clone());
    settle(&pool, &mut recorded);
    assert_eq!(counts(&recorded), [0; 6]);
    assert_eq!(closes(&recorded), []);

    // The first get waits for its create, the second finds the resource idle, the third waits for a create again.
    drop(pool.get().await.unwrap());
    let first = pool.get().await.unwrap();
    let second = pool.get().await.unwrap();
    settle(&pool, &mut recorded);
    assert_eq!(counts(&recorded), [1, 2, 0, 0, 0, 0]);
    assert_eq!(recorded.gauge(&state("used")), 2.0);

    // Both are out: one get gives up after 200 ms by its deadline, one after 70 ms by its caller.
    pool.get_timeout(milliseconds(200)).await.unwrap_err();
    let hasty = get(&pool);
    sleep(milliseconds(70)).await;
    settle(&pool, &mut recorded);
    assert_eq!(recorded.gauge(&semaphore("queue_depth")), 1.0);
    hasty.abort();
    hasty.await.unwrap_err();
    // One is served after 110 ms by a return.
    let patient = get(&pool);
    sleep(milliseconds(110)).await;
    drop(first);
    let third = patient.await.unwrap().unwrap();
    settle(&pool, &mut recorded);
    assert_eq!(counts(&recorded), [1, 3, 0, 1, 1, 0]);

    // One is thrown away, one is taken out for good; with nothing alive a fatal create ends the get at once.
    Pooled::discard(second);
    drop(Pooled::detach(third));
    sleep(milliseconds(1)).await;
    manager.next(Stage::Create, Act::Fatal);
    pool.get().await.unwrap_err();
    settle(&pool, &mut recorded);
    assert_eq!(recorded.gauge(&create_state("open")), 1.0);

    // One is taken in from outside and used.
    assert!(pool.add(manager.make()).is_ok());
    drop(pool.get().await.unwrap());
    settle(&pool, &mut recorded);
    assert_eq!(recorded.counter(&added()), 1);
    assert!(pool.drain(milliseconds(1_000)).await.is_ok());
    // At the closed door a get is an error, a try is turned away.
    pool.get().await.unwrap_err();
    pool.try_get().unwrap_err();

    settle(&pool, &mut recorded);
    assert_eq!(counts(&recorded), [2, 3, 2, 1, 1, 1]);
    assert_eq!(recorded.milliseconds(&outcome("checkout_seconds", "ok")), [30, 30, 110]);
    assert_eq!(recorded.milliseconds(&outcome("checkout_seconds", "cancelled")), [70]);
    assert_eq!(recorded.milliseconds(&outcome("checkout_seconds", "timed_out")), [200]);
    assert_eq!(recorded.milliseconds(&outcome("create_seconds", "ok")), [30, 30]);
    let failed = recorded.milliseconds(&outcome("create_seconds", "error")).len();
    assert_eq!(failed, manager.calls(Stage::Create) - 2);
    assert_eq!(closes(&recorded), [("discarded", 1), ("detached", 1), ("shutdown", 1)]);
    assert_eq!(recorded.standing(&SET_UP), []);
}

#[tokio::test(start_paused = true)]
async fn gauges_are_zero_after_a_storm_of_cancels_and_gone_with_the_pool() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let pool = pool(Scripted::new());
    let mut asked = 0;
    for round in 0..100 {
        let gets: Vec<_> = (0..7).map(|_| get(&pool)).collect();
        asked += gets.len() as u64;
        // A get that was never polled asked for nothing.
        sleep(milliseconds(1 + round % 39)).await;
        gets.iter().for_each(JoinHandle::abort);
        for ended in gets {
            // Whoever was served before the abort gives back at once.
            drop(ended.await);
        }
    }
    sleep(milliseconds(100)).await;
    settle(&pool, &mut recorded);
    assert_eq!(counts(&recorded).iter().sum::<u64>(), asked, "{:?}", counts(&recorded));
    assert!(counts(&recorded)[3] > 100, "{:?}", counts(&recorded));
    let idle = pool.snapshot().idle;
    assert_eq!(recorded.standing(&SET_UP), [(state("idle"), idle as f64)]);
    assert!(pool.drain(milliseconds(1_000)).await.is_ok());
    drop(pool);
    sleep(milliseconds(100)).await;
    recorded.read();
    assert_eq!(recorded.standing(&[]), []);
}

#[tokio::test(start_paused = true)]
async fn unnamed_pool_exports_nothing() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let pool = Pool::builder(Scripted::new()).max(2).build().unwrap();
    drop(pool.get().await.unwrap());
    pool.bind_metrics();
    pool.publish();
    recorded.read();
    assert_eq!(recorded.names(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn without_a_recorder_everything_works_and_a_late_one_sees_what_follows() {
    let pool = pool(Scripted::new());
    let held = pool.get().await.unwrap();
    pool.publish();
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    pool.publish();
    recorded.read();
    assert_eq!(recorded.names(), Vec::<String>::new(), "handles are never bound by themselves");
    pool.bind_metrics();
    let other = pool.get().await.unwrap();
    pool.publish();
    recorded.read();
    assert_eq!(recorded.gauge(&state("used")), 2.0, "gauges are those of the pool, not of the time since");
    assert_eq!(counts(&recorded), [0, 1, 0, 0, 0, 0]);
    assert_eq!(recorded.milliseconds(&outcome("checkout_seconds", "ok")), [30]);
    drop((held, other));
}

#[tokio::test(start_paused = true)]
async fn of_two_recorders_in_turn_each_sees_its_own_time() {
    let [first, second] = [DebuggingRecorder::new(), DebuggingRecorder::new()];
    let [mut earlier, mut later] = [Recorded::by(&first), Recorded::by(&second)];
    let pool = {
        let _guard = set_default_local_recorder(&first);
        pool(Scripted::new())
    };
    drop(pool.get().await.unwrap());
    settle(&pool, &mut earlier);
    {
        let _guard = set_default_local_recorder(&second);
        pool.bind_metrics();
    }
    drop(pool.get().await.unwrap());
    pool.publish();
    earlier.read();
    later.read();
    assert_eq!(counts(&earlier), [0, 1, 0, 0, 0, 0]);
    assert_eq!(counts(&later), [1, 0, 0, 0, 0, 0]);
    assert_eq!(later.gauge(&state("idle")), 1.0);
    assert_eq!(earlier.standing(&[]), [], "the earlier recorder is left with gauges at 0");
}

/// One step of a random script.
#[derive(Clone, Copy, Debug)]
enum Step {
    Get,
    GetWithin(u64),
    Try,
    Cancel(usize),
    Return(usize),
    Discard(usize),
    Add,
    Resize(usize),
    FailNext,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Get),
        3 => (1..60_u64).prop_map(Step::GetWithin),
        2 => Just(Step::Try),
        3 => (0..6_usize).prop_map(Step::Cancel),
        5 => (0..4_usize).prop_map(Step::Return),
        1 => (0..4_usize).prop_map(Step::Discard),
        1 => Just(Step::Add),
        1 => (1..4_usize).prop_map(Step::Resize),
        1 => Just(Step::FailNext),
        6 => (0..50_u64).prop_map(Step::Pass),
    ]
}

async fn run(steps: &[Step]) {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let manager = Scripted::new();
    let pool = pool(manager.clone());
    let mut asked = 0;
    let mut gets: Vec<JoinHandle<Got>> = Vec::new();
    let mut held = Vec::new();
    for step in steps {
        match *step {
            Step::Get => {
                asked += 1;
                gets.push(get(&pool));
            }
            Step::GetWithin(patience) => {
                asked += 1;
                let pool = pool.clone();
                gets.push(tokio::spawn(async move { pool.get_timeout(milliseconds(patience)).await.ok() }));
            }
            Step::Try => {
                asked += 1;
                held.extend(pool.try_get());
            }
            Step::Cancel(at) if at < gets.len() => {
                gets[at].abort();
                held.extend(gets.remove(at).await.ok().flatten());
            }
            Step::Return(at) if at < held.len() => drop(held.remove(at)),
            Step::Discard(at) if at < held.len() => Pooled::discard(held.remove(at)),
            Step::Add => drop(pool.add(manager.make())),
            Step::Resize(max) => drop(pool.resize(max)),
            Step::FailNext => manager.next(Stage::Create, Act::Fail),
            Step::Pass(time) => sleep(milliseconds(time)).await,
            Step::Cancel(_) | Step::Return(_) | Step::Discard(_) => {}
        }
        // A task that was never polled asked for nothing; every get here has been.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        let (ended, waiting): (Vec<_>, Vec<_>) = gets.into_iter().partition(JoinHandle::is_finished);
        gets = waiting;
        for get in ended {
            held.extend(get.await.ok().flatten());
        }
    }
    drop(held);
    for get in gets {
        get.abort();
        drop(get.await);
    }
    sleep(milliseconds(100)).await;
    // After failures the pool probes by itself, at a moment that it draws by lot.
    while pool.snapshot().creating > 0 {
        sleep(milliseconds(1)).await;
    }
    settle(&pool, &mut recorded);
    assert_eq!(counts(&recorded).iter().sum::<u64>(), asked, "{:?}", counts(&recorded));
    let standing = recorded.standing(&SET_UP);
    assert!(standing.iter().all(|(series, _)| *series == state("idle")), "{standing:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn identities_hold_after_any_script(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(&steps));
    }
}
