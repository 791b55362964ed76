//! The operations of the model runs, decoded from three bytes each so that a fuzzer can write them too.

/// One step. The small numbers choose among what is alive, modulo its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A new future, not polled yet.
    Acquire {
        permits: usize,
        form: u8,
    },
    Poll {
        waiter: usize,
    },
    /// Polls with a waker that was never seen before.
    PollAnew {
        waiter: usize,
    },
    Drop {
        waiter: usize,
    },
    /// Leaves the queue as a driver with its own timer does.
    TimeOut {
        waiter: usize,
    },
    TryAcquire {
        permits: usize,
        owned: bool,
    },
    DrainPermits,
    Release {
        lease: usize,
    },
    DropLease {
        lease: usize,
    },
    Forget {
        lease: usize,
    },
    Split {
        lease: usize,
        permits: usize,
    },
    Merge {
        lease: usize,
        other: usize,
    },
    Forfeit {
        lease: usize,
    },
    AcquireFront {
        token: usize,
    },
    DropToken {
        token: usize,
    },
    AddPermits {
        permits: usize,
    },
    ReducePermits {
        permits: usize,
    },
    Resize {
        permits: usize,
    },
    SetCeiling {
        permits: usize,
    },
    Close,
    Poke,
    Advance {
        milliseconds: u64,
    },
    PollReserve {
        slot: usize,
        permits: usize,
    },
    Take {
        slot: usize,
    },
    CancelReserve {
        slot: usize,
    },
    TimeOutReserve {
        slot: usize,
    },
    Rejoin {
        slot: usize,
    },
    Reap,
}

impl Operation {
    /// Every triple of bytes is some operation; the common ones have more codes.
    pub(crate) fn decode([kind, a, b]: [u8; 3]) -> Self {
        let (x, y) = (usize::from(a), usize::from(b));
        match kind % 64 {
            0..=7 => Self::Acquire { permits: permits(a), form: b },
            8..=15 => Self::Poll { waiter: x },
            16..=18 => Self::PollAnew { waiter: x },
            19..=23 => Self::Drop { waiter: x },
            24 => Self::TimeOut { waiter: x },
            25..=27 => Self::TryAcquire { permits: permits(a), owned: b % 2 == 0 },
            28 => Self::DrainPermits,
            29..=32 => Self::Release { lease: x },
            33..=34 => Self::DropLease { lease: x },
            35 => Self::Forget { lease: x },
            36..=37 => Self::Split { lease: x, permits: y % 5 },
            38..=39 => Self::Merge { lease: x, other: y },
            40 => Self::Forfeit { lease: x },
            41 => Self::AcquireFront { token: x },
            42 => Self::DropToken { token: x },
            43..=44 => Self::AddPermits { permits: y % 4 },
            45 => Self::ReducePermits { permits: y % 4 },
            46 => Self::Resize { permits: y % 10 },
            47 => Self::SetCeiling { permits: y % 14 },
            // Rare, because little happens afterwards.
            48 if a < 16 => Self::Close,
            48..=49 => Self::Poke,
            50..=52 => Self::Advance { milliseconds: u64::from(a) % 60 },
            53..=56 => Self::PollReserve { slot: x, permits: permits(b) },
            57..=58 => Self::Take { slot: x },
            59 => Self::CancelReserve { slot: x },
            60 => Self::TimeOutReserve { slot: x },
            61 => Self::Rejoin { slot: x },
            _ => Self::Reap,
        }
    }
}

/// Mostly small, sometimes nothing, sometimes impossible.
fn permits(byte: u8) -> usize {
    match byte {
        0..=9 => 0,
        10..=129 => 1,
        130..=189 => 2,
        190..=219 => 3,
        220..=239 => 5,
        240..=249 => 9,
        250..=252 => 100,
        _ => usize::MAX,
    }
}
