//! Changes of capacity and ceiling. A call that fails changes nothing.

use crate::atomic::Ordering;
use crate::extension::Extension;
use crate::semaphore::Queue;
use crate::word::{self, free};
use crate::{ResizeError, Semaphore};

impl Semaphore {
    /// Adds `permits` free permits; they pay debt first, then serve waiters.
    ///
    /// # Errors
    ///
    /// [`ResizeError::AboveCeiling`] when an explicit ceiling, or [`MAX_PERMITS`](Self::MAX_PERMITS), is in the
    /// way. Without an explicit ceiling the ceiling rises with the capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(1);
    /// semaphore.add_permits(2)?;
    /// assert_eq!(semaphore.available_permits(), 3);
    /// # Ok::<(), semaphore_core::ResizeError>(())
    /// ```
    pub fn add_permits(&self, permits: usize) -> Result<(), ResizeError> {
        let extension = self.extension();
        self.change(|queue| {
            let capacity = self.grown(extension, queue, (queue.capacity as usize).saturating_add(permits))?;
            extension.ceiling.regain(capacity - queue.capacity);
            Ok(capacity)
        })
    }

    /// Removes `permits` permits; those that are held become a debt, repaid by the next releases.
    ///
    /// # Errors
    ///
    /// [`ResizeError::BelowZero`] for more than the capacity, [`ResizeError::Zero`] for all of it without an
    /// explicit ceiling.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(3);
    /// semaphore.reduce_permits(2)?;
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # Ok::<(), semaphore_core::ResizeError>(())
    /// ```
    pub fn reduce_permits(&self, permits: usize) -> Result<(), ResizeError> {
        let extension = self.extension();
        self.change(|queue| {
            let capacity = queue.capacity as usize;
            match capacity.checked_sub(permits) {
                None => Err(ResizeError::BelowZero { name: self.error_name(), requested: permits, capacity }),
                Some(0) if permits > 0 && !is_explicit(extension) => {
                    Err(ResizeError::Zero { name: self.error_name() })
                }
                Some(left) => {
                    if permits > 0 {
                        extension.ceiling.forgotten.store(0, Ordering::Relaxed);
                    }
                    Ok(left as u32)
                }
            }
        })
    }

    /// Sets the capacity to `permits`.
    ///
    /// Growing wakes as many waiters as it can serve; shrinking below what is held makes a debt, which is
    /// repaid before anybody is served.
    ///
    /// # Errors
    ///
    /// [`ResizeError::AboveCeiling`] and [`ResizeError::Zero`] as for
    /// [`add_permits`](Self::add_permits) and [`reduce_permits`](Self::reduce_permits).
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// let held = semaphore.try_acquire_many(2).unwrap();
    /// semaphore.resize(1)?;
    /// assert_eq!(semaphore.snapshot().debt, 1);
    /// drop(held);
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # Ok::<(), semaphore_core::ResizeError>(())
    /// ```
    pub fn resize(&self, permits: usize) -> Result<(), ResizeError> {
        let extension = self.extension();
        self.change(|queue| {
            if permits == 0 && !is_explicit(extension) {
                return Err(ResizeError::Zero { name: self.error_name() });
            }
            let capacity = self.grown(extension, queue, permits)?;
            match capacity.checked_sub(queue.capacity) {
                Some(growth) if growth > 0 => extension.ceiling.regain(growth),
                _ => extension.ceiling.forgotten.store(0, Ordering::Relaxed),
            }
            Ok(capacity)
        })
    }

    /// Fixes the most permits there can ever be.
    ///
    /// Waiters that ask for more than a lowered ceiling fail with `TooLarge` when they reach the head.
    ///
    /// # Errors
    ///
    /// [`ResizeError::CeilingTooLow`] for zero and for less than the capacity,
    /// [`ResizeError::AboveCeiling`] above [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// semaphore.set_ceiling(4)?;
    /// assert!(semaphore.add_permits(3).is_err());
    /// # Ok::<(), semaphore_core::ResizeError>(())
    /// ```
    pub fn set_ceiling(&self, ceiling: usize) -> Result<(), ResizeError> {
        let extension = self.extension();
        self.change(|queue| {
            let capacity = queue.capacity as usize;
            if ceiling > Self::MAX_PERMITS {
                let (name, requested) = (self.error_name(), ceiling);
                return Err(ResizeError::AboveCeiling { name, requested, ceiling: Self::MAX_PERMITS });
            }
            if ceiling == 0 || ceiling < capacity {
                return Err(ResizeError::CeilingTooLow { name: self.error_name(), ceiling, capacity });
            }
            extension.ceiling.explicit.store(ceiling as u32, Ordering::Relaxed);
            Ok(queue.capacity)
        })
    }

    /// Decides on a new capacity under the lock, writes it and serves.
    fn change(&self, decide: impl FnOnce(&mut Queue) -> Result<u32, ResizeError>) -> Result<(), ResizeError> {
        let now = self.time();
        let mut queue = self.lock();
        let capacity = decide(&mut queue)?;
        let grown = capacity.saturating_sub(queue.capacity);
        let shrunk = queue.capacity.saturating_sub(capacity);
        queue.capacity = capacity;
        if shrunk != 0 {
            self.word.add(-word::of(shrunk as i64));
        }
        self.dispatch(queue, grown, now);
        Ok(())
    }

    fn grown(&self, extension: &Extension, queue: &Queue, capacity: usize) -> Result<u32, ResizeError> {
        let ceiling = match extension.ceiling.explicit.load(Ordering::Relaxed) {
            0 => Self::MAX_PERMITS,
            explicit => explicit as usize,
        };
        if capacity > ceiling && capacity > queue.capacity as usize {
            return Err(ResizeError::AboveCeiling { name: self.error_name(), requested: capacity, ceiling });
        }
        Ok(capacity as u32)
    }

    /// Takes held permits out for good: first out of the debt, then out of the capacity.
    pub(crate) fn forget_permits(&self, permits: u32) {
        if permits == 0 {
            return;
        }
        let extension = self.extension();
        let now = self.time();
        let mut queue = self.lock();
        let mut word = self.word.load();
        let repaid = loop {
            let debt = (-free(word)).clamp(0, permits as i64);
            if debt == 0 {
                break 0;
            }
            match self.word.swap(word, word + word::of(debt)) {
                Ok(_) => break debt as u32,
                Err(seen) => word = seen,
            }
        };
        queue.capacity -= permits - repaid;
        extension.ceiling.forgotten.fetch_add(permits - repaid, Ordering::Relaxed);
        self.dispatch(queue, 0, now);
    }

    /// The most waiters that the queue takes; `None` where it is not bounded.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::builder(1).max_waiters(9).build().unwrap();
    /// assert_eq!(semaphore.max_waiters(), Some(9));
    /// ```
    pub fn max_waiters(&self) -> Option<usize> {
        self.attachment.get().map(|extension| extension.max_waiters).filter(|max| *max != usize::MAX)
    }

    /// The number of permits there are, free or not.
    ///
    /// ```
    /// let semaphore = semaphore_core::Semaphore::new(2);
    /// let _lease = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.capacity(), 2);
    /// ```
    pub fn capacity(&self) -> usize {
        self.lock().capacity as usize
    }
}

fn is_explicit(extension: &Extension) -> bool {
    extension.ceiling.explicit.load(Ordering::Relaxed) != 0
}
