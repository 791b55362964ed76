//! The guard: one checked-out resource and the permit for it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use semaphore_core::OwnedLease;

use crate::actor::Actor;
use crate::entry::Entry;
use crate::in_hand::InHand;
use crate::manager::{CloseReason, Manager, Meta};
use crate::options::NestedGet;

/// A resource checked out of a [`Pool`](crate::Pool); dropping it gives it back.
///
/// All operations but `Deref` are associated functions, so that they never hide a method of the resource.
///
/// # Cancel safety
///
/// A guard may be dropped on any thread, at any time, also after its pool, its runtime, or during a panic. The
/// drop never blocks, never panics and spawns nothing. A caller that is cancelled half way through a use drops
/// its guard like any other: whether the pool notices depends on
/// [`Manager::is_dirty`](crate::Manager::is_dirty), on [`Pooled::mark_dirty`], or on
/// [`Pool::with`](crate::Pool::with), which marks the resource by itself.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Pool, Pooled, manager};
/// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(vec![1]) })).build().unwrap();
/// let mut list = pool.get().await.unwrap();
/// list.push(2);
/// assert_eq!(Pooled::meta(&list).id().get(), 1);
/// drop(list);
/// assert_eq!(pool.snapshot().idle, 1);
/// # }
/// ```
#[must_use = "a guard that is dropped at once gives its resource back at once"]
pub struct Pooled<M: Manager> {
    held: Held<M>,
}

/// Both are there until the guard's end; two options instead of one keep the parts apart.
struct Held<M: Manager> {
    entry: Option<Box<Entry<M>>>,
    lease: Option<OwnedLease>,
}

impl<M: Manager> Pooled<M> {
    pub(crate) fn of(in_hand: InHand<M>) -> Self {
        let (entry, lease) = in_hand.take();
        Pooled { held: Held { entry: Some(entry), lease: Some(lease) } }
    }

    fn entry(&self) -> &Entry<M> {
        match &self.held.entry {
            Some(entry) => entry,
            None => unreachable!("a guard holds its resource to its end"),
        }
    }

    fn take(mut self) -> Option<(Box<Entry<M>>, OwnedLease)> {
        self.held.entry.take().zip(self.held.lease.take())
    }

    /// What the pool knows about the resource.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, Pooled, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(()) })).build().unwrap();
    /// let guard = pool.get().await.unwrap();
    /// assert_eq!(Pooled::meta(&guard).uses(), 1);
    /// # }
    /// ```
    pub fn meta(this: &Self) -> &Meta {
        &this.entry().meta
    }

    /// Takes the resource out of the pool for good; its place is free for another one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, Pooled, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(7) })).build().unwrap();
    /// assert_eq!(Pooled::detach(pool.get().await.unwrap()), 7);
    /// assert_eq!(pool.snapshot().live(), 0);
    /// # }
    /// ```
    pub fn detach(this: Self) -> M::Resource {
        match this.take() {
            Some((entry, lease)) => {
                let hub = Arc::clone(&entry.hub);
                hub.let_go(entry.slot, lease);
                entry.resource
            }
            None => unreachable!("a guard holds its resource to its end"),
        }
    }

    /// Has the resource closed instead of given back.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, Pooled, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(7) })).build().unwrap();
    /// Pooled::discard(pool.get().await.unwrap());
    /// assert_eq!(pool.snapshot().idle, 0);
    /// # }
    /// ```
    pub fn discard(this: Self) {
        if let Some((entry, lease)) = this.take() {
            let hub = Arc::clone(&entry.hub);
            hub.retire(entry, CloseReason::Discarded, |_| lease.forget());
        }
    }

    /// Says that a use was cut off: the manager's cancel safety decides at the return.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, Pooled, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(7) })).build().unwrap();
    /// let mut guard = pool.get().await.unwrap();
    /// Pooled::mark_dirty(&mut guard);
    /// drop(guard);
    /// assert_eq!(pool.try_get().unwrap_err(), lease_pool::TryGetError::NeedsCheck);
    /// # }
    /// ```
    pub fn mark_dirty(this: &mut Self) {
        Pooled::set_dirty(this, true);
    }

    pub(crate) fn set_dirty(this: &mut Self, dirty: bool) {
        if let Some(entry) = &mut this.held.entry {
            entry.dirty = dirty;
        }
    }

    /// Says that the guard now belongs to the current task.
    ///
    /// The search for nested gets blames a guard on the task that took it, until another task touches the
    /// resource. A task that is handed a guard and may keep it for long without touching it calls this.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, Pooled, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(7) })).build().unwrap();
    /// let mut guard = pool.get().await.unwrap();
    /// tokio::spawn(async move {
    ///     Pooled::adopt(&mut guard);
    ///     assert_eq!(*guard, 7);
    /// }).await.unwrap();
    /// # }
    /// ```
    pub fn adopt(this: &mut Self) {
        let actor = Some(Actor::current());
        if let Some(entry) = &mut this.held.entry {
            entry.actor = actor;
            *entry.moved.get_mut() = false;
            let mut state = entry.hub.lock();
            let seat = &mut state.seats[entry.slot.index()];
            seat.actor = actor;
            seat.moved = false;
        }
    }
}

impl<M: Manager> Entry<M> {
    /// Another task than the taker has it in hand, so its taker's waiting proves nothing.
    fn notice_move(&self) {
        if Some(Actor::current()) != self.actor && !self.moved.swap(true, Ordering::Relaxed) {
            self.hub.lock().seats[self.slot.index()].moved = true;
        }
    }
}

impl<M: Manager> Deref for Pooled<M> {
    type Target = M::Resource;

    fn deref(&self) -> &M::Resource {
        let entry = self.entry();
        if entry.hub.options.nested_get != NestedGet::Allow {
            entry.notice_move();
        }
        &entry.resource
    }
}

impl<M: Manager> DerefMut for Pooled<M> {
    fn deref_mut(&mut self) -> &mut M::Resource {
        match &mut self.held.entry {
            Some(entry) => {
                if entry.hub.options.nested_get != NestedGet::Allow {
                    entry.notice_move();
                }
                &mut entry.resource
            }
            None => unreachable!("a guard holds its resource to its end"),
        }
    }
}

impl<M: Manager> Drop for Held<M> {
    fn drop(&mut self) {
        if let Some((entry, lease)) = self.entry.take().zip(self.lease.take()) {
            let hub = Arc::clone(&entry.hub);
            hub.come_home(entry, lease);
        }
    }
}

impl<M: Manager> fmt::Debug for Pooled<M>
where
    M::Resource: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = self.entry();
        f.debug_struct("Pooled").field("resource", &entry.resource).field("meta", &entry.meta).finish()
    }
}

impl<M: Manager> fmt::Display for Pooled<M>
where
    M::Resource: fmt::Display,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry().resource.fmt(f)
    }
}

impl<M: Manager> AsRef<M::Resource> for Pooled<M> {
    fn as_ref(&self) -> &M::Resource {
        self
    }
}

impl<M: Manager> AsMut<M::Resource> for Pooled<M> {
    fn as_mut(&mut self) -> &mut M::Resource {
        self
    }
}
