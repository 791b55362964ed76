use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use hyper::body::{Bytes, Incoming};

use super::HttpManager;
use crate::{Manager, Pooled};

/// The body of a response, which keeps its connection to its end.
///
/// # Cancel safety
///
/// Dropped half way it leaves its rest to the pool, which reads up to 64 KiB of it before the connection is lent
/// again, and closes the connection if there is more.
///
/// ```no_run
/// # async fn example(pool: lease_pool::http::HttpPool<String>) -> Result<(), Box<dyn std::error::Error>> {
/// use http_body_util::BodyExt;
/// use lease_pool::http;
///
/// let response = http::send(&pool, http::Request::get("/").body(String::new())?).await?;
/// let body = response.into_body().collect().await?.to_bytes();
/// # Ok(()) }
/// ```
pub struct ResponseBody<B>
where
    HttpManager<B>: Manager<Resource = super::Connection<B>>,
{
    /// Both are gone after the end.
    held: Option<(Incoming, Pooled<HttpManager<B>>)>,
}

impl<B> fmt::Debug for ResponseBody<B>
where
    HttpManager<B>: Manager<Resource = super::Connection<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("holds_connection", &self.held.is_some()).finish()
    }
}

impl<B> ResponseBody<B>
where
    HttpManager<B>: Manager<Resource = super::Connection<B>>,
{
    pub(super) fn new(incoming: Incoming, guard: Pooled<HttpManager<B>>) -> Self {
        // An empty body ends here: nobody may ever poll it.
        let held = if incoming.is_end_stream() { None } else { Some((incoming, guard)) };
        ResponseBody { held }
    }
}

impl<B> Body for ResponseBody<B>
where
    HttpManager<B>: Manager<Resource = super::Connection<B>>,
{
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some((incoming, _)) = &mut self.held else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(incoming).poll_frame(cx));
        match &frame {
            Some(Ok(_)) => {}
            Some(Err(_)) => {
                if let Some((_, guard)) = self.held.take() {
                    Pooled::discard(guard);
                }
            }
            None => self.held = None,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.held.as_ref().is_none_or(|(incoming, _)| incoming.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.held {
            Some((incoming, _)) => incoming.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}

impl<B> Drop for ResponseBody<B>
where
    HttpManager<B>: Manager<Resource = super::Connection<B>>,
{
    fn drop(&mut self) {
        if let Some((incoming, mut guard)) = self.held.take() {
            if !incoming.is_end_stream() {
                guard.leave(incoming);
            }
        }
    }
}
