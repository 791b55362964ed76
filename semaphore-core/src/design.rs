//! How the semaphore works: word, node, states, invariants, and what can starve.
//!
//! Nothing here is needed to use the crate. It is what one has to know to change it.
//!
//! # The word
//!
//! One atomic integer of pointer size holds all that an uncontended operation needs.
//!
//! ```text
//!  63                                        6   5   4        3         2      1     0
//! +-------------------------------------------+---+---------+----------+-------+------+--------+
//! | free permits, signed; negative is a debt  | - | BARGING | OBSERVED | WATCH | SLOW | CLOSED |
//! +-------------------------------------------+---+---------+----------+-------+------+--------+
//! ```
//!
//! | flag | meaning | set | cleared |
//! |---|---|---|---|
//! | `CLOSED` | nothing is granted any more | by `close` | never |
//! | `SLOW` | somebody is queued | by the acquire that queues first | by whoever empties the queue |
//! | `WATCH` | a `drained` future waits | by its first poll | when it fires or is dropped |
//! | `OBSERVED` | has a name, an observer, or measures leases | when it is built | never |
//! | `BARGING` | the fairness mode | when it is built | never |
//!
//! * **Acquire**, uncontended: one compare-and-swap that subtracts from the count, tried while neither `CLOSED` nor
//!   `SLOW` is set and the count suffices.
//! * **Release**, uncontended: one addition, whose answer tells whether `SLOW` or `WATCH` was set.
//! * Flags change under the queue's lock only; the count changes anywhere.
//!
//! # The node
//!
//! A waiter is a node inside the future that waits (or in a seat of the slab, for a `Reservation`, which may move).
//! Nodes form a ring behind a short lock; nobody allocates to wait.
//!
//! ```text
//!   queue.list ──► [ W1 ]⇄[ W2 ]⇄[ W3 ]⇄ (W1)         waiting, in order
//!   second     ──► [ G1 ]⇄[ G2 ]⇄ (G1)                 granted (named) or notified (barging)
//!
//!   node: next, prev, signal (waker | note), order (ticket), since, permits, kind, stage
//! ```
//!
//! | stage | meaning | leaves it by |
//! |---|---|---|
//! | `IDLE` | never polled | *join* → `WAITING`, *take* → `SPENT` |
//! | `WAITING` | linked in the queue | *grant* → `GRANTED` or `LISTED`, *notify* → `NOTIFIED`, *refuse* → `CLOSED` or `TOO_LARGE`, *leave* → `SPENT` |
//! | `NOTIFIED` | barging: linked in the second list, woken | *luck* → `SPENT`, *no luck* → `WAITING`, *refuse* → `CLOSED`, *leave* → `SPENT` |
//! | `LISTED` | granted, linked in the second list for its age | *claim* → `SPENT`, *leave* → `SPENT` |
//! | `GRANTED` | granted, linked nowhere | *claim* → `SPENT`, *leave* → `SPENT` |
//! | `CLOSED`, `TOO_LARGE` | refused | *claim of the error* → `SPENT` |
//! | `SPENT` | over | |
//!
//! *Leave* of a grant gives its permits to the next (unless a revocation has done so); *leave* of the head serves
//! whoever can be served now; *leave* of another waiter wakes nobody.
//!
//! # Invariants
//!
//! Quoted by number in the code.
//!
//! * **I1. A linked node is alive, pinned, and touched under the lock only.** It belongs to the semaphore that its
//!   future borrows or owns, and its future unlinks it before it is dropped (a node dropped while linked aborts the
//!   process). A future that is leaked leaks its memory with it, so nothing dangles.
//! * **I2. The store of a final stage is the granter's last touch.** Unlinking, taking the waker and writing the note
//!   come before, with release; the owner reads the stage with acquire and has the node to itself from then on.
//! * **I3. `SLOW` is set exactly while a waiter is linked**, as seen by the lock's holder. The first waiter sets it in
//!   the same compare-and-swap that finds the count too small, so a release either comes before it, and is seen in the
//!   count, or after it, and sees the flag.
//! * **I4. Permits are in one place**: in the word, in a node, in a lease, or counted by a generation. While the lock is
//!   held they may be on the holder's stack; never while foreign code runs.
//! * **I5. Foreign code** (cloning, waking and dropping wakers, observers, recorders, subscribers, drops of items) **runs
//!   without a lock.** Wakers are collected under it and woken after it, in batches; each wake is caught by itself.
//! * **I6. A re-poll leaves the newest waker in the node**, or finds under the same lock that it is no longer waiting.
//! * **I7. Generations are closed and revoked under the queue's lock.** A reservation counts in the generation that was
//!   open when it was made, so it is revoked no earlier than one time to live later.
//! * **I8. A lease outlives its release**: an owned lease drops its reference to the semaphore after the release has
//!   returned, so that a waiter served by it may drop the last other one.
//! * **I9. The extension is installed once, under the lock, and freed with the semaphore.** Until then its pointer is
//!   either a tally with the lowest bit set, or, for `new_named`, the text of the name, marked in the top bit of the
//!   grants; a semaphore with a name makes its extension before it counts anything.
//! * **I10.** `available + held + reserved + granted = capacity + debt`, for whoever holds the lock and reads the word
//!   once.
//!
//! # Linearization points
//!
//! | operation | takes effect at |
//! |---|---|
//! | acquire or try, fast | its compare-and-swap |
//! | acquire, queued | the critical section that links its node: its place in the order |
//! | grant | the critical section that serves it; final from then on |
//! | release | its addition, or the critical section that hands its permits on |
//! | cancel, timeout | the critical section that unlinks it |
//! | close | setting `CLOSED`, under the lock |
//! | resize and its kin | their critical section |
//! | reserve | the look at the number of the open generation |
//! | take, or drop of a reservation | the subtraction from its generation, which fails after a revocation |
//! | revoke | exchanging the counter of the closed generation |
//!
//! # Memory ordering
//!
//! Every change of the word is a read-modify-write, so all of them after a release continue its release sequence: an
//! acquire that takes any of its permits sees what came before it. Through the queue the order is carried by the lock
//! and by the release store of the stage, which the claim reads with acquire. Cancel, close, merge, resize and
//! revocation use the same two ways.
//!
//! # Revocable reservations
//!
//! A reservation that is not used must not hold up others for ever, and telling so must cost nothing on the way. So
//! unused permits are only *counted*, in two counters tagged with the number of their generation. While others wait
//! [`reap`](crate::Semaphore::reap) closes the open generation, which opens the next; one time to live later it exchanges
//! the closed counter for that of a future generation and hands out what it counted. Who finds another number in the
//! counter learns that the reservation is gone. A grant to a reservation that nobody polls is counted the same way.
//!
//! # What can starve
//!
//! | | [`Fifo`](crate::Fairness::Fifo) | [`Barging`](crate::Fairness::Barging) |
//! |---|---|---|
//! | a waiter, behind newcomers | no: nobody passes, tries included | yes, as long as they take every permit first |
//! | a large request, behind small ones | no: it holds the line, and free permits stay free until it fits | yes |
//! | everybody, behind a waiter that is served and not polled | until it is polled, dropped, or (a revocable reservation) revoked | those in the queue; newcomers pass |
//! | a waiter, behind rejoiners | bounded: one per permit lost | the same |
//!
//! A semaphore cannot see what its holders wait for: a lease that is held while its owner waits for another of the same
//! semaphore is a deadlock in either mode, as soon as everybody does it.
