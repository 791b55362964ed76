//! The reasons behind the limit: fairness, cancel safety, overload and sizing, HTTP/2 windows.

/// Who is served when, and the one exception.
///
/// All services of one layer value stand in one queue, in the order in which they were first polled: in `poll_ready` under
/// `Mode::Reserve`, in the response future under `Mode::Deferred`. As soon as one waits, a newcomer waits behind it, even if
/// a permit is free that a heavier head cannot use yet. `Mode::Shed` never waits and never passes a waiter.
///
/// **The exception** is a lease that was reserved and is not used. A service that is ready and idle (a clone in a balancer, a
/// `SpawnReady`, an abandoned `poll_ready`) holds a lease that others wait for. After the reservation ttl (100 ms), and within
/// twice the ttl, it is taken back and given to the head of the queue; the owner then stands in front, by its time of arrival.
/// Nothing is taken back while nobody waits, or before the ttl, and a lease that a request uses is never taken back.
///
/// An inner service that itself reserves in `poll_ready` keeps its readiness while the limit queues. Put the narrower limit
/// outside, or use `Mode::Deferred`. Under `tower::balance` use `ConcurrencyLimitLayer::new`: its readiness is what the
/// balancer chooses by.
///
/// ```
/// use std::time::Duration;
/// use tower_limit_fair::ConcurrencyLimitLayer;
///
/// let layer = ConcurrencyLimitLayer::builder().limit(4).reservation_ttl(Duration::from_millis(20)).build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
pub mod fairness {}

/// What happens when a service, a future or a body is dropped.
///
/// | dropped | its lease or place | counted as |
/// |---|---|---|
/// | a service that waits in `poll_ready` | leaves the queue; a grant goes to the next | `cancelled_queued` |
/// | a service that is ready | the lease goes to the next | `reservations_abandoned` |
/// | a response future that waits | leaves the queue; the inner future was never polled | `cancelled_queued` |
/// | a response future that runs | the lease is free once the inner future is dropped | `cancelled_running` |
/// | a body that is being sent | the lease is free | `cancelled_running` |
///
/// A panic in the inner service, its future or its body frees the lease too, even if the wreck is kept, and counts as failed.
/// So a client that closes its HTTP/1 connection or resets its HTTP/2 stream while it waits never reaches the handler.
///
/// **Work that begins in `call`** (a `tower::buffer::Buffer`, a client that sends at once) begins before the admission wherever
/// admission follows `call`: in `Mode::Deferred`, after a `call` without `poll_ready`, and after a revoked reservation. A
/// rejection then drops a future whose work was already handed over. `Builder::deferred_clone` calls such a service late.
///
/// **A wait inside one's own limit** (an inner client of the same semaphore) is rejected as `Reason::Reentrant`, and told once
/// by a WARN. Work that the handler spawned onto another task is not recognised: give inner clients a limit of their own.
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
///
/// let layer = ConcurrencyLimitLayer::builder().limit(4).mode(Mode::Deferred).deferred_clone().build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
pub mod cancel_safety {}

/// How large the limit, the queue and the timeout should be.
///
/// **Limit.** By Little's law, requests in flight = arrivals per second x seconds per request. A handler that takes 50 ms at
/// 200 requests per second keeps 10 in flight; a limit of 16 leaves room for its variation. Above the number that the slowest
/// resource behind it can use (cores, connections of a pool) a higher limit adds only latency.
///
/// **Queue.** A queue absorbs bursts, not load. The longest useful one is what is served within the queue timeout:
/// `limit x queue_timeout / seconds per request`. `ConcurrencyLimitLayer::server` takes 4 x limit and 1 s.
///
/// **Timeout.** It should be shorter than the client's own, or the answer reaches nobody. It means the same wherever the layer
/// stands: a tower `Timeout` inside of the limit does not see the queue, one outside sees both.
///
/// **Rejections** carry `Retry-After`: the queue length over the drain rate seen lately, and jitter of at least 2 s, so that
/// clients rejected together do not come back together.
///
/// **Slow readers** hold a lease to the end of the body under `HoldUntil::BodyEnd`. `Builder::max_hold` bounds that.
///
/// ```
/// use std::time::Duration;
/// use tower_limit_fair::ConcurrencyLimitLayer;
///
/// let layer = ConcurrencyLimitLayer::server_builder(16)
///     .queue(320)
///     .queue_timeout(Duration::from_secs(1))
///     .max_hold(Duration::from_secs(30))
///     .build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
pub mod overload_and_sizing {}

/// Why a queue needs a bound on HTTP/2 streams.
///
/// The unread bodies of queued uploads stay charged to the flow-control window of their connection. When they fill it, the
/// handlers that run get no more bytes, and the queue behind them stands until the queue timeout. With
///
/// ```text
/// max_concurrent_streams = max(1, floor(connection_window / min(stream_window, body)))
/// ```
///
/// every stream's part always fits. `max_concurrent_streams` computes it.
///
/// ```
/// let streams = tower_limit_fair::max_concurrent_streams(1 << 20, 1 << 20, 64 << 10);
/// assert_eq!(streams, 16);
/// // hyper::server::conn::http2::Builder::new(executor).max_concurrent_streams(streams)
/// ```
pub mod http2_streams {}
