//! Seats: queue nodes for reservations, which may move and therefore cannot carry one themselves.

use std::fmt;
use std::pin::Pin;
use std::sync::OnceLock;

use crate::atomic::Lock;
use crate::list::{Node, kind, seat};

const FIRST: usize = 32;
const CHUNKS: usize = 26;

/// Chunks of doubling size that live as long as the semaphore, and the seats that are free in them.
pub(crate) struct Slab {
    chunks: [OnceLock<Pin<Box<[Node]>>>; CHUNKS],
    free: Lock<Vec<u32>>,
}

impl Slab {
    pub(crate) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: Lock::new(Vec::new()) }
    }

    /// A free seat. Allocates only when more seats are needed at once than ever before.
    pub(crate) fn sit(&self) -> u32 {
        loop {
            if let Some(index) = self.free.lock().pop() {
                return index;
            }
            self.grow();
        }
    }

    pub(crate) fn leave(&self, index: u32) {
        self.free.lock().push(index);
    }

    pub(crate) fn node(&self, index: u32) -> Option<Pin<&Node>> {
        let (chunk, offset) = place(index as usize);
        Some(seat(self.chunks[chunk].get()?.as_ref(), offset))
    }

    #[cold]
    fn grow(&self) {
        // Allocated before the lock: an allocator is foreign code too.
        let Some((chunk, size)) = (0..CHUNKS)
            .map(|chunk| (chunk, FIRST << chunk))
            .find(|(chunk, _)| self.chunks[*chunk].get().is_none())
        else {
            return;
        };
        let nodes: Box<[Node]> = (0..size).map(|_| Node::new(0, kind::ORDINARY)).collect();
        let first = FIRST * ((1 << chunk) - 1);
        let mut roomy = Vec::with_capacity(first + size);
        let mut free = self.free.lock();
        if self.chunks[chunk].set(Box::into_pin(nodes)).is_ok() {
            roomy.extend(free.drain(..));
            roomy.extend((first..first + size).rev().map(|index| index as u32));
            std::mem::swap(&mut *free, &mut roomy);
        }
        drop(free);
    }
}

/// Chunk and offset of a seat.
fn place(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

impl fmt::Debug for Slab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab").finish_non_exhaustive()
    }
}
