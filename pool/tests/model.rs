//! Random operations on the engine and on the whole pool, each step compared with a model that is obviously right.

mod support;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use lease_pool::engine::{Engine, Landed, Limits, SlotId, SlotState};
use lease_pool::manager::CloseReason;
use lease_pool::testing::{Act, Scripted, Stage};
use lease_pool::{CreateState, Get, IdleOrder, Pause, Pool, Pooled};
use proptest::prelude::*;
use support::{Count, ms, scripted, settle};

// ---------------------------------------------------------------------------------------- the engine alone

#[derive(Clone, Debug)]
enum Event {
    Demand(usize),
    Finish(usize),
    FailCreate(usize, bool),
    BackoffElapsed,
    Checkout,
    Settle(usize),
    Retire(usize),
    Detach(usize),
    Reset(usize),
    Check(usize),
    EndCheck(usize),
    Closed(usize),
    Resize(usize),
    Pause(bool),
    Add,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..6_usize).prop_map(Event::Demand),
        5 => (0..8_usize).prop_map(Event::Finish),
        1 => ((0..8_usize), any::<bool>()).prop_map(|(which, fatal)| Event::FailCreate(which, fatal && which == 0)),
        2 => Just(Event::BackoffElapsed),
        5 => Just(Event::Checkout),
        4 => (0..8_usize).prop_map(Event::Settle),
        1 => (0..8_usize).prop_map(Event::Retire),
        1 => (0..8_usize).prop_map(Event::Detach),
        1 => (0..8_usize).prop_map(Event::Reset),
        1 => (0..8_usize).prop_map(Event::Check),
        1 => (0..8_usize).prop_map(Event::EndCheck),
        3 => (0..8_usize).prop_map(Event::Closed),
        1 => (1..8_usize).prop_map(Event::Resize),
        1 => any::<bool>().prop_map(Event::Pause),
        1 => Just(Event::Add),
    ]
}

/// The same pool as plain sets: who is where.
#[derive(Default)]
struct Model {
    creating: Vec<SlotId>,
    idle: Vec<u32>,
    away: Vec<(SlotId, u32, SlotState)>,
    closing: Vec<SlotId>,
    max: usize,
    failures: u32,
    fatal: bool,
    waiting: bool,
    paused: bool,
    ended: BTreeSet<u32>,
}

impl Model {
    fn live(&self) -> usize {
        self.idle.len() + self.away.len()
    }

    fn occupied(&self) -> usize {
        self.live() + self.creating.len() + self.closing.len()
    }

    fn pick<T: Copy>(from: &[T], which: usize) -> Option<T> {
        (!from.is_empty()).then(|| from[which % from.len()])
    }
}

fn compare(engine: &Engine<u32>, model: &Model) {
    let counts = engine.counts();
    let away = |state| model.away.iter().filter(|(_, _, of)| *of == state).count();
    assert_eq!(counts.of(SlotState::Creating), model.creating.len());
    assert_eq!(counts.of(SlotState::Idle), model.idle.len());
    assert_eq!(counts.of(SlotState::Leased), away(SlotState::Leased));
    assert_eq!(counts.of(SlotState::Checking), away(SlotState::Checking));
    assert_eq!(counts.of(SlotState::Resetting), away(SlotState::Resetting));
    assert_eq!(counts.of(SlotState::Closing), model.closing.len());
    assert_eq!(engine.idle().copied().collect::<Vec<_>>(), model.idle);
    assert_eq!(engine.excess(), model.live().saturating_sub(model.max));
    for state in SlotState::ALL {
        let recount = engine.slots().iter().filter(|(_, of)| *of == state).count();
        assert_eq!(counts.of(state), recount, "E1: a gauge is a count of states");
    }
    let state = match (model.failures, model.fatal) {
        (0, _) => CreateState::Healthy,
        (failures, fatal) if failures >= 3 || fatal => CreateState::Open,
        _ => CreateState::BackingOff,
    };
    assert_eq!(engine.create_state(), state);
    assert_eq!(engine.unavailable(), state == CreateState::Open && model.live() == 0);
}

fn land(model: &mut Model, slot: SlotId, resource: u32, landed: Landed<u32>, room: bool) {
    match landed {
        Landed::Idle => {
            assert!(room, "E4: an excess is retired");
            model.idle.push(resource);
        }
        Landed::Excess(returned) => {
            assert!(!room && returned == resource);
            assert!(model.ended.insert(resource), "ended once");
            model.closing.push(slot);
        }
    }
}

fn step(
    engine: &mut Engine<u32>,
    model: &mut Model,
    event: Event,
    next: &mut u32,
    min_idle: usize,
    cap: usize,
) {
    match event {
        Event::Demand(waiters) => {
            let cap = if model.failures > 0 { 1 } else { cap };
            let wanted = waiters + min_idle.saturating_sub(model.idle.len());
            let probe = model.failures >= 3 || model.fatal;
            let wanted = if probe { wanted.max(1) } else { wanted };
            let room = model.max.saturating_sub(model.occupied());
            let blocked = model.waiting || model.paused;
            let creating = model.creating.len();
            let expected = if blocked {
                0
            } else {
                wanted.saturating_sub(creating).min(cap.saturating_sub(creating)).min(room)
            };
            let mut started = 0;
            while let Some(slot) = engine.start_create(waiters) {
                model.creating.push(slot);
                started += 1;
            }
            assert_eq!(started, expected, "E3, E4, E5: work conservation");
        }
        Event::Finish(which) => {
            let Some(slot) = Model::pick(&model.creating, which) else { return };
            model.creating.retain(|of| *of != slot);
            *next += 1;
            let room = model.live() < model.max;
            let landed = engine.created(slot, *next);
            (model.failures, model.fatal, model.waiting) = (0, false, false);
            land(model, slot, *next, landed, room);
        }
        Event::FailCreate(which, fatal) => {
            let Some(slot) = Model::pick(&model.creating, which) else { return };
            model.creating.retain(|of| *of != slot);
            engine.create_failed(slot, fatal);
            model.failures += 1;
            model.fatal |= fatal;
            model.waiting = true;
        }
        Event::BackoffElapsed => {
            engine.backoff_elapsed();
            model.waiting = false;
        }
        Event::Checkout => match engine.checkout() {
            Some((slot, resource)) => {
                assert_eq!(model.idle.pop(), Some(resource), "the last returned");
                model.away.push((slot, resource, SlotState::Leased));
            }
            None => assert!(model.idle.is_empty()),
        },
        Event::Settle(which) => {
            let Some((slot, resource, _)) = Model::pick(&model.away, which) else { return };
            let room = model.live() <= model.max;
            model.away.retain(|(of, ..)| *of != slot);
            let landed = engine.settle(slot, resource);
            land(model, slot, resource, landed, room);
        }
        Event::Retire(which) => {
            let Some((slot, resource, _)) = Model::pick(&model.away, which) else { return };
            model.away.retain(|(of, ..)| *of != slot);
            engine.retire(slot);
            assert!(model.ended.insert(resource));
            model.closing.push(slot);
        }
        Event::Detach(which) | Event::Reset(which) | Event::Check(which) => {
            let leased: Vec<_> =
                model.away.iter().copied().filter(|(_, _, of)| *of == SlotState::Leased).collect();
            let Some((slot, resource, _)) = Model::pick(&leased, which) else { return };
            model.away.retain(|(of, ..)| *of != slot);
            match event {
                Event::Detach(_) => {
                    engine.detach(slot);
                    assert!(model.ended.insert(resource));
                }
                Event::Reset(_) => {
                    engine.begin_reset(slot);
                    model.away.push((slot, resource, SlotState::Resetting));
                }
                _ => {
                    engine.begin_check(slot);
                    model.away.push((slot, resource, SlotState::Checking));
                }
            }
        }
        Event::EndCheck(which) => {
            let checking: Vec<_> =
                model.away.iter().copied().filter(|(_, _, of)| *of == SlotState::Checking).collect();
            let Some((slot, resource, _)) = Model::pick(&checking, which) else { return };
            model.away.retain(|(of, ..)| *of != slot);
            engine.end_check(slot);
            model.away.push((slot, resource, SlotState::Leased));
        }
        Event::Closed(which) => {
            let Some(slot) = Model::pick(&model.closing, which) else { return };
            model.closing.retain(|of| *of != slot);
            engine.closed(slot);
        }
        Event::Resize(max) => {
            engine.resize(max);
            model.max = max;
        }
        Event::Pause(paused) => {
            engine.set_paused(paused);
            model.paused = paused;
        }
        Event::Add => {
            let room = model.occupied() < model.max;
            let slot = engine.reserve_for_add();
            assert_eq!(slot.is_some(), room);
            if let Some(slot) = slot {
                *next += 1;
                engine.add(slot, *next);
                model.idle.push(*next);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_does_what_plain_sets_do(
        events in prop::collection::vec(event(), 1..120),
        max in 1..6_usize,
        min_idle in 0..3_usize,
        cap in 1..4_usize,
    ) {
        let min_idle = min_idle.min(max);
        let limits = Limits { max, min_idle, create_concurrency: cap, order: IdleOrder::Lifo };
        let mut engine = Engine::new(limits);
        let mut model = Model { max, ..Model::default() };
        let mut next = 0;
        for event in events {
            step(&mut engine, &mut model, event, &mut next, min_idle, cap);
            compare(&engine, &model);
        }
    }
}

// ---------------------------------------------------------------------------------------- the whole pool

#[derive(Clone, Debug)]
enum Op {
    Get,
    Poll(usize),
    Cancel(usize),
    Return(usize),
    Discard(usize),
    Detach(usize),
    Break(usize),
    Dirty(usize),
    Use(usize),
    PanicOn(usize),
    Resize(usize),
    Invalidate(bool),
    Pause(bool),
    Resume,
    Script(Stage, Act),
    Pass(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let stage = prop_oneof![
        2 => Just(Stage::Create),
        1 => Just(Stage::Check),
        1 => Just(Stage::Reset),
        1 => Just(Stage::Close),
    ];
    let act = prop_oneof![
        2 => Just(Act::Ok),
        3 => (1..30_u64).prop_map(|span| Act::After(ms(span))),
        1 => Just(Act::Fail),
        1 => Just(Act::Panic),
        1 => Just(Act::Never),
    ];
    prop_oneof![
        6 => Just(Op::Get),
        6 => (0..8_usize).prop_map(Op::Poll),
        2 => (0..8_usize).prop_map(Op::Cancel),
        5 => (0..8_usize).prop_map(Op::Return),
        1 => (0..8_usize).prop_map(Op::Discard),
        1 => (0..8_usize).prop_map(Op::Detach),
        1 => (0..8_usize).prop_map(Op::Break),
        1 => (0..8_usize).prop_map(Op::Dirty),
        1 => (0..8_usize).prop_map(Op::Use),
        1 => (0..8_usize).prop_map(Op::PanicOn),
        1 => (1..6_usize).prop_map(Op::Resize),
        1 => any::<bool>().prop_map(Op::Invalidate),
        1 => any::<bool>().prop_map(Op::Pause),
        2 => Just(Op::Resume),
        2 => (stage, act).prop_map(|(stage, act)| Op::Script(stage, act)),
        3 => (1..80_u64).prop_map(Op::Pass),
    ]
}

type Waiting<'a> = (usize, Pin<Box<Get<'a, Scripted>>>);

/// The oracle after each step.
fn check(
    pool: &Pool<Scripted>,
    script: &Scripted,
    held: &[Pooled<Scripted>],
    detached: usize,
    largest: usize,
) {
    let now = pool.snapshot();
    assert_eq!(now.leased, held.len(), "{now:?}");
    assert!(now.live() + now.creating + now.closing <= largest, "{now:?}");
    assert!(script.max_live() <= largest + detached);
    assert_eq!(now.excess, now.live().saturating_sub(now.max));
    let totals = pool.stats();
    let made = totals.created + totals.added;
    assert_eq!(
        made,
        totals.closed_total() + now.live() as u64,
        "each ends in exactly one: {now:?} {totals:?}"
    );
    assert_eq!(totals.closed(CloseReason::Detached), detached as u64);
    let ids: BTreeSet<_> = held.iter().map(|guard| Pooled::meta(guard).id()).collect();
    assert_eq!(ids.len(), held.len(), "no resource is with two callers");
    // Work conservation: whoever waits has a reason to.
    if now.waiters > 0 && !now.paused {
        let promised = now.granted + now.checking;
        assert!(now.idle <= promised, "somebody waits while something is free: {now:?}");
        let covered = now.vacant == 0 || now.creating > 0 || now.create_state != CreateState::Healthy;
        assert!(covered, "somebody waits, there is room, and nothing is created: {now:?}");
    }
}

async fn walk(ops: Vec<Op>, max: usize) {
    let (script, builder) = scripted(max);
    let pool = builder
        .create_timeout(ms(50))
        .check_timeout(ms(50))
        .reset_timeout(ms(50))
        .close_timeout(ms(50))
        .backoff(ms(1), ms(20))
        .build()
        .unwrap();
    let waker = Count::new().into();
    let mut cx = Context::from_waker(&waker);
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    let mut held: Vec<Pooled<Scripted>> = Vec::new();
    let (mut arrivals, mut detached, mut largest) = (0, 0, max);
    for op in ops {
        match op {
            Op::Get => {
                let mut get = Box::pin(pool.get_timeout(Duration::from_secs(3)));
                match get.as_mut().poll(&mut cx) {
                    Poll::Ready(Ok(guard)) => held.push(guard),
                    Poll::Ready(Err(_)) => {}
                    Poll::Pending => {
                        arrivals += 1;
                        waiting.push((arrivals, get));
                    }
                }
            }
            Op::Poll(which) if !waiting.is_empty() => {
                let which = which % waiting.len();
                if let Poll::Ready(result) = waiting[which].1.as_mut().poll(&mut cx) {
                    drop(waiting.remove(which));
                    held.extend(result);
                }
            }
            Op::Cancel(which) if !waiting.is_empty() => drop(waiting.remove(which % waiting.len())),
            Op::Return(which) if !held.is_empty() => drop(held.remove(which % held.len())),
            Op::Discard(which) if !held.is_empty() => Pooled::discard(held.remove(which % held.len())),
            Op::Detach(which) if !held.is_empty() => {
                drop(Pooled::detach(held.remove(which % held.len())));
                detached += 1;
            }
            Op::Break(which) if !held.is_empty() => held[which % held.len()].set_broken(true),
            Op::Dirty(which) if !held.is_empty() => held[which % held.len()].set_dirty(true),
            Op::Use(which) if !held.is_empty() => held[which % held.len()].set_used(true),
            Op::PanicOn(which) if !held.is_empty() => held[which % held.len()].set_panics(true),
            Op::Resize(to) => {
                pool.resize(to).unwrap();
                largest = largest.max(to);
            }
            Op::Invalidate(spread) => pool.invalidate_all(if spread { ms(40) } else { Duration::ZERO }),
            Op::Pause(fail) => pool.pause(if fail { Pause::Fail } else { Pause::Wait }),
            Op::Resume => pool.resume(),
            Op::Script(stage, act) => script.always(stage, act),
            Op::Pass(span) => tokio::time::advance(ms(span)).await,
            _ => {}
        }
        settle().await;
        check(&pool, &script, &held, detached, largest);
    }
    // Everything comes to rest, and everybody who still waits is served in the order of arrival.
    pool.resume();
    for stage in Stage::ALL {
        script.always(stage, Act::Ok);
    }
    held.clear();
    tokio::time::sleep(ms(200)).await;
    let mut served = Vec::new();
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut index = 0;
        while index < waiting.len() {
            match waiting[index].1.as_mut().poll(&mut cx) {
                Poll::Ready(result) => {
                    let (arrival, get) = waiting.remove(index);
                    drop(get);
                    if let Ok(guard) = result {
                        served.push(arrival);
                        drop(guard);
                    }
                }
                Poll::Pending => index += 1,
            }
        }
        if waiting.len() == before {
            tokio::time::sleep(ms(300)).await;
        }
        settle().await;
        check(&pool, &script, &held, detached, largest);
    }
    settle().await;
    tokio::time::sleep(ms(200)).await;
    support::assert_quiet(&pool);
    assert!(pool.drain(Duration::from_secs(5)).await.is_ok());
    assert_eq!(script.live(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_walk_over_the_whole_pool_breaks_its_books(
        ops in prop::collection::vec(op(), 1..60),
        max in 1..5_usize,
    ) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(walk(ops, max));
    }
}
