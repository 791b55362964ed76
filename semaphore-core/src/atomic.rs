//! The one door to synchronization: the real primitives, or those of a model checker.
//!
//! Private cfgs choose: `fair_loom` explores every interleaving, `fair_shuttle` random ones, `fair_count`
//! counts the read-modify-writes of the semaphore's word.

#[cfg(not(any(fair_loom, fair_shuttle)))]
use std::sync as primitive;

#[cfg(fair_loom)]
use loom::sync as primitive;

#[cfg(fair_shuttle)]
use shuttle::sync as primitive;

pub(crate) use primitive::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

#[cfg(not(fair_count))]
pub(crate) use primitive::atomic::AtomicIsize;

#[cfg(fair_count)]
pub(crate) use counted::AtomicIsize;

/// A mutex whose poison is no news: nothing that can panic runs while it is held.
#[derive(Debug)]
pub(crate) struct Lock<T>(primitive::Mutex<T>);

pub(crate) type Guard<'a, T> = primitive::MutexGuard<'a, T>;

impl<T> Lock<T> {
    #[cfg(not(any(fair_loom, fair_shuttle)))]
    pub(crate) const fn new(value: T) -> Self {
        Self(primitive::Mutex::new(value))
    }

    #[cfg(any(fair_loom, fair_shuttle))]
    pub(crate) fn new(value: T) -> Self {
        Self(primitive::Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        match self.0.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

/// A cell whose accesses a model checker can watch.
#[cfg(not(fair_loom))]
#[derive(Debug)]
pub(crate) struct Watched<T>(std::cell::UnsafeCell<T>);

#[cfg(not(fair_loom))]
impl<T> Watched<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

#[cfg(fair_loom)]
pub(crate) use loom::cell::UnsafeCell as Watched;

/// Read-modify-writes of the word, counted per thread.
#[cfg(fair_count)]
pub mod counted {
    use std::cell::Cell;
    use std::sync::atomic::Ordering;

    thread_local! { static COUNT: Cell<u64> = const { Cell::new(0) }; }

    /// How many read-modify-writes this thread has done on the words of semaphores.
    pub fn read_modify_writes() -> u64 {
        COUNT.with(Cell::get)
    }

    fn count() {
        COUNT.with(|count| count.set(count.get() + 1));
    }

    #[derive(Debug)]
    pub(crate) struct AtomicIsize(std::sync::atomic::AtomicIsize);

    impl AtomicIsize {
        pub(crate) const fn new(value: isize) -> Self {
            Self(std::sync::atomic::AtomicIsize::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> isize {
            self.0.load(order)
        }

        pub(crate) fn fetch_add(&self, value: isize, order: Ordering) -> isize {
            count();
            self.0.fetch_add(value, order)
        }

        pub(crate) fn fetch_or(&self, value: isize, order: Ordering) -> isize {
            count();
            self.0.fetch_or(value, order)
        }

        pub(crate) fn fetch_and(&self, value: isize, order: Ordering) -> isize {
            count();
            self.0.fetch_and(value, order)
        }

        pub(crate) fn compare_exchange_weak(
            &self,
            current: isize,
            new: isize,
            success: Ordering,
            failure: Ordering,
        ) -> Result<isize, isize> {
            count();
            self.0.compare_exchange_weak(current, new, success, failure)
        }
    }
}
