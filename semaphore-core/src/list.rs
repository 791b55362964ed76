//! The queue of waiters and the pointer to the extension: the crate's only unsafe code.
//!
//! The invariants quoted by number are those of [`design`](crate::design).
#![allow(unsafe_code)]

use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicU8 as PlainU8, AtomicU32 as PlainU32, AtomicU64 as PlainU64};
use std::task::Waker;

use crate::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering, Watched};
use crate::extension::Extension;

/// Where a waiter stands. Only `IDLE` and the owner's `SPENT` are set without the lock.
pub(crate) mod stage {
    /// Never queued.
    pub(crate) const IDLE: u8 = 0;
    /// Linked in the queue.
    pub(crate) const WAITING: u8 = 1;
    /// Barging only: linked in the second list, woken to try its luck.
    pub(crate) const NOTIFIED: u8 = 2;
    /// Granted, and linked in the second list so that its age shows.
    pub(crate) const LISTED: u8 = 3;
    /// Granted, linked nowhere: the owner may go on without the lock.
    pub(crate) const GRANTED: u8 = 4;
    /// Taken out of the queue by close.
    pub(crate) const CLOSED: u8 = 5;
    /// Taken out of the queue because it asks for more than a lowered ceiling.
    pub(crate) const TOO_LARGE: u8 = 6;
    /// Claimed or given up.
    pub(crate) const SPENT: u8 = 7;
}

/// What kind of waiter a node is.
pub(crate) mod kind {
    /// An acquire.
    pub(crate) const ORDINARY: u8 = 0;
    /// Stands ahead of ordinary waiters.
    pub(crate) const REJOINS: u8 = 1;
    /// Its grant is a reservation that may be revoked.
    pub(crate) const REVOCABLE: u8 = 2;
    /// Came with the token of another semaphore; refused at its first poll.
    pub(crate) const FOREIGN: u8 = 4;
}

/// What the granter and the waiter tell each other through the node. Two variants and no more: they share the
/// two words of a `Waker`.
#[derive(Debug)]
pub(crate) enum Signal {
    Wake(Waker),
    /// Nothing (0); when it was granted in nanoseconds on the semaphore's clock (stage `LISTED`); the generation that
    /// counts it (stage `GRANTED`, revocable); the ceiling that was too low (stage `TOO_LARGE`).
    Note(u64),
}

impl Signal {
    pub(crate) const EMPTY: Signal = Signal::Note(0);

    pub(crate) fn into_waker(self) -> Option<Waker> {
        match self {
            Signal::Wake(waker) => Some(waker),
            Signal::Note(_) => None,
        }
    }
}

#[derive(Debug)]
struct Links {
    next: *const Node,
    prev: *const Node,
    /// A waker is here while the node is linked only, so dropping a node has nothing to drop (I1).
    signal: ManuallyDrop<Signal>,
}

/// One waiter. Lives in a pinned future or in a seat of the slab, never moves while linked (I1).
#[derive(Debug)]
pub(crate) struct Node {
    links: Watched<Links>,
    /// Place in the order of arrival; 0 for an acquire that never queued.
    order: PlainU64,
    /// When it joined the queue, in nanoseconds on the semaphore's clock.
    since: PlainU64,
    permits: PlainU32,
    kind: PlainU8,
    stage: AtomicU8,
    _pinned: PhantomPinned,
}

// SAFETY: the links are touched by the lock's holder only, or by the owner of an unlinked node (I1, I2);
// everything else is atomic. A `Waker` may be used and dropped on any thread.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

impl Node {
    pub(crate) fn new(permits: u32, kind: u8) -> Self {
        Self {
            links: Watched::new(Links {
                next: ptr::null(),
                prev: ptr::null(),
                signal: ManuallyDrop::new(Signal::EMPTY),
            }),
            order: PlainU64::new(0),
            since: PlainU64::new(0),
            permits: PlainU32::new(permits),
            kind: PlainU8::new(kind),
            stage: AtomicU8::new(stage::IDLE),
            _pinned: PhantomPinned,
        }
    }

    /// Acquire: what the granter did before its last store is visible (I2).
    #[inline(always)]
    pub(crate) fn stage(&self) -> u8 {
        self.stage.load(Ordering::Acquire)
    }

    /// By the owner of an unlinked node, or with the lock held.
    #[inline(always)]
    pub(crate) fn set_stage(&self, stage: u8) {
        self.stage.store(stage, Ordering::Release);
    }

    #[inline(always)]
    pub(crate) fn permits(&self) -> u32 {
        self.permits.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn order(&self) -> u64 {
        self.order.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set_order(&self, order: u64) {
        self.order.store(order, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set_since(&self, since: u64) {
        self.since.store(since, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn is(&self, kind: u8) -> bool {
        self.kind.load(Ordering::Relaxed) & kind != 0
    }

    #[inline(always)]
    pub(crate) fn is_ordinary(&self) -> bool {
        self.kind.load(Ordering::Relaxed) == kind::ORDINARY
    }

    /// What the queue is sorted by.
    pub(crate) fn key(&self) -> (bool, u64) {
        (!self.is(kind::REJOINS), self.order())
    }

    /// Makes a seat's node new again; its stage must say that it is linked nowhere.
    pub(crate) fn renew(&self, permits: u32, kind: u8, order: u64) {
        self.permits.store(permits, Ordering::Relaxed);
        self.kind.store(kind, Ordering::Relaxed);
        self.order.store(order, Ordering::Relaxed);
        self.stage.store(stage::IDLE, Ordering::Relaxed);
    }

    /// What the granter left in the node. Only with a stage that says that it is done with it.
    fn note(&self) -> u64 {
        // SAFETY: both callers have seen `GRANTED` or `TOO_LARGE`: the node is linked nowhere and the granter is
        // done with it (I2), so its owner, who calls, has the links to itself.
        self.links.with(|links| match unsafe { &*(*links).signal } {
            Signal::Note(note) => *note,
            Signal::Wake(_) => 0,
        })
    }

    /// The generation that counts this grant. `None` unless the stage is `GRANTED` and the grant revocable.
    pub(crate) fn generation(&self) -> Option<u32> {
        (self.stage() == stage::GRANTED && self.is(kind::REVOCABLE)).then(|| self.note() as u32)
    }

    /// The ceiling that a waiter was refused by; 0 unless the stage is `TOO_LARGE`.
    pub(crate) fn refused_ceiling(&self) -> u32 {
        if self.stage() == stage::TOO_LARGE { self.note() as u32 } else { 0 }
    }

    #[inline(always)]
    fn is_linked(&self) -> bool {
        matches!(self.stage.load(Ordering::Relaxed), stage::WAITING | stage::NOTIFIED | stage::LISTED)
    }

    /// SAFETY: the caller holds the lock of the queue that this node is linked in or about to join (I1).
    unsafe fn edit<R>(&self, change: impl FnOnce(&mut Links) -> R) -> R {
        // SAFETY: the lock makes the caller the only one who touches the links.
        self.links.with_mut(|links| change(unsafe { &mut *links }))
    }
}

impl Drop for Node {
    #[inline(always)]
    fn drop(&mut self) {
        // A linked node that went away would leave a dangling pointer behind; every owner unlinks first (I1).
        if self.is_linked() {
            std::process::abort();
        }
    }
}

/// What the lock's holder reads of a linked node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) permits: u32,
    pub(crate) order: u64,
    pub(crate) since: u64,
    pub(crate) kind: u8,
}

/// A ring of nodes, guarded by the queue's lock: `&mut self` is the proof of holding it (I1).
#[derive(Debug)]
pub(crate) struct List {
    head: *const Node,
}

// SAFETY: the pointers are used under the lock only, whichever thread holds it (I1).
unsafe impl Send for List {}

impl List {
    pub(crate) const fn new() -> Self {
        Self { head: ptr::null() }
    }

    #[inline(always)]
    pub(crate) fn is_head(&self, node: Pin<&Node>) -> bool {
        ptr::eq(self.head, &*node)
    }

    fn head(&self) -> Option<&Node> {
        // SAFETY: a linked node is alive and pinned, and stays so while the lock is held (I1).
        unsafe { self.head.as_ref() }
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<Entry> {
        self.head().map(Node::entry)
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, node: Pin<&Node>, stage: u8, signal: Signal) {
        self.link(node, None, stage, signal);
    }

    /// Inserts by kind and order: rejoiners first, then by arrival, after its equals.
    pub(crate) fn insert(&mut self, node: Pin<&Node>, stage: u8, signal: Signal) {
        let key = node.key();
        // Mostly it belongs at the end, so look there first.
        // SAFETY: the lock is held and the head's neighbour is linked, hence alive (I1).
        let tail = self.head().map(|head| unsafe { &*head.edit(|links| links.prev) });
        let before = match tail {
            Some(tail) if tail.key() > key => self.nodes().find(|other| other.key() > key).map(ptr::from_ref),
            _ => None,
        };
        self.link(node, before, stage, signal);
    }

    /// Links `node` before `before`, or at the end.
    fn link(&mut self, node: Pin<&Node>, before: Option<*const Node>, stage: u8, signal: Signal) {
        let this: *const Node = &*node;
        let Some(head) = self.head() else {
            // SAFETY: the lock is held and the node is pinned and not linked (I1).
            unsafe {
                node.edit(|links| {
                    *links = Links { next: this, prev: this, signal: ManuallyDrop::new(signal) };
                });
            }
            self.head = this;
            node.set_stage(stage);
            return;
        };
        let next = before.unwrap_or(head);
        // SAFETY: `next` is linked in this list, hence alive (I1); so is its neighbour.
        unsafe {
            let prev = (*next).edit(|links| std::mem::replace(&mut links.prev, this));
            (*prev).edit(|links| links.next = this);
            node.edit(|links| *links = Links { next, prev, signal: ManuallyDrop::new(signal) });
        }
        if before == Some(self.head) {
            self.head = this;
        }
        node.set_stage(stage);
    }

    /// Takes a linked node of this list out and returns what its signal held. The stage is the caller's to set.
    #[inline]
    pub(crate) fn unlink(&mut self, node: Pin<&Node>) -> Signal {
        self.detach(&node)
    }

    fn detach(&mut self, node: &Node) -> Signal {
        let this: *const Node = node;
        // SAFETY: the node and therefore its neighbours are linked in this list, hence alive (I1).
        unsafe {
            let (next, prev, signal) = node.edit(|links| {
                let signal = std::mem::replace(&mut *links.signal, Signal::EMPTY);
                (links.next, links.prev, signal)
            });
            if ptr::eq(next, this) {
                self.head = ptr::null();
            } else {
                (*next).edit(|links| links.prev = prev);
                (*prev).edit(|links| links.next = next);
                if ptr::eq(self.head, this) {
                    self.head = next;
                }
            }
            signal
        }
    }

    /// Takes the head out, leaves `signal` and `stage` in it and returns its waker. The store of the stage is
    /// the last touch: from then on the owner may be gone (I2).
    #[inline]
    pub(crate) fn settle_front(&mut self, stage: u8, signal: Signal) -> Option<Waker> {
        let node: *const Node = self.head()?;
        // SAFETY: the head is alive until its stage is stored (I1, I2).
        let node = unsafe { &*node };
        let waker = self.detach(node).into_waker();
        // SAFETY: the lock is held (I1).
        unsafe { node.edit(|links| *links.signal = signal) };
        node.set_stage(stage);
        waker
    }

    /// Moves the head to the second list and returns its waker: woken waiters keep their order there, grants stand in
    /// the order in which they were made.
    pub(crate) fn move_front(&mut self, other: &mut List, stage: u8, signal: Signal) -> Option<Waker> {
        let node: *const Node = self.head()?;
        // SAFETY: the head is alive and pinned, and stays linked under the same lock (I1).
        let node = unsafe { Pin::new_unchecked(&*node) };
        let waker = self.detach(&node).into_waker();
        if stage == stage::NOTIFIED {
            other.insert(node, stage, signal);
        } else {
            other.push_back(node, stage, signal);
        }
        waker
    }

    /// Whether waking the linked `node` wakes the same task as `waker`. Compares pointers, calls nobody.
    pub(crate) fn wakes(&mut self, node: Pin<&Node>, waker: &Waker) -> bool {
        // SAFETY: the lock is held (I1).
        unsafe { node.edit(|links| matches!(&*links.signal, Signal::Wake(held) if held.will_wake(waker))) }
    }

    /// Puts another signal into the linked `node` and returns the old one.
    pub(crate) fn replace(&mut self, node: Pin<&Node>, signal: Signal) -> Signal {
        // SAFETY: the lock is held (I1).
        unsafe { node.edit(|links| std::mem::replace(&mut *links.signal, signal)) }
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        let mut at = self.head();
        std::iter::from_fn(move || {
            let node = at?;
            // SAFETY: the lock is held and linked nodes are alive (I1).
            let next = unsafe { node.edit(|links| links.next) };
            // SAFETY: as above.
            at = if ptr::eq(next, self.head) { None } else { unsafe { next.as_ref() } };
            Some(node)
        })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.nodes().map(Node::entry)
    }

    /// Takes the wakers of the linked nodes for which `wanted` says so, until `room` are collected.
    pub(crate) fn take_wakers(&mut self, wakers: &mut Vec<Waker>, wanted: impl Fn(Entry) -> bool) -> bool {
        for node in self.nodes().filter(|node| wanted(node.entry())) {
            if wakers.len() == wakers.capacity() {
                return false;
            }
            // SAFETY: the lock is held (I1).
            let waker = unsafe {
                node.edit(|links| match *links.signal {
                    Signal::Wake(_) => std::mem::replace(&mut *links.signal, Signal::EMPTY).into_waker(),
                    _ => None,
                })
            };
            wakers.extend(waker);
        }
        true
    }

    /// When the head of the second list was granted.
    pub(crate) fn front_granted_at(&self) -> Option<u64> {
        self.head().filter(|node| node.stage() == stage::LISTED)?;
        // SAFETY: the lock is held (I1).
        unsafe {
            self.head()?.edit(|links| match *links.signal {
                Signal::Note(at) => Some(at),
                Signal::Wake(_) => None,
            })
        }
    }
}

impl Node {
    #[inline(always)]
    fn entry(&self) -> Entry {
        Entry {
            permits: self.permits(),
            order: self.order(),
            since: self.since(),
            kind: self.kind.load(Ordering::Relaxed),
        }
    }
}

/// The node at `index` of a pinned slice.
pub(crate) fn seat(nodes: Pin<&[Node]>, index: usize) -> Pin<&Node> {
    // SAFETY: an element of a pinned slice does not move (I1).
    unsafe { nodes.map_unchecked(|nodes| &nodes[index]) }
}

/// The pointer to the extension, and what stands in its place while there is none.
///
/// * `pointer` odd: no extension; the other bits tally the waiters that gave up and those that timed out.
/// * `pointer` even: the boxed extension, there to stay.
/// * `grants` with its top bit set: `new_named` only; `pointer` and the low bits are the static name, and
///   nothing else has been stored yet, because a named semaphore makes its extension before it counts (I9).
#[derive(Debug)]
pub(crate) struct Attachment {
    pointer: AtomicPtr<Extension>,
    /// Grants not yet claimed: waiters in the high half, permits in the low one.
    pub(crate) grants: AtomicU64,
}

const NAMED: u64 = 1 << 63;
const HALF: u32 = usize::BITS / 2;
const LOW: usize = (1 << HALF) - 1;
/// A half that reaches this is moved into an extension, long before it is full.
const SPILL: usize = if cfg!(fair_count) { 1000 } else { 1 << (HALF - 2) };

impl Attachment {
    #[cfg(not(any(fair_loom, fair_shuttle)))]
    pub(crate) const fn new() -> Self {
        Self { pointer: AtomicPtr::new(ptr::without_provenance_mut(1)), grants: AtomicU64::new(0) }
    }

    #[cfg(not(any(fair_loom, fair_shuttle)))]
    pub(crate) const fn named(name: &'static str) -> Self {
        Self {
            pointer: AtomicPtr::new(name.as_ptr().cast::<Extension>().cast_mut()),
            grants: AtomicU64::new(NAMED | name.len() as u64),
        }
    }

    #[cfg(any(fair_loom, fair_shuttle))]
    pub(crate) fn new() -> Self {
        Self { pointer: AtomicPtr::new(ptr::without_provenance_mut(1)), grants: AtomicU64::new(0) }
    }

    pub(crate) fn with(extension: Box<Extension>) -> Self {
        Self { pointer: AtomicPtr::new(Box::into_raw(extension)), grants: AtomicU64::new(0) }
    }

    /// The name of a `new_named` semaphore that has no extension yet. The list proves that the lock is held.
    pub(crate) fn static_name(&self, _lock: &mut List) -> Option<&'static str> {
        let grants = self.grants.load(Ordering::Acquire);
        if grants & NAMED == 0 {
            return None;
        }
        let start = self.pointer.load(Ordering::Acquire).cast::<u8>();
        // SAFETY: pointer and length come from one `&'static str`; both change under the lock only (I9).
        Some(unsafe {
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(start, (grants & !NAMED) as usize))
        })
    }

    /// Nothing but the tally. Only for a semaphore that is not observed.
    #[inline(always)]
    pub(crate) fn is_bare(&self) -> bool {
        self.pointer.load(Ordering::Acquire).addr() & 1 != 0
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&Extension> {
        if self.grants.load(Ordering::Acquire) & NAMED != 0 {
            return None;
        }
        let pointer = self.pointer.load(Ordering::Acquire);
        if pointer.addr() & 1 != 0 {
            return None;
        }
        // SAFETY: even means an extension, installed once and freed with the semaphore only (I9).
        unsafe { pointer.as_ref() }
    }

    /// Installs `extension` unless there is one already; the tally moves into it. Gives the box back otherwise.
    pub(crate) fn install(&self, _lock: &mut List, extension: Box<Extension>) -> Option<Box<Extension>> {
        if self.get().is_some() {
            return Some(extension);
        }
        if self.grants.load(Ordering::Acquire) & NAMED == 0 {
            let (cancelled, timed_out) = self.tally();
            extension.tally.cancelled.fetch_add(cancelled, Ordering::Relaxed);
            extension.tally.timed_out.fetch_add(timed_out, Ordering::Relaxed);
        }
        // The pointer before the mark that it is one, for the lock-free `get`.
        self.pointer.store(Box::into_raw(extension), Ordering::Release);
        if self.grants.load(Ordering::Relaxed) & NAMED != 0 {
            self.grants.store(0, Ordering::Release);
        }
        None
    }

    /// Waiters that gave up and that timed out, as far as they are counted here and not in the extension.
    pub(crate) fn tally(&self) -> (u64, u64) {
        let bits = self.pointer.load(Ordering::Relaxed).addr();
        if bits & 1 == 0 || self.grants.load(Ordering::Relaxed) & NAMED != 0 {
            return (0, 0);
        }
        (((bits & LOW) >> 1) as u64, (bits >> HALF) as u64)
    }

    /// Counts one waiter that left its place while there is no extension. True asks for an extension, because
    /// a half is full. Under the lock only.
    pub(crate) fn count(&self, _lock: &mut List, timed_out: bool) -> bool {
        let bits = self.pointer.load(Ordering::Relaxed).addr();
        let bits = bits + if timed_out { 1 << HALF } else { 2 };
        self.pointer.store(ptr::without_provenance_mut(bits), Ordering::Relaxed);
        (bits & LOW) >> 1 >= SPILL || bits >> HALF >= SPILL
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if self.get().is_some() {
            // SAFETY: the pointer came from a box in `with` or `install` and nobody else is left (I9).
            drop(unsafe { Box::from_raw(self.pointer.load(Ordering::Acquire)) });
        }
    }
}

impl Entry {
    /// What the queue is sorted by: rejoiners first, then arrival.
    pub(crate) fn key(&self) -> (bool, u64) {
        (self.kind & kind::REJOINS == 0, self.order)
    }
}
