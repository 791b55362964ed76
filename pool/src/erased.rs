//! Pools whose type does not name their manager.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::manager::{
    BoxFuture, CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass, Manager, ResetContext,
};
use crate::pool::Pool;

/// A pool of `R`, whatever manager makes them: a type that can be written down.
///
/// Everything of [`Pool`] works on it; a get and a return cost the same, each create, check, reset and close one
/// boxed future more. See [`Builder::erase`](crate::Builder::erase).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{DynPool, Pool, manager};
///
/// struct App {
///     names: DynPool<String>,
/// }
///
/// let manager = manager::from_fn(|| async { Ok::<_, std::io::Error>(String::from("first")) });
/// let app = App { names: Pool::builder(manager).erase().build().unwrap() };
/// assert_eq!(*app.names.get().await.unwrap(), "first");
/// # }
/// ```
pub type DynPool<R> = Pool<DynManager<R>>;

/// Any manager of `R`, behind a pointer.
///
/// ```
/// use lease_pool::{DynManager, manager};
/// let any = DynManager::new(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) }));
/// # drop(any);
/// ```
pub struct DynManager<R: Send + 'static> {
    manager: Box<dyn ObjectSafe<R>>,
}

impl<R: Send + 'static> DynManager<R> {
    /// Hides the type of a manager.
    ///
    /// ```
    /// # use lease_pool::{DynManager, manager};
    /// let any = DynManager::new(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) }));
    /// # drop(any);
    /// ```
    pub fn new<M: Manager<Resource = R>>(manager: M) -> Self {
        DynManager { manager: Box::new(manager) }
    }
}

impl<R: Send + 'static> fmt::Debug for DynManager<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynManager").finish_non_exhaustive()
    }
}

/// An error of a manager whose type is hidden; the cause is its `source`'s `Display` and can be downcast.
///
/// ```
/// # use lease_pool::DynError;
/// fn is_refused(error: &DynError) -> bool {
///     error.get_ref().downcast_ref::<std::io::Error>().is_some()
/// }
/// # let _ = is_refused;
/// ```
#[derive(Clone)]
pub struct DynError {
    cause: Arc<dyn Error + Send + Sync>,
    class: ErrorClass,
}

impl DynError {
    /// The error as the manager made it.
    ///
    /// ```
    /// # use lease_pool::DynError;
    /// # fn f(error: &DynError) {
    /// println!("{}", error.get_ref());
    /// # }
    /// ```
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.cause
    }
}

impl fmt::Debug for DynError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cause, f)
    }
}

impl fmt::Display for DynError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.cause, f)
    }
}

impl Error for DynError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}

trait ObjectSafe<R>: Send + Sync {
    fn create<'a>(&'a self, ctx: CreateContext<'a>) -> BoxFuture<'a, Result<R, DynError>>;
    fn check<'a>(&'a self, resource: &'a mut R, ctx: CheckContext<'a>)
    -> BoxFuture<'a, Result<(), DynError>>;
    fn reset<'a>(&'a self, resource: &'a mut R, ctx: ResetContext<'a>)
    -> BoxFuture<'a, Result<(), DynError>>;
    fn close<'a>(&'a self, resource: R, ctx: CloseContext<'a>) -> BoxFuture<'a, ()>;
    fn needs_reset(&self, resource: &R) -> bool;
    fn is_dirty(&self, resource: &R) -> bool;
    fn is_broken(&self, resource: &R) -> bool;
    fn cancel_safety(&self) -> CancelSafety;
}

fn hide<M: Manager>(manager: &M, cause: M::Error) -> DynError {
    DynError { class: manager.classify(&cause), cause: Arc::new(cause) }
}

impl<M: Manager> ObjectSafe<M::Resource> for M {
    fn create<'a>(&'a self, ctx: CreateContext<'a>) -> BoxFuture<'a, Result<M::Resource, DynError>> {
        Box::pin(async move { Manager::create(self, ctx).await.map_err(|cause| hide(self, cause)) })
    }

    fn check<'a>(
        &'a self,
        resource: &'a mut M::Resource,
        ctx: CheckContext<'a>,
    ) -> BoxFuture<'a, Result<(), DynError>> {
        Box::pin(async move { Manager::check(self, resource, ctx).await.map_err(|cause| hide(self, cause)) })
    }

    fn reset<'a>(
        &'a self,
        resource: &'a mut M::Resource,
        ctx: ResetContext<'a>,
    ) -> BoxFuture<'a, Result<(), DynError>> {
        Box::pin(async move { Manager::reset(self, resource, ctx).await.map_err(|cause| hide(self, cause)) })
    }

    fn close<'a>(&'a self, resource: M::Resource, ctx: CloseContext<'a>) -> BoxFuture<'a, ()> {
        Box::pin(Manager::close(self, resource, ctx))
    }

    fn needs_reset(&self, resource: &M::Resource) -> bool {
        Manager::needs_reset(self, resource)
    }

    fn is_dirty(&self, resource: &M::Resource) -> bool {
        Manager::is_dirty(self, resource)
    }

    fn is_broken(&self, resource: &M::Resource) -> bool {
        Manager::is_broken(self, resource)
    }

    fn cancel_safety(&self) -> CancelSafety {
        Manager::cancel_safety(self)
    }
}

impl<R: Send + 'static> Manager for DynManager<R> {
    type Resource = R;
    type Error = DynError;

    async fn create(&self, ctx: CreateContext<'_>) -> Result<R, DynError> {
        self.manager.create(ctx).await
    }

    async fn check(&self, resource: &mut R, ctx: CheckContext<'_>) -> Result<(), DynError> {
        self.manager.check(resource, ctx).await
    }

    async fn reset(&self, resource: &mut R, ctx: ResetContext<'_>) -> Result<(), DynError> {
        self.manager.reset(resource, ctx).await
    }

    async fn close(&self, resource: R, ctx: CloseContext<'_>) {
        self.manager.close(resource, ctx).await;
    }

    fn needs_reset(&self, resource: &R) -> bool {
        self.manager.needs_reset(resource)
    }

    fn is_dirty(&self, resource: &R) -> bool {
        self.manager.is_dirty(resource)
    }

    fn is_broken(&self, resource: &R) -> bool {
        self.manager.is_broken(resource)
    }

    fn classify(&self, error: &DynError) -> ErrorClass {
        error.class
    }

    fn cancel_safety(&self) -> CancelSafety {
        self.manager.cancel_safety()
    }
}
