//! Times in logarithmic buckets: constant memory, quantiles at most 6 % too high, mergeable.
use std::time::Duration;

/// Buckets per doubling.
const STEPS: usize = 16;
/// From 1 microsecond to 2^40 of them, which is 12 days.
const OCTAVES: usize = 40;

#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u32>,
    total: u64,
    longest: Duration,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; STEPS * OCTAVES], total: 0, longest: Duration::ZERO }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, time: Duration) {
        self.counts[bucket(time)] += 1;
        self.total += 1;
        self.longest = self.longest.max(time);
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The upper edge of the bucket that holds the time at rank `part` (0 to 1); `None` when empty.
    pub(crate) fn quantile(&self, part: f64) -> Option<Duration> {
        let rank = ((part * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if *count > 0 && seen >= rank {
                return Some(upper_edge(index).min(self.longest));
            }
        }
        None
    }
}

/// Below 16 microseconds every microsecond has its own bucket; above, every octave has 16.
fn bucket(time: Duration) -> usize {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    let octave = 63 - micros.leading_zeros() as usize;
    let step = if octave < 4 { (micros as usize) << (4 - octave) } else { (micros >> (octave - 4)) as usize };
    (octave * STEPS + step - STEPS).min(STEPS * OCTAVES - 1)
}

fn upper_edge(index: usize) -> Duration {
    let (octave, step) = (index / STEPS, index % STEPS);
    let edge = ((STEPS + step + 1) as f64) / STEPS as f64 * 2f64.powi(octave as i32);
    Duration::from_secs_f64(edge / 1e6)
}
