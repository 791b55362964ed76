//! A slot for `poll_ready` style code: reserve now, take the lease later.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::event::Happening;
use crate::extension::Extension;
use crate::lease::Holding;
use crate::leaving::Leaving;
use crate::list::{kind, stage};
use crate::place::clamp;
use crate::waiting::UNMEASURED;
use crate::{AcquireError, OwnedLease, Rejoin, Semaphore, Ticket, word};

/// Where the reservation stands.
#[derive(Debug)]
enum Slot {
    Empty,
    Queued {
        seat: u32,
    },
    Reserved {
        permits: u32,
        order: u64,
        generation: Option<u32>,
    },
    /// Revoked, with the right to rejoin.
    Lost {
        permits: u32,
        order: u64,
    },
}

/// An `Unpin` slot that reserves permits in one call and hands the lease out in another.
///
/// For code with a `poll_ready` and a `call`, such as a Tower service. Its queue node lives in a seat owned by
/// the semaphore and used again, so that waiting allocates nothing once warm.
///
/// With [`revocable`](Self::revocable) a reservation that is not used may be taken back for those who wait; see
/// [`Semaphore::reap`].
///
/// # What a clone shares
///
/// The semaphore and the time to live. It holds no permits and has no place in the queue.
///
/// # Cancel safety
///
/// Dropping it gives up its place, or gives back what is reserved.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// use std::future::poll_fn;
/// use semaphore_core::{Reservation, Semaphore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let semaphore = Arc::new(Semaphore::new(1));
/// let mut reservation = Reservation::new(semaphore.clone());
/// poll_fn(|cx| reservation.poll_reserve(cx)).await.unwrap();
/// assert_eq!(semaphore.snapshot().reserved, 1);
/// let lease = reservation.take().unwrap();
/// assert_eq!(semaphore.snapshot().held, 1);
/// # drop(lease);
/// # }
/// ```
pub struct Reservation {
    semaphore: Arc<Semaphore>,
    ttl: Option<Duration>,
    slot: Slot,
}

impl Reservation {
    /// An empty slot on `semaphore`.
    ///
    /// See the example of [`Reservation`].
    pub fn new(semaphore: Arc<Semaphore>) -> Self {
        Self { semaphore, ttl: None, slot: Slot::Empty }
    }

    /// Lets what is reserved and not taken be revoked after `ttl` when others wait.
    ///
    /// One semaphore has one time to live: the longest that any of its reservations asked for.
    ///
    /// See the example of [`Semaphore::reap`].
    pub fn revocable(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self.extension().generations.ask_ttl(ttl);
        self
    }

    /// Reserves one permit: ready at once, or in line for it.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire`].
    ///
    /// See the example of [`Reservation`].
    #[inline]
    pub fn poll_reserve(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        self.poll_reserve_many(cx, 1)
    }

    /// Reserves `permits` permits: ready at once, or in line for them.
    ///
    /// Polled again it keeps its place. The number given first holds until the lease is taken or the reservation
    /// cancelled. A reservation that was revoked rejoins at the front.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire_many`].
    ///
    /// See the example of [`Reservation`].
    #[inline]
    pub fn poll_reserve_many(
        &mut self,
        cx: &mut Context<'_>,
        permits: usize,
    ) -> Poll<Result<(), AcquireError>> {
        if matches!(self.slot, Slot::Empty) && self.take_free(clamp(permits)) {
            return Poll::Ready(Ok(()));
        }
        self.poll_further(cx, permits)
    }

    /// The fast path: free permits, reserved at once.
    #[inline]
    fn take_free(&mut self, need: u32) -> bool {
        let Ok(word) = self.semaphore.word.take(need) else {
            return false;
        };
        self.semaphore.note_taken(word);
        self.keep(need, 0, None);
        matches!(self.slot, Slot::Reserved { .. })
    }

    #[inline(never)]
    fn poll_further(&mut self, cx: &mut Context<'_>, permits: usize) -> Poll<Result<(), AcquireError>> {
        loop {
            self.notice_revocation();
            match self.slot {
                Slot::Reserved { .. } => return Poll::Ready(Ok(())),
                Slot::Queued { seat } => match self.poll_seat(seat, cx) {
                    // Reserved now, unless the grant was revoked before it was seen: back in line, at the front.
                    Poll::Ready(Ok(())) => {}
                    ended => return ended,
                },
                Slot::Empty => {
                    let order = if permits > word::MAX as usize { permits as u64 } else { 0 };
                    self.sit(clamp(permits), kind::ORDINARY, order);
                }
                Slot::Lost { permits, order } => self.sit(permits, kind::REJOINS, order),
            }
        }
    }

    /// Takes a seat from which to queue.
    fn sit(&mut self, need: u32, kind: u8, order: u64) {
        let revocable = if self.ttl.is_some() { kind::REVOCABLE } else { 0 };
        let slab = &self.extension().slab;
        let seat = slab.sit();
        if let Some(node) = slab.node(seat) {
            node.renew(need, kind | revocable, order);
        }
        self.slot = Slot::Queued { seat };
    }

    /// A step of the waiter in `seat`; once it has ended, the slot is no longer queued.
    fn poll_seat(&mut self, seat: u32, cx: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        let semaphore = self.semaphore.clone();
        let slab = &semaphore.extension().slab;
        let Some(node) = slab.node(seat) else {
            return Poll::Pending;
        };
        let stepped = match semaphore.step(node, cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(stepped) => stepped,
        };
        // All of it read before the seat is somebody else's.
        let (permits, order, generation) = (node.permits(), node.order(), node.generation());
        node.set_stage(stage::SPENT);
        slab.leave(seat);
        self.slot = Slot::Empty;
        let waited = stepped?;
        self.keep(permits, order, generation);
        if waited != UNMEASURED {
            semaphore.tell(Happening::Granted, permits as usize, Duration::from_nanos(waited));
        }
        Poll::Ready(Ok(()))
    }

    /// Books permits just taken, unless the granter has.
    #[inline]
    fn keep(&mut self, permits: u32, order: u64, booked: Option<u32>) {
        let generations = &self.extension().generations;
        let generation = match (booked, self.ttl) {
            (Some(generation), _) => Some(generation),
            (None, Some(_)) => {
                let Some(generation) = generations.reserve(permits) else {
                    self.slot = Slot::Lost { permits, order };
                    return;
                };
                Some(generation)
            }
            (None, None) => {
                generations.reserve_firmly(permits);
                None
            }
        };
        self.slot = Slot::Reserved { permits, order, generation };
    }

    /// Turns a reservation whose generation is gone into the right to rejoin.
    fn notice_revocation(&mut self) {
        if let Slot::Reserved { permits, order, generation: Some(generation) } = self.slot {
            if !self.extension().generations.is_live(generation) {
                self.slot = Slot::Lost { permits, order };
            }
        }
    }

    /// Ends the reservation in favour of its holder; false when it was revoked.
    #[inline]
    fn unbook(&self, permits: u32, generation: Option<u32>) -> bool {
        let generations = &self.extension().generations;
        match generation {
            Some(generation) => generations.remove(generation, permits),
            None => {
                generations.remove_firm(permits);
                true
            }
        }
    }

    /// The lease, once reserved. `None` when nothing is reserved, or when it was revoked, in which case
    /// [`rejoin`](Self::rejoin) has the token.
    ///
    /// A grant that was not polled yet is taken too.
    ///
    /// See the example of [`Reservation`].
    #[inline]
    pub fn take(&mut self) -> Option<OwnedLease> {
        if let Slot::Queued { seat } = self.slot {
            self.claim_seat(seat);
        }
        let Slot::Reserved { permits, order, generation } = self.slot else {
            return None;
        };
        self.slot = Slot::Empty;
        if self.unbook(permits, generation) {
            return Some(OwnedLease(Holding::timed(self.semaphore.clone(), permits, order)));
        }
        self.slot = Slot::Lost { permits, order };
        None
    }

    /// Claims a grant that was not polled yet; revoked or not is found out by the caller.
    #[cold]
    fn claim_seat(&mut self, seat: u32) {
        if matches!(self.stage(seat), stage::GRANTED | stage::LISTED) {
            let _ = self.poll_seat(seat, &mut Context::from_waker(std::task::Waker::noop()));
        }
    }

    /// The right to rejoin at the front after a revocation; once.
    ///
    /// Where it is not taken, the next [`poll_reserve`](Self::poll_reserve) uses it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use semaphore_core::{Reservation, Semaphore};
    /// let mut reservation = Reservation::new(Arc::new(Semaphore::new(1)));
    /// assert!(reservation.rejoin().is_none());
    /// ```
    pub fn rejoin(&mut self) -> Option<Rejoin> {
        self.notice_revocation();
        let Slot::Lost { permits, order } = self.slot else {
            return None;
        };
        self.slot = Slot::Empty;
        Some(Rejoin { home: Arc::as_ptr(&self.semaphore) as usize, permits, order })
    }

    /// Has the next [`poll_reserve`](Self::poll_reserve) stand at the front by `rejoin`, as
    /// [`Semaphore::acquire_front`] does.
    ///
    /// # Errors
    ///
    /// The token comes back when something is queued or reserved here, or when it is another semaphore's.
    ///
    /// ```
    /// # use std::{sync::Arc, task::{Context, Waker}};
    /// # use semaphore_core::{Reservation, Semaphore};
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// let rejoin = semaphore.clone().try_acquire_owned().unwrap().forfeit();
    /// let mut reservation = Reservation::new(semaphore);
    /// reservation.rejoin_with(rejoin).unwrap();
    /// assert!(reservation.poll_reserve(&mut Context::from_waker(Waker::noop())).is_ready());
    /// ```
    pub fn rejoin_with(&mut self, rejoin: Rejoin) -> Result<(), Rejoin> {
        if !matches!(self.slot, Slot::Empty) || !rejoin.is_of(&self.semaphore) {
            return Err(rejoin);
        }
        self.slot = Slot::Lost { permits: rejoin.permits, order: rejoin.order };
        Ok(())
    }

    /// Whether permits are reserved and were not revoked until now.
    ///
    /// See the example of [`Reservation`].
    #[inline]
    pub fn is_reserved(&self) -> bool {
        match self.slot {
            Slot::Reserved { generation: Some(generation), .. } => {
                self.extension().generations.is_live(generation)
            }
            Slot::Reserved { .. } => true,
            _ => false,
        }
    }

    /// Whether it is in the queue, or granted and not polled since.
    ///
    /// See the example of [`Reservation`].
    #[inline]
    pub fn is_queued(&self) -> bool {
        matches!(self.slot, Slot::Queued { .. })
    }

    /// The place in the order of arrival: while queued, granted, or reserved or revoked after queueing.
    ///
    /// ```
    /// # use std::{sync::Arc, task::{Context, Waker}};
    /// # use semaphore_core::{Reservation, Semaphore};
    /// let mut reservation = Reservation::new(Arc::new(Semaphore::new(1)));
    /// assert!(reservation.poll_reserve(&mut Context::from_waker(Waker::noop())).is_ready());
    /// assert!(reservation.ticket().is_none());
    /// ```
    pub fn ticket(&self) -> Option<Ticket> {
        let order = match self.slot {
            Slot::Queued { seat } => self.extension().slab.node(seat).map_or(0, |node| node.order()),
            Slot::Reserved { order, .. } | Slot::Lost { order, .. } => order,
            Slot::Empty => 0,
        };
        (order != 0).then_some(Ticket(order))
    }

    /// Leaves the queue, or gives back what is reserved. A right to rejoin is given up too.
    ///
    /// ```
    /// # use std::{sync::Arc, task::{Context, Waker}};
    /// # use semaphore_core::{Reservation, Semaphore};
    /// let mut reservation = Reservation::new(Arc::new(Semaphore::new(1)));
    /// assert!(reservation.poll_reserve(&mut Context::from_waker(Waker::noop())).is_ready());
    /// reservation.cancel();
    /// assert_eq!(reservation.semaphore().available_permits(), 1);
    /// ```
    pub fn cancel(&mut self) {
        self.end(Leaving::Cancelled);
    }

    /// As [`cancel`](Self::cancel), counted as timed out.
    ///
    /// See the example of [`cancel`](Self::cancel).
    pub fn time_out(&mut self) {
        self.end(Leaving::GivenUp);
    }

    fn end(&mut self, why: Leaving) {
        match std::mem::replace(&mut self.slot, Slot::Empty) {
            Slot::Empty | Slot::Lost { .. } => {}
            Slot::Queued { seat } => {
                let slab = &self.extension().slab;
                // The seat is free again even if a waker panics on the way.
                let freed = Freed { slab, seat };
                if let Some(node) = slab.node(seat) {
                    self.semaphore.leave(node, why);
                    node.set_stage(stage::SPENT);
                }
                drop(freed);
            }
            Slot::Reserved { permits, generation, .. } => {
                if self.unbook(permits, generation) {
                    self.semaphore.give_back(permits);
                }
            }
        }
    }

    /// The semaphore it reserves from.
    ///
    /// See the example of [`cancel`](Self::cancel).
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    fn stage(&self, seat: u32) -> u8 {
        self.extension().slab.node(seat).map_or(stage::IDLE, |node| node.stage())
    }

    #[inline]
    fn extension(&self) -> &Extension {
        self.semaphore.extension()
    }
}

struct Freed<'a> {
    slab: &'a crate::slab::Slab,
    seat: u32,
}

impl Drop for Freed<'_> {
    fn drop(&mut self) {
        self.slab.leave(self.seat);
    }
}

impl Clone for Reservation {
    fn clone(&self) -> Self {
        Self { semaphore: self.semaphore.clone(), ttl: self.ttl, slot: Slot::Empty }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.end(Leaving::Cancelled);
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("slot", &self.slot)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}
