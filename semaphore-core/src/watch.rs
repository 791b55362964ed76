//! Futures that wait for the semaphore's life: `drained` and `closed`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::Semaphore;
use crate::atomic::Lock;
use crate::extension::Extension;
use crate::word::{WATCH, free};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watching {
    Drained,
    Closed,
}

#[derive(Debug)]
struct Watcher {
    id: u64,
    watching: Watching,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Watches {
    next: u64,
    list: Vec<Watcher>,
}

/// Those who wait for an event; each leaves the list when it happens.
#[derive(Debug)]
pub(crate) struct Watchers(Lock<Watches>);

impl Watchers {
    pub(crate) fn new() -> Self {
        Self(Lock::new(Watches::default()))
    }

    fn add(&self, watching: Watching, waker: Waker) -> u64 {
        let mut watches = self.0.lock();
        watches.next += 1;
        let id = watches.next;
        watches.list.push(Watcher { id, watching, waker });
        id
    }

    /// Still waiting: keeps the newest waker and returns the old one for the caller to drop.
    fn renew(&self, id: u64, waker: Waker) -> Result<Waker, Waker> {
        let mut watches = self.0.lock();
        match watches.list.iter_mut().find(|watcher| watcher.id == id) {
            Some(watcher) => Ok(std::mem::replace(&mut watcher.waker, waker)),
            None => Err(waker),
        }
    }

    /// Leaves; the second value says whether anybody still waits for the same.
    fn remove(&self, id: u64, watching: Watching) -> (Option<Waker>, bool) {
        let mut watches = self.0.lock();
        let at = watches.list.iter().position(|watcher| watcher.id == id);
        let waker = at.map(|at| watches.list.swap_remove(at).waker);
        (waker, watches.list.iter().any(|watcher| watcher.watching == watching))
    }

    /// The wakers of those whose event has happened. Called with the queue's lock held, woken after it.
    pub(crate) fn take(&self, watching: Watching) -> Vec<Waker> {
        let mut watches = self.0.lock();
        let (due, rest) = std::mem::take(&mut watches.list).into_iter().partition(|w| w.watching == watching);
        watches.list = rest;
        drop(watches);
        Vec::into_iter(due).map(|watcher| watcher.waker).collect()
    }
}

#[derive(Debug)]
struct Watch<'a> {
    semaphore: &'a Semaphore,
    watching: Watching,
    id: Option<u64>,
    done: bool,
}

impl<'a> Watch<'a> {
    fn new(semaphore: &'a Semaphore, watching: Watching) -> Self {
        Self { semaphore, watching, id: None, done: false }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.done {
            return Poll::Ready(());
        }
        let extension = self.semaphore.extension();
        let waker = cx.waker().clone();
        if let Some(id) = self.id {
            return match extension.watchers.renew(id, waker) {
                Ok(_old) => Poll::Pending,
                Err(_unused) => {
                    self.id = None;
                    self.done = true;
                    Poll::Ready(())
                }
            };
        }
        match self.semaphore.watch(extension, self.watching, waker) {
            Ok(id) => {
                self.id = Some(id);
                Poll::Pending
            }
            Err(_unused) => {
                self.done = true;
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.semaphore.unwatch(id, self.watching);
        }
    }
}

impl Semaphore {
    /// Registers a watcher unless its event has happened already.
    fn watch(&self, extension: &Extension, watching: Watching, waker: Waker) -> Result<u64, Waker> {
        let queue = self.queue.lock();
        let happened = match watching {
            Watching::Closed => self.is_closed(),
            // The flag first: a release after it sees it, one before it is seen in the count.
            Watching::Drained => {
                self.word.raise(WATCH);
                free(self.word.load()) == queue.capacity as i64
            }
        };
        if happened { Err(waker) } else { Ok(extension.watchers.add(watching, waker)) }
    }

    fn unwatch(&self, id: u64, watching: Watching) {
        let queue = self.queue.lock();
        let (waker, others) =
            self.extension_if_made().map_or((None, true), |e| e.watchers.remove(id, watching));
        if watching == Watching::Drained && !others {
            self.word.lower(WATCH);
        }
        drop(queue);
        drop(waker);
    }

    /// Completes when nothing is held, reserved or granted any more.
    ///
    /// It completes for a moment at which all permits were home, even if somebody took one since; together with
    /// [`close`](Self::close) before it, nobody can. Waiters in the queue do not count.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect on the semaphore.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// let lease = semaphore.acquire().await.unwrap();
    /// semaphore.close();
    /// drop(lease);
    /// semaphore.drained().await;
    /// # }
    /// ```
    pub fn drained(&self) -> Drained<'_> {
        Drained(Watch::new(self, Watching::Drained))
    }

    /// Completes when the semaphore is closed; at once when it is already.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect on the semaphore.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// semaphore.close();
    /// semaphore.closed().await;
    /// # }
    /// ```
    pub fn closed(&self) -> Closed<'_> {
        Closed(Watch::new(self, Watching::Closed))
    }
}

/// Future of [`Semaphore::drained`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Drained<'a>(Watch<'a>);

impl Future for Drained<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}

/// Future of [`Semaphore::closed`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a>(Watch<'a>);

impl Future for Closed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}
