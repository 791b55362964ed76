use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use semaphore_core::OwnedLease;

/// Carries a request's lease beyond its response: into an upgraded connection or a spawned task.
///
/// With the builder's `lease_handle()` every request has one in its extensions. The lease ends when the response's own
/// share and every clone of the handle are gone.
///
/// # What a clone shares
///
/// The lease: it is freed once, with the last clone.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::LeaseHandle;
///
/// fn handler(mut request: http::Request<()>) {
///     let lease = request.extensions_mut().remove::<LeaseHandle>();
///     std::thread::spawn(move || {
///         // The work counts as in flight until here.
///         drop(lease);
///     });
/// }
/// ```
#[derive(Clone, Default)]
pub struct LeaseHandle {
    cell: Arc<Mutex<Option<OwnedLease>>>,
}

impl LeaseHandle {
    pub(crate) fn fill(&self, lease: OwnedLease) {
        *self.cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(lease);
    }

    /// Whether a lease is in it: false before the admission and for an exempt request.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower_limit_fair::LeaseHandle;
    ///
    /// assert!(!LeaseHandle::default().is_held());
    /// ```
    pub fn is_held(&self) -> bool {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl fmt::Debug for LeaseHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseHandle").field("held", &self.is_held()).finish()
    }
}
