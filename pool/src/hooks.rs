//! User code that the pool calls at the turning points of a resource's life.

use crate::error::HookError;
use crate::manager::{BoxFuture, CloseReason, Meta};

pub(crate) type AsyncHook<R> =
    Box<dyn for<'a> Fn(&'a mut R, &'a Meta) -> BoxFuture<'a, Result<(), HookError>> + Send + Sync>;
pub(crate) type ReturnHook<R> = Box<dyn Fn(&mut R, &Meta) + Send + Sync>;
pub(crate) type CloseHook<R> = Box<dyn Fn(&mut R, &Meta, CloseReason) + Send + Sync>;

pub(crate) struct Hooks<R> {
    pub(crate) after_create: Option<AsyncHook<R>>,
    pub(crate) before_checkout: Option<AsyncHook<R>>,
    pub(crate) after_return: Option<ReturnHook<R>>,
    pub(crate) before_close: Option<CloseHook<R>>,
}

impl<R> Default for Hooks<R> {
    fn default() -> Self {
        Hooks { after_create: None, before_checkout: None, after_return: None, before_close: None }
    }
}
