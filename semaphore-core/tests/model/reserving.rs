//! Reservations of a run: two that may be revoked and one that may not.

use super::acquiring::{Bell, Held};
use super::driver::{Driver, Lease};
use super::reference::{Id, Outcome, State};
use semaphore_core::{AcquireError, Rejoin, Reservation, Semaphore};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Time to live of the revocable ones, in milliseconds.
const TTL: u64 = 100;

/// Where a slot stands by the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Empty,
    /// Queued or granted and not polled since.
    Asked {
        id: Id,
        permits: usize,
        ticket: u64,
    },
    Reserved {
        permits: usize,
        ticket: u64,
        made: Made,
    },
    /// Taken back while reserved; the token is in the slot.
    Revoked {
        permits: usize,
        ticket: u64,
    },
    /// Taken back before the grant was polled; the next poll makes the token.
    RevokedUnseen {
        permits: usize,
        ticket: u64,
    },
}

/// When a reservation came to be: its number among all, and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Made(u64, u64);

/// One reservation.
pub(crate) struct Slot {
    reservation: Reservation,
    revocable: bool,
    stand: Stand,
    /// When an unpolled revocable grant was made.
    granted: Option<Made>,
    pub(crate) bell: Bell,
}

impl Slot {
    /// One firm, two revocable.
    pub(crate) fn three(semaphore: &Arc<Semaphore>) -> Vec<Self> {
        [false, true, true].map(|revocable| Self::new(semaphore, revocable)).into()
    }

    /// Holds the place of a slot that is being worked on.
    pub(crate) fn stand_in(semaphore: &Arc<Semaphore>) -> Self {
        Self::new(semaphore, false)
    }

    fn new(semaphore: &Arc<Semaphore>, revocable: bool) -> Self {
        let reservation = Reservation::new(Arc::clone(semaphore));
        let reservation =
            if revocable { reservation.revocable(Duration::from_millis(TTL)) } else { reservation };
        Self { reservation, revocable, stand: Stand::Empty, granted: None, bell: Bell::default() }
    }

    /// The acquire behind it while that is queued or granted.
    pub(crate) fn id(&self) -> Option<Id> {
        match self.stand {
            Stand::Asked { id, .. } => Some(id),
            _ => None,
        }
    }

    /// A grant that was taken back before anybody saw it is still unclaimed.
    pub(crate) fn is_unseen(&self) -> bool {
        matches!(self.stand, Stand::RevokedUnseen { .. })
    }

    fn ask(&mut self) -> Poll<Result<(), AcquireError>> {
        let waker = self.bell.waker();
        // The number of permits only counts for a new request, and a slot that asks has one already.
        let permits = match self.stand {
            Stand::Asked { permits, .. } => permits,
            _ => 1,
        };
        self.reservation.poll_reserve_many(&mut Context::from_waker(&waker), permits)
    }

    pub(crate) fn poll(&mut self, driver: &mut Driver<'_>, permits: usize) {
        let id = driver.new_id();
        let mut asked = (id, permits, 0);
        let mut rejoins = false;
        let outcome = match self.stand {
            Stand::Reserved { .. } => {
                assert!(matches!(self.ask(), Poll::Ready(Ok(()))), "it is reserved");
                return;
            }
            Stand::Asked { id, permits, ticket } => {
                asked = (id, permits, ticket);
                match driver.reference.claim(id) {
                    State::Queued => Outcome::Waits,
                    State::Granted => Outcome::Served,
                    State::TooLarge => Outcome::TooLarge,
                    State::Closed => Outcome::Closed,
                }
            }
            Stand::Empty => {
                self.mark(driver, id);
                let outcome = driver.reference.acquire(id, permits);
                if outcome == Outcome::Waits {
                    asked.2 = driver.reference.last_ticket();
                }
                outcome
            }
            Stand::Revoked { permits, ticket } | Stand::RevokedUnseen { permits, ticket } => {
                asked = (id, permits, ticket);
                self.mark(driver, id);
                rejoins = true;
                driver.reference.acquire_front(id, permits, ticket)
            }
        };
        let made = self.granted.take();
        let (id, permits, ticket) = asked;
        self.stand = Stand::Asked { id, permits, ticket };
        let polled = self.ask();
        match (outcome, polled) {
            (Outcome::Waits, Poll::Pending) => self.bell.arm(),
            (Outcome::Served, Poll::Ready(Ok(()))) => {
                driver.reference.set_aside(permits);
                let made = made.unwrap_or_else(|| driver.make());
                if rejoins {
                    // It may have been served through the queue, and so have woken itself.
                    self.bell = Bell::default();
                }
                self.stand = Stand::Reserved { permits, ticket, made };
            }
            (Outcome::Closed, Poll::Ready(Err(AcquireError::Closed { .. })))
            | (Outcome::TooLarge, Poll::Ready(Err(AcquireError::TooLarge { .. })))
            | (Outcome::QueueFull, Poll::Ready(Err(AcquireError::QueueFull { .. }))) => {
                self.stand = Stand::Empty
            }
            (outcome, polled) => panic!("{outcome:?} was due, not {polled:?}"),
        }
    }

    fn mark(&self, driver: &mut Driver<'_>, id: Id) {
        if self.revocable {
            driver.reference.make_revocable(id);
        }
    }

    pub(crate) fn cancel(&mut self, driver: &mut Driver<'_>, timed_out: bool) {
        match self.stand {
            Stand::Asked { id, .. } => driver.reference.cancel(id),
            Stand::Reserved { permits, .. } => driver.reference.give_back(permits),
            Stand::Empty | Stand::Revoked { .. } | Stand::RevokedUnseen { .. } => {}
        }
        self.stand = Stand::Empty;
        self.granted = None;
        if timed_out {
            self.reservation.time_out()
        } else {
            self.reservation.cancel()
        }
        assert!(!self.reservation.is_reserved() && !self.reservation.is_queued());
    }

    /// The token of a revoked reservation, with its ticket.
    pub(crate) fn rejoin(&mut self) -> Option<(Rejoin, u64)> {
        let token = self.reservation.rejoin();
        match self.stand {
            Stand::Revoked { permits, ticket } => {
                self.stand = Stand::Empty;
                let token = token.expect("revoked");
                assert_eq!((token.permits(), token.ticket().is_some()), (permits, ticket != 0));
                Some((token, ticket))
            }
            _ => {
                assert!(token.is_none(), "nothing was revoked in {:?}", self.stand);
                None
            }
        }
    }
}

impl Driver<'_> {
    fn make(&mut self) -> Made {
        self.made += 1;
        Made(self.made, self.now)
    }

    pub(crate) fn take_reserved(&mut self, slot: usize) {
        let at = slot % self.slots.len();
        let lease = self.slots[at].reservation.take();
        let (taken, stand) = match self.slots[at].stand {
            Stand::Reserved { permits, ticket, .. } => {
                self.reference.use_reserved(permits);
                (Some((permits, ticket)), Stand::Empty)
            }
            // A grant that nobody polled may be taken as well.
            Stand::Asked { id, permits, ticket } if self.reference.state(id) == Some(State::Granted) => {
                self.reference.claim(id);
                (Some((permits, ticket)), Stand::Empty)
            }
            Stand::RevokedUnseen { permits, ticket } => (None, Stand::Revoked { permits, ticket }),
            stand => (None, stand),
        };
        self.slots[at].stand = stand;
        match (taken, lease) {
            (Some((permits, ticket)), Some(lease)) => {
                self.slots[at].granted = None;
                self.leases.push(Lease { held: Held::Owned(lease), permits, ticket });
            }
            (None, None) => {}
            (taken, lease) => panic!("{taken:?} was to be taken, not {lease:?}"),
        }
    }

    /// Notes when unpolled revocable grants were made; called after every step.
    pub(crate) fn note_grants(&mut self) {
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            let granted = slot.id().is_some_and(|id| self.reference.state(id) == Some(State::Granted));
            if granted && slot.revocable && slot.granted.is_none() {
                let made = self.make();
                self.slots[at].granted = Some(made);
            }
        }
    }

    /// The contract leaves the moment open: what was revoked is learnt, and must have been old enough, the oldest
    /// first, with somebody waiting.
    pub(crate) fn reap(&mut self) {
        let waited = self.reference.waiters() > 0;
        let now = self.origin + Duration::from_millis(self.now);
        let due = self.semaphore.reap(now);
        if let Some(due) = due {
            assert!(waited, "nothing to drive");
            assert!(due > now && due <= now + Duration::from_millis(TTL));
        }
        let mut revoked = self.semaphore.stats().revoked - self.stats.revoked;
        assert!(waited || revoked == 0, "revoked although nobody waits");
        let mut oldest: Vec<_> = (0..self.slots.len())
            .filter(|at| self.slots[*at].revocable)
            .filter_map(|at| match self.slots[at].stand {
                Stand::Reserved { made, .. } => Some((made, at)),
                _ => self.slots[at].granted.map(|made| (made, at)),
            })
            .collect();
        oldest.sort_unstable();
        for (Made(_, made), at) in oldest {
            let slot = &mut self.slots[at];
            let (permits, ticket) = match slot.stand {
                Stand::Reserved { permits, ticket, .. } | Stand::Asked { permits, ticket, .. } => {
                    (permits, ticket)
                }
                _ => continue,
            };
            if revoked < permits as u64 {
                assert!(slot.id().is_some() || slot.reservation.is_reserved(), "lost without being counted");
                continue;
            }
            revoked -= permits as u64;
            assert!(self.now - made >= TTL, "revoked after {} ms", self.now - made);
            if let Some(id) = slot.id() {
                self.reference.revoke_unclaimed(id);
                slot.stand = Stand::RevokedUnseen { permits, ticket };
            } else {
                assert!(!slot.reservation.is_reserved());
                slot.stand = Stand::Revoked { permits, ticket };
            }
            slot.granted = None;
            self.reference.give_back(permits);
        }
        assert_eq!(revoked, 0, "more was revoked than was reserved");
    }
}
