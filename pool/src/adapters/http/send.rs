use ::http::header::{HOST, HeaderValue};
use ::http::uri::PathAndQuery;
use ::http::{Method, Request, Response, Uri};
use http_body::Body;

use super::{HttpPool, ResponseBody, SendError};
use crate::Pooled;

/// Sends a request over a connection of the pool and gives its response.
///
/// The connection comes back with the end, the error or the drop of the response's body. A request with an
/// absolute URI is sent with its path and a `Host` header, as servers expect it.
///
/// A kept connection may end just when a request is to be sent on it. If nothing of the request was written, it
/// is sent once more on another; such a request is never sent twice.
///
/// # Cancel safety
///
/// Dropping the future after the request was written closes the connection, since its response would come to
/// the next user. The server may have acted on the request.
///
/// # Errors
///
/// [`SendError`] tells whether the server can have seen the request.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use lease_pool::http;
///
/// let pool = http::pool::<String>("localhost:8080")?;
/// let request = http::Request::get("http://localhost:8080/health").body(String::new())?;
/// let response = http::send(&pool, request).await?;
/// assert_eq!(response.status(), 200);
/// # Ok(()) }
/// ```
pub async fn send<B>(pool: &HttpPool<B>, request: Request<B>) -> Result<Response<ResponseBody<B>>, SendError>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut request = in_origin_form(request);
    let mut tries = Tries::First;
    loop {
        let mut guard = pool.get().await.map_err(|source| SendError::Get { source })?;
        match guard.exchange(request).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                return Ok(Response::from_parts(head, ResponseBody::new(body, guard)));
            }
            Err((source, unsent)) => {
                Pooled::discard(guard);
                match (unsent, tries) {
                    (Some(again), Tries::First) => (request, tries) = (again, Tries::Second),
                    (Some(_), Tries::Second) => return Err(SendError::Unsent { source }),
                    (None, _) => return Err(SendError::Broken { source }),
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tries {
    First,
    Second,
}

/// Only proxies want the absolute form; hyper sends what it is given at this level.
fn in_origin_form<B>(mut request: Request<B>) -> Request<B> {
    if request.method() == Method::CONNECT {
        return request;
    }
    if let Some(authority) = request.uri().authority() {
        if !request.headers().contains_key(HOST) {
            // Without the user and password that an authority may have.
            let host = authority.as_str().rsplit('@').next().unwrap_or_default();
            if let Ok(host) = HeaderValue::from_str(host) {
                request.headers_mut().insert(HOST, host);
            }
        }
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    }
    request
}
