//! Wakers that count what is done to them and run a hook when they are woken, cloned or dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

/// Counts the wakes of one task.
#[derive(Default)]
pub(crate) struct Counter {
    wakes: AtomicUsize,
}

impl Counter {
    pub(crate) fn count(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

/// A fresh waker and the counter behind it.
pub(crate) fn counting() -> (Arc<Counter>, Waker) {
    let counter = Arc::new(Counter::default());
    (Arc::clone(&counter), Waker::from(counter))
}

type Hook = Box<dyn Fn() + Send + Sync>;

/// What a hooked waker does when somebody touches it; the default does nothing.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) on_wake: Option<Hook>,
    pub(crate) on_clone: Option<Hook>,
    pub(crate) on_drop: Option<Hook>,
    wakes: AtomicUsize,
    /// Wakers made of these hooks that are alive.
    alive: AtomicUsize,
}

impl Hooks {
    pub(crate) fn waking(hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_wake: Some(Box::new(hook)), ..Self::default() }
    }

    pub(crate) fn cloning(hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_clone: Some(Box::new(hook)), ..Self::default() }
    }

    pub(crate) fn dropping(hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_drop: Some(Box::new(hook)), ..Self::default() }
    }

    pub(crate) fn wakes(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }

    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    fn run(hook: &Option<Hook>) {
        if let Some(hook) = hook {
            hook();
        }
    }

    /// Counts the wake before the hook runs, so that a hook that panics is counted too.
    fn woken(&self) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        Self::run(&self.on_wake);
    }
}

/// Takes one waker off the count even when its hook unwinds.
struct Leaving(Arc<Hooks>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `std::task::Wake` gives no say in clone and drop, which foreign wakers run code in: hence the table by hand.
static TABLE: RawWakerVTable = RawWakerVTable::new(clone_raw, wake_raw, wake_by_ref_raw, drop_raw);

/// A waker that runs `hooks`.
pub(crate) fn hooked(hooks: &Arc<Hooks>) -> Waker {
    hooks.alive.fetch_add(1, Ordering::SeqCst);
    let data = Arc::into_raw(Arc::clone(hooks)).cast::<()>();
    // SAFETY: the pointer owns one count of the `Arc`, the four functions keep to the contract of the table, and
    // `Hooks` is Send + Sync.
    unsafe { Waker::new(data, &TABLE) }
}

unsafe fn clone_raw(data: *const ()) -> RawWaker {
    // SAFETY: a live waker lends its pointer, which owns a count for as long as this call runs.
    let hooks = unsafe { &*data.cast::<Hooks>() };
    Hooks::run(&hooks.on_clone);
    // SAFETY: as above; the clone owns the count taken here.
    unsafe { Arc::increment_strong_count(data.cast::<Hooks>()) };
    hooks.alive.fetch_add(1, Ordering::SeqCst);
    RawWaker::new(data, &TABLE)
}

unsafe fn wake_raw(data: *const ()) {
    // SAFETY: waking by value hands over the count that the waker owned.
    let leaving = Leaving(unsafe { Arc::from_raw(data.cast::<Hooks>()) });
    leaving.0.woken();
}

unsafe fn wake_by_ref_raw(data: *const ()) {
    // SAFETY: a live waker lends its pointer.
    unsafe { &*data.cast::<Hooks>() }.woken();
}

unsafe fn drop_raw(data: *const ()) {
    // SAFETY: dropping hands over the count that the waker owned.
    let leaving = Leaving(unsafe { Arc::from_raw(data.cast::<Hooks>()) });
    Hooks::run(&leaving.0.on_drop);
}
