use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;

use ::http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use tokio::task::JoinHandle;

use super::Error;

/// How many bytes of a body that nobody wants are read so that its connection can be used again.
pub(super) const LEFTOVER_LIMIT: usize = 64 * 1024;

/// One HTTP/1 connection, lent by [`send`](super::send) for one exchange at a time.
///
/// ```no_run
/// # async fn example(pool: lease_pool::http::HttpPool<String>) -> Result<(), Box<dyn std::error::Error>> {
/// let connection = pool.get().await?;
/// assert!(!connection.is_closed());
/// # Ok(()) }
/// ```
pub struct Connection<B> {
    sender: SendRequest<B>,
    task: JoinHandle<()>,
    exchange: Exchange,
    leftover: Option<Incoming>,
}

/// Where the exchange of request and response stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    /// None is under way, or its body is.
    Answered,
    /// The head of the response is not here. Whoever stops now leaves it to the next user.
    Unanswered,
}

impl<B> fmt::Debug for Connection<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("exchange", &self.exchange)
            .field("has_leftover", &self.leftover.is_some())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

impl<B> Connection<B> {
    pub(super) fn new(sender: SendRequest<B>, task: JoinHandle<()>) -> Self {
        Connection { sender, task, exchange: Exchange::Answered, leftover: None }
    }

    /// Whether the connection has ended.
    ///
    /// ```no_run
    /// # async fn example(pool: lease_pool::http::HttpPool<String>) -> Result<(), Box<dyn std::error::Error>> {
    /// assert!(!pool.get().await?.is_closed());
    /// # Ok(()) }
    /// ```
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn is_unanswered(&self) -> bool {
        self.exchange == Exchange::Unanswered
    }

    pub(super) fn has_leftover(&self) -> bool {
        self.leftover.is_some()
    }

    /// Whether the next request can be written at once.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    pub(super) fn leave(&mut self, body: Incoming) {
        self.leftover = Some(body);
    }

    /// Reads the rest of the last body, then waits until the connection can take a request.
    pub(super) async fn settle(&mut self) -> Result<(), Error> {
        if let Some(body) = &mut self.leftover {
            let mut read = 0;
            while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
                read += frame?.data_ref().map_or(0, |data| data.len());
                if read > LEFTOVER_LIMIT {
                    return Err(Error::Leftover { limit: LEFTOVER_LIMIT });
                }
            }
            self.leftover = None;
        }
        Ok(self.sender.ready().await?)
    }

    pub(super) async fn end(self) {
        let Connection { sender, task, leftover, .. } = self;
        let mut task = AbortOnDrop(task);
        drop((sender, leftover));
        let _ = (&mut task.0).await;
    }
}

impl<B: Body + 'static> Connection<B> {
    /// Sends one request. `Err` with the request in it if nothing of it was written.
    pub(super) async fn exchange(
        &mut self,
        request: Request<B>,
    ) -> Result<Response<Incoming>, (hyper::Error, Option<Request<B>>)> {
        if let Err(error) = self.sender.ready().await {
            return Err((error, Some(request)));
        }
        self.exchange = Exchange::Unanswered;
        match self.sender.try_send_request(request).await {
            Ok(response) => {
                self.exchange = Exchange::Answered;
                Ok(response)
            }
            Err(mut error) => {
                let request = error.take_message();
                Err((error.into_error(), request))
            }
        }
    }
}

/// A peer that never answers must not keep the task of a connection that was given up.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
