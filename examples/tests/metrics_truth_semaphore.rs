//! Scripted runs of a named semaphore on the paused clock: what is exported is what the script did, to the count.
#![forbid(unsafe_code)]

#[path = "monitoring/recorded.rs"]
#[allow(dead_code)]
mod recorded;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use metrics::set_default_local_recorder;
use metrics_util::debugging::DebuggingRecorder;
use proptest::prelude::*;
use recorded::Recorded;
use semaphore_core::{AcquireError, AcquireOwned, OwnedLease, Semaphore};
use tokio::time::advance;

type Acquired = Result<OwnedLease, AcquireError>;
type Waiter = Pin<Box<dyn Future<Output = Acquired>>>;

const OUTCOMES: [&str; 8] = [
    "immediate",
    "queued",
    "cancelled",
    "timed_out",
    "rejected",
    "closed",
    "rejected_queued",
    "closed_queued",
];

fn poll(waiter: &mut Waiter) -> Poll<Acquired> {
    waiter.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn queued(future: impl Future<Output = Acquired> + 'static) -> Waiter {
    let mut waiter: Waiter = Box::pin(future);
    assert!(poll(&mut waiter).is_pending());
    waiter
}

fn served(waiter: &mut Waiter) -> OwnedLease {
    match poll(waiter) {
        Poll::Ready(Ok(lease)) => lease,
        other => panic!("not served: {other:?}"),
    }
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn series(metric: &str, name: &str) -> String {
    format!("fair_semaphore_{metric}{{semaphore={name}}}")
}

fn outcome(metric: &str, outcome: &str, name: &str) -> String {
    format!("fair_semaphore_{metric}{{outcome={outcome},semaphore={name}}}")
}

/// Publishes, reads, and checks what must hold whenever nothing is under way.
fn settle(semaphore: &Semaphore, name: &str, recorded: &mut Recorded) {
    semaphore.publish();
    recorded.read();
    let acquires = |ended: &str| recorded.counter(&outcome("acquires_total", ended, name));
    let gauge = |metric: &str| recorded.gauge(&series(metric, name));
    let ended: u64 = ["queued", "cancelled", "timed_out", "closed_queued", "rejected_queued"]
        .into_iter()
        .map(acquires)
        .sum();
    let standing = gauge("queue_depth") + gauge("unclaimed");
    assert_eq!(recorded.counter(&series("enqueued_total", name)), ended + standing as u64, "enqueued");
    for waited in ["queued", "cancelled", "timed_out"] {
        let waits = recorded.milliseconds(&outcome("wait_seconds", waited, name)).len() as u64;
        assert_eq!(waits, acquires(waited), "waits of {waited}");
    }
    let view = semaphore.snapshot();
    assert_eq!(gauge("permits_limit"), view.capacity as f64);
    assert_eq!(gauge("permits_in_use"), view.held as f64);
    assert_eq!(gauge("queue_depth"), view.waiters as f64);
    let parts = view.held + view.reserved + view.granted + view.available;
    assert_eq!(parts, view.capacity + view.debt);
}

fn counts(recorded: &Recorded, name: &str) -> [u64; 8] {
    OUTCOMES.map(|ended| recorded.counter(&outcome("acquires_total", ended, name)))
}

#[tokio::test(start_paused = true)]
async fn every_outcome_and_every_wait_of_a_script_is_exported() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let semaphore = Semaphore::builder(2)
        .name("truth")
        .ceiling(4)
        .max_waiters(3)
        .warn_lease_after(milliseconds(5_000))
        .build()
        .map(Arc::new)
        .unwrap();
    settle(&semaphore, "truth", &mut recorded);
    assert_eq!(counts(&recorded, "truth"), [0; 8]);

    // 0 ms: two at once, one try in vain, three queue, the fourth finds the queue full.
    let first = semaphore.clone().acquire_owned().await.unwrap();
    let second = semaphore.clone().acquire_owned().await.unwrap();
    semaphore.try_acquire().unwrap_err();
    let mut served_late = queued(semaphore.clone().acquire_owned());
    let mut impatient = queued(semaphore.clone().acquire_timeout_owned(milliseconds(1_000)));
    let cancelled = queued(semaphore.clone().acquire_owned());
    semaphore.clone().acquire_owned().await.unwrap_err();
    settle(&semaphore, "truth", &mut recorded);
    assert_eq!(recorded.gauge(&series("queue_depth", "truth")), 3.0);
    assert_eq!(counts(&recorded, "truth"), [2, 0, 0, 0, 2, 0, 0, 0]);

    // 250 ms: one goes. 1000 ms: one's time is up. 1500 ms: a permit comes home for the first.
    advance(milliseconds(250)).await;
    drop(cancelled);
    advance(milliseconds(750)).await;
    assert!(matches!(poll(&mut impatient), Poll::Ready(Err(AcquireError::TimedOut { .. }))));
    advance(milliseconds(500)).await;
    first.release();
    settle(&semaphore, "truth", &mut recorded);
    assert_eq!(recorded.gauge(&series("unclaimed", "truth")), 1.0);
    let third = served(&mut served_late);
    settle(&semaphore, "truth", &mut recorded);
    assert_eq!(recorded.gauge(&series("unclaimed", "truth")), 0.0);
    assert_eq!(counts(&recorded, "truth"), [2, 1, 1, 1, 2, 0, 0, 0]);

    // One wants three of four; when there can only ever be two, it is refused out of the queue.
    let mut large = queued(semaphore.clone().acquire_many_owned(3));
    semaphore.set_ceiling(2).unwrap();
    assert!(matches!(poll(&mut large), Poll::Ready(Err(AcquireError::TooLarge { .. }))));

    // 7000 ms: the second lease is overdue, the third is not. Close: one out of the queue, one at the door.
    advance(milliseconds(5_500)).await;
    let mut closed = queued(semaphore.clone().acquire_owned());
    second.release();
    third.release();
    let fourth = served(&mut closed);
    let fifth = semaphore.clone().acquire_owned().await.unwrap();
    let mut shut_out = queued(semaphore.clone().acquire_owned());
    semaphore.close();
    assert!(matches!(poll(&mut shut_out), Poll::Ready(Err(AcquireError::Closed { .. }))));
    semaphore.clone().acquire_owned().await.unwrap_err();
    advance(milliseconds(20)).await;
    drop((fourth, fifth));

    settle(&semaphore, "truth", &mut recorded);
    assert_eq!(counts(&recorded, "truth"), [3, 2, 1, 1, 2, 1, 1, 1]);
    assert_eq!(recorded.counter(&series("enqueued_total", "truth")), 6);
    assert_eq!(recorded.milliseconds(&outcome("wait_seconds", "queued", "truth")), [0, 1_500]);
    assert_eq!(recorded.milliseconds(&outcome("wait_seconds", "cancelled", "truth")), [250]);
    assert_eq!(recorded.milliseconds(&outcome("wait_seconds", "timed_out", "truth")), [1_000]);
    assert_eq!(recorded.milliseconds(&series("lease_seconds", "truth")), [20, 20, 1_500, 5_500, 7_000]);
    assert_eq!(recorded.counter(&series("leases_overdue_total", "truth")), 2);
    assert_eq!(recorded.standing(&["fair_semaphore_permits_limit"]), []);
}

#[tokio::test(start_paused = true)]
async fn gauges_are_zero_after_a_storm_of_cancels_and_gone_with_the_semaphore() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let semaphore = Semaphore::builder(3).name("storm").build().map(Arc::new).unwrap();
    let mut cancelled = 0;
    for round in 0..200 {
        let held = semaphore.clone().acquire_many_owned(3).await.unwrap();
        let mut waiters: Vec<Waiter> = (0..7).map(|_| queued(semaphore.clone().acquire_owned())).collect();
        if round % 2 == 0 {
            // Three of the seven are granted and never polled again.
            drop(held);
            settle(&semaphore, "storm", &mut recorded);
            assert_eq!(recorded.gauge(&series("unclaimed", "storm")), 3.0);
        }
        if round % 3 == 0 {
            waiters.reverse();
        }
        cancelled += waiters.len() as u64;
        drop(waiters);
    }
    settle(&semaphore, "storm", &mut recorded);
    assert_eq!(recorded.standing(&["fair_semaphore_permits_limit"]), []);
    assert_eq!(counts(&recorded, "storm"), [200, 0, cancelled, 0, 0, 0, 0, 0]);
    drop(semaphore);
    recorded.read();
    assert_eq!(recorded.standing(&[]), []);
}

#[tokio::test(start_paused = true)]
async fn semaphores_of_one_name_add_up() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let [one, other] = [2, 5].map(|permits| Semaphore::builder(permits).name("twins").build().unwrap());
    let held = (one.try_acquire().unwrap(), other.try_acquire_many(4).unwrap());
    one.publish();
    other.publish();
    recorded.read();
    assert_eq!(recorded.gauge(&series("permits_limit", "twins")), 7.0);
    assert_eq!(recorded.gauge(&series("permits_in_use", "twins")), 5.0);
    assert_eq!(counts(&recorded, "twins")[0], 2);
    drop(held);
    drop(other);
    one.publish();
    recorded.read();
    assert_eq!(recorded.gauge(&series("permits_limit", "twins")), 2.0);
    assert_eq!(recorded.gauge(&series("permits_in_use", "twins")), 0.0);
}

#[tokio::test(start_paused = true)]
async fn unnamed_semaphore_exports_nothing() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire().unwrap();
    semaphore.bind_metrics();
    semaphore.publish();
    drop(held);
    semaphore.publish();
    recorded.read();
    assert_eq!(recorded.names(), Vec::<String>::new());
}

/// One acquire at once, one that waits for `wait`; everything is home afterwards.
async fn use_once(semaphore: &Arc<Semaphore>, wait: u64) {
    let held = semaphore.clone().acquire_owned().await.unwrap();
    let mut waiter = queued(semaphore.clone().acquire_owned());
    advance(milliseconds(wait)).await;
    held.release();
    served(&mut waiter).release();
}

#[tokio::test(start_paused = true)]
async fn without_a_recorder_everything_works_and_a_late_one_sees_what_follows() {
    let semaphore = Semaphore::builder(1).name("late").build().map(Arc::new).unwrap();
    use_once(&semaphore, 40).await;
    semaphore.publish();
    use_once(&semaphore, 50).await;
    // This one stands in the queue while the recorder comes.
    let held = semaphore.clone().acquire_owned().await.unwrap();
    let mut waiter = queued(semaphore.clone().acquire_owned());

    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    semaphore.publish();
    recorded.read();
    assert_eq!(recorded.names(), Vec::<String>::new(), "handles are never bound by themselves");

    semaphore.bind_metrics();
    settle(&semaphore, "late", &mut recorded);
    assert_eq!(recorded.gauge(&series("queue_depth", "late")), 1.0);
    assert_eq!(recorded.gauge(&series("permits_in_use", "late")), 1.0);
    advance(milliseconds(60)).await;
    held.release();
    served(&mut waiter).release();
    settle(&semaphore, "late", &mut recorded);
    assert_eq!(counts(&recorded, "late"), [0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(recorded.milliseconds(&outcome("wait_seconds", "queued", "late")), [60]);
}

#[tokio::test(start_paused = true)]
async fn static_semaphore_is_bound_by_hand() {
    static STATIC: Semaphore = Semaphore::new_named("static", 2);
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    STATIC.bind_metrics();
    let held = STATIC.try_acquire().unwrap();
    settle(&STATIC, "static", &mut recorded);
    assert_eq!(counts(&recorded, "static"), [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(recorded.gauge(&series("permits_in_use", "static")), 1.0);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn of_two_recorders_in_turn_each_sees_its_own_time() {
    let [first, second] = [DebuggingRecorder::new(), DebuggingRecorder::new()];
    let [mut earlier, mut later] = [Recorded::by(&first), Recorded::by(&second)];
    let semaphore = {
        let _guard = set_default_local_recorder(&first);
        Semaphore::builder(1).name("turns").build().map(Arc::new).unwrap()
    };
    use_once(&semaphore, 10).await;
    settle(&semaphore, "turns", &mut earlier);
    let held = semaphore.clone().acquire_owned().await.unwrap();
    semaphore.publish();
    {
        let _guard = set_default_local_recorder(&second);
        semaphore.bind_metrics();
    }
    held.release();
    use_once(&semaphore, 30).await;
    settle(&semaphore, "turns", &mut later);
    earlier.read();
    assert_eq!(counts(&earlier, "turns"), [2, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(counts(&later, "turns"), [1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(earlier.milliseconds(&outcome("wait_seconds", "queued", "turns")), [10]);
    assert_eq!(later.milliseconds(&outcome("wait_seconds", "queued", "turns")), [30]);
    assert_eq!(earlier.standing(&[]), [], "the earlier recorder is left with gauges at 0");
}

/// One step of a random script.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire(usize),
    Try,
    Poll(usize),
    TimeOut(usize),
    Drop(usize),
    Release(usize),
    Resize(usize),
    Publish,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..4_usize).prop_map(Step::Acquire),
        2 => Just(Step::Try),
        6 => (0..8_usize).prop_map(Step::Poll),
        2 => (0..8_usize).prop_map(Step::TimeOut),
        4 => (0..8_usize).prop_map(Step::Drop),
        6 => (0..8_usize).prop_map(Step::Release),
        2 => (1..6_usize).prop_map(Step::Resize),
        2 => Just(Step::Publish),
        1 => Just(Step::Close),
    ]
}

fn run(steps: &[Step]) {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let semaphore = Semaphore::builder(3).name("random").max_waiters(5).build().map(Arc::new).unwrap();
    let mut waiting: Vec<Pin<Box<AcquireOwned>>> = Vec::new();
    let mut held = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    // Every acquire that was polled ends in exactly one outcome, or is still among `waiting`.
    let mut offered = 0;
    for step in steps {
        match *step {
            Step::Acquire(permits) => {
                offered += 1;
                let mut waiter = Box::pin(semaphore.clone().acquire_many_owned(permits));
                match waiter.as_mut().poll(&mut context) {
                    Poll::Ready(ended) => held.extend(ended),
                    Poll::Pending => waiting.push(waiter),
                }
            }
            Step::Try => {
                offered += 1;
                held.extend(semaphore.clone().try_acquire_owned());
            }
            Step::Poll(at) | Step::TimeOut(at) if at < waiting.len() => {
                // One that has left stays pending for ever.
                if matches!(step, Step::TimeOut(_)) && waiting[at].as_mut().time_out() {
                    drop(waiting.remove(at));
                    continue;
                }
                if let Poll::Ready(ended) = waiting[at].as_mut().poll(&mut context) {
                    held.extend(ended);
                    drop(waiting.remove(at));
                }
            }
            Step::Drop(at) if at < waiting.len() => drop(waiting.remove(at)),
            Step::Release(at) if at < held.len() => drop(held.remove(at)),
            Step::Resize(permits) => drop(semaphore.resize(permits)),
            Step::Publish => semaphore.publish(),
            Step::Close => semaphore.close(),
            Step::Poll(_) | Step::TimeOut(_) | Step::Drop(_) | Step::Release(_) => {}
        }
    }
    // Refusals by close or a lowered ceiling are counted when the waiter hears of them.
    waiting.retain_mut(|waiter| match waiter.as_mut().poll(&mut context) {
        Poll::Ready(ended) => {
            held.extend(ended);
            false
        }
        Poll::Pending => true,
    });
    settle(&semaphore, "random", &mut recorded);
    let ended: u64 = counts(&recorded, "random").iter().sum();
    assert_eq!(ended + waiting.len() as u64, offered);
    let in_use: usize = held.iter().map(OwnedLease::permits).sum();
    assert_eq!(recorded.gauge(&series("permits_in_use", "random")), in_use as f64);
    drop((waiting, held));
    settle(&semaphore, "random", &mut recorded);
    assert_eq!(recorded.standing(&["fair_semaphore_permits_limit"]), []);
    assert_eq!(counts(&recorded, "random").iter().sum::<u64>(), offered);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn identities_hold_after_any_script(steps in prop::collection::vec(step(), 1..80)) {
        run(&steps);
    }
}
