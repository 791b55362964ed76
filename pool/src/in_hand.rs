//! A resource and its permit on the way from the pool to a caller.

use std::sync::Arc;

use semaphore_core::OwnedLease;

use crate::entry::Entry;
use crate::manager::Manager;

/// Dropped before it arrives, it counts as cut off.
pub(crate) struct InHand<M: Manager> {
    held: Option<(Box<Entry<M>>, OwnedLease)>,
}

impl<M: Manager> InHand<M> {
    pub(crate) fn new(entry: Box<Entry<M>>, lease: OwnedLease) -> Self {
        InHand { held: Some((entry, lease)) }
    }

    pub(crate) fn entry(&self) -> Option<&Entry<M>> {
        self.held.as_ref().map(|(entry, _)| &**entry)
    }

    pub(crate) fn entry_mut(&mut self) -> Option<&mut Entry<M>> {
        self.held.as_mut().map(|(entry, _)| &mut **entry)
    }

    /// Gives the caller its place in the order of arrival, in case it loses the resource.
    pub(crate) fn stamp(&mut self) {
        if let Some((_, lease)) = &mut self.held {
            lease.stamp();
        }
    }

    pub(crate) fn take(mut self) -> (Box<Entry<M>>, OwnedLease) {
        match self.held.take() {
            Some(held) => held,
            None => unreachable!("only `take` and Drop empty it, and both end it"),
        }
    }
}

impl<M: Manager> Drop for InHand<M> {
    fn drop(&mut self) {
        if let Some((entry, lease)) = self.held.take() {
            let hub = Arc::clone(&entry.hub);
            hub.cut_off(entry, lease);
        }
    }
}
