//! Whom a semaphore serves first.

/// Whether newcomers may pass those who wait.
///
/// | | `Fifo` | `Barging` |
/// |---|---|---|
/// | a release | hands its permits to the head | adds them to the count and wakes the head |
/// | a newcomer that finds free permits | queues if anybody waits | takes them |
/// | what can starve | nobody | a large request under a stream of small ones, and any waiter under newcomers |
/// | a waiter that is woken and not polled | delays everybody behind it | delays the queue, not newcomers |
///
/// # Examples
///
/// ```
/// use semaphore_core::{Fairness, Semaphore};
///
/// let semaphore = Semaphore::builder(2).fairness(Fairness::Barging).build().unwrap();
/// assert_eq!(semaphore.fairness(), Fairness::Barging);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fairness {
    /// Strictly in order of arrival: nobody passes a waiter, tries included.
    #[default]
    Fifo,
    /// Throughput first: waiters keep their order among themselves, newcomers may take what is free.
    Barging,
}
