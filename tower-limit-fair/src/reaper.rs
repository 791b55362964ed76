//! The one task per limit that drives ttl, queue timeout and `max_hold`.
//!
//! Started by the first poll that queues, ended after a quiet tick. While it ticks, a poll that queues pays one load.
//! Whoever finds it gone (its runtime ended, and dropped it) starts it again on its own runtime.
//!
//! No wake is lost between a waiter and a task about to end: the waiter is in the queue before it loads `ticking`, and
//! the task clears `ticking` before it looks at the queue for the last time; both sides have a SeqCst fence between.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Release, SeqCst},
            fence,
        },
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use semaphore_core::Ticket;
use tokio::{
    runtime::Handle,
    time::{Instant, Sleep},
};

use crate::gate::Gate;

/// How long the task stays after the last waiter, if no ttl says otherwise.
const LINGER: Duration = Duration::from_millis(100);

/// Polled outside a runtime.
#[derive(Debug)]
pub(crate) struct NoRuntime;

#[derive(Default)]
pub(crate) struct Reaper {
    /// The task is alive and looks at the queue within a tick.
    ticking: AtomicBool,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    alive: bool,
    /// When the task wakes by itself.
    due: Option<Instant>,
    waker: Option<Waker>,
    marks: VecDeque<Mark>,
}

/// Waiters that queued within 1/1024 of the queue timeout share a mark, so there are never more than about a thousand;
/// each of them is at most that much late.
struct Mark {
    opened: Instant,
    latest: Instant,
    last: Option<Ticket>,
}

impl Reaper {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes sure that the task drives a waiter that has just queued; returns the waiter's deadline.
pub(crate) fn watch(gate: &Arc<Gate>, ticket: Option<Ticket>) -> Result<Option<Instant>, NoRuntime> {
    let Some(timeout) = gate.queue_timeout else {
        return if gate.reservation_ttl.is_some() { tick(gate).map(|()| None) } else { Ok(None) };
    };
    let mut desk = gate.reaper.desk();
    if !desk.alive {
        start(gate, &mut desk)?;
    }
    // Read under the lock: marks are in the order of their deadlines.
    let now = Instant::now();
    desk.mark(now, timeout / 1024, ticket);
    gate.reaper.ticking.store(true, Release);
    let wake = desk.pull(now + timeout.min(tick_of(gate)));
    drop(desk);
    if let Some(waker) = wake {
        waker.wake();
    }
    Ok(Some(now + timeout))
}

/// Looks, at each poll of a waiter, whether the task still lives.
pub(crate) fn keep_watch(gate: &Arc<Gate>) {
    if gate.reservation_ttl.is_some() || gate.queue_timeout.is_some() {
        // Without a runtime the waiter keeps its place: its next poll may have one.
        let _ = tick(gate);
    }
}

/// Makes sure that the task looks at the holds by this time. Outside a runtime nothing drives them.
#[cfg(feature = "http")]
pub(crate) fn watch_holds(gate: &Arc<Gate>, due: std::time::Instant) {
    let mut desk = gate.reaper.desk();
    if !desk.alive && start(gate, &mut desk).is_err() {
        return;
    }
    let wake = desk.pull(Instant::from_std(due));
    drop(desk);
    if let Some(waker) = wake {
        waker.wake();
    }
}

fn tick_of(gate: &Gate) -> Duration {
    gate.reservation_ttl.unwrap_or(LINGER).max(Duration::from_millis(2)) / 2
}

fn tick(gate: &Arc<Gate>) -> Result<(), NoRuntime> {
    fence(SeqCst);
    if gate.reaper.ticking.load(Acquire) {
        return Ok(());
    }
    let mut desk = gate.reaper.desk();
    if !desk.alive {
        start(gate, &mut desk)?;
    }
    gate.reaper.ticking.store(true, Release);
    let wake = desk.pull(Instant::now());
    drop(desk);
    if let Some(waker) = wake {
        waker.wake();
    }
    Ok(())
}

fn start(gate: &Arc<Gate>, desk: &mut Desk) -> Result<(), NoRuntime> {
    let runtime = Handle::try_current().map_err(|_| NoRuntime)?;
    desk.alive = true;
    desk.due = None;
    desk.waker = None;
    let now = Instant::now();
    let task = Task {
        gate: Arc::clone(gate),
        sleep: Box::pin(tokio::time::sleep_until(now)),
        quiet: 0,
        over: false,
        paced: (now, gate.semaphore.stats().queued),
    };
    drop(runtime.spawn(task));
    Ok(())
}

impl Desk {
    fn mark(&mut self, now: Instant, span: Duration, ticket: Option<Ticket>) {
        match self.marks.back_mut() {
            Some(mark) if now <= mark.opened + span => {
                mark.latest = mark.latest.max(now);
                mark.last = mark.last.max(ticket);
            }
            _ => self.marks.push_back(Mark { opened: now, latest: now, last: ticket }),
        }
    }

    /// Has the task wake by `at`; returns whom to wake for that.
    fn pull(&mut self, at: Instant) -> Option<Waker> {
        // `None` with a live task: it has not run yet, or is running, and computes the time itself.
        if self.due.is_some_and(|due| at < due) {
            self.due = Some(at);
            return self.waker.take();
        }
        None
    }
}

struct Task {
    gate: Arc<Gate>,
    sleep: Pin<Box<Sleep>>,
    /// Ticks in a row without a waiter.
    quiet: u8,
    /// Ended by itself: another task may have been started since.
    over: bool,
    /// When the queue's pace was measured, and the waiters served by then.
    paced: (Instant, u64),
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        loop {
            let Some(due) = self.drive(&waker) else { return Poll::Ready(()) };
            self.sleep.as_mut().reset(due);
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Task {
    /// Does what is due and says when to come back; `None` ends the task.
    fn drive(&mut self, waker: &Waker) -> Option<Instant> {
        let gate = Arc::clone(&self.gate);
        let reaper = &gate.reaper;
        // From here until the desk is left, nobody pulls the due time: it is computed below, under the lock.
        reaper.desk().due = None;
        let now = Instant::now();
        self.time_out(now);
        let reaped = gate.reap(now.into_std()).map(Instant::from_std);
        self.measure(now);
        #[cfg(feature = "metrics")]
        gate.publish();

        let mut desk = reaper.desk();
        let mut waits = gate.semaphore.has_waiters();
        self.quiet = if waits { 0 } else { self.quiet.saturating_add(1) };
        if self.quiet > 2 {
            reaper.ticking.store(false, SeqCst);
            fence(SeqCst);
            waits = gate.semaphore.has_waiters();
            if waits {
                reaper.ticking.store(true, Release);
                self.quiet = 0;
            } else {
                desk.marks.clear();
            }
        }
        let tick = (self.quiet <= 2).then(|| now + tick_of(&gate));
        let timeout = gate.queue_timeout.filter(|_| waits);
        let expires = timeout.and_then(|timeout| desk.marks.front().map(|mark| mark.latest + timeout));
        let due = [tick, expires, reaped].into_iter().flatten().min();
        match due {
            // Never at once again: `reaped` may lie in the past for work that nobody polls.
            Some(due) => {
                let due = due.max(now + Duration::from_millis(1));
                desk.due = Some(due);
                desk.waker = Some(waker.clone());
                Some(due)
            }
            None => {
                desk.alive = false;
                self.over = true;
                None
            }
        }
    }

    /// Wakes the waiters whose queue timeout has passed; they look at their own deadline and leave.
    fn time_out(&self, now: Instant) {
        let Some(timeout) = self.gate.queue_timeout else { return };
        let mut last = None;
        {
            let mut desk = self.gate.reaper.desk();
            while desk.marks.front().is_some_and(|mark| mark.latest + timeout <= now) {
                last = desk.marks.pop_front().and_then(|mark| mark.last).max(last);
            }
        }
        if let Some(last) = last {
            self.gate.semaphore.poke_through(last);
        }
    }

    /// Takes the pace of the queue, for `Rejected::retry_after`.
    fn measure(&mut self, now: Instant) {
        let (since, before) = self.paced;
        let passed = now.duration_since(since);
        if passed < Duration::from_millis(50) {
            return;
        }
        let served = self.gate.semaphore.stats().queued;
        if let Some(each) = u64::try_from(passed.as_nanos()).ok().and_then(|n| n.checked_div(served - before))
        {
            use std::sync::atomic::Ordering::Relaxed;
            let old = self.gate.pace.load(Relaxed);
            let pace = if old == 0 { each } else { old - old / 4 + each / 4 };
            self.gate.pace.store(pace, Relaxed);
        }
        self.paced = (now, served);
    }
}

impl Drop for Task {
    /// Runs at the end of the task or of its runtime. Waiters on other runtimes are woken, so that one starts it anew.
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut desk = self.gate.reaper.desk();
        desk.alive = false;
        desk.due = None;
        drop(desk.waker.take());
        drop(desk);
        self.gate.reaper.ticking.store(false, SeqCst);
        self.gate.semaphore.poke();
    }
}
