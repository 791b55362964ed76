use http::{HeaderValue, Method, Response, StatusCode, header::RETRY_AFTER};
use http_body::Body;

use super::{Answer, Policy, Prepare};
use crate::{HoldUntil, LeaseHandle, LimitedBody, Rejected, counts::Outcome, running::Running};

/// Rejections are HTTP responses, so a server needs no error handling for them.
///
/// The response becomes `http::Response<LimitedBody<B>>`, whose body carries the lease to its end; the error stays the
/// inner service's. `M` makes the response of a rejection: `Unavailable`, `TooManyRequests` or a closure.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Http, Unavailable};
///
/// let layer: ConcurrencyLimitLayer<Http<Unavailable>> = ConcurrencyLimitLayer::server(64);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Http<M = Unavailable> {
    pub(crate) mapper: M,
    pub(crate) answering: Answering,
}

/// What the HTTP policies have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answering {
    pub(crate) hold: HoldUntil,
    pub(crate) lease_handle: bool,
}

/// What a response future remembers of an HTTP request.
#[derive(Debug)]
pub struct Note {
    /// The answer has no body, whatever its headers say (HEAD).
    bodyless: bool,
    handle: Option<LeaseHandle>,
}

impl Note {
    /// Shares the lease with the request's handle, if it has one.
    #[inline]
    pub(crate) fn admit(&mut self, running: &mut Running) {
        if let Some(handle) = self.handle.take() {
            running.share(handle);
        }
    }
}

impl Answering {
    pub(crate) const DEFAULT: Answering = Answering { hold: HoldUntil::BodyEnd, lease_handle: false };

    #[inline]
    pub(crate) fn prepare<B>(&self, request: &mut http::Request<B>) -> Note {
        let handle = self.lease_handle.then(|| {
            let handle = LeaseHandle::default();
            request.extensions_mut().insert(handle.clone());
            handle
        });
        Note { bodyless: *request.method() == Method::HEAD, handle }
    }

    pub(crate) fn finish<B: Body, E>(
        &self,
        result: Result<Response<B>, E>,
        running: Running,
        note: &Note,
    ) -> Result<Response<LimitedBody<B>>, E> {
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                running.end(Outcome::Failed);
                return Err(error);
            }
        };
        let empty = note.bodyless
            || matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
            || response.status().is_informational()
            || response.body().is_end_stream()
            || response.body().size_hint().exact() == Some(0);
        if self.hold == HoldUntil::Head || empty {
            running.end(Outcome::Completed);
            return Ok(response.map(LimitedBody::free));
        }
        #[cfg(feature = "time")]
        let running = running.begin_body();
        Ok(response.map(|body| LimitedBody::holding(body, running)))
    }
}

impl<M> Http<M> {
    pub(crate) fn new(mapper: M) -> Self {
        Http { mapper, answering: Answering::DEFAULT }
    }
}

impl<M: Clone> Policy for Http<M> {
    const REJECTS: bool = true;
    type Note = Note;

    #[inline]
    fn admit(note: &mut Note, running: &mut Running) {
        note.admit(running);
    }
}

impl<M: Clone, B> Prepare<http::Request<B>> for Http<M> {
    #[inline]
    fn prepare(&self, request: &mut http::Request<B>) -> Note {
        self.answering.prepare(request)
    }
}

impl<M, B, E> Answer<Response<B>, E> for Http<M>
where
    M: MapRejection<B> + Clone,
    B: Body,
{
    type Response = Response<LimitedBody<B>>;
    type Error = E;

    #[inline]
    fn finish(
        &self,
        result: Result<Response<B>, E>,
        running: Running,
        note: &Note,
    ) -> Result<Self::Response, E> {
        self.answering.finish(result, running, note)
    }

    fn fail_ready(&self, error: E) -> E {
        error
    }

    fn refuse(&self, rejected: Rejected) -> Result<Self::Response, E> {
        Ok(self.mapper.map_rejection(rejected).map(LimitedBody::free))
    }
}

/// Makes the HTTP response of a rejection. Every `Fn(Rejected) -> http::Response<B> + Clone` does.
///
/// # Examples
///
/// ```
/// use http::{Response, StatusCode};
/// use tower_limit_fair::{ConcurrencyLimitLayer, Rejected};
///
/// let layer = ConcurrencyLimitLayer::server_builder(64)
///     .on_reject(|rejected: Rejected| {
///         let mut response = Response::new(rejected.to_string());
///         *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
///         response
///     })
///     .build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
pub trait MapRejection<B> {
    /// The response that the client gets.
    fn map_rejection(&self, rejected: Rejected) -> Response<B>;
}

impl<B, F: Fn(Rejected) -> Response<B>> MapRejection<B> for F {
    fn map_rejection(&self, rejected: Rejected) -> Response<B> {
        self(rejected)
    }
}

/// 503 Service Unavailable with a jittered `Retry-After` and the default (empty) body.
///
/// # Examples
///
/// ```
/// use http::Response;
/// use tower_limit_fair::{MapRejection, Rejected, Unavailable};
///
/// fn answer(rejected: Rejected) -> Response<String> {
///     Unavailable.map_rejection(rejected)
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Unavailable;

impl<B: Default> MapRejection<B> for Unavailable {
    fn map_rejection(&self, rejected: Rejected) -> Response<B> {
        response(StatusCode::SERVICE_UNAVAILABLE, &rejected)
    }
}

/// 429 Too Many Requests with a jittered `Retry-After`: for a limit that is the caller's own quota.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, TooManyRequests};
///
/// let layer = ConcurrencyLimitLayer::server_builder(4).on_reject(TooManyRequests).build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TooManyRequests;

impl<B: Default> MapRejection<B> for TooManyRequests {
    fn map_rejection(&self, rejected: Rejected) -> Response<B> {
        response(StatusCode::TOO_MANY_REQUESTS, &rejected)
    }
}

fn response<B: Default>(status: StatusCode, rejected: &Rejected) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = status;
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(rejected.retry_after_seconds()));
    response
}
