//! A strictly fair async semaphore.
