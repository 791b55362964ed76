//! The bound handles of one pool, and what was sent through them so far.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use super::table::{
    ADDED, CHECKOUT_OUTCOMES, CHECKOUT_SECONDS, CHECKOUTS, CLOSED, CREATE_OUTCOMES, CREATE_SECONDS,
    CREATE_STATE, CREATE_STATES, METRICS, Metric, POOL, RESOURCE_STATES, RESOURCES, RESOURCES_MAX,
    RESOURCES_MIN_IDLE, TIMED_OUTCOMES,
};
use crate::manager::CloseReason;
use crate::snapshot::{Snapshot, Stats};
use crate::tally::{Created, Outcome};

/// Nothing is bound in a pool without a name.
#[derive(Default)]
pub(crate) struct Meters {
    /// Spares a pool without a name the lock.
    on: AtomicBool,
    bound: Mutex<Option<Bound>>,
}

struct Bound {
    gauges: Vec<Gauge>,
    counters: Vec<Counter>,
    checkout_seconds: Vec<Histogram>,
    create_seconds: Vec<Histogram>,
    /// What the gauges and counters were told, so that pools of one name add up.
    told: (Vec<f64>, Vec<u64>),
}

/// The counters, in the order of `Bound::counters`.
fn count(totals: &Stats) -> Vec<u64> {
    let Stats { immediate, ok, error, cancelled, timed_out, rejected, added, .. } = *totals;
    let mut counters = vec![immediate, ok, error, cancelled, timed_out, rejected, added];
    counters.extend(CloseReason::ALL.iter().map(|reason| totals.closed(*reason)));
    counters
}

impl Meters {
    /// The counters start at what they are now, like the histograms: a recorder that comes late is told of what
    /// follows, in full.
    pub(crate) fn bind(&self, name: &str, now: &Snapshot, totals: &Stats) {
        self.retract(now, totals);
        METRICS.iter().for_each(Metric::describe);
        let name = || name.to_owned();
        let mut gauges: Vec<Gauge> = RESOURCE_STATES
            .iter()
            .map(|state| gauge!(RESOURCES, POOL => name(), "state" => *state))
            .collect();
        gauges.push(gauge!(RESOURCES_MAX, POOL => name()));
        gauges.push(gauge!(RESOURCES_MIN_IDLE, POOL => name()));
        gauges.extend(
            CREATE_STATES.iter().map(|state| gauge!(CREATE_STATE, POOL => name(), "state" => *state)),
        );
        let mut counters: Vec<Counter> = CHECKOUT_OUTCOMES
            .iter()
            .map(|outcome| counter!(CHECKOUTS, POOL => name(), "outcome" => *outcome))
            .collect();
        counters.push(counter!(ADDED, POOL => name()));
        counters.extend(
            CloseReason::ALL
                .iter()
                .map(|reason| counter!(CLOSED, POOL => name(), "reason" => reason.as_str())),
        );
        let seconds = |metric: &'static str, outcomes: &'static [&'static str]| {
            outcomes.iter().map(|outcome| histogram!(metric, POOL => name(), "outcome" => *outcome)).collect()
        };
        // So that every series is there from the start.
        gauges.iter().for_each(|gauge| gauge.increment(0.0));
        counters.iter().for_each(|counter| counter.increment(0));
        let told = (vec![0.0; gauges.len()], count(totals));
        let bound = Bound {
            gauges,
            counters,
            checkout_seconds: seconds(CHECKOUT_SECONDS, &TIMED_OUTCOMES),
            create_seconds: seconds(CREATE_SECONDS, &CREATE_OUTCOMES),
            told,
        };
        *self.bound.lock().unwrap_or_else(PoisonError::into_inner) = Some(bound);
        self.on.store(true, Ordering::Release);
    }

    pub(crate) fn is_bound(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Sends what has changed since the last time.
    pub(crate) fn publish(&self, now: &Snapshot, totals: &Stats) {
        let create_state = |state| f64::from(u8::from(now.create_state == state));
        let gauges = [
            now.idle as f64,
            now.leased as f64,
            now.creating as f64,
            now.checking as f64,
            now.resetting as f64,
            now.closing as f64,
            now.max as f64,
            now.min_idle as f64,
            create_state(crate::CreateState::Healthy),
            create_state(crate::CreateState::BackingOff),
            create_state(crate::CreateState::Open),
        ];
        self.tell(&gauges, &count(totals));
    }

    /// Takes this pool's share out of the gauges when it goes.
    pub(crate) fn retract(&self, now: &Snapshot, totals: &Stats) {
        self.publish(now, totals);
        self.tell(&[0.0; 11], &[]);
    }

    fn tell(&self, gauges: &[f64], counters: &[u64]) {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Bound { gauges: handles, counters: counts, told, .. }) = &mut *bound else { return };
        for ((handle, told), now) in handles.iter().zip(&mut told.0).zip(gauges) {
            if *told != *now {
                handle.increment(*now - *told);
                *told = *now;
            }
        }
        for ((handle, told), now) in counts.iter().zip(&mut told.1).zip(counters) {
            if *told < *now {
                handle.increment(*now - *told);
                *told = *now;
            }
        }
    }

    pub(crate) fn checkout(&self, outcome: Outcome, took: Duration) {
        if let Some(bound) = &*self.bound.lock().unwrap_or_else(PoisonError::into_inner)
            && let Some(histogram) = bound.checkout_seconds.get(outcome as usize)
        {
            histogram.record(took);
        }
    }

    pub(crate) fn create(&self, outcome: Created, took: Duration) {
        if let Some(bound) = &*self.bound.lock().unwrap_or_else(PoisonError::into_inner) {
            bound.create_seconds[outcome as usize].record(took);
        }
    }
}
