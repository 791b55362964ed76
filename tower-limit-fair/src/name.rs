//! The names of live shared limits: two of one name would write one series.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use semaphore_core::Name;

static LIVE: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// A limit's name; a shared limit's is taken until the limit is gone.
pub(crate) struct NameGuard {
    name: Name,
    unique: bool,
}

impl NameGuard {
    /// `None` if a live shared limit has this name.
    pub(crate) fn unique(name: Name) -> Option<Self> {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = live.get_or_insert_default().insert(name.to_string());
        // Made only if the name was free: its drop would free the name of the other.
        fresh.then(|| NameGuard { name, unique: true })
    }

    /// For limits per service, whose series add up.
    pub(crate) fn shared(name: Name) -> Self {
        NameGuard { name, unique: false }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.name
    }
}

impl Drop for NameGuard {
    fn drop(&mut self) {
        if self.unique {
            let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(names) = live.as_mut() {
                names.remove(&*self.name);
            }
        }
    }
}
