//! The seeded load: which request arrives when, how long its work takes and how long its client waits.
use std::time::Duration;

use crate::database::CUSTOMERS;
use crate::flags::Flags;

/// One request as it is planned before anything runs, so that every limiter meets the same ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Planned {
    /// Time since the start of the load.
    pub(crate) at: Duration,
    pub(crate) call: Call,
    pub(crate) work: Duration,
    pub(crate) patience: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// One customer and their last orders.
    Customer(i64),
    /// The month's best sellers: reads much, works twice as long.
    Report(i64),
    /// A new order of one customer.
    Order(i64),
}

/// Poisson arrivals at one rate, and a burst at regular times; never ends.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    random: SplitMix,
    mean_gap: f64,
    mean_work: Duration,
    mean_patience: Duration,
    burst: usize,
    burst_every: Duration,
    next_single: Duration,
    next_burst: Duration,
    left_of_burst: usize,
}

impl Schedule {
    pub(crate) fn new(flags: &Flags) -> Schedule {
        let mut schedule = Schedule {
            random: SplitMix(flags.seed),
            mean_gap: 1.0 / flags.rate,
            mean_work: flags.work,
            mean_patience: flags.patience,
            burst: flags.burst,
            burst_every: flags.burst_every,
            next_single: Duration::ZERO,
            next_burst: if flags.burst_every.is_zero() { Duration::MAX } else { flags.burst_every / 2 },
            left_of_burst: flags.burst,
        };
        schedule.next_single = schedule.gap();
        schedule
    }

    fn gap(&mut self) -> Duration {
        Duration::from_secs_f64(self.random.exponential() * self.mean_gap)
    }

    /// A request outside the plan, for the page's burst button.
    pub(crate) fn extra(&mut self, at: Duration) -> Planned {
        let key = 1 + (self.random.next() >> 1) as i64 % CUSTOMERS;
        let (call, factor) = match self.random.next() % 20 {
            0..12 => (Call::Customer(key), 0.8),
            12..16 => (Call::Report(1 + key % 12), 2.0),
            _ => (Call::Order(key), 0.6),
        };
        // Cut off at four times the mean, so that one draw cannot decide a comparison.
        let work = self.mean_work.mul_f64(factor * self.random.exponential().min(4.0));
        let hasty = self.random.next() % 10 == 0;
        let share = if hasty { 0.125 } else { 0.75 + 0.5 * self.random.uniform() };
        Planned { at, call, work, patience: self.mean_patience.mul_f64(share) }
    }
}

impl Iterator for Schedule {
    type Item = Planned;

    fn next(&mut self) -> Option<Planned> {
        if self.next_burst <= self.next_single {
            let at = self.next_burst;
            self.left_of_burst -= 1;
            if self.left_of_burst == 0 {
                self.left_of_burst = self.burst;
                self.next_burst += self.burst_every;
            }
            return Some(self.extra(at));
        }
        let at = self.next_single;
        let gap = self.gap();
        self.next_single += gap;
        Some(self.extra(at))
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): enough for a load, and equal on every machine.
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}
