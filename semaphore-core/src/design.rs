//! How the semaphore works: the word, the node, the invariants.
