//! What the pool asks of the kind of resource it keeps: the [`Manager`] trait and its contexts.

mod context;
mod from_fn;

pub use context::{
    CheckContext, CheckReason, CloseContext, CloseReason, CreateContext, Meta, ResetContext, ResourceId,
};
pub use from_fn::{BoxFuture, FromFn, from_fn};

use std::error::Error;
use std::future::Future;

/// Knows how to make, check, reset and close one kind of resource.
///
/// Only [`create`](Manager::create) is required. Implementors may write the methods as `async fn`; the futures
/// have to be `Send`, because the pool runs them on its housekeeper's runtime.
///
/// # Cancel safety
///
/// The pool may drop the future of `check` when its caller goes away, and any of these futures when a timeout
/// passes or the runtime ends. It notices all of these by itself and does to the resource what
/// [`cancel_safety`](Manager::cancel_safety) says. A *use* that was cut off is seen only through
/// [`is_dirty`](Manager::is_dirty) (or [`Pool::with`](crate::Pool::with), which marks the resource by itself).
///
/// # Panics
///
/// A panic in any method is caught and costs only the resource it was called for.
///
/// # Examples
///
/// ```
/// use lease_pool::{Manager, manager::CreateContext};
/// use std::io;
///
/// struct Files;
///
/// impl Manager for Files {
///     type Resource = Vec<u8>;
///     type Error = io::Error;
///
///     async fn create(&self, _ctx: CreateContext<'_>) -> Result<Vec<u8>, io::Error> {
///         Ok(Vec::new())
///     }
///
///     fn needs_reset(&self, buffer: &Vec<u8>) -> bool {
///         !buffer.is_empty()
///     }
///
///     async fn reset(
///         &self,
///         buffer: &mut Vec<u8>,
///         _ctx: lease_pool::manager::ResetContext<'_>,
///     ) -> Result<(), io::Error> {
///         buffer.clear();
///         Ok(())
///     }
/// }
/// ```
pub trait Manager: Send + Sync + 'static {
    /// What is pooled.
    type Resource: Send + 'static;
    /// Why a resource could not be made, checked or reset.
    type Error: Error + Send + Sync + 'static;

    /// Makes one resource. Bounded by the pool's create timeout.
    fn create(
        &self,
        ctx: CreateContext<'_>,
    ) -> impl Future<Output = Result<Self::Resource, Self::Error>> + Send;

    /// Asks the resource (usually its peer) whether it still works. Bounded by the pool's check timeout.
    ///
    /// Run before a checkout when the resource was idle for longer than `check_if_idle_for`, when it is due for
    /// another reason (see [`CheckReason`]), and in the background by the keepalive. An error retires it.
    fn check(
        &self,
        resource: &mut Self::Resource,
        ctx: CheckContext<'_>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = (resource, ctx);
        std::future::ready(Ok(()))
    }

    /// Puts a returned resource into its first state. Bounded by the pool's reset timeout.
    ///
    /// Run by the housekeeper, and only for resources that [`needs_reset`](Manager::needs_reset) names. An error
    /// retires the resource.
    fn reset(
        &self,
        resource: &mut Self::Resource,
        ctx: ResetContext<'_>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = (resource, ctx);
        std::future::ready(Ok(()))
    }

    /// Tells whether a return has to go through [`reset`](Manager::reset) before the next caller gets it.
    fn needs_reset(&self, resource: &Self::Resource) -> bool {
        let _ = resource;
        false
    }

    /// Tells whether a use was cut off half way, for example a request is in flight whose reply nobody read.
    ///
    /// Asked at every return. The default says `false`: a manager that cannot tell has its resources treated as
    /// clean, so a caller that is cancelled between write and read leaves the reply to the next one.
    fn is_dirty(&self, resource: &Self::Resource) -> bool {
        let _ = resource;
        false
    }

    /// Tells, without waiting, whether the resource is known to be useless.
    ///
    /// Asked at every checkout and at every return, so it has to be cheap: a flag, not a question to the peer.
    fn is_broken(&self, resource: &Self::Resource) -> bool {
        let _ = resource;
        false
    }

    /// Ends a resource in an orderly way. Bounded by the pool's close timeout; the default drops it.
    fn close(&self, resource: Self::Resource, ctx: CloseContext<'_>) -> impl Future<Output = ()> + Send {
        let _ = ctx;
        drop(resource);
        std::future::ready(())
    }

    /// Tells whether trying to create again can help.
    ///
    /// A [`Fatal`](ErrorClass::Fatal) error (a wrong password, say) reaches the waiters at once.
    fn classify(&self, error: &Self::Error) -> ErrorClass {
        let _ = error;
        ErrorClass::Transient
    }

    /// Tells what becomes of a resource whose check, reset, hook or use was cut off.
    fn cancel_safety(&self) -> CancelSafety {
        CancelSafety::CheckFirst
    }
}

/// Whether a failed create can succeed when tried again.
///
/// ```
/// use lease_pool::ErrorClass;
/// assert_ne!(ErrorClass::Transient, ErrorClass::Fatal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Trying again may help; the first two in a row let the callers wait.
    Transient,
    /// Trying again cannot help before somebody changes something; callers learn it at once.
    Fatal,
}

/// What becomes of a resource whose use, check, reset or hook was cut off.
///
/// ```
/// use lease_pool::CancelSafety;
/// assert_ne!(CancelSafety::Safe, CancelSafety::Discard);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelSafety {
    /// Nothing can be left half done: it goes on as if nothing had happened.
    Safe,
    /// It is checked before anybody else gets it.
    CheckFirst,
    /// It is closed.
    Discard,
}
