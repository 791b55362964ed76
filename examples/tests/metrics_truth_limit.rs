//! Scripted runs of a named limit on the paused clock: what is exported is what the script did, to the count.
#![forbid(unsafe_code)]

#[path = "monitoring/recorded.rs"]
#[allow(dead_code)]
mod recorded;

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::time::Duration;

use metrics::set_default_local_recorder;
use metrics_util::debugging::DebuggingRecorder;
use proptest::prelude::*;
use recorded::Recorded;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt};
use tower_limit_fair::{ConcurrencyLimitLayer, Limit, LimitError, Mode, Reason};

const OUTCOMES: [&str; 6] =
    ["completed", "failed", "rejected", "cancelled_queued", "cancelled_running", "exempt"];
const LIMIT: [&str; 1] = ["fair_semaphore_permits_limit"];

/// What one request asks of the service behind the limit.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    time: u64,
    fails: bool,
    exempt: bool,
}

type Answer = Result<(), LimitError<&'static str>>;

async fn serve(work: Work) -> Result<(), &'static str> {
    sleep(milliseconds(work.time)).await;
    if work.fails { Err("told to fail") } else { Ok(()) }
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Two live limits cannot have one name, and tests run side by side, each on its own thread.
fn name() -> String {
    std::thread::current().name().expect("the harness names its threads").to_owned()
}

fn outcome(outcome: &str) -> String {
    format!("fair_limit_requests_total{{limit={},outcome={outcome}}}", name())
}

fn rejected(reason: &str) -> String {
    format!("fair_limit_rejected_total{{limit={},reason={reason}}}", name())
}

fn limit_series(metric: &str) -> String {
    format!("fair_limit_{metric}{{limit={}}}", name())
}

fn semaphore_series(metric: &str) -> String {
    format!("fair_semaphore_{metric}{{semaphore={}}}", name())
}

fn wait(outcome: &str) -> String {
    format!("fair_semaphore_wait_seconds{{outcome={outcome},semaphore={}}}", name())
}

/// Publishes, reads, and checks what must hold whenever nothing is under way, `offered` requests having come in.
fn settle(limit: &Limit, recorded: &mut Recorded, offered: u64) {
    limit.publish();
    recorded.read();
    let view = limit.snapshot();
    let gauge = |metric: &str| recorded.gauge(&semaphore_series(metric));
    assert_eq!(gauge("permits_limit"), view.limit as f64);
    assert_eq!(gauge("permits_in_use"), view.in_flight as f64);
    assert_eq!(gauge("queue_depth"), view.queued as f64);
    assert_eq!(recorded.gauge(&limit_series("reservations")), view.reserved as f64);
    let parts = view.in_flight + view.reserved + view.unclaimed + view.available;
    assert_eq!(parts, view.limit + view.excess, "{view:?}");
    let ended: u64 = counts(recorded).iter().sum();
    let under_way = (view.in_flight + view.queued + view.unclaimed) as u64;
    assert_eq!(ended + under_way, offered, "ended {:?}, {view:?}", counts(recorded));
    let reasons: u64 = reasons().map(|reason| recorded.counter(&rejected(reason))).sum();
    assert_eq!(reasons, recorded.counter(&outcome("rejected")));
}

fn reasons() -> impl Iterator<Item = &'static str> {
    Reason::ALL.iter().map(|reason| reason.as_str())
}

fn counts(recorded: &Recorded) -> [u64; 6] {
    OUTCOMES.map(|ended| recorded.counter(&outcome(ended)))
}

fn rejections(recorded: &Recorded) -> Vec<(&'static str, u64)> {
    reasons()
        .map(|reason| (reason, recorded.counter(&rejected(reason))))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// A deferred limit of `permits`, a queue of two with a timeout of 300 ms, and a way to send one request through it.
fn deferred(permits: usize) -> (Limit, impl Fn(Work) -> JoinHandle<Answer>) {
    let layer = ConcurrencyLimitLayer::builder()
        .limit(permits)
        .max_limit(8)
        .name(name())
        .mode(Mode::Deferred)
        .queue(2)
        .queue_timeout(milliseconds(300))
        .fail()
        .exempt(|work: &Work| work.exempt)
        .build()
        .unwrap();
    let service = layer.layer(tower::service_fn(serve));
    (layer.handle(), move |work| tokio::spawn(service.clone().oneshot(work)))
}

async fn reason(answer: JoinHandle<Answer>) -> Reason {
    match answer.await.unwrap() {
        Err(LimitError::Rejected(rejected)) => rejected.reason,
        other => panic!("not rejected: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_outcome_every_reason_and_every_wait_of_a_script_is_exported() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let (limit, send) = deferred(1);
    settle(&limit, &mut recorded, 0);
    assert_eq!(counts(&recorded), [0; 6]);
    assert_eq!(rejections(&recorded), []);

    // 0 ms: one runs, two wait, the fourth is one too many; the fifth needs no lease.
    let first = send(Work { time: 100, ..Work::default() });
    sleep(milliseconds(1)).await;
    let second = send(Work { time: 50, fails: true, ..Work::default() });
    let third = send(Work::default());
    let fourth = send(Work::default());
    let fifth = send(Work { exempt: true, ..Work::default() });
    assert_eq!(reason(fourth).await, Reason::QueueFull);
    fifth.await.unwrap().unwrap();
    settle(&limit, &mut recorded, 5);
    assert_eq!(recorded.gauge(&semaphore_series("queue_depth")), 2.0);

    // The third leaves after 40 ms, the second is let in when the first is done, and fails.
    sleep(milliseconds(39)).await;
    third.abort();
    assert!(third.await.unwrap_err().is_cancelled());
    first.await.unwrap().unwrap();
    assert!(matches!(second.await.unwrap(), Err(LimitError::Inner("told to fail"))));
    settle(&limit, &mut recorded, 5);
    assert_eq!(counts(&recorded), [1, 1, 1, 1, 0, 1]);

    // The sixth runs on; the seventh waits its 300 ms in vain; then the sixth's client goes.
    let sixth = send(Work { time: 10_000, ..Work::default() });
    sleep(milliseconds(1)).await;
    let seventh = send(Work::default());
    assert_eq!(reason(seventh).await, Reason::QueueTimeout);
    settle(&limit, &mut recorded, 7);
    assert_eq!(recorded.gauge(&semaphore_series("permits_in_use")), 1.0);
    sixth.abort();
    assert!(sixth.await.unwrap_err().is_cancelled());
    limit.close().unwrap();
    assert_eq!(reason(send(Work::default())).await, Reason::Closed);

    settle(&limit, &mut recorded, 8);
    assert_eq!(counts(&recorded), [1, 1, 3, 1, 1, 1]);
    assert_eq!(rejections(&recorded), [("queue_full", 1), ("queue_timeout", 1), ("closed", 1)]);
    assert_eq!(recorded.counter(&semaphore_series("enqueued_total")), 3);
    assert_eq!(recorded.milliseconds(&wait("queued")), [99]);
    assert_eq!(recorded.milliseconds(&wait("cancelled")), [39]);
    assert_eq!(recorded.milliseconds(&wait("timed_out")), [300]);
    assert_eq!(recorded.standing(&LIMIT), []);
}

fn idle(_: ()) -> Ready<Result<(), Infallible>> {
    ready(Ok(()))
}

#[tokio::test(start_paused = true)]
async fn reservations_are_exported_while_they_stand_and_when_they_come_to_nothing() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let layer = ConcurrencyLimitLayer::builder()
        .limit(1)
        .name(name())
        .reservation_ttl(milliseconds(100))
        .build()
        .unwrap();
    let limit = layer.handle();
    let service = layer.layer(tower::service_fn(idle));

    // Reserved and dropped.
    let mut dropped = service.clone();
    poll_fn(|cx| dropped.poll_ready(cx)).await.unwrap();
    settle(&limit, &mut recorded, 0);
    assert_eq!(recorded.gauge(&limit_series("reservations")), 1.0);
    drop(dropped);
    settle(&limit, &mut recorded, 0);
    assert_eq!(recorded.gauge(&limit_series("reservations")), 0.0);
    assert_eq!(recorded.counter(&limit_series("reservations_abandoned_total")), 1);

    // Reserved and kept, while another waits: taken back, and still good for a call.
    let mut kept = service.clone();
    poll_fn(|cx| kept.poll_ready(cx)).await.unwrap();
    service.clone().oneshot(()).await.unwrap();
    settle(&limit, &mut recorded, 1);
    assert_eq!(recorded.counter(&limit_series("reservations_revoked_total")), 1);
    kept.call(()).await.unwrap();
    drop(kept);
    settle(&limit, &mut recorded, 2);
    assert_eq!(counts(&recorded), [2, 0, 0, 0, 0, 0]);
    assert_eq!(recorded.counter(&limit_series("reservations_abandoned_total")), 1);
    assert_eq!(recorded.standing(&LIMIT), []);
}

#[tokio::test(start_paused = true)]
async fn gauges_are_zero_after_a_storm_of_cancels_and_gone_with_the_limit() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let (limit, send) = deferred(3);
    let mut offered = 0;
    for round in 0..200 {
        let mut requests: Vec<_> = (0..7).map(|at| send(Work { time: at * 9, ..Work::default() })).collect();
        offered += requests.len() as u64;
        // Every request is polled once, so that it counts.
        sleep(milliseconds(1 + round % 20)).await;
        // From the front, those behind are let in before their turn to go; from the back, they go from the queue.
        if round % 2 == 0 {
            requests.reverse();
        }
        for request in requests {
            request.abort();
            drop(request.await);
        }
    }
    settle(&limit, &mut recorded, offered);
    let [completed, _, full, queued, running, _] = counts(&recorded);
    assert!(completed > 0 && full > 0 && queued > 0 && running > 0, "{:?}", counts(&recorded));
    assert_eq!(recorded.standing(&LIMIT), []);
    drop((limit, send));
    sleep(milliseconds(1_000)).await;
    recorded.read();
    assert_eq!(recorded.standing(&[]), []);
}

#[tokio::test(start_paused = true)]
async fn unnamed_limit_exports_nothing() {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let layer = ConcurrencyLimitLayer::new(1);
    layer.layer(tower::service_fn(idle)).oneshot(()).await.unwrap();
    layer.handle().bind_metrics();
    layer.handle().publish();
    recorded.read();
    assert_eq!(recorded.names(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn without_a_recorder_everything_works_and_a_late_one_sees_what_follows() {
    let (limit, send) = deferred(1);
    send(Work::default()).await.unwrap().unwrap();
    limit.publish();
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    limit.publish();
    recorded.read();
    assert_eq!(recorded.names(), Vec::<String>::new(), "handles are never bound by themselves");
    limit.bind_metrics();
    send(Work { fails: true, ..Work::default() }).await.unwrap().unwrap_err();
    settle(&limit, &mut recorded, 1);
    assert_eq!(counts(&recorded), [0, 1, 0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn of_two_recorders_in_turn_each_sees_its_own_time() {
    let [first, second] = [DebuggingRecorder::new(), DebuggingRecorder::new()];
    let [mut earlier, mut later] = [Recorded::by(&first), Recorded::by(&second)];
    let (limit, send) = {
        let _guard = set_default_local_recorder(&first);
        deferred(1)
    };
    send(Work::default()).await.unwrap().unwrap();
    settle(&limit, &mut earlier, 1);
    {
        let _guard = set_default_local_recorder(&second);
        limit.bind_metrics();
    }
    send(Work { fails: true, ..Work::default() }).await.unwrap().unwrap_err();
    settle(&limit, &mut later, 1);
    earlier.read();
    assert_eq!(counts(&earlier), [1, 0, 0, 0, 0, 0]);
    assert_eq!(counts(&later), [0, 1, 0, 0, 0, 0]);
    assert_eq!(earlier.standing(&[]), [], "the earlier recorder is left with gauges at 0");
}

/// One step of a random script.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(Work),
    Abort(usize),
    SetLimit(usize),
    Pass(u64),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let work = (0..90_u64, any::<bool>(), 0..9_u8).prop_map(|(time, fails, lot)| Work {
        time,
        fails,
        exempt: lot == 0,
    });
    prop_oneof![
        10 => work.prop_map(Step::Send),
        4 => (0..6_usize).prop_map(Step::Abort),
        1 => (1..8_usize).prop_map(Step::SetLimit),
        6 => (0..120_u64).prop_map(Step::Pass),
        1 => Just(Step::Close),
    ]
}

async fn run(steps: &[Step]) {
    let recorder = DebuggingRecorder::new();
    let _guard = set_default_local_recorder(&recorder);
    let mut recorded = Recorded::by(&recorder);
    let (limit, send) = deferred(2);
    let mut offered = 0;
    let mut requests = Vec::new();
    for step in steps {
        match *step {
            Step::Send(work) => {
                offered += 1;
                requests.push(send(work));
                // A request that was never polled has not been offered.
                tokio::task::yield_now().await;
            }
            Step::Abort(at) if at < requests.len() => {
                let request: JoinHandle<Answer> = requests.remove(at);
                request.abort();
                drop(request.await);
            }
            Step::SetLimit(permits) => drop(limit.set_limit(permits)),
            Step::Pass(time) => sleep(milliseconds(time)).await,
            Step::Close => drop(limit.close()),
            Step::Abort(_) => {}
        }
    }
    for request in requests {
        request.abort();
        drop(request.await);
    }
    settle(&limit, &mut recorded, offered);
    assert_eq!(recorded.standing(&LIMIT), []);
    for waited in ["queued", "cancelled", "timed_out"] {
        let series = format!("fair_semaphore_acquires_total{{outcome={waited},semaphore={}}}", name());
        assert_eq!(recorded.milliseconds(&wait(waited)).len() as u64, recorded.counter(&series), "{waited}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn identities_hold_after_any_script(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(&steps));
    }
}
