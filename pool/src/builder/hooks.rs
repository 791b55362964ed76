//! The builder's hooks.

use super::{BoxFuture, Builder, CloseReason, HookError, Manager, Meta};

impl<M: Manager> Builder<M> {
    /// Runs after each create, within its timeout, and may refuse the resource.
    ///
    /// A refusal counts as a failed create.
    ///
    /// ```
    /// # use lease_pool::{HookError, Pool, manager};
    /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1_u8) }));
    /// # let _ =
    /// builder.after_create(|byte, _meta| Box::pin(async move {
    ///     if *byte == 0 { Err(HookError::new("zero")) } else { Ok(()) }
    /// }));
    /// ```
    pub fn after_create<H>(mut self, hook: H) -> Self
    where
        H: for<'a> Fn(&'a mut M::Resource, &'a Meta) -> BoxFuture<'a, Result<(), HookError>>
            + Send
            + Sync
            + 'static,
    {
        self.hooks.after_create = Some(Box::new(hook));
        self
    }

    /// Runs before each checkout, within the check timeout, and may refuse the resource.
    ///
    /// A refused resource is closed and the caller goes back to its place in the queue. `try_get` never runs
    /// hooks: with this hook it says `NeedsCheck`.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1_u8) }));
    /// # let _ =
    /// builder.before_checkout(|_byte, meta| {
    ///     assert!(meta.uses() > 0);
    ///     Box::pin(async { Ok(()) })
    /// });
    /// ```
    pub fn before_checkout<H>(mut self, hook: H) -> Self
    where
        H: for<'a> Fn(&'a mut M::Resource, &'a Meta) -> BoxFuture<'a, Result<(), HookError>>
            + Send
            + Sync
            + 'static,
    {
        self.hooks.before_checkout = Some(Box::new(hook));
        self
    }

    /// Runs on each return, on the thread that drops the guard.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(String::new()) }));
    /// # let _ =
    /// builder.after_return(|buffer, _meta| buffer.shrink_to(4096));
    /// ```
    pub fn after_return<H>(mut self, hook: H) -> Self
    where
        H: Fn(&mut M::Resource, &Meta) + Send + Sync + 'static,
    {
        self.hooks.after_return = Some(Box::new(hook));
        self
    }

    /// Runs before the manager closes a resource, whatever the reason.
    ///
    /// ```
    /// # use lease_pool::{Pool, manager};
    /// # let builder = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1_u8) }));
    /// # let _ =
    /// builder.before_close(|_byte, meta, reason| println!("{} ends: {reason}", meta.id()));
    /// ```
    pub fn before_close<H>(mut self, hook: H) -> Self
    where
        H: Fn(&mut M::Resource, &Meta, CloseReason) + Send + Sync + 'static,
    {
        self.hooks.before_close = Some(Box::new(hook));
        self
    }
}
