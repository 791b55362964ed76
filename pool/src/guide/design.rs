//! How the pool works, in one page.
//!
//! **A permit of the pool's semaphore is a live resource that can be used.** The semaphore starts empty. A
//! finished create adds a permit, a retired resource takes its permit with it, a return puts resource and permit
//! back. So callers wait in one strictly fair queue, whatever frees a resource first.
//!
//! ```text
//!   get ──▶ permit free? ──yes──▶ pop an idle resource ──▶ due for a check? ──no──▶ guard
//!             │ no                        ▲                      │ yes
//!             ▼                           │                      ▼
//!           queue ◀── by its ticket ── resource lost ◀── failed ── check
//!             ▲
//!             │ a permit comes from: a return, a finished create, a finished reset, `resume`
//! ```
//!
//! Invariants (those of the state machine are E1 to E5, in its source):
//!
//! * **D1** A resource is pushed to the idle list before its permit is released or added, and popped by the
//!   holder of a permit only. So there are always at least as many idle resources as permits free or granted, and
//!   any of them will do: the queue is first come, first served, while the idle list may be a stack.
//! * **D2** The semaphore never shrinks by debt: a permit leaves with the lease that holds it.
//! * **D3** A waiter joins the queue before it looks at the event word; whoever changes the word looks at the
//!   queue afterwards. One of the two sees the other, so no create is forgotten.
//! * **D4** No user code runs under the lock: manager, hooks, wakers and the drop of a resource run outside.
//! * **D5** Only the housekeeper spawns. A drop leaves work for it and rings.
//!
//! One housekeeper task per pool starts creates, resets, checks and closes as tasks of their own, each bounded by
//! its timeout, and wakes waiters whose deadline has passed: a waiter owns no timer. It is started by the first
//! get inside a runtime (or on the builder's), ends when the pool is closed and empty, and is started again by
//! the next waiter if its runtime is gone.
//!
//! # Expiry
//!
//! Each resource has an end between 80 % and 100 % of the lifetime. The share is a multiple of the golden ratio,
//! modulo one, of its number, which spreads any run of resources evenly. With `min_idle`, a resource past its
//! early end stays until its successor is ready, but never past the lifetime itself.
//!
//! # What it does not do
//!
//! No statement cache, no routing between servers, no priorities, no pool of pools; a resource does not move
//! between pools. It does not notice that a plain guard was dropped half way through a use unless its manager can
//! tell: see [cancel safety](super::cancel_safety).
