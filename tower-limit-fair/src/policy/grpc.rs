use http::Response;
use http_body::Body;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::{
    Answer, Policy, Prepare,
    http::{Answering, Note},
};
use crate::{LimitedBody, Rejected, running::Running};

/// Rejections are gRPC statuses with `RetryInfo`: UNAVAILABLE, or RESOURCE_EXHAUSTED for a caller's own quota.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Grpc};
///
/// let server = ConcurrencyLimitLayer::builder().limit(64).grpc().build()?;
/// let quota = ConcurrencyLimitLayer::builder().limit(4).policy(Grpc::resource_exhausted()).build()?;
/// # let _: (tower_limit_fair::ConcurrencyLimitLayer<Grpc>, _) = (server, quota);
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Grpc {
    code: Code,
    pub(crate) answering: Answering,
}

impl Grpc {
    /// The server is busy: clients may try another one.
    pub const fn unavailable() -> Self {
        Grpc { code: Code::Unavailable, answering: Answering::DEFAULT }
    }

    /// The caller used up its own quota.
    pub const fn resource_exhausted() -> Self {
        Grpc { code: Code::ResourceExhausted, answering: Answering::DEFAULT }
    }
}

impl Default for Grpc {
    fn default() -> Self {
        Grpc::unavailable()
    }
}

impl Policy for Grpc {
    const REJECTS: bool = true;
    type Note = Note;

    #[inline]
    fn admit(note: &mut Note, running: &mut Running) {
        note.admit(running);
    }
}

impl<B> Prepare<http::Request<B>> for Grpc {
    #[inline]
    fn prepare(&self, request: &mut http::Request<B>) -> Note {
        self.answering.prepare(request)
    }
}

impl<B: Body + Default, E> Answer<Response<B>, E> for Grpc {
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
        let details = ErrorDetails::with_retry_info(Some(rejected.retry_after()));
        let status = Status::with_error_details(self.code, rejected.to_string(), details);
        Ok(status.into_http::<B>().map(LimitedBody::free))
    }
}
