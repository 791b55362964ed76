/// Says where a request waits for its lease.
///
/// # Fairness
///
/// All three stand in the same queue, in the order of their first poll (`Shed` never stands in it).
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, Mode};
///
/// let layer = ConcurrencyLimitLayer::builder().limit(8).mode(Mode::Deferred).build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// `poll_ready` waits: a ready service holds a lease. Backpressure as in tower; the default.
    #[default]
    Reserve,
    /// The response future waits, with the request known. What a server wants.
    Deferred,
    /// Nobody waits: one attempt in `call`, then the rejection.
    Shed,
}

/// Says when the lease of an answered request ends.
///
/// # Examples
///
/// ```
/// use tower_limit_fair::{ConcurrencyLimitLayer, HoldUntil};
///
/// let layer = ConcurrencyLimitLayer::server_builder(8).hold(HoldUntil::Head).build()?;
/// # Ok::<(), tower_limit_fair::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HoldUntil {
    /// With the response head: the body is sent without a lease.
    Head,
    /// With the end, error, trailers or drop of the body; at the head if the body is known to be empty.
    BodyEnd,
}
