//! What all handles, guards, futures and tasks of one pool share.
//!
//! Lock rule: the state's mutex is held for a few moves only. No user code (manager, hooks, wakers, drops of
//! resources) runs under it, and the semaphore is not asked to wake anybody under it.

mod events;
mod permits;
mod transitions;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use semaphore_core::{OwnedLease, Semaphore};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::Meters;
use crate::engine::{Engine, Limits};
use crate::entry::{Entry, Seat};
use crate::error::{CreateError, GetError};
use crate::hooks::Hooks;
use crate::keeper::Bell;
use crate::manager::{CloseReason, Manager};
use crate::nested::Census;
use crate::options::Options;
use crate::pause::Pause;
use crate::snapshot::Stats;
use crate::tally::Tally;

pub(crate) use events::{Event, Events};
pub(crate) use permits::{Permit, park};

pub(crate) struct Hub<M: Manager> {
    pub(crate) manager: M,
    pub(crate) options: Options,
    pub(crate) hooks: Hooks<M::Resource>,
    /// Its permits are the live resources; never handed out.
    pub(crate) semaphore: Arc<Semaphore>,
    /// Flags that a get looks at without the lock; written under it.
    pub(crate) events: Events,
    /// The earliest deadline of a waiter, in nanoseconds after `base`; a lower bound.
    pub(crate) next_deadline: AtomicI64,
    pub(crate) base: Instant,
    pub(crate) bell: Bell,
    pub(crate) tally: Tally,
    pub(crate) meters: Meters,
    /// The seed of jitter, stepped by every draw.
    pub(crate) dice: AtomicU64,
    state: Mutex<State<M>>,
}

/// Everything under the lock.
pub(crate) struct State<M: Manager> {
    pub(crate) engine: Engine<Box<Entry<M>>>,
    pub(crate) seats: Vec<Seat>,
    /// Resources whose close has not started yet.
    pub(crate) to_close: VecDeque<(Box<Entry<M>>, CloseReason)>,
    /// Returned resources whose reset has not started yet, with their permits.
    pub(crate) to_reset: VecDeque<(Box<Entry<M>>, OwnedLease)>,
    /// Permits that came home during a pause.
    pub(crate) parked: Option<OwnedLease>,
    /// Idle resources made during a pause, whose permits `resume` adds.
    pub(crate) unissued: usize,
    pub(crate) pause: Option<Pause>,
    /// Resources last verified before this are due for a check.
    pub(crate) suspect: Option<Instant>,
    pub(crate) last_error: Option<CreateError<M::Error>>,
    /// The first failure since `warm_up` began.
    pub(crate) warm_up_error: Option<CreateError<M::Error>>,
    /// The last create error was fatal.
    pub(crate) fatal: bool,
    pub(crate) retry_at: Option<Instant>,
    #[cfg(feature = "metrics")]
    pub(crate) publish_at: Option<Instant>,
    pub(crate) next_id: u64,
    pub(crate) generation: u64,
    /// Tasks in `paused`, `drain` and `warm_up`, woken by every change of a count.
    pub(crate) watchers: Vec<Waker>,
    /// The runtime of the running housekeeper.
    pub(crate) keeper: Option<Handle>,
    pub(crate) census: Census,
    /// Counted here because the immediate path holds the lock anyway.
    pub(crate) immediate: u64,
    /// Steps with every checkout and return; a stall shows as no step.
    pub(crate) activity: u64,
}

impl<M: Manager> Hub<M> {
    pub(crate) fn new(
        manager: M,
        options: Options,
        hooks: Hooks<M::Resource>,
        semaphore: Semaphore,
    ) -> Arc<Self> {
        let engine = Engine::new(Limits {
            max: options.max,
            min_idle: options.min_idle,
            create_concurrency: options.create_concurrency,
            order: options.idle_order,
        });
        let state = State {
            engine,
            seats: vec![Seat::EMPTY; options.max],
            to_close: VecDeque::new(),
            to_reset: VecDeque::new(),
            parked: None,
            unissued: 0,
            pause: None,
            suspect: None,
            last_error: None,
            warm_up_error: None,
            fatal: false,
            retry_at: None,
            #[cfg(feature = "metrics")]
            publish_at: None,
            next_id: 0,
            generation: 0,
            watchers: Vec::new(),
            keeper: None,
            census: Census::default(),
            immediate: 0,
            activity: 0,
        };
        Arc::new(Hub {
            tally: Tally::new(),
            meters: Meters::default(),
            manager,
            hooks,
            semaphore: Arc::new(semaphore),
            events: Events::new(),
            next_deadline: AtomicI64::new(i64::MAX),
            base: Instant::now(),
            bell: Bell::default(),
            dice: AtomicU64::new(crate::jitter::seed()),
            state: Mutex::new(state),
            options,
        })
    }

    /// Poison means nothing here: user code does not run under the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.options.name.as_deref()
    }

    pub(crate) fn nanos(&self, at: Instant) -> i64 {
        let span = |duration: std::time::Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        match at.checked_duration_since(self.base) {
            Some(after) => span(after),
            None => -span(self.base.saturating_duration_since(at)),
        }
    }

    /// Makes the housekeeper wake the waiters at this instant, if it would not do so earlier.
    pub(crate) fn watch_deadline(&self, deadline: Instant) {
        let nanos = self.nanos(deadline);
        if nanos < self.next_deadline.load(Ordering::Relaxed)
            && nanos < self.next_deadline.fetch_min(nanos, Ordering::SeqCst)
        {
            self.bell.ring();
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let immediate = self.lock().immediate;
        self.tally.totals(immediate)
    }

    /// The error of a get while nothing is alive and creating is given up.
    pub(crate) fn unavailable(&self, state: &State<M>) -> Option<GetError<M::Error>> {
        if !state.engine.unavailable() {
            return None;
        }
        let last = state.last_error.clone()?;
        Some(if state.fatal {
            GetError::Create(last)
        } else {
            GetError::Unavailable { retry_in: self.retry_in(state), last }
        })
    }
}
