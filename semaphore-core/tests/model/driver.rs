//! Applies each operation to the semaphore and to the reference, and compares all that can be seen.

use super::acquiring::{Acquiring, Bell, Form, Held};
use super::operation::Operation;
use super::reference::{Id, Outcome, Reference, State};
use super::reserving::Slot;
use semaphore_core::{AcquireError, Rejoin, Semaphore, Stats};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Most acquires alive at once.
const WAITERS: usize = 10;

/// How a run is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) permits: usize,
    pub(crate) ceiling: Option<usize>,
    pub(crate) max_waiters: Option<usize>,
    pub(crate) named: bool,
}

impl Start {
    /// Every byte is some setup.
    pub(crate) fn decode(byte: u8) -> Self {
        let permits = usize::from(byte & 3) + 1;
        let ceiling = (byte & 4 != 0).then_some(permits + usize::from(byte >> 6));
        let max_waiters = (byte & 8 != 0).then_some(usize::from(byte >> 6) + 1);
        Self { permits, ceiling, max_waiters, named: byte & 16 != 0 }
    }
}

/// A lease and what the reference knows of it.
pub(crate) struct Lease<'s> {
    pub(crate) held: Held<'s>,
    pub(crate) permits: usize,
    pub(crate) ticket: u64,
}

/// One run.
pub(crate) struct Driver<'s> {
    pub(crate) semaphore: &'s Arc<Semaphore>,
    pub(crate) reference: Reference,
    pub(crate) acquires: Vec<Acquiring<'s>>,
    pub(crate) leases: Vec<Lease<'s>>,
    pub(crate) tokens: Vec<(Rejoin, u64)>,
    pub(crate) slots: Vec<Slot>,
    next_id: Id,
    /// Milliseconds since the start, beside the paused clock.
    pub(crate) now: u64,
    epoch: tokio::time::Instant,
    pub(crate) stats: Stats,
    max_waiters: usize,
    /// How many reservations were made so far.
    pub(crate) made: u64,
    /// Zero of the clock that `reap` is given.
    pub(crate) origin: std::time::Instant,
}

/// Runs `operations` inside `runtime`, whose clock is paused; everything is at home at the end.
pub(crate) fn run(runtime: &tokio::runtime::Runtime, start: Start, operations: &[[u8; 3]]) {
    let _entered = runtime.enter();
    let mut builder = Semaphore::builder(start.permits);
    if let Some(ceiling) = start.ceiling {
        builder = builder.ceiling(ceiling);
    }
    if let Some(most) = start.max_waiters {
        builder = builder.max_waiters(most);
    }
    if start.named {
        builder = builder.name("model");
    }
    let semaphore = Arc::new(builder.build().expect("a legal start"));
    let mut driver = Driver::new(&semaphore, start);
    let mut done = Vec::new();
    for bytes in operations {
        let operation = Operation::decode(*bytes);
        done.push(operation);
        let applied = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            driver.apply(operation, runtime);
            driver.compare();
            driver.note_grants();
        }));
        if let Err(panic) = applied {
            eprintln!("{start:?}, then {done:?}");
            std::panic::resume_unwind(panic);
        }
    }
    driver.finish();
}

impl<'s> Driver<'s> {
    fn new(semaphore: &'s Arc<Semaphore>, start: Start) -> Self {
        Self {
            semaphore,
            reference: Reference::new(start.permits, start.ceiling, start.max_waiters),
            acquires: Vec::new(),
            leases: Vec::new(),
            tokens: Vec::new(),
            slots: Slot::three(semaphore),
            next_id: 0,
            now: 0,
            epoch: tokio::time::Instant::now(),
            stats: Stats::default(),
            max_waiters: start.max_waiters.unwrap_or(usize::MAX),
            made: 0,
            origin: std::time::Instant::now(),
        }
    }

    /// Names the next acquire or reservation.
    pub(crate) fn new_id(&mut self) -> Id {
        self.next_id += 1;
        self.next_id
    }

    fn apply(&mut self, operation: Operation, runtime: &tokio::runtime::Runtime) {
        use Operation as Do;
        match operation {
            Do::Acquire { permits, form } => self.acquire(permits, form),
            Do::Poll { waiter } => self.poll(waiter, false),
            Do::PollAnew { waiter } => self.poll(waiter, true),
            Do::Drop { waiter } => self.drop_waiter(waiter),
            Do::TimeOut { waiter } => self.time_out(waiter),
            Do::TryAcquire { permits, owned } => self.try_acquire(permits, owned),
            Do::DrainPermits => self.drain(),
            Do::Release { lease } => self.release(lease, false),
            Do::DropLease { lease } => self.release(lease, true),
            Do::Forget { lease } => self.forget(lease),
            Do::Split { lease, permits } => self.split(lease, permits),
            Do::Merge { lease, other } => self.merge(lease, other),
            Do::Forfeit { lease } => self.forfeit(lease),
            Do::AcquireFront { token } => self.acquire_front(token),
            Do::DropToken { token } => {
                if let Some(at) = pick(token, self.tokens.len()) {
                    drop(self.tokens.swap_remove(at));
                }
            }
            Do::AddPermits { permits } => {
                let expected = self.reference.add(permits);
                assert_eq!(self.semaphore.add_permits(permits).is_ok(), expected.is_ok(), "add_permits");
            }
            Do::ReducePermits { permits } => {
                let expected = self.reference.reduce(permits);
                assert_eq!(
                    self.semaphore.reduce_permits(permits).is_ok(),
                    expected.is_ok(),
                    "reduce_permits"
                );
            }
            Do::Resize { permits } => {
                let expected = self.reference.resize(permits);
                assert_eq!(self.semaphore.resize(permits).is_ok(), expected.is_ok(), "resize");
            }
            Do::SetCeiling { permits } => {
                let expected = self.reference.set_ceiling(permits);
                assert_eq!(self.semaphore.set_ceiling(permits).is_ok(), expected.is_ok(), "set_ceiling");
            }
            Do::Close => {
                self.semaphore.close();
                self.reference.close();
            }
            Do::Poke => {
                self.semaphore.poke();
                let queued = |id| self.reference.state(id) == Some(State::Queued);
                self.acquires.iter_mut().filter(|one| queued(one.id)).for_each(|one| one.bell.ring());
                self.slots
                    .iter_mut()
                    .filter(|slot| slot.id().is_some_and(queued))
                    .for_each(|slot| slot.bell.ring());
            }
            Do::Advance { milliseconds } => {
                self.now += milliseconds;
                let passed = self.now;
                let due = self.acquires.iter_mut().filter(|one| one.polled);
                due.filter(|one| one.deadline.is_some_and(|at| at <= passed))
                    .for_each(|one| one.bell.expect_timer());
                runtime.block_on(tokio::time::advance(Duration::from_millis(milliseconds)));
            }
            Do::PollReserve { slot, permits } => {
                // Larger than any ceiling is left to the acquires; nothing reserves nothing.
                self.with_slot(slot, |slot, driver| slot.poll(driver, permits.clamp(1, 9)));
            }
            Do::Take { slot } => self.take_reserved(slot),
            Do::CancelReserve { slot } => self.with_slot(slot, |slot, driver| slot.cancel(driver, false)),
            Do::TimeOutReserve { slot } => self.with_slot(slot, |slot, driver| slot.cancel(driver, true)),
            Do::Rejoin { slot } => {
                if let Some(token) = self.with_slot(slot, |slot, _| slot.rejoin()) {
                    self.tokens.push(token);
                }
            }
            Do::Reap => self.reap(),
        }
    }

    fn with_slot<R>(&mut self, slot: usize, work: impl FnOnce(&mut Slot, &mut Self) -> R) -> R {
        let at = slot % self.slots.len();
        let mut slot = std::mem::replace(&mut self.slots[at], Slot::stand_in(self.semaphore));
        let result = work(&mut slot, self);
        self.slots[at] = slot;
        result
    }

    fn acquire(&mut self, permits: usize, form: u8) {
        if self.acquires.len() == WAITERS {
            return;
        }
        let deadline = self.now + u64::from(form >> 2);
        let until = self.epoch + Duration::from_millis(deadline);
        let own = || Arc::clone(self.semaphore);
        let (form, deadline) = match form & 3 {
            0 => (Form::Borrowed(Box::pin(self.semaphore.acquire_many(permits))), None),
            1 => (Form::Owned(Box::pin(own().acquire_many_owned(permits))), None),
            2 => (Form::Until(Box::pin(self.semaphore.acquire_many_until(permits, until))), Some(deadline)),
            _ => (Form::UntilOwned(Box::pin(own().acquire_many_until_owned(permits, until))), Some(deadline)),
        };
        self.push(permits, form, deadline, None);
    }

    fn push(&mut self, permits: usize, form: Form<'s>, deadline: Option<u64>, front: Option<u64>) {
        let id = self.new_id();
        self.acquires.push(Acquiring {
            id,
            permits,
            form,
            bell: Bell::default(),
            polled: false,
            deadline,
            front: front.is_some(),
            ticket: front.unwrap_or(0),
            left: false,
        });
    }

    fn acquire_front(&mut self, token: usize) {
        let Some(at) = pick(token, self.tokens.len()) else { return };
        if self.acquires.len() == WAITERS {
            return;
        }
        let (rejoin, ticket) = self.tokens.swap_remove(at);
        let permits = rejoin.permits();
        let form = Form::Owned(Box::pin(Arc::clone(self.semaphore).acquire_front_owned(rejoin)));
        self.push(permits, form, None, Some(ticket));
    }

    fn poll(&mut self, waiter: usize, anew: bool) {
        let Some(at) = pick(waiter, self.acquires.len()) else { return };
        let mut one = self.acquires.swap_remove(at);
        if anew {
            one.bell.renew();
        }
        let late = one.deadline.is_some_and(|deadline| deadline <= self.now);
        let expected = match self.reference.state(one.id) {
            _ if one.left => Expected::Pending,
            None => self.first_poll(&mut one, late),
            Some(State::Queued) if late => {
                self.reference.cancel(one.id);
                Expected::TimedOut
            }
            Some(_) => match self.reference.claim(one.id) {
                State::Queued => Expected::Pending,
                State::Granted => Expected::Lease,
                State::TooLarge => Expected::TooLarge,
                State::Closed => Expected::Closed,
            },
        };
        one.polled = true;
        let polled = one.poll();
        match (expected, polled) {
            (Expected::Pending, Poll::Pending) => {
                if !one.left {
                    one.bell.arm();
                }
                self.acquires.push(one);
            }
            (Expected::Lease, Poll::Ready(Ok(held))) => {
                self.leases.push(Lease { held, permits: one.permits, ticket: one.ticket });
            }
            (Expected::TooLarge, Poll::Ready(Err(AcquireError::TooLarge { requested, .. }))) => {
                assert_eq!(requested, one.permits);
            }
            (Expected::Closed, Poll::Ready(Err(AcquireError::Closed { .. })))
            | (Expected::TimedOut, Poll::Ready(Err(AcquireError::TimedOut { .. }))) => {}
            (Expected::QueueFull, Poll::Ready(Err(AcquireError::QueueFull { max_waiters, .. }))) => {
                assert_eq!(max_waiters, self.max_waiters);
            }
            (expected, polled) => panic!("{expected:?} was due, not {polled:?}"),
        }
    }

    fn first_poll(&mut self, one: &mut Acquiring<'_>, late: bool) -> Expected {
        let outcome = match one.front {
            true => self.reference.acquire_front(one.id, one.permits, one.ticket),
            _ if late => self.reference.try_acquire(one.permits),
            _ => self.reference.acquire(one.id, one.permits),
        };
        if outcome == Outcome::Waits && !one.front && !late {
            one.ticket = self.reference.last_ticket();
        }
        match outcome {
            Outcome::Served => Expected::Lease,
            Outcome::Closed => Expected::Closed,
            Outcome::TooLarge => Expected::TooLarge,
            Outcome::QueueFull => Expected::QueueFull,
            Outcome::Waits if late => Expected::TimedOut,
            Outcome::Waits => Expected::Pending,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Lease,
    Pending,
    TooLarge,
    Closed,
    TimedOut,
    QueueFull,
}

/// One of `count`, or none.
pub(crate) fn pick(chosen: usize, count: usize) -> Option<usize> {
    (count > 0).then(|| chosen % count)
}
