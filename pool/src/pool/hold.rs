//! Other ways to hold a resource: for the length of a future, and for threads.

use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use super::{Deadline, Pool};
use crate::error::GetError;
use crate::get::{Get, Patience};
use crate::manager::{BoxFuture, Manager};
use crate::pooled::Pooled;

impl<M: Manager> Pool<M> {
    /// Runs `f` with a resource and marks the resource dirty if `f` does not complete.
    ///
    /// So a use that is cut off is noticed even if the manager has no
    /// [`is_dirty`](Manager::is_dirty).
    ///
    /// # Errors
    ///
    /// As [`Pool::get`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use lease_pool::{Pool, manager};
    /// # let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) })).build().unwrap();
    /// let next = pool.with(|number| Box::pin(async move { *number += 1; *number })).await.unwrap();
    /// assert_eq!(next, 2);
    /// # }
    /// ```
    #[track_caller]
    pub fn with<T, F>(
        &self,
        f: F,
    ) -> impl Future<Output = Result<T, GetError<M::Error>>> + Send + use<'_, M, T, F>
    where
        F: for<'a> FnOnce(&'a mut M::Resource) -> BoxFuture<'a, T> + Send,
        T: Send,
    {
        let get = Get::new(self.hub(), Patience::Default, Location::caller());
        async move {
            let mut guard = get.await?;
            Pooled::set_dirty(&mut guard, true);
            let output = f(&mut guard).await;
            Pooled::set_dirty(&mut guard, false);
            Ok(output)
        }
    }

    /// Waits for a resource on a thread that drives no runtime.
    ///
    /// The housekeeper has to run somewhere: on the builder's [`runtime`](crate::Builder::runtime), or where the
    /// first async `get` was.
    ///
    /// # Errors
    ///
    /// [`GetError::InsideRuntime`] on a thread of a tokio runtime, [`GetError::NoRuntime`] if there is no
    /// housekeeper, and otherwise as [`Pool::get`].
    ///
    /// ```
    /// use lease_pool::{Pool, manager};
    /// use std::time::Duration;
    ///
    /// let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    /// let pool = Pool::builder(manager::from_fn(|| async { Ok::<_, std::io::Error>(1) }))
    ///     .runtime(runtime.handle().clone())
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(*pool.blocking_get(Duration::from_secs(5)).unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn blocking_get(&self, timeout: Duration) -> Result<Pooled<M>, GetError<M::Error>> {
        if tokio::runtime::Handle::try_current().is_ok() {
            return Err(GetError::InsideRuntime);
        }
        let patience = Patience::Until(Deadline::from(timeout));
        let mut get = pin!(Get::new(self.hub(), patience, Location::caller()));
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut cx = Context::from_waker(&waker);
        loop {
            match get.as_mut().poll(&mut cx) {
                Poll::Ready(result) => return result,
                Poll::Pending => thread::park(),
            }
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
